import type { Reading } from '../pages/page.ts'
import { FIND_MARKET } from '../statements.ts'

/** Tables that contain every known id, with an index on them. */
const INDEXES = { market: 'market_id from markets', party: 'party_id from liquidity_providers' } as const

export type IdKind = keyof typeof INDEXES

/** Whether any row names a market. */
export function* isKnownMarket(marketId: string): Reading<boolean> {
  const [row] = yield { text: FIND_MARKET, values: [marketId] }
  return row !== undefined
}

/** The first ids that begin with some digits, two at most. */
export function* findIds(kind: IdKind, digits: string): Reading<string[]> {
  const found: string[] = []
  while (found.length < 2) {
    const last = found.at(-1)
    const [column] = INDEXES[kind].split(' ')
    const [row] = yield {
      text: `select ${INDEXES[kind]} where ${column} ${last === undefined ? '>=' : '>'} $1
        order by ${column} limit 1`,
      values: [last ?? digits],
    }
    const id = row?.[0]
    if (typeof id !== 'string' || !id.startsWith(digits)) break
    found.push(id)
  }
  return found
}
