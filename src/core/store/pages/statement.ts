import type { KeyValue } from '../../resources/resource.ts'

/** A statement with the placeholders `$1`, `$2`, ... and their values. */
export type Statement = { text: string; values: KeyValue[] }

/** A statement that is run once for each of some lists of values. */
export type StatementOfEach = { text: string; each: readonly KeyValue[][] }

/** The lists of values that a statement is run with. */
export const valueLists = (statement: Statement | StatementOfEach): readonly KeyValue[][] =>
  'each' in statement ? statement.each : [statement.values]

/**
 * A column as text, under another name: in `order by` the column's own name would mean the text. A table's name before it does not
 * help, because a cluster leaves that out when it sends the statement to a machine.
 */
export const textOf = (column: string) => `cast(${column} as text) as ${column.replace('.', '_')}_text`
