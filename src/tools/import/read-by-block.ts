import { ImportError } from './import-error.ts'
import type { RowQueue } from './row-queue.ts'
import type { HistoryRow, SourceRow } from './source.ts'

/** Maximum memory of the rows of one block, which are read at once. Those of a real block have kilobytes. */
const MAX_ROWS_BYTES = 64 * 1024 * 1024

/** Approximate memory of a row, and of a field, in addition to its characters. */
const ROW_BYTES = 64
const FIELD_BYTES = 32

/**
 * Takes the rows of a block from the queue. Blocks must be requested in the order of their heights; rows of other blocks
 * before it are skipped.
 *
 * @throws {ImportError} if the block has too many rows.
 */
export async function takeRows(queue: RowQueue<HistoryRow>, height: number): Promise<SourceRow[]> {
  const rows: SourceRow[] = []
  let bytes = 0
  for (;;) {
    const next = queue.head() ?? (await queue.next())
    if (next === null || next.height > height) return rows
    queue.drop()
    if (next.height < height) continue
    rows.push(next.row)
    bytes += next.row.reduce((sum, field) => sum + FIELD_BYTES + (field?.length ?? 0), ROW_BYTES)
    if (bytes > MAX_ROWS_BYTES) {
      throw new ImportError(
        `block ${height} has rows of more than ${MAX_ROWS_BYTES} bytes in one table: the source is damaged`,
      )
    }
  }
}
