import type { Row } from '../../../model/resource.ts'
import type { PageQuery } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'

/** The markets of a page, in the direction of reading. */
export type MarketPage = { ids: string[]; more: boolean; hasRowsAtOrBefore: boolean }

/** Reads a page of the markets that any row names. */
export function* readMarketPage(query: PageQuery): Query<MarketPage> {
  const { limit } = query
  const ids = yield* pageMarkets(query)
  const hasRowsAtOrBefore = yield* isAnyAtOrBefore(query)
  return { ids: ids.slice(0, limit), more: ids.length > limit, hasRowsAtOrBefore }
}

/** The markets of a page, in the direction of reading, and one more if more follow. */
function* pageMarkets({ selection: { marketId }, descending, cursor, limit }: PageQuery): Query<string[]> {
  // A request for one market has a cursor of that market, which nothing follows.
  if (marketId !== undefined && cursor !== null) return []
  const start = marketId ?? (cursor?.[0] as string | undefined)
  const next = descending ? '<' : '>'
  const operator = marketId === undefined ? next : '='
  const rows: Row[] = yield {
    text: `select market_id from markets ${start === undefined ? '' : `where market_id ${operator} $2`}
      order by market_id ${descending ? 'desc' : 'asc'} limit $1`,
    values: [BigInt(limit + 1), ...(start === undefined ? [] : [start])],
  }
  return rows.map(([id]) => String(id))
}

/** Whether there is a market at or before the cursor, in the direction of reading. */
function* isAnyAtOrBefore({ selection: { marketId }, descending, cursor }: PageQuery): Query<boolean> {
  if (cursor === null) return false
  const passed = descending ? '>=' : '<='
  const operator = marketId === undefined ? passed : '='
  const rows: Row[] = yield {
    text: `select 1 from markets where market_id ${operator} $1 limit 1`,
    values: [cursor[0] as string],
  }
  return rows.length > 0
}
