/** Rows that come many at a time, taken one by one. */
export function createRowQueue<Row>(chunks: AsyncGenerator<readonly Row[]>) {
  let rows: readonly Row[] = []
  let at = 0
  /** The next row; null if it has not come yet. */
  const head = (): Row | null => rows[at] ?? null
  return {
    head,
    /** Waits for the next row; null if none follows. */
    async next(): Promise<Row | null> {
      while (head() === null) {
        const { done, value } = await chunks.next()
        if (done) return null
        rows = value
        at = 0
      }
      return head()
    },
    drop: () => void at++,
    close: () => chunks.return(undefined),
  }
}

export type RowQueue<Row> = ReturnType<typeof createRowQueue<Row>>
