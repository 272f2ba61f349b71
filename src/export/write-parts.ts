import { createHash } from 'node:crypto'
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ExportedRow, exportRows } from './export-rows.ts'
import { parquetOf } from './parquet.ts'
import { keyIn, PART_ROWS, type PartFile, type PartitionOptions } from './partition.ts'

/** Called before a file gets its name. */
type WritingOptions = PartitionOptions & { begin: () => void }

/** A file that is there, and whether it is another than was there before. */
type WrittenPart = { part: PartFile; isNew: boolean }

/** Writes the rows that follow the last of the files kept, file by file. */
export async function* writeParts(
  options: WritingOptions,
  kept: readonly PartFile[],
  old: readonly PartFile[],
): AsyncGenerator<WrittenPart, void, undefined> {
  const { resource, selection, snapshot, signal, onRows, partRows = PART_ROWS } = options
  const before = kept.at(-1)
  const cursor = before === undefined ? null : keyIn(resource, selection, before.last)
  const chunks = exportRows({ resource, selection, descending: false, cursor }, snapshot, signal)
  let chunk = await chunks.next()
  for (let number = kept.length; !chunk.done; number++) {
    let rows = 0
    const first = chunk.value[0]!.cursor
    let last = ''
    async function* ofPart(): AsyncGenerator<ExportedRow[], void, undefined> {
      while (!chunk.done && rows < partRows) {
        yield chunk.value
        rows += chunk.value.length
        last = chunk.value.at(-1)!.cursor
        onRows?.(chunk.value.length)
        chunk = await chunks.next()
      }
    }
    const { sha256, file, isNew } = await writeFile(options, number, ofPart(), old[number])
    yield { part: { file, rows, first, last, sha256 }, isNew }
  }
}

/** Writes a file under another name first; one that is there already and holds the same stays. */
async function writeFile(
  { folder, resource, asText, selection, signal, begin }: WritingOptions,
  number: number,
  rows: AsyncIterable<ExportedRow[]>,
  old: PartFile | undefined,
): Promise<{ sha256: string; file: string; isNew: boolean }> {
  const file = `part-${String(number).padStart(5, '0')}.parquet`
  const path = join(folder, file)
  const withoutMarket = selection.marketId !== undefined
  const remedy = 'export into a new directory with --text'
  mkdirSync(folder, { recursive: true })
  const sum = createHash('sha256')
  async function* summed(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const bytes of parquetOf(rows, resource, { asText, withoutMarket, remedy })) {
      sum.update(bytes)
      yield bytes
    }
  }
  const partial = `${path}.partial`
  try {
    await pipeline(
      Readable.from(summed(), { objectMode: false }),
      createWriteStream(partial, { flush: true }),
      signal === undefined ? {} : { signal },
    )
  } catch (error) {
    rmSync(partial, { force: true })
    throw error
  }
  const sha256 = sum.digest('hex')
  const isSame = old?.file === file && old.sha256 === sha256 && existsSync(path)
  if (isSame) rmSync(partial)
  else {
    begin()
    renameSync(partial, path)
  }
  return { sha256, file, isNew: !isSame }
}
