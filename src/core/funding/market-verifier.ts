import type { AuctionEvent, FundingPeriodDataPointEvent, FundingPeriodEvent } from '../events/event.ts'
import { enterAuction, forgetClosedAuctions, leaveAuction, noAuctions } from './auctions.ts'
import { createPlainTwap, plainMean } from './plain-formula.ts'
import { carriedOver, type PricePoint } from './point-list.ts'
import { createRunningSum } from './running-sum.ts'
import type { SourceTwap, TwapPeriod } from './source-twap.ts'
import { wholeSecond } from './whole-second.ts'

/** How means are calculated: by the plain formula, or by a running sum as in the core (docs/twap.md). */
export type TwapMethod = 'plain-formula' | 'running-sum'

/** A TWAP as it was sent, and as it should be; null if there is none. */
export type TwapVerdict = {
  sent: string | null
  expected: string | null
  agrees: boolean
  /** Whether it matches a core that has refused a message. A refusal leaves no event. */
  followsRefusal?: true
}

/** The verified TWAPs of a period that ends or begins, by the number of their source. */
export type PeriodVerdict = { 1: TwapVerdict; 2: TwapVerdict }

/** Recalculates the TWAPs of one market from its events, in the order of the stream. */
export type MarketVerifier = {
  auction(event: AuctionEvent): void
  /**
   * Verifies a data point. Null before the first period whose beginning was seen, and for points of another period than the
   * running one.
   */
  point(event: FundingPeriodDataPointEvent): TwapVerdict | null
  /** Verifies a period that ends or begins. Null if its beginning, or that of the previous one, was not seen. */
  period(event: FundingPeriodEvent): PeriodVerdict | null
  /**
   * Must be called if the core sent market data in a block with this time (Unix nanoseconds): it has calculated the means
   * at that second, on which the running sum depends.
   */
  marketDataSent(blockTime: bigint): void
  /** The running period, or the one that the last event has ended; null if no beginning was seen. */
  running(): CurrentPeriod | null
  /** Must be called if events are missing: nothing is verified until the next period begins. */
  forget(): void
}

const TWAP_METHODS: Record<TwapMethod, (period: TwapPeriod) => SourceTwap> = {
  'plain-formula': createPlainTwap,
  'running-sum': createRunningSum,
}

/** The running period, with the points and means of its two sources. */
export type CurrentPeriod = TwapPeriod & {
  seq: bigint
  internal: SourceTwap
  external: SourceTwap
}

/**
 * Creates the verifier of one perpetual market. Its events may be from event files or from stored rows, but must be in the
 * order of block height and event index. An auction's start and end are those in its own event, which are times of the
 * block in which the core sent it. An auction that was in progress before the first event is unknown.
 */
export function createMarketVerifier(method: TwapMethod): MarketVerifier {
  const createSource = TWAP_METHODS[method]
  let auctions = noAuctions()
  let current: CurrentPeriod | null = null
  /** Internal points sent before the first period. They belong to it, without new events. */
  let early: PricePoint[] = []

  function newPeriod(seq: bigint, start: bigint): CurrentPeriod {
    const period = { start, auctions }
    return { ...period, seq, internal: createSource(period), external: createSource(period) }
  }

  function auction(event: AuctionEvent): void {
    if (event.openingAuction) return
    if (event.leave) leaveAuction(auctions, wholeSecond(event.end))
    else enterAuction(auctions, wholeSecond(event.start))
  }

  function close(event: FundingPeriodEvent, end: bigint): PeriodVerdict | null {
    early = []
    if (current === null || current.seq !== event.seq) return null
    return {
      1: closingVerdict(event.externalTwap, current.external, end),
      2: closingVerdict(event.internalTwap, current.internal, end),
    }
  }

  function open(event: FundingPeriodEvent): PeriodVerdict | null {
    const before = current
    if (event.seq === 0n) auctions = noAuctions()
    else forgetClosedAuctions(auctions)
    current = newPeriod(event.seq, event.start)
    for (const point of early) current.internal.add(point)
    early = []
    if (before === null || before.seq + 1n !== event.seq) return null
    return {
      1: verdict(event.externalTwap, openingMean(before.external, current)),
      2: verdict(event.internalTwap, openingMean(before.internal, current)),
    }
  }

  function takePoint(event: FundingPeriodDataPointEvent): TwapVerdict | null {
    if (!/^\d+$/.test(event.price)) {
      forget()
      return null
    }
    const point = { time: event.timestamp, price: BigInt(event.price) }
    if (current === null) {
      if (event.seq === 0n && event.source === 2) early.push(point)
      return null
    }
    if (current.seq !== event.seq || event.source === 0) return null
    const source = event.source === 1 ? current.external : current.internal
    return verdict(event.twap, source.add(point))
  }

  function marketDataSent(blockTime: bigint): void {
    current?.internal.meanAt(wholeSecond(blockTime))
    current?.external.meanAt(wholeSecond(blockTime))
  }

  function forget(): void {
    auctions = noAuctions()
    current = null
    early = []
  }

  return {
    auction,
    point: takePoint,
    period: (event) => (event.end === null ? open(event) : close(event, event.end)),
    marketDataSent,
    running: () => current,
    forget,
  }
}

/** The TWAP at the start of a period, from the points carried over from the previous one. */
function openingMean(before: SourceTwap, period: TwapPeriod): bigint | null {
  return plainMean(carriedOver(before.points, period.start), period, period.start)
}

function closingVerdict(sent: string | null, source: SourceTwap, end: bigint): TwapVerdict {
  const plain = verdict(sent, source.meanAt(end))
  if (plain.agrees || sent === null) return plain
  return source.meanAfterRefusal?.(end)?.toString() === sent ? { ...plain, followsRefusal: true } : plain
}

function verdict(sent: string | null, mean: bigint | null): TwapVerdict {
  const expected = mean === null ? null : mean.toString()
  return { sent, expected, agrees: sent === expected }
}
