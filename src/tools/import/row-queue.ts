/** Rows that come many at a time, taken one by one. */
export class RowQueue<Row> {
  readonly #chunks: AsyncGenerator<readonly Row[]>
  #rows: readonly Row[] = []
  #at = 0

  constructor(chunks: AsyncGenerator<readonly Row[]>) {
    this.#chunks = chunks
  }

  /** The next row; null if it has not come yet. */
  head(): Row | null {
    return this.#rows[this.#at] ?? null
  }

  /** Waits for the next row, which stays the next one until it is dropped; null if none follows. */
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
