import { ImportError } from './import-error.ts'
import type { HistoryRow, SourceRow } from './source.ts'

/** Memory of the rows of one block, which are taken at once: those of real ones have kilobytes. */
const MAX_ROWS_BYTES = 64 * 1024 * 1024

/** About the memory of a row, and of a field besides its characters. */
const ROW_BYTES = 64
const FIELD_BYTES = 32

/** Hands on the rows of history block by block. Nothing is read before the first block is asked for. */
export class RowsByBlock {
  readonly #chunks: AsyncIterator<readonly HistoryRow[]>
  #chunk: readonly HistoryRow[] = []
  #at = 0
  #isDone = false

  constructor(rows: AsyncIterable<readonly HistoryRow[]>) {
    this.#chunks = rows[Symbol.asyncIterator]()
  }

  /**
   * The rows of a block. Blocks are asked for in the order of their heights; rows of those that are not are passed over.
   *
   * @throws {ImportError} if the block has too many.
   */
  async take(height: number): Promise<readonly SourceRow[]> {
    const found: SourceRow[] = []
    let bytes = 0
    for (;;) {
      while (this.#at < this.#chunk.length) {
        const next = this.#chunk[this.#at]!
        if (next.height > height) return found
        this.#at++
        if (next.height < height) continue
        found.push(next.row)
        bytes += memoryOfRow(next.row)
        if (bytes > MAX_ROWS_BYTES) {
          throw new ImportError(
            `block ${height} has rows of more than ${MAX_ROWS_BYTES} bytes in one table: the source is damaged`,
          )
        }
      }
      if (this.#isDone) return found
      const { value, done } = await this.#chunks.next()
      if (done) this.#isDone = true
      this.#chunk = value ?? []
      this.#at = 0
    }
  }

  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}

function memoryOfRow(row: SourceRow): number {
  return row.reduce((sum, field) => sum + FIELD_BYTES + (field?.length ?? 0), ROW_BYTES)
}
