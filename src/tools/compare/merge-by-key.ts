import { RowQueue } from '#core/store/walk-table'

/**
 * Walks two sequences of rows, both ascending, side by side: what each of the two has under one key, null if it has
 * nothing there.
 *
 * @param order which of two rows comes first: below 0, 0 for the same key, or above
 */
export async function* mergeByKey<Row>(
  a: AsyncGenerator<readonly Row[]>,
  b: AsyncGenerator<readonly Row[]>,
  order: (a: Row, b: Row) => number,
): AsyncGenerator<[Row, Row] | [Row, null] | [null, Row], void, undefined> {
  const [ofA, ofB] = [new RowQueue(a), new RowQueue(b)]
  try {
    for (;;) {
      const left = ofA.head ?? (await ofA.next())
      const right = ofB.head ?? (await ofB.next())
      const first = left === null ? 1 : right === null ? -1 : order(left, right)
      if (first <= 0) ofA.drop()
      if (first >= 0) ofB.drop()
      if (left !== null && right !== null && first === 0) yield [left, right]
      else if (left !== null && first < 0) yield [left, null]
      else if (right !== null) yield [null, right]
      else return
    }
  } finally {
    await Promise.all([a.return(undefined), b.return(undefined)])
  }
}
