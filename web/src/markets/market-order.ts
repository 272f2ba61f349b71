import type { MarketSummary } from 'lyra-client'
import { type Decimal, parseDecimal } from '../figures/decimal.ts'
import { type Sorting, sortRows } from '../parts/tables/sorting.ts'
import { marketLabel } from '../service/instruments.ts'
import { currentRate, marketStatusOf, nextPaymentOf } from '../service/summary.ts'
import { averageOn, pricePremiumOf, type RateBasis, rateOn } from './rates.ts'

/** What markets are sorted by. */
export const SORTS = [
  'market',
  'rate',
  'next',
  'paid',
  '24h',
  '7d',
  '30d',
  'premium',
  'price',
  'providers',
  'state',
] as const

export type Sort = (typeof SORTS)[number]

/** An order of markets; rates are compared on a basis, the next payments are those after the last block. */
export type MarketSorting = Sorting<Sort> & { basis: RateBasis; last: bigint }

/** A column's sort key: a number or a text; null is last. */
function keyOf(summary: MarketSummary, { column, basis, last }: MarketSorting): Decimal | string | null {
  const rate = currentRate(summary)
  const status = marketStatusOf(summary)
  switch (column) {
    case 'market':
      return marketLabel(summary.marketId)
    case 'rate':
      return rate === null ? null : rateOn(basis, summary, rate.text)
    case 'next': {
      const due = nextPaymentOf(summary, last)
      return due === null ? null : { digits: due, scale: 0 }
    }
    case 'paid':
      return rateOn(basis, summary, summary.lastPaidPeriod?.fundingRate ?? '')
    case '24h':
    case '7d':
    case '30d':
      return averageOn(basis, summary, column)
    case 'premium':
      return pricePremiumOf(summary)
    case 'price':
      return parseDecimal(summary.lastExternalPoint?.price ?? '')
    case 'providers':
      return parseDecimal(summary.providers)
    case 'state':
      return status === null ? null : `${status.state} ${status.tradingMode}`
  }
}

/** Markets in the order of a column; those without its figure last, equal ones by name and id. */
export function sortSummaries(summaries: readonly MarketSummary[], sorting: MarketSorting): MarketSummary[] {
  return sortRows(
    summaries,
    sorting.descending,
    (summary) => keyOf(summary, sorting),
    ({ marketId }) => `${marketLabel(marketId)} ${marketId}`,
  )
}
