import type { AuctionEvent, FundingPeriodDataPointEvent, FundingPeriodEvent } from '../events/event.ts'
import { enterAuction, forgetClosedAuctions, leaveAuction, noAuctions } from './auctions.ts'
import { createPlainTwap, plainMean } from './plain-formula.ts'
import { carriedOver, type PricePoint } from './point-list.ts'
import { RunningSum } from './running-sum.ts'
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

const TWAP_METHODS: Record<TwapMethod, (period: TwapPeriod) => SourceTwap> = {
  'plain-formula': createPlainTwap,
  'running-sum': (period) => new RunningSum(period),
}

/** The running period, with the points and means of its two sources. */
export type CurrentPeriod = TwapPeriod & {
  seq: bigint
  internal: SourceTwap
  external: SourceTwap
}

/**
 * Recalculates the TWAPs of one perpetual market from its events. These may be from event files or from stored rows, but must
 * be in the order of block height and event index. An auction's start and end are those in its own event, which are times of
 * the block in which the core sent it. An auction that was in progress before the first event is unknown.
 */
export class MarketVerifier {
  readonly #createSource: (period: TwapPeriod) => SourceTwap
  #auctions = noAuctions()
  #current: CurrentPeriod | null = null
  /** Internal points sent before the first period. They belong to it, without new events. */
  #early: PricePoint[] = []

  constructor(method: TwapMethod) {
    this.#createSource = TWAP_METHODS[method]
  }

  /** The running period, or the one that the last event has ended; null if no beginning was seen. */
  get running(): CurrentPeriod | null {
    return this.#current
  }

  /** Takes the beginning or end of an auction. */
  auction(event: AuctionEvent): void {
    if (event.openingAuction) return
    if (event.leave) leaveAuction(this.#auctions, wholeSecond(event.end))
    else enterAuction(this.#auctions, wholeSecond(event.start))
  }

  /**
   * Verifies a data point. Null before the first period whose beginning was seen, and for points of another period than the
   * running one.
   */
  point(event: FundingPeriodDataPointEvent): TwapVerdict | null {
    if (!/^\d+$/.test(event.price)) {
      this.forget()
      return null
    }
    const current = this.#current
    const point = { time: event.timestamp, price: BigInt(event.price) }
    if (current === null) {
      if (event.seq === 0n && event.source === 2) this.#early.push(point)
      return null
    }
    if (current.seq !== event.seq || event.source === 0) return null
    const source = event.source === 1 ? current.external : current.internal
    return verdict(event.twap, source.add(point))
  }

  /** Verifies a period that ends or begins. Null if its beginning, or that of the previous one, was not seen. */
  period(event: FundingPeriodEvent): PeriodVerdict | null {
    return event.end === null ? this.#open(event) : this.#close(event, event.end)
  }

  /**
   * Must be called if the core sent market data in a block with this time (Unix nanoseconds): it has calculated the means
   * at that second, on which the running sum depends.
   */
  marketDataSent(blockTime: bigint): void {
    this.#current?.internal.meanAt(wholeSecond(blockTime))
    this.#current?.external.meanAt(wholeSecond(blockTime))
  }

  /** Must be called if events are missing: nothing is verified until the next period begins. */
  forget(): void {
    this.#auctions = noAuctions()
    this.#current = null
    this.#early = []
  }

  #close(event: FundingPeriodEvent, end: bigint): PeriodVerdict | null {
    const current = this.#current
    this.#early = []
    if (current === null || current.seq !== event.seq) return null
    return {
      1: closingVerdict(event.externalTwap, current.external, end),
      2: closingVerdict(event.internalTwap, current.internal, end),
    }
  }

  #open(event: FundingPeriodEvent): PeriodVerdict | null {
    const before = this.#current
    if (event.seq === 0n) this.#auctions = noAuctions()
    else forgetClosedAuctions(this.#auctions)
    const current = this.#newPeriod(event.seq, event.start)
    this.#current = current
    for (const point of this.#early) current.internal.add(point)
    this.#early = []
    if (before === null || before.seq + 1n !== event.seq) return null
    return {
      1: verdict(event.externalTwap, openingMean(before.external, current)),
      2: verdict(event.internalTwap, openingMean(before.internal, current)),
    }
  }

  #newPeriod(seq: bigint, start: bigint): CurrentPeriod {
    const period = { start, auctions: this.#auctions }
    return { ...period, seq, internal: this.#createSource(period), external: this.#createSource(period) }
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
