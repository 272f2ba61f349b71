import type { Row } from '../model/resource.ts'
import type { Cell, Table, TableRow } from '../model/table.ts'
import type { Reading } from './pages/page.ts'
import { valueLists } from './pages/statement.ts'

/** Values of a statement's placeholders, `$1` first. */
export type Values = readonly Cell[]

/** A step of writing: a statement that is run once for each of some lists of values, or rows of a table. */
export type WriteStep = StatementStep | RowStep

type StatementStep = {
  text: string
  values: readonly Values[]
  /** The table from which it deletes rows, if those are counted: the statement returns a row for each. */
  deletesFrom?: Table
}

/** How many rows a commit has added to the tables whose rows are counted, less those that it has deleted, by table. */
export type GainedRows = Map<string, number>

export function gain(gained: GainedRows, { name }: Table, rows: number): void {
  gained.set(name, (gained.get(name) ?? 0) + rows)
}

export type RowStep = {
  table: Table
  rows: readonly TableRow[]
  /** Whether no row of these keys is there, nor two of one key among these. */
  areNew?: true
  /**
   * Asks for the number of rows that were not there, by the values of two columns: `[value, value, count]`. No two rows
   * have the same key then.
   */
  countNewBy?: readonly [string, string]
}

/** Steps of writing; each wants its rows, those of a statement for each of its values. */
export type Steps<Result = void> = Generator<WriteStep, Result, readonly Row[][]>

/** A reading within a transaction that writes. */
export function* asSteps<Result>(reading: Reading<Result>): Steps<Result> {
  let step = reading.next()
  while (!step.done) {
    const rows = yield { text: step.value.text, values: valueLists(step.value) }
    step = reading.next(rows.flat())
  }
  return step.value
}

/**
 * Runs independent generators together: their writes or reads at a time form one step, so that they wait for the
 * database together.
 */
export function* runTogether(all: readonly Steps[]): Steps {
  let waiting = all.map((steps) => ({ steps, wanted: steps.next() }))
  for (;;) {
    waiting = waiting.filter(({ wanted }) => !wanted.done)
    if (waiting.length === 0) return
    const alike = Map.groupBy(waiting, ({ wanted }) => kindOf(wanted.value as WriteStep))
    for (const some of alike.values()) {
      const results = yield joinSteps(some.map(({ wanted }) => wanted.value as WriteStep))
      let at = 0
      for (const one of some) {
        const step = one.wanted.value as WriteStep
        const count = 'text' in step ? step.values.length : 0
        one.wanted = one.steps.next(results.slice(at, at + count))
        at += count
      }
    }
  }
}

/** Steps of one kind can be joined to one. */
const kindOf = (step: WriteStep): unknown => ('text' in step ? step.text : step.table)

function joinSteps(steps: readonly WriteStep[]): WriteStep {
  const [first] = steps as [WriteStep]
  if ('text' in first) {
    return { text: first.text, values: steps.flatMap((step) => ('text' in step ? step.values : [])) }
  }
  if (first.countNewBy !== undefined) throw new TypeError('rows that are counted stand alone')
  return { ...first, rows: steps.flatMap((step) => ('text' in step ? [] : step.rows)) }
}

/** How many rows there are of each pair of values of two columns, after the pair as text: `[value, value, count]`. */
export function countPairs(rows: readonly TableRow[], [one, other]: readonly [string, string]): Row[] {
  type Count = [first: string, second: string, count: number]
  const counts = new Map<string, Count>()
  let last: TableRow | undefined
  let count: Count | undefined
  for (const row of rows) {
    // Those of one pair mostly follow on each other.
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
