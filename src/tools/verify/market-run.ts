import type { EventPosition } from '#core/domain/event-position'
import type {
  AuctionEvent,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  MarketDataEvent,
} from '#core/events/event'
import { createMarketVerifier, type MarketVerifier, type TwapMethod } from '#core/funding/market-verifier'
import { FundingRun } from './funding-run.ts'
import type { UnknownReason } from './judgements.ts'
import type { ParameterSource } from './parameters.ts'
import type { Tally } from './tally.ts'
import { type LastTimes, type MarketKnowledge, type SourceDoubts, TwapJudge } from './twap-judge.ts'

type MarketRunOptions = {
  marketId: string
  method: TwapMethod
  tally: Tally
  /** Whether the run receives all market data that the core has sent. */
  knowsMarketData: boolean
  parametersOf: ParameterSource
}

/** The times of a source's first and last point in the running period; null before its first point. */
type SourceState = { firstTime: bigint; lastTime: bigint } | null

/** The running period, or the one that the last event has ended. */
type RunningPeriod = {
  seq: bigint
  start: bigint
  sources: [external: SourceState, internal: SourceState]
}

/** What is known of a period that begins. */
type OpeningKnowledge = {
  /** Why points of its sources may be missing. */
  doubts?: SourceDoubts
  /** Whether its own TWAPs are known. */
  isStored?: boolean
}

/**
 * Follows the events of one market, and passes on its TWAPs (twap-judge.ts), payments and estimates (funding-run.ts) to be
 * judged. The methods must be called in the order of the stream, and do not throw.
 */
export class MarketRun {
  readonly #verifier: MarketVerifier
  readonly #judge: TwapJudge
  readonly #funding: FundingRun
  #period: RunningPeriod | null = null
  /** Whether it is known if there was an auction when the period began. */
  #knowsAuctions = false
  /** Whether an auction has begun or ended since the period began. */
  #sawAuction = false
  /** Why points of each source may be missing in the running period. */
  #doubts: SourceDoubts = [null, null]
  /** Why the beginning of a period was not seen. */
  #lost: UnknownReason = 'events missing'

  constructor(options: MarketRunOptions) {
    this.#verifier = createMarketVerifier(options.method)
    this.#judge = new TwapJudge(options)
    this.#funding = new FundingRun(options)
  }

  /** Takes the beginning or end of an auction. */
  auction(event: AuctionEvent): void {
    if (!event.openingAuction) this.#sawAuction = true
    this.#verifier.auction(event)
  }

  /** Takes the beginning of a period. Its opening TWAPs are judged if they are known. */
  open(
    event: FundingPeriodEvent,
    position: EventPosition,
    { doubts = [null, null], isStored = true }: OpeningKnowledge = {},
  ): void {
    const verdicts = this.#verifier.period(event)
    this.#period = { seq: event.seq, start: event.start, sources: [null, null] }
    // The carried-over point belongs to the previous period.
    this.#doubts = [this.#doubts[0] ?? doubts[0], this.#doubts[1] ?? doubts[1]]
    this.#judge.beginPeriod()
    // The first period begins without an auction. In later ones an event shows whether there is one, or a TWAP other than 0
    // (see #seeMean).
    this.#knowsAuctions ||= event.seq === 0n || this.#sawAuction
    for (const twap of [event.internalTwap, event.externalTwap]) if (twap !== null) this.#seeMean(twap)
    if (isStored) this.#judge.opening({ event, position, verdicts }, this.#known())
    this.#doubts = doubts
  }

  /** Takes the end of a period, and judges its closing TWAPs, its payment and its rate. Must be called after its points. */
  close(event: FundingPeriodEvent, position: EventPosition): void {
    const verdicts = this.#verifier.period(event)
    this.#judge.closing({ event, position, verdicts }, this.#lastTimes(), this.#known())
    const doubt = this.#knowsAuctions ? null : 'auctions not known'
    this.#funding.closed(event, position, this.#verifier.running(), { doubt, lost: this.#lost })
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
    const state = period?.sources[source - 1] ?? null
    const isMean = state !== null && timestamp > state.firstTime && timestamp > period!.start
    if (isMean && verdict !== null) this.#seeMean(event.twap)
    this.#judge.point({ event, position, source, verdict, isMean }, this.#known())
    if (period === null) return
    period.sources[source - 1] = {
      firstTime: state === null || timestamp < state.firstTime ? timestamp : state.firstTime,
      lastTime: state === null || timestamp > state.lastTime ? timestamp : state.lastTime,
    }
  }

  /** Takes market data from a block with this time (Unix nanoseconds), and judges their estimate, if they have one. */
  marketDataSent(event: MarketDataEvent, blockTime: bigint, position: EventPosition): void {
    this.#verifier.marketDataSent(blockTime)
    const running = this.#verifier.running()
    const doubt = this.#doubts[0] ?? this.#doubts[1] ?? (this.#knowsAuctions ? null : 'auctions not known')
    const { figures } = event
    if (figures?.isMalformed) this.#funding.unreadable(position, blockTime, running)
    else if (figures?.perpetual) {
      this.#funding.estimated(figures.perpetual, { blockTime, position }, running, {
        doubt,
        lost: this.#lost,
      })
    }
  }

  /** Must be called if events are missing, with the reason: what depends on them is unknown until a period begins. */
  forget(reason: UnknownReason = 'events missing'): void {
    this.#lost = reason
    this.#verifier.forget()
    this.#period = null
    this.#knowsAuctions = false
    this.#sawAuction = false
  }

  /**
   * Takes a TWAP over some time. It is 0 if all of that time was in an auction. A TWAP other than 0 therefore proves that
   * there was no auction, if none has begun or ended since.
   */
  #seeMean(twap: string): void {
    if (!this.#sawAuction && twap !== '0') this.#knowsAuctions = true
  }

  #known(): MarketKnowledge {
    return { doubts: this.#doubts, knowsAuctions: this.#knowsAuctions, lost: this.#lost }
  }

  #lastTimes(): LastTimes {
    const [external = null, internal = null] = this.#period?.sources ?? []
    return [external?.lastTime ?? null, internal?.lastTime ?? null]
  }
}
