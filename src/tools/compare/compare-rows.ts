import { RowQueue } from '../import/row-queue.ts'

/** Two rows with one key that differ in fields, or a row that only one side has. */
export type Pair<Row> = {
  a: Row | null
  b: Row | null
  fields: readonly string[]
  /** Whether the side without the row has had no row so far: the row may be before everything that this side covers. */
  isBeforeFirst: boolean
}

/** Reasons why a pair is not a difference, by the name under which such pairs are counted. */
export type Allowances<Of> = Readonly<Record<string, (pair: Of) => boolean | Promise<boolean>>>

/** The number of equal pairs, and of allowed ones, by allowance. */
export type PairCounts = { same: number } & Record<string, number>

export type RowRules<Row, Of> = {
  /** Compares the keys of two rows: below 0, 0 for the same key, or above. */
  order: (a: Row, b: Row) => number
  /** The fields in which two rows with one key differ. */
  fieldsOf: (a: Row, b: Row) => readonly string[]
  /** The pair in the form that allowances need; null if the rows are equal after all. */
  describe: (pair: Pair<Row>) => Of | null | Promise<Of | null>
  allowances: Allowances<Of>
}

/**
 * Compares two sequences of rows side by side; both must be ascending.
 *
 * @param counts is increased by the pairs that are equal or allowed
 *
 * @returns the other pairs
 */
export async function* compareRows<Row, Of>(
  a: AsyncGenerator<readonly Row[]>,
  b: AsyncGenerator<readonly Row[]>,
  { order, fieldsOf, describe, allowances }: RowRules<Row, Of>,
  counts: PairCounts,
): AsyncGenerator<Of, void, undefined> {
  const [ofA, ofB] = [new RowQueue(a), new RowQueue(b)]
  let [hasA, hasB] = [false, false]
  const firstAllowance = async (pair: Of): Promise<string | null> => {
    for (const [name, allows] of Object.entries(allowances)) if (await allows(pair)) return name
    return null
  }
  try {
    for (;;) {
      const left = ofA.head() ?? (await ofA.next())
      const right = ofB.head() ?? (await ofB.next())
      if (left === null && right === null) return
      const first = left === null ? 1 : right === null ? -1 : order(left, right)
      if (first <= 0) ofA.drop()
      if (first >= 0) ofB.drop()
      hasA ||= first <= 0
      hasB ||= first >= 0
      const fields = first === 0 ? fieldsOf(left!, right!) : []
      const rows = { a: first <= 0 ? left : null, b: first >= 0 ? right : null }
      const isSame = first === 0 && fields.length === 0
      const pair = isSame ? null : await describe({ ...rows, fields, isBeforeFirst: !(hasA && hasB) })
      const allowed = pair === null ? 'same' : await firstAllowance(pair)
      if (allowed === null) yield pair!
      else counts[allowed] = (counts[allowed] ?? 0) + 1
    }
  } finally {
    await Promise.all([ofA.close(), ofB.close()])
  }
}

/** A difference in words: `price is "1" in the store and "2" in the files`, `only in the files (block 7, event 2)`. */
export function describePair(
  { a, b, fields }: Pick<Pair<Readonly<Record<string, unknown>>>, 'a' | 'b' | 'fields'>,
  inA: string,
  inB: string,
): string {
  if (a !== null && b !== null) {
    return fields
      .map((name) => `${name} is ${JSON.stringify(a[name])} ${inA} and ${JSON.stringify(b[name])} ${inB}`)
      .join(', ')
  }
  const row = (a ?? b)!
  const position = 'event_index' in row ? ` (block ${row.height}, event ${row.event_index})` : ''
  return `only ${a === null ? inB : inA}${position}`
}
