import type { Instrument, MarketData, MarketSummary } from 'lyra-client'
import { nextPayment } from '../../../src/core/domain/market-figures.ts'
import { lyra } from './lyra.ts'

/** Markets are read so many at a time, so many times at most. */
const PAGE_ROWS = 1_000
const MAX_PAGES = 5

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

/** A market's state and trading mode, by its latest market data or, without those, its older instrument. */
export type MarketStatus = Pick<MarketData, 'tradingMode'> & {
  state: MarketData['marketState']
  hasEnded: boolean
  /** The time of the market data, Unix nanoseconds as text; null without. */
  at: string | null
}

export function marketStatusOf({
  instrument,
  marketData,
}: Pick<MarketSummary, 'instrument' | 'marketData'>): MarketStatus | null {
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
  if (marketStatusOf(summary)?.hasEnded) return null
  if (estimate !== null) return { text: estimate.fundingRate, at: estimate.at }
  return lastPaidPeriod?.fundingRate === undefined ? null : { text: lastPaidPeriod.fundingRate, at: null }
}

/** When the market pays next after a time, Unix nanoseconds; null for one that has ended, or has no schedule. */
export function nextPaymentOf(summary: MarketSummary, after: bigint): bigint | null {
  if (marketStatusOf(summary)?.hasEnded) return null
  return nextPayment(summary.instrument?.funding?.schedule, after)
}
