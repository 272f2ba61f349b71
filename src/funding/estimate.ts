import { noAuctions, timeOutsideAuctions } from './auctions.ts'
import { type FundingPayment, type FundingTerms, fundingPayment } from './payment.ts'
import { plainMean } from './plain-formula.ts'
import { type PricePoint, placePoint } from './point-list.ts'
import type { Period } from './source-twap.ts'
import { wholeSecond } from './whole-second.ts'

/** A funding period that is running, with the points of its two sources, each sorted by time. */
export type RunningPeriod = Period & {
  seq: bigint
  internal: readonly PricePoint[]
  external: readonly PricePoint[]
}

/** The TWAPs of a running period so far; null for a source without points up to now. */
export type RunningTwaps = { internalTwap: bigint | null; externalTwap: bigint | null }

/** What a running period would pay if it ended at `at`. Times are Unix nanoseconds. */
export type FundingEstimate = FundingPayment & {
  seq: bigint
  start: bigint
  at: bigint
  internalTwap: bigint
  externalTwap: bigint
}

/**
 * What a running period would pay if it ended at the second of a block's time (Unix nanoseconds): an estimate, from
 * what is known of the period by that block, by the plain formula of its TWAPs. It takes time linear in the points and
 * auctions. Null where a TWAP is missing, or the block is before the period.
 */
export function estimateFunding(
  period: RunningPeriod,
  blockTime: bigint,
  terms: FundingTerms,
): FundingEstimate | null {
  const at = wholeSecond(blockTime)
  const twaps = {
    internalTwap: plainMean(period.internal, period, at),
    externalTwap: plainMean(period.external, period, at),
  }
  return estimateFromTwaps(period, twaps, at, terms)
}

/** The same from TWAPs up to `at`, however they came about. */
export function estimateFromTwaps(
  { seq, start, auctions }: Period & { seq: bigint },
  { internalTwap, externalTwap }: RunningTwaps,
  at: bigint,
  terms: FundingTerms,
): FundingEstimate | null {
  if (internalTwap === null || externalTwap === null || at < start) return null
  const timeInAuctions = at - start - timeOutsideAuctions(auctions, start, at)
  const paid = fundingPayment({ internalTwap, externalTwap, start, end: at, timeInAuctions }, terms)
  return { seq, start, at, internalTwap, externalTwap, ...paid }
}

/**
 * A running period from its data points, those carried over from the period before with them, in the order of the
 * stream, and from the auctions that were in progress when it began or have begun since.
 */
export function runningPeriod({
  seq,
  start,
  points,
  auctions = noAuctions(),
}: Pick<RunningPeriod, 'seq' | 'start'> & {
  points: Iterable<PricePoint & { source: 'internal' | 'external' }>
  auctions?: RunningPeriod['auctions']
}): RunningPeriod {
  const internal: PricePoint[] = []
  const external: PricePoint[] = []
  for (const { source, time, price } of points) {
    placePoint(source === 'internal' ? internal : external, start, { time, price })
  }
  return { seq, start, auctions, internal, external }
}
