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

/** The verified TWAPs of an event: one of a data point, two of a period that closes or opens. */
export type Verdict =
  | { of: 'data-point'; twap: TwapVerdict }
  | { of: 'period-closed' | 'period-opened'; internalTwap: TwapVerdict; externalTwap: TwapVerdict }

/** The events of a market that bear on its TWAPs. */
export type TwapEvent = FundingPeriodEvent | FundingPeriodDataPointEvent | AuctionEvent

/** Recomputes the TWAPs of one market from its events, given in the order of the stream. */
export type MarketVerifier = {
  /**
   * Takes the market's next event. Returns null for auctions, for points and periods before the first period seen to
   * open, and for points of another period than the running one.
   */
  take(event: TwapEvent): Verdict | null
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

  function takeAuction(event: AuctionEvent): null {
    if (event.openingAuction) return null
    if (event.leave) leaveAuction(auctions, wholeSecond(event.end))
    else enterAuction(auctions, wholeSecond(event.start))
    return null
  }

  function close(event: FundingPeriodEvent, end: bigint): Verdict | null {
    early = []
    if (current === null || current.seq !== event.seq) return null
    return {
      of: 'period-closed',
      internalTwap: closingVerdict(event.internalTwap, current.internal, end),
      externalTwap: closingVerdict(event.externalTwap, current.external, end),
    }
  }

  function open(event: FundingPeriodEvent): Verdict | null {
    const before = current
    if (event.seq === 0n) auctions = noAuctions()
    else forgetClosedAuctions(auctions)
    current = newPeriod(event.seq, event.start)
    for (const point of early) current.internal.add(point)
    early = []
    if (before === null || before.seq + 1n !== event.seq) return null
    return {
      of: 'period-opened',
      internalTwap: verdict(event.internalTwap, openingMean(before.internal, current)),
      externalTwap: verdict(event.externalTwap, openingMean(before.external, current)),
    }
  }

  function takePoint(event: FundingPeriodDataPointEvent): Verdict | null {
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
    return { of: 'data-point', twap: verdict(event.twap, source.add(point)) }
  }

  function take(event: TwapEvent): Verdict | null {
    switch (event.kind) {
      case 'auction':
        return takeAuction(event)
      case 'funding-period':
        return event.end === null ? open(event) : close(event, event.end)
      case 'funding-period-data-point':
        return takePoint(event)
    }
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

  return { take, marketDataSent, running: () => current, forget }
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
