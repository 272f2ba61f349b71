import type { Resource } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'

/** The table whose rows name the markets of a resource: that of all markets' numbers, if its own rows have only those. */
function tableNamingMarkets({ name, storage, filters }: Resource): string {
  if (storage.marketColumn === 'market') return 'markets'
  if (storage.marketColumn === undefined && !filters.some(({ name }) => name === 'marketId'))
    throw new TypeError(`${name}: its rows name no market`)
  return storage.table
}

/**
 * Finds the next market of a resource's rows by market id, after a given one or at it; null for the first one. Markets are
 * sorted by id, not by number. Null if there is none. A market may have no rows any more, if its data points were deleted.
 */
export function* readNextMarket(
  resource: Resource,
  from: { marketId: string; inclusive: boolean } | null,
  descending: boolean,
): Query<string | null> {
  const operator = `${descending ? '<' : '>'}${from?.inclusive === true ? '=' : ''}`
  const [row] = yield {
    text: `select ${descending ? 'max' : 'min'}(market_id) from ${tableNamingMarkets(resource)}
      ${from === null ? '' : `where market_id ${operator} $1`}`,
    values: from === null ? [] : [from.marketId],
  }
  return row?.[0] == null ? null : String(row[0])
}
