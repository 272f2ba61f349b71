import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { flushFolder, makeFolder } from '#core/concurrency/flush'
import type { Resource, Selection } from '#core/model/resource'
import type { Snapshot } from '#core/store/store'
import { type ExportedRow, exportRows } from '../../formats/export-rows.ts'
import { type ParquetForm, parquetOf } from '../../formats/parquet.ts'

/** Rows of a file at most. */
const PART_ROWS = 1_000_000

export type PartOptions = ParquetForm & {
  resource: Resource
  /** The market, if rows are written by market. */
  selection: Selection
  folder: string
  snapshot: Snapshot
  /** Rows of a file at most; whole thousands. */
  partRows?: number
  signal?: AbortSignal
  /** Called with the number of rows as they are written. */
  onRows?: (count: number) => void
}

/**
 * Writes the rows of a resource, or of one of its markets, into the files of a folder, and flushes both; returns how many
 * files there are.
 */
export async function writeParts(options: PartOptions): Promise<number> {
  const { folder, resource, selection, snapshot, signal, onRows, partRows = PART_ROWS } = options
  const chunks = exportRows({ resource, selection, descending: false, cursor: null }, snapshot, signal)
  let chunk = await chunks.next()
  async function* ofPart(): AsyncGenerator<ExportedRow[], void, undefined> {
    for (let rows = 0; !chunk.done && rows < partRows; chunk = await chunks.next()) {
      yield chunk.value
      rows += chunk.value.length
      onRows?.(chunk.value.length)
    }
  }
  let parts = 0
  for (; !chunk.done; parts++) {
    makeFolder(folder)
    const bytes = parquetOf(ofPart(), options, { remedy: 'export with --text' })
    const path = join(folder, `part-${String(parts).padStart(5, '0')}.parquet`)
    await pipeline(
      Readable.from(bytes, { objectMode: false }),
      createWriteStream(path, { flush: true }),
      signal === undefined ? {} : { signal },
    )
  }
  if (parts > 0) flushFolder(folder)
  return parts
}
