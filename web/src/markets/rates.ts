import type { MarketSummary } from 'lyra-client'
import { nextPayment, pricePremium } from '../../../src/core/domain/market-figures.ts'
import { type Decimal, parseDecimal } from '../figures/decimal.ts'
import { lengthOf, RATE_SPANS, rateFor, readPeriod } from '../periods/period.ts'

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

/** The price premium by the last prices; null if one is missing. */
export function pricePremiumOf({ lastExternalPoint, lastInternalPoint }: MarketSummary): Decimal | null {
  if (lastExternalPoint === null || lastInternalPoint === null) return null
  return pricePremium(lastInternalPoint.price, lastExternalPoint.price)
}
