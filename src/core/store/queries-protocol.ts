import type { Cell } from '../model/columns.ts'
import type { KeyValue, Row } from '../model/resource.ts'
import type { Table, TableRow } from '../model/table.ts'

/*
 * SQL that is the same on SQLite and PostgreSQL is written once, as generators that know no database: they yield what is to
 * be run and receive the rows. An engine answers them (`sqlite/run-sql.ts`, `postgres/run-sql.ts`).
 *
 * `values` are those of the placeholders `$1`, `$2`, ... in this order; `each` has several lists of them.
 *
 *   a query, in one snapshot                        the engine
 *     rows = yield { text, values }            ->   runs the statement
 *                                              <-   its rows
 *     rows = yield { text, each: [a, b] }      ->   runs it with the values a, and with b
 *                                              <-   the rows of a and those of b, in one list
 *     return result                            ->   gives it to the caller of `read` (`store.ts`)
 *
 *   a mutation, in one transaction                  the engine
 *     [rows] = yield { text, values }          ->   runs the statement
 *                                              <-   its rows
 *     [as, bs] = yield { text, each: [a, b] }  ->   runs it with the values a, and with b
 *                                              <-   the rows of a, and those of b, in a list each
 *     yield { table, rows }                    ->   writes the rows; of two with one key, the table's rules decide
 *                                              <-   nothing
 *     [counts] = yield { table, rows, countNewBy: ['market', 'source'] }
 *                                              ->   the same
 *                                              <-   how many rows were new, for each market and source
 *     return result                            ->   commits, or goes on with the transaction
 *
 * A mutation runs a query in its transaction by `yield* asMutation(query)`.
 */

/** A statement with the placeholders `$1`, `$2`, ... and their values. */
export type Statement = { text: string; values: readonly KeyValue[] }

/** A statement that runs once; without values if it has no placeholders. */
export type StatementOnce<Value extends Cell = KeyValue> = { text: string; values?: readonly Value[] }

/** A statement that runs once for each of several lists of values. */
type StatementOfEach<Value extends Cell = KeyValue> = {
  text: string
  each: readonly (readonly Value[])[]
}

/** The lists of values with which a statement runs, one after another. */
export const valueLists = <Value extends Cell>(
  statement: StatementOnce<Value> | StatementOfEach<Value>,
): readonly (readonly Value[])[] => ('each' in statement ? statement.each : [statement.values ?? []])

/** Statements in one snapshot, and a result. It receives the rows of each statement, however often that runs, in one list. */
export type Query<Result> = Generator<StatementOnce | StatementOfEach, Result, Row[]>

/**
 * Writes in one transaction, and a result. It receives the rows of each write: those of a statement in a list for each time
 * that it runs.
 */
export type Mutation<Result = void> = Generator<Write, Result, readonly Row[][]>

/** A write of a mutation: a statement, or rows of a table. */
export type Write = StatementWrite | RowWrite

/** A statement of a mutation, which reads, changes or deletes rows. */
export type StatementWrite = (StatementOnce<Cell> | StatementOfEach<Cell>) & {
  /** The table from which it deletes rows, if deleted rows are counted: the statement returns a row for each. */
  deletesFrom?: Table
}

/** Rows to insert, or to merge with the stored ones of the same key. */
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
 * The number of rows that a commit has added to each table whose rows are counted, minus deleted ones, by the table's name.
 */
export type GainedRows = Map<string, number>

/** Adds a number of rows, negative for deleted ones, to those of a table. */
export function gain(gained: GainedRows, { name }: Table, rows: number): void {
  gained.set(name, (gained.get(name) ?? 0) + rows)
}

/** Runs a query within a mutation's transaction. */
export function* asMutation<Result>(query: Query<Result>): Mutation<Result> {
  let step = query.next()
  while (!step.done) {
    const rows = yield step.value
    step = query.next(rows.flat())
  }
  return step.value
}

/** Runs a statement for each of several items, with its values. Returns each item with its rows. */
export function* readEach<Item>(
  text: string,
  items: readonly Item[],
  valuesOf: (item: Item) => readonly Cell[],
): Mutation<[item: Item, rows: readonly Row[]][]> {
  const rows = yield { text, each: items.map(valuesOf) }
  return items.map((item, at) => [item, rows[at]!])
}

/**
 * Runs independent mutations together: writes that are alike are joined to one, so that they wait for the database only
 * once.
 */
export function* runTogether(all: readonly Mutation[]): Mutation {
  let running = all.map((mutation) => ({ mutation, step: mutation.next() }))
  for (;;) {
    running = running.filter(({ step }) => !step.done)
    if (running.length === 0) return
    const alike = Map.groupBy(running, ({ step }) => kindOf(step.value as Write))
    for (const group of alike.values()) {
      const results = yield joinWrites(group.map(({ step }) => step.value as Write))
      let at = 0
      for (const member of group) {
        const write = member.step.value as Write
        const count = 'text' in write ? valueLists(write).length : 0
        member.step = member.mutation.next(results.slice(at, at + count))
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
    return { text: first.text, each: writes.flatMap((write) => ('text' in write ? valueLists(write) : [])) }
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
