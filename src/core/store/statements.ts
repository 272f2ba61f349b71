import type { Row } from '../model/row.ts'

/* Statements with the same text on every database. `$n` are positions. */

/**
 * A column as text, under another name: without one, `order by COLUMN` would sort by the text. A table's name before the
 * column does not help, because a cluster omits it when it sends the statement to a machine.
 */
export const textOf = (column: string) => `cast(${column} as text) as ${column.replace('.', '_')}_text`

/** A text of a row; null if there is none. */
export const textOrNull = (cell: Row[number] | undefined): string | null =>
  cell == null ? null : String(cell)

/** Returns the number of the market with an id. */
export const FIND_MARKET = 'select market from markets where market_id = $1'

/** The number and id of each market, by number. */
export const READ_MARKET_IDS = `select ${textOf('market')}, market_id from markets order by market`
