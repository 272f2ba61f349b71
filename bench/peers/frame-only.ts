// The limit of ingestion: opens a file, inflates it as Node does, and splits it into records, nothing more.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { RecordFramer } from '#core/records/record-framer'

const CHUNK_BYTES = 256 * 1024

const path = process.argv[2]!
const startedAt = performance.now()
let records = 0
let bytes = 0
const framer = new RecordFramer(path, () => {
  records++
})
await pipeline(
  createReadStream(path, { highWaterMark: CHUNK_BYTES }),
  createGunzip({ chunkSize: CHUNK_BYTES }),
  async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      bytes += chunk.length
      framer.push(chunk)
    }
  },
)
console.log(JSON.stringify({ records, bytes, seconds: (performance.now() - startedAt) / 1000 }))
