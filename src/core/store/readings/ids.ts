import type { Reading } from '../pages/page.ts'
import { FIND_MARKET } from '../statements.ts'

/** Columns that together contain every known id, each the first of an index. A party that left is only in the history. */
const COLUMNS = {
  market: ['market_id from markets'],
  party: [
    'party_id from liquidity_providers',
    'party_id from liquidity_provider_history',
    'party_id from funding_payments',
  ],
} as const

export type IdKind = keyof typeof COLUMNS

/** Whether any row names a market. */
export function* isKnownMarket(marketId: string): Reading<boolean> {
  const [row] = yield { text: FIND_MARKET, values: [marketId] }
  return row !== undefined
}

/** The first ids that begin with some digits, two at most. */
export function* findIds(kind: IdKind, digits: string): Reading<string[]> {
  const all = new Set<string>()
  for (const column of COLUMNS[kind]) {
    const [name] = column.split(' ')
    const found: string[] = []
    while (found.length < 2) {
      const last = found.at(-1)
      const [row] = yield {
        text: `select ${column} where ${name} ${last === undefined ? '>=' : '>'} $1 order by ${name} limit 1`,
        values: [last ?? digits],
      }
      const id = row?.[0]
      if (typeof id !== 'string' || !id.startsWith(digits)) break
      found.push(id)
      all.add(id)
    }
  }
  return [...all].sort().slice(0, 2)
}
