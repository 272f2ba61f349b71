import type { Resource } from '../../model/resource.ts'
import type { Query } from '../pages/page.ts'

/** The table whose rows name the markets of a resource: of data points, whose rows have numbers for them, the numbers'. */
function namerOf({ name, storage, filters }: Resource): string {
  if (storage.scopeBy === 'number') return 'markets'
  if (storage.scopeBy !== 'id' && !filters.some(({ name }) => name === 'marketId'))
    throw new TypeError(`${name}: its rows name no market`)
  return storage.table
}

/**
 * Finds the next market of a resource's rows by market id, after or from a given one; null: from the first. Markets are
 * sorted by id, not by number. Null if there is none. Data points may have been deleted since, so a market may have no
 * rows left.
 */
export function* readNextMarket(
  resource: Resource,
  from: { marketId: string; inclusive: boolean } | null,
  descending: boolean,
): Query<string | null> {
  const operator = `${descending ? '<' : '>'}${from?.inclusive === true ? '=' : ''}`
  const [row] = yield {
    text: `select ${descending ? 'max' : 'min'}(market_id) from ${namerOf(resource)}
      ${from === null ? '' : `where market_id ${operator} $1`}`,
    values: from === null ? [] : [from.marketId],
  }
  return row?.[0] == null ? null : String(row[0])
}
