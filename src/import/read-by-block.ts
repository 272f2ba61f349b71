import { ImportError } from './import-error.ts'
import type { HistoryRow, SourceRow } from './source.ts'

/** Rows of one block that are taken at once at most: no real block has near as many. */
const MAX_BLOCK_ROWS = 250_000

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
    for (;;) {
      while (this.#at < this.#chunk.length) {
        const next = this.#chunk[this.#at]!
        if (next.height > height) return found
        this.#at++
        if (next.height < height) continue
        if (found.push(next.row) > MAX_BLOCK_ROWS) {
          throw new ImportError(
            `block ${height} has more than ${MAX_BLOCK_ROWS} rows of one table: no real block has, the source is damaged`,
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
