import type { AuctionEvent, FundingPeriodDataPointEvent, FundingPeriodEvent } from '../events/event.ts'
import { enterAuction, forgetClosedAuctions, leaveAuction, noAuctions } from './auctions.ts'
import { createPlainTwap, plainMean } from './plain-formula.ts'
import { carriedOver, type PricePoint } from './point-list.ts'
import { createRunningSum } from './running-sum.ts'
import type { SourceTwap, TwapPeriod } from './source-twap.ts'
import { wholeSecond } from './whole-second.ts'

/** How means are computed: by the plain formula, or by the running sum that the core keeps (docs/twap.md). */
export type TwapMethod = 'plain-formula' | 'running-sum'

/** A TWAP as it was sent, and as it should have been; null if there is none. */
export type TwapVerdict = {
  sent: string | null
  expected: string | null
  agrees: boolean
  /** Whether it matches a core that has refused a message, which leaves no event. */
  followsRefusal?: true
}

/** The verified TWAPs of a period that closes or opens, by the number of their source. */
export type PeriodVerdict = { 1: TwapVerdict; 2: TwapVerdict }

/** Recomputes the TWAPs of one market from its events, given in the order of the stream. */
export type MarketVerifier = {
  auction(event: AuctionEvent): void
  /** Null before the first period seen to open, and for points of another period than the running one. */
  point(event: FundingPeriodDataPointEvent): TwapVerdict | null
  /** A period closes or opens. Null if it, or the one before, was not seen to open. */
  period(event: FundingPeriodEvent): PeriodVerdict | null
  /**
   * The core sent market data in a block of this time (Unix nanoseconds), and so calculated the means at its
   * second. Only the running sum depends on it.
   */
  marketDataSent(blockTime: bigint): void
  /** The running period, or the one that the last event has closed; null if none was seen to open. */
  running(): CurrentPeriod | null
  /** Events are missing here: nothing is verified until the next period opens. */
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
 * Creates the verifier of one perpetual market. The events may come from event files or from stored rows, as
 * long as they come in the order of block height and event index.
 *
 * An auction is taken from the event's own start and end, which are those of the block in which the core
 * sent it; one that was in progress before the first event is not known.
 */
export function createMarketVerifier(method: TwapMethod): MarketVerifier {
  const createSource = TWAP_METHODS[method]
  let auctions = noAuctions()
  let current: CurrentPeriod | null = null
  /** Internal points sent before the first period: they belong to it without new events. */
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

/** The TWAP at the start of a period, of the points carried over from the one before. */
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
