import type { Resource, Row } from '../resources/resource.ts'
import type { Statement } from './page-statement.ts'

/** The table whose rows name the markets of a resource: of data points, whose rows have numbers for them, the numbers'. */
function namerOf({ name, storage, filters }: Resource): string {
  if (storage.scopeBy === 'number') return 'markets'
  if (storage.scopeBy !== 'id' && !filters.includes('marketId'))
    throw new TypeError(`${name}: its rows name no market`)
  return storage.table
}

/**
 * Finds the next market that rows of a resource name, by market id, after one or from it on; null: from the first one
 * on. Markets stand in the order of their ids, which is not that of their numbers. Null where there is none; some rows of
 * data points may have been deleted since, so that a market has none left.
 */
export function* readNextMarket(
  resource: Resource,
  from: { marketId: string; inclusive: boolean } | null,
  descending: boolean,
): Generator<Statement, string | null, Row[]> {
  const operator = `${descending ? '<' : '>'}${from?.inclusive === true ? '=' : ''}`
  const [row] = yield {
    text: `select ${descending ? 'max' : 'min'}(market_id) from ${namerOf(resource)}
      ${from === null ? '' : `where market_id ${operator} $1`}`,
    values: from === null ? [] : [from.marketId],
  }
  return row?.[0] == null ? null : String(row[0])
}
