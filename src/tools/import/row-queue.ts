/** Rows that arrive in chunks, and are taken one by one. */
export class RowQueue<Row> {
  readonly #chunks: AsyncGenerator<readonly Row[]>
  #rows: readonly Row[] = []
  #at = 0

  constructor(chunks: AsyncGenerator<readonly Row[]>) {
    this.#chunks = chunks
  }

  /** The next row; null if it has not arrived yet. */
  head(): Row | null {
    return this.#rows[this.#at] ?? null
  }

  /** Waits for the next row, which stays the next one until `drop` is called; null if no row follows. */
  async next(): Promise<Row | null> {
    while (this.head() === null) {
      const { done, value } = await this.#chunks.next()
      if (done) return null
      this.#rows = value
      this.#at = 0
    }
    return this.head()
  }

  drop(): void {
    this.#at++
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined)
  }
}
