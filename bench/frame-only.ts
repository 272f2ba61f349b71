// The limit of every intake: opens a file, inflates it, and cuts it into records, nothing more.
import { readEventFile } from '../src/records/event-file.ts'
import { RecordFramer } from '../src/records/record-framer.ts'

const path = process.argv[2]!
const startedAt = performance.now()
let records = 0
let bytes = 0
const framer = new RecordFramer(path, () => {
  records++
})
for await (const chunk of readEventFile(path, { bytesRead: 0 })) {
  bytes += chunk.length
  framer.push(chunk)
}
console.log(JSON.stringify({ records, bytes, seconds: (performance.now() - startedAt) / 1000 }))
