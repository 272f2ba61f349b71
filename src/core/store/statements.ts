/* Statements with the same text on every database. `$n` are positions; upserts only write a row if its event is not older than that of the stored row. */

/**
 * A column as text, under another name: in `order by` the column's own name would mean the text. A table's name before it does not
 * help, because a cluster leaves that out when it sends the statement to a machine.
 */
export const textOf = (column: string) => `cast(${column} as text) as ${column.replace('.', '_')}_text`

/** The number of a market, by its id. */
export const FIND_MARKET = 'select market from markets where market_id = $1'

export const READ_MARKET_IDS = `select ${textOf('market')}, market_id from markets order by market`

/** Notes the start of a period beside its points, whose series depend on it. */
export const WRITE_START =
  'update funding_period_spans set start_timestamp = $3 where market = $1 and seq = $2'

export const READ_POSITION = `
  select cast(height as text), cast(timestamp as text) from stream`

export const READ_STREAM = `
  select chain_id, cast(first_height as text), cast(began_height as text), block_one_hashes,
    cast(height as text), cast(timestamp as text)
  from stream`

export const READ_GAPS = `
  select ${textOf('from_height')}, cast(to_height as text), kind from gaps order by from_height`

export const READ_SINCE = 'select resource, cast(height as text) from since order by resource'

export const READ_IMPORTED = `
  select ${textOf('from_height')}, cast(to_height as text), lacks from imported order by from_height`

export const READ_ACCEPTED = `
  select ${textOf('from_height')}, cast(to_height as text) from accepted_gaps order by from_height`

/** Blocks in gaps above the height that the store began with: below it history may still be added. */
export const COUNT_MISSING_BLOCKS = `
  select cast(coalesce(sum(to_height - from_height + 1), 0) as text) from gaps
  where from_height >= (select began_height from stream)`

export const READ_PRUNED = `
  select cast(before_timestamp as text), cast(before_height as text) from pruned`
