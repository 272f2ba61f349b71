// Reads the entries of a segment that an import reads, inflates them and checks their sums, and nothing else: the limit of
// an import. Prints the seconds as JSON.
import { readZipDirectory } from '#tools/import/segments/zip-file'

const path = process.argv[2]!
const startedAt = performance.now()
const zip = await readZipDirectory(path, (name) => name !== 'metadata.json')
let bytes = 0
for (const name of zip.names) for await (const piece of zip.read(name)) bytes += piece.length
console.log(JSON.stringify({ bytes, seconds: (performance.now() - startedAt) / 1000 }))
