import type { KeyValue } from '../../model/resource.ts'

/** A statement with the placeholders `$1`, `$2`, ... and their values. */
export type Statement = { text: string; values: KeyValue[] }

/** As {@link Statement}; without values if it has no placeholders. */
export type StatementOnce = { text: string; values?: KeyValue[] }

/** A statement that runs once for each of several lists of values. */
export type StatementOfEach = { text: string; each: readonly KeyValue[][] }

/** The lists of values with which a statement runs. */
export const valueLists = (statement: StatementOnce | StatementOfEach): readonly KeyValue[][] =>
  'each' in statement ? statement.each : [statement.values ?? []]
