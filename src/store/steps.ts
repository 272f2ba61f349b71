import type { HeightRange } from '../domain/coverage.ts'
import type { BatchRow } from '../projections/batch.ts'
import type { Row } from '../resources/resource.ts'
import type { Table } from './tables.ts'

/** A step of writing: rows of a table, or a statement that is run once for each of some lists of values. */
export type WriteStep =
  | {
      table: Table
      rows: readonly BatchRow[]
      /** Asks for the number of rows that were not there, by market and seq: `[market, seq, count]`. */
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
