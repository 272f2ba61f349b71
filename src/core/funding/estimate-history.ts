import { type Auctions, enterAuction, leaveAuction } from './auctions.ts'
import { estimateFromTwaps } from './estimate.ts'
import type { FundingPayment, FundingTerms } from './payment.ts'
import { RunningSum } from './running-sum.ts'

/** What changes the TWAPs of a running period, in the order of the stream; times are Unix nanoseconds. */
export type PeriodEvent =
  | { kind: 'point'; source: 'internal' | 'external'; time: bigint; price: bigint }
  | AuctionChange

/** An auction has begun or ended, at a whole second. */
export type AuctionChange = { kind: 'auction'; hasEnded: boolean; time: bigint }

/** A period, and the market's auctions when it began. */
type HistoricPeriod = {
  seq: bigint
  start: bigint
  /** Null while it runs. */
  end: bigint | null
  /** Changed as the period's own auctions begin and end. */
  auctions: Auctions
}

/** The TWAPs of a period up to a time, and what it would have paid then; null if it is not known. */
export type EstimateAt = {
  time: bigint
  internalTwap: bigint | null
  externalTwap: bigint | null
  payment: FundingPayment | null
}

/** Records that an auction has begun or ended. */
export function changeAuctions(auctions: Auctions, { hasEnded, time }: AuctionChange): void {
  if (hasEnded) leaveAuction(auctions, time)
  else enterAuction(auctions, time)
}

/**
 * The estimates of a period at each time of a point, from its start on, and at its end, where the estimate is the payment. One
 * for each time, ascending: the one after the last point of that time.
 *
 * @param terms those of the market; null if they are not known
 * @param isWanted whether the estimate of a time is needed
 */
export function estimatesOf(
  period: HistoricPeriod,
  events: readonly PeriodEvent[],
  terms: FundingTerms | null,
  isWanted: (time: bigint) => boolean,
): EstimateAt[] {
  const { start, end } = period
  const twaps = { internal: new RunningSum(period), external: new RunningSum(period) }
  const estimates = new Map<bigint, EstimateAt>()
  for (const event of events) {
    if (event.kind === 'auction') {
      changeAuctions(period.auctions, event)
      continue
    }
    const { source, time } = event
    twaps[source].add(event)
    if (time >= start && (end === null || time < end) && isWanted(time))
      estimates.set(time, estimateAt(time, period, twaps, terms))
  }
  if (end !== null && end >= start && isWanted(end)) estimates.set(end, estimateAt(end, period, twaps, terms))
  return [...estimates.values()].sort((a, b) => (a.time < b.time ? -1 : 1))
}

function estimateAt(
  time: bigint,
  period: HistoricPeriod,
  { internal, external }: { internal: RunningSum; external: RunningSum },
  terms: FundingTerms | null,
): EstimateAt {
  // The mean before a later point depends on when the core has calculated means, which no row says.
  const isKnown = [internal, external].every(({ points }) => (points.at(-1)?.time ?? time) <= time)
  if (!isKnown) return unknownEstimate(time)
  const twaps = { internalTwap: internal.meanAt(time), externalTwap: external.meanAt(time) }
  const payment = terms === null ? null : estimateFromTwaps(period, twaps, time, terms)
  return { time, ...twaps, payment }
}

/** The estimate of a time for which something is missing. */
export function unknownEstimate(time: bigint): EstimateAt {
  return { time, internalTwap: null, externalTwap: null, payment: null }
}
