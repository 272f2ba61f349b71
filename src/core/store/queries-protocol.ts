import type { Row } from '../model/resource.ts'
import type { Cell, Table, TableRow } from '../model/table.ts'
import type { Query } from './pages/page.ts'
import { valueLists } from './pages/statement.ts'

/** The values of a statement's placeholders, `$1` first. */
export type Values = readonly Cell[]

/** A write of a mutation: a statement that runs once for each of several lists of values, or rows of a table. */
export type Write = StatementWrite | RowWrite

type StatementWrite = {
  text: string
  values: readonly Values[]
  /** The table from which it deletes rows, if deleted rows are counted: the statement returns a row for each. */
  deletesFrom?: Table
}

/**
 * The number of rows that a commit has added to each table whose rows are counted, minus deleted ones, by the table's name.
 */
export type GainedRows = Map<string, number>

/** Adds a number of rows, negative for deleted ones, to those of a table. */
export function gain(gained: GainedRows, { name }: Table, rows: number): void {
  gained.set(name, (gained.get(name) ?? 0) + rows)
}

export type RowWrite = {
  table: Table
  rows: readonly TableRow[]
  /** Whether all keys are new: none is stored, and no two rows have the same. */
  areNew?: true
  /**
   * Requests the number of rows that were not stored, for each pair of values of these two columns: `[value, value,
   * count]`. No two rows may have the same key.
   */
  countNewBy?: readonly [string, string]
}

/**
 * A mutation: it yields one write after another and receives the rows of each, a statement's for each of its lists of
 * values.
 */
export type Mutation<Result = void> = Generator<Write, Result, readonly Row[][]>

/** Runs a query within a mutation's transaction. */
export function* asMutation<Result>(query: Query<Result>): Mutation<Result> {
  let step = query.next()
  while (!step.done) {
    const rows = yield { text: step.value.text, values: valueLists(step.value) }
    step = query.next(rows.flat())
  }
  return step.value
}

/**
 * Runs independent mutations together: writes that are alike are joined to one, so that they wait for the database only
 * once.
 */
export function* runTogether(all: readonly Mutation[]): Mutation {
  let waiting = all.map((mutation) => ({ mutation, wanted: mutation.next() }))
  for (;;) {
    waiting = waiting.filter(({ wanted }) => !wanted.done)
    if (waiting.length === 0) return
    const alike = Map.groupBy(waiting, ({ wanted }) => kindOf(wanted.value as Write))
    for (const some of alike.values()) {
      const results = yield joinWrites(some.map(({ wanted }) => wanted.value as Write))
      let at = 0
      for (const one of some) {
        const write = one.wanted.value as Write
        const count = 'text' in write ? write.values.length : 0
        one.wanted = one.mutation.next(results.slice(at, at + count))
        at += count
      }
    }
  }
}

/** The writes with the same kind can be joined. */
const kindOf = (write: Write): unknown => ('text' in write ? write.text : write.table)

function joinWrites(writes: readonly Write[]): Write {
  const [first] = writes as [Write]
  if ('text' in first) {
    return { text: first.text, values: writes.flatMap((write) => ('text' in write ? write.values : [])) }
  }
  if (first.countNewBy !== undefined) throw new TypeError('rows that are counted stand alone')
  return { ...first, rows: writes.flatMap((write) => ('text' in write ? [] : write.rows)) }
}

/** The number of rows for each pair of values of two columns, after the pair as text: `[value, value, count]`. */
export function countPairs(rows: readonly TableRow[], [one, other]: readonly [string, string]): Row[] {
  type Count = [first: string, second: string, count: number]
  const counts = new Map<string, Count>()
  let last: TableRow | undefined
  let count: Count | undefined
  for (const row of rows) {
    // Rows with the same pair are mostly adjacent.
    if (count === undefined || row[one] !== last![one] || row[other] !== last![other]) {
      const key = `${row[one]} ${row[other]}`
      count = counts.get(key) ?? [String(row[one]), String(row[other]), 0]
      counts.set(key, count)
      last = row
    }
    count[2]++
  }
  return [...counts.values()]
}
