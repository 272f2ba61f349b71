import type { HeightRange } from '../../domain/coverage.ts'
import type { BatchRow } from '../../resources/batch.ts'
import type { Row } from '../../resources/resource.ts'
import type { Reading } from '../pages/page.ts'
import { valueLists } from '../pages/statement.ts'
import type { Table } from '../tables.ts'

/** A step of writing: rows of a table, or a statement that is run once for each of some lists of values. */
export type WriteStep =
  | {
      table: Table
      rows: readonly BatchRow[]
      /**
       * Asks for the number of rows that were not there, of data points, by market and seq: `[market, seq, count]`. No two
       * rows have the same key then.
       */
      countsNew: boolean
      /**
       * The heights that are imported, where imported points are among the rows or may be in their way: those of events
       * stand before them.
       */
      besideImports?: readonly HeightRange[]
    }
  | { each: string; values: readonly BatchRow[] }

/** Steps of writing; each wants its rows, those of a statement for each of its values. */
export type Steps<Result = void> = Generator<WriteStep, Result, readonly Row[][]>

/** A reading within a transaction that writes. */
export function* asSteps<Result>(reading: Reading<Result>): Steps<Result> {
  let step = reading.next()
  while (!step.done) {
    const rows = yield { each: step.value.text, values: valueLists(step.value) }
    step = reading.next(rows.flat())
  }
  return step.value
}

/**
 * Does several things side by side that have nothing to do with each other: what all of them want to write or read at a
 * time is one step, so that as many wait for the database together.
 */
export function* sideBySide(all: readonly Steps[]): Steps {
  let waiting = all.map((steps) => ({ steps, wanted: steps.next() }))
  for (;;) {
    waiting = waiting.filter(({ wanted }) => !wanted.done)
    if (waiting.length === 0) return
    const alike = Map.groupBy(waiting, ({ wanted }) => kindOf(wanted.value as WriteStep))
    for (const some of alike.values()) {
      const results = yield joined(some.map(({ wanted }) => wanted.value as WriteStep))
      let at = 0
      for (const one of some) {
        const step = one.wanted.value as WriteStep
        const count = 'each' in step ? step.values.length : 0
        one.wanted = one.steps.next(results.slice(at, at + count))
        at += count
      }
    }
  }
}

/** Steps of one kind can be joined to one. */
const kindOf = (step: WriteStep): unknown => ('each' in step ? step.each : step.table)

function joined(steps: readonly WriteStep[]): WriteStep {
  const [first] = steps as [WriteStep]
  if ('each' in first) {
    return { each: first.each, values: steps.flatMap((step) => ('each' in step ? step.values : [])) }
  }
  if (first.countsNew || first.besideImports !== undefined)
    throw new TypeError('rows that are counted stand alone')
  return { ...first, rows: steps.flatMap((step) => ('each' in step ? [] : step.rows)) }
}
