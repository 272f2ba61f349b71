import { timeOutsideAuctions } from './auctions.ts'
import { type FundingPayment, type FundingTerms, fundingPayment } from './payment.ts'
import type { TwapPeriod } from './source-twap.ts'

/** The TWAPs of a running period so far; null if its source has no point yet. */
type RunningTwaps = { internalTwap: bigint | null; externalTwap: bigint | null }

/** The payment of a running period if it ended at `at`. Times are Unix nanoseconds. */
export type FundingEstimate = FundingPayment & {
  seq: bigint
  start: bigint
  at: bigint
  internalTwap: bigint
  externalTwap: bigint
}

/**
 * Estimates the payment of a period that ends at `at`, from its TWAPs up to then (docs/funding.md). Null if a TWAP is
 * missing, or if `at` is before the period.
 */
export function estimateFromTwaps(
  { seq, start, auctions }: TwapPeriod & { seq: bigint },
  { internalTwap, externalTwap }: RunningTwaps,
  at: bigint,
  terms: FundingTerms,
): FundingEstimate | null {
  if (internalTwap === null || externalTwap === null || at < start) return null
  const timeInAuctions = at - start - timeOutsideAuctions(auctions, start, at)
  const paid = fundingPayment({ internalTwap, externalTwap, start, end: at, timeInAuctions }, terms)
  return { seq, start, at, internalTwap, externalTwap, ...paid }
}
