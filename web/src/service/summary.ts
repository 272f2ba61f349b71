import type { Instrument, MarketData, MarketSummary } from 'lyra-client'
import { nextPayment, pricePremium } from '../../../src/core/domain/market-figures.ts'
import { type Decimal, parseDecimal } from '../figures/decimal.ts'
import { type Sorting, sortRows } from '../parts/sorting.ts'
import { lengthOf, RATE_SPANS, rateFor, readPeriod } from '../periods/period.ts'
import { marketLabel } from './instruments.ts'
import { lyra } from './lyra.ts'

/** Markets are read so many at a time, so many times at most. */
const PAGE_ROWS = 1_000
const MAX_PAGES = 5

/** Markets that are compared at most: more lines cannot be distinguished. */
export const MOST_COMPARED = 6

/** The address of the first page of summaries. */
export const SUMMARIES_URL = `${location.origin}/api/v2/market-summaries?pagination.first=${PAGE_ROWS}`

export async function askSummaries(signal: AbortSignal): Promise<MarketSummary[]> {
  const summaries: MarketSummary[] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { rows, pageInfo } = await lyra.marketSummariesPage({}, { first: PAGE_ROWS, after, signal })
    summaries.push(...rows.map(({ node }) => node))
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor
  }
  return summaries
}

/** States in which a market pays no funding any more. */
const ENDED: readonly string[] = [
  'STATE_REJECTED',
  'STATE_CANCELLED',
  'STATE_TRADING_TERMINATED',
  'STATE_CLOSED',
  'STATE_SETTLED',
]

/** How a market stands: by its latest market data or, without those, its older instrument. */
export type Standing = Pick<MarketData, 'tradingMode'> & {
  state: MarketData['marketState']
  hasEnded: boolean
  /** The time of the market data, Unix nanoseconds as text; null without. */
  at: string | null
}

export function standingOf({
  instrument,
  marketData,
}: Pick<MarketSummary, 'instrument' | 'marketData'>): Standing | null {
  const state = marketData?.marketState ?? instrument?.state
  const tradingMode = marketData?.tradingMode ?? instrument?.tradingMode
  if (state === undefined || tradingMode === undefined) return null
  return { state, tradingMode, hasEnded: ENDED.includes(state), at: marketData?.timestamp ?? null }
}

/** Why a market pays no funding: only perpetual ones do; null if it does, or that is not known. */
export function whyNoFunding(instrument: Instrument | null): string | null {
  switch (instrument?.product) {
    case 'PRODUCT_FUTURE':
      return 'no funding: a dated future'
    case 'PRODUCT_SPOT':
      return 'no funding: a spot market'
    default:
      return null
  }
}

/** A rate, and the time of the market data whose estimate it is; null if it is that of the last paid period. */
export type CurrentRate = { text: string; at: string | null }

/** The running period's estimated rate, or the last paid one. Null for a market that has ended. */
export function currentRate(summary: MarketSummary): CurrentRate | null {
  const { estimate, lastPaidPeriod } = summary
  if (standingOf(summary)?.hasEnded) return null
  if (estimate !== null) return { text: estimate.fundingRate, at: estimate.at }
  return lastPaidPeriod?.fundingRate === undefined ? null : { text: lastPaidPeriod.fundingRate, at: null }
}

/** The length by which rates are scaled: that of the last paid period, or by the schedule of the first; nanoseconds. */
export function paidLength({ lastPaidPeriod, runningPeriod, instrument }: MarketSummary): bigint | null {
  if (lastPaidPeriod !== null) return lengthOf(readPeriod(lastPaidPeriod))
  if (runningPeriod === null) return null
  const start = BigInt(runningPeriod.start)
  const end = nextPayment(instrument?.funding?.schedule, start)
  return end === null ? null : end - start
}

/** What rates are shown for: a period of the market, whatever its length, or a span. */
export const RATE_BASES = { period: 'period', '8h': '8 hours', year: 'year' } as const

export type RateBasis = keyof typeof RATE_BASES

/** A rate of the market's periods for a basis. */
export function rateOn(basis: RateBasis, summary: MarketSummary, rate: string): Decimal | null {
  return basis === 'period' ? parseDecimal(rate) : rateFor(RATE_SPANS[basis], rate, paidLength(summary))
}

/** An average rate of the market, which the API gives per 8 hours, for a basis. */
export function averageOn(
  basis: RateBasis,
  summary: MarketSummary,
  window: keyof MarketSummary['averages'],
): Decimal | null {
  const span = basis === 'period' ? paidLength(summary) : RATE_SPANS[basis]
  return span === null ? null : rateFor(span, summary.averages[window], RATE_SPANS['8h'])
}

/** When the market pays next after a time, Unix nanoseconds; null for one that has ended, or has no schedule. */
export function nextPaymentOf(summary: MarketSummary, after: bigint): bigint | null {
  if (standingOf(summary)?.hasEnded) return null
  return nextPayment(summary.instrument?.funding?.schedule, after)
}

/** The price premium by the last prices; null if one is missing. */
export function pricePremiumOf({ lastExternalPoint, lastInternalPoint }: MarketSummary): Decimal | null {
  if (lastExternalPoint === null || lastInternalPoint === null) return null
  return pricePremium(lastInternalPoint.price, lastExternalPoint.price)
}

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
  const standing = standingOf(summary)
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
      return standing === null ? null : `${standing.state} ${standing.tradingMode}`
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
