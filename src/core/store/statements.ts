/* Statements with the same text on every database. `$n` are positions; upserts only write a row if its event is not older than that of the stored row. */

/**
 * A column as text, under another name: in `order by` the column's own name would mean the text. A table's name before it does not
 * help, because a cluster leaves that out when it sends the statement to a machine.
 */
export const textOf = (column: string) => `cast(${column} as text) as ${column.replace('.', '_')}_text`

/** The number of a market, by its id. */
export const FIND_MARKET = 'select market from markets where market_id = $1'

/** The number and id of each market, by number. */
export const READ_MARKET_IDS = `select ${textOf('market')}, market_id from markets order by market`
