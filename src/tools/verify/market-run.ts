import type { EventPosition } from '#core/domain/event-position'
import type {
  AuctionEvent,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  MarketDataEvent,
} from '#core/events/event'
import { MarketVerifier, type TwapMethod } from '#core/funding/market-verifier'
import { FundingRun } from './funding-run.ts'
import type { SourceReasons, UnknownInputs, UnknownReason } from './judgements.ts'
import type { ParameterSource } from './parameters.ts'
import type { Tally } from './tally.ts'
import { type LastTimes, TwapJudge } from './twap-judge.ts'

type MarketRunOptions = {
  marketId: string
  method: TwapMethod
  tally: Tally
  /** Whether the run receives all market data that the core has sent. */
  knowsMarketData: boolean
  parametersOf: ParameterSource
}

/** The points of a market's running period, or of the one that the last event has ended. */
class PeriodPoints {
  readonly seq: bigint
  readonly #start: bigint
  /** The times of the first and the last point of the external and the internal source; null before its first point. */
  readonly #times: [external: PointTimes | null, internal: PointTimes | null] = [null, null]

  constructor({ seq, start }: FundingPeriodEvent) {
    this.seq = seq
    this.#start = start
  }

  /** The time of the last point of each source. */
  get lastTimes(): LastTimes {
    const [external, internal] = this.#times
    return [external?.last ?? null, internal?.last ?? null]
  }

  /** Whether the TWAP of a point, which is not added yet, is a mean over some time, not only its own price. */
  isMean(source: 1 | 2, timestamp: bigint): boolean {
    const times = this.#times[source - 1] ?? null
    return times !== null && timestamp > times.first && timestamp > this.#start
  }

  add(source: 1 | 2, timestamp: bigint): void {
    const times = this.#times[source - 1] ?? { first: timestamp, last: timestamp }
    this.#times[source - 1] = {
      first: timestamp < times.first ? timestamp : times.first,
      last: timestamp > times.last ? timestamp : times.last,
    }
  }
}

type PointTimes = { first: bigint; last: bigint }

/**
 * Whether it is known if there was an auction when the running period began. An event of an auction tells for all later
 * periods. In the period itself a TWAP may tell.
 */
class AuctionKnowledge {
  #isKnown = false
  /** Whether an auction has begun or ended since events were last missing. */
  #hasSeenAuction = false

  /** Null if it is known. */
  get unknown(): UnknownReason | null {
    return this.#isKnown ? null : 'auctions unknown'
  }

  seeAuction({ openingAuction }: AuctionEvent): void {
    if (!openingAuction) this.#hasSeenAuction = true
  }

  /** The first period begins without an auction. */
  seePeriod(seq: bigint): void {
    this.#isKnown ||= seq === 0n || this.#hasSeenAuction
  }

  /**
   * Takes a TWAP over some time. It is 0 if all of that time was in an auction. A TWAP other than 0 therefore proves that
   * there was no auction, if none has begun or ended since.
   */
  seeMean(twap: string): void {
    if (!this.#hasSeenAuction && twap !== '0') this.#isKnown = true
  }

  forget(): void {
    this.#isKnown = false
    this.#hasSeenAuction = false
  }
}

/** The beginning of a period. */
type Beginning = {
  unknownPoints?: SourceReasons
  /** Whether its event is of the beginning, with the opening TWAPs, and not made from a later one; true by default. */
  hasOpeningTwaps?: boolean
}

/**
 * Follows the events of one market, and passes on its TWAPs (twap-judge.ts), payments and estimates (funding-run.ts) to be
 * judged. The methods must be called in the order of the stream, and do not throw.
 */
export class MarketRun {
  readonly #verifier: MarketVerifier
  readonly #judge: TwapJudge
  readonly #funding: FundingRun
  /** Null before the first period, and once events are missing. */
  #period: PeriodPoints | null = null
  readonly #auctions = new AuctionKnowledge()
  /** Why points of the running period are unknown. */
  #unknownPoints: SourceReasons = [null, null]
  /** Why the beginning of a period is unknown. */
  #unknownBeginning: UnknownReason = 'events missing'

  constructor(options: MarketRunOptions) {
    this.#verifier = new MarketVerifier(options.method)
    this.#judge = new TwapJudge(options)
    this.#funding = new FundingRun(options)
  }

  /** Takes the beginning or end of an auction. */
  auction(event: AuctionEvent): void {
    this.#auctions.seeAuction(event)
    this.#verifier.auction(event)
  }

  /** Takes the beginning of a period, and judges its opening TWAPs if they are there. */
  open(
    event: FundingPeriodEvent,
    position: EventPosition,
    { unknownPoints = [null, null], hasOpeningTwaps = true }: Beginning = {},
  ): void {
    const verdicts = this.#verifier.period(event)
    this.#period = new PeriodPoints(event)
    // The carried-over point belongs to the previous period.
    const [external, internal] = this.#unknownPoints
    this.#unknownPoints = [external ?? unknownPoints[0], internal ?? unknownPoints[1]]
    this.#judge.beginPeriod()
    this.#auctions.seePeriod(event.seq)
    for (const twap of [event.internalTwap, event.externalTwap]) {
      if (twap !== null) this.#auctions.seeMean(twap)
    }
    if (hasOpeningTwaps) this.#judge.opening({ event, position, verdicts }, this.#unknownInputs())
    this.#unknownPoints = unknownPoints
  }

  /** Takes the end of a period, and judges its closing TWAPs, its payment and its rate. Must be called after its points. */
  close(event: FundingPeriodEvent, position: EventPosition): void {
    const verdicts = this.#verifier.period(event)
    const lastTimes = this.#period?.lastTimes ?? [null, null]
    const inputs = this.#unknownInputs()
    this.#judge.closing({ event, position, verdicts }, lastTimes, inputs)
    this.#funding.closed(event, position, this.#verifier.running, inputs)
  }

  /** Takes a data point, and judges its TWAP. */
  point(event: FundingPeriodDataPointEvent, position: EventPosition): void {
    const { seq, source, timestamp } = event
    const verdict = this.#verifier.point(event)
    // With such a price the verifier can calculate nothing.
    if (!/^\d+$/.test(event.price)) this.forget()
    // The core sends points of two sources only.
    if (source === 0) {
      this.#judge.pointWithoutSource(seq)
      return
    }
    const period = this.#period?.seq === seq ? this.#period : null
    const isMean = period?.isMean(source, timestamp) ?? false
    if (isMean && verdict !== null) this.#auctions.seeMean(event.twap)
    this.#judge.point({ event, position, source, verdict, isMean }, this.#unknownInputs())
    period?.add(source, timestamp)
  }

  /** Takes market data from a block with this time (Unix nanoseconds), and judges their estimate, if they have one. */
  marketDataSent(event: MarketDataEvent, blockTime: bigint, position: EventPosition): void {
    this.#verifier.marketDataSent(blockTime)
    const running = this.#verifier.running
    const { figures } = event
    if (figures?.isMalformed) this.#funding.unreadable(position, blockTime, running)
    else if (figures?.perpetual) {
      const at = { blockTime, position }
      this.#funding.estimated(figures.perpetual, at, running, this.#unknownInputs())
    }
  }

  /** Must be called if events are missing, with the reason: what depends on them is unknown until a period begins. */
  forget(reason: UnknownReason = 'events missing'): void {
    this.#unknownBeginning = reason
    this.#verifier.forget()
    this.#period = null
    this.#auctions.forget()
  }

  #unknownInputs(): UnknownInputs {
    return {
      points: this.#unknownPoints,
      auctions: this.#auctions.unknown,
      beginning: this.#unknownBeginning,
    }
  }
}
