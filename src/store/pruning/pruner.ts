import type { Row } from '../../resources/resource.ts'
import type { Statement } from '../pages/statement.ts'
import type { Steps } from '../writing/steps.ts'

/** The age limit: an earlier time (Unix nanoseconds), or a lower height. */
export type PruneBound = { by: 'time' | 'height'; before: bigint }

/** The key of a row, as text. */
export type RowKey = readonly string[]

/** The rest of a data point's key within those of its market and source. */
export type PointKey = { timestamp: bigint; seq: bigint }

/** Deletes rows while a writer and readers are active (prune-store.ts). */
export type Pruner = {
  read(statement: Statement): Promise<Row[]>
  /**
   * Runs steps that return how many rows they have deleted in one short transaction, which also notes that anything
   * may have changed if they have deleted any. They are begun again if a writer was in the way.
   */
  write(steps: () => Steps<number>): Promise<number>
  close(): Promise<void>
}
