import type { Place } from '#core/domain/place'
import type {
  AuctionEvent,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
  MarketDataEvent,
} from '#core/events/event'
import {
  createMarketVerifier,
  type PeriodVerdict,
  type TwapMethod,
  type TwapVerdict,
} from '#core/funding/market-verifier'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { createFundingRun } from './funding-run.ts'
import type { UnknownReason } from './judgements.ts'
import type { ParameterSource } from './parameters.ts'
import { type Tally, TWAPS, type TwapKind } from './tally.ts'

type MarketRunOptions = {
  marketId: string
  method: TwapMethod
  tally: Tally
  /** Whether it is given every market data that the core has sent. */
  knowsMarketData: boolean
  parametersOf: ParameterSource
}

/** State of a source in the running period. */
type SourceState = { firstTime: bigint; lastTime: bigint } | null

const DIFFERENCE_CAUSES = {
  refused: 'the core sends no such point: it refuses one with that time here (docs/twap.md, incoming points)',
  ownPrice: "the first point of a source is sent with its own price; this one's TWAP or price was changed",
  mean: 'it does not follow from the points and auctions before it: its TWAP, or the time or price of a point, was changed',
  carriedPast:
    "the period ends before its last point, and the core's sum had passed that point (docs/twap.md, the plain formula)",
  closing: 'every point agrees: the TWAP was changed, or an event that affects it is missing',
  afterPoints: 'earlier points of the period differ',
  opening: 'it is not the price of the carried-over point: it, or that point, was changed',
} as const

/**
 * Judges the TWAPs of one market from its events in stream order, and counts the results. A TWAP only counts as
 * different if nothing that affects it can be missing; otherwise it is unknown.
 */
export function createMarketRun(options: MarketRunOptions) {
  const { marketId, method, tally, knowsMarketData } = options
  const verifier = createMarketVerifier(method)
  const funding = createFundingRun(options)
  let period: { seq: bigint; start: bigint; sources: [SourceState, SourceState] } | null = null
  /** Whether it is known if an auction was in progress when the period began. */
  let knowsAuctions = false
  /** Whether an auction has begun or ended since then. */
  let sawAuction = false
  /** Why a source's points may not be all there, in the running period. */
  let doubts: [UnknownReason | null, UnknownReason | null] = [null, null]
  let differs: [boolean, boolean] = [false, false]
  /** Number of correct TWAPs of each source in the period judged last. */
  let agreed: { seq: bigint; counts: [number, number] } = { seq: -1n, counts: [0, 0] }
  /** Why a period was not seen from its beginning. */
  let lost: UnknownReason = 'events missing'

  function auction(event: AuctionEvent): void {
    if (!event.openingAuction) sawAuction = true
    verifier.auction(event)
  }

  /**
   * A period begins. `doubts`: why points of its external and its internal source may be missing; `isStored`:
   * whether its own TWAPs are known.
   */
  function open(
    event: FundingPeriodEvent,
    place: Place,
    {
      doubts: ofSources = [null, null],
      isStored = true,
    }: { doubts?: [UnknownReason | null, UnknownReason | null]; isStored?: boolean } = {},
  ): void {
    const verdict = verifier.period(event)
    period = { seq: event.seq, start: event.start, sources: [null, null] }
    // The carried-over point belongs to the previous period.
    doubts = [doubts[0] ?? ofSources[0], doubts[1] ?? ofSources[1]]
    differs = [false, false]
    // The first period begins without any; later an event shows it, or a mean that is not 0 (see #seeMean).
    knowsAuctions ||= event.seq === 0n || sawAuction
    for (const twap of [event.internalTwap, event.externalTwap]) if (twap !== null) seeMean(twap)
    if (isStored) judgePeriod(event, place, 'openingTwaps', verdict)
    doubts = ofSources
  }

  function close(event: FundingPeriodEvent, place: Place): void {
    const kind = event.end === event.start ? 'closingTwapsOfNoLength' : 'closingTwaps'
    judgePeriod(event, place, kind, verifier.period(event))
    const doubt = knowsAuctions ? null : 'auctions not known'
    funding.closed(event, place, verifier.running(), { doubt, lost })
  }

  function point(event: FundingPeriodDataPointEvent, place: Place): void {
    const { seq, source, timestamp } = event
    const verdict = verifier.point(event)
    // With such a price the verifier cannot reckon on either.
    if (!/^\d+$/.test(event.price)) forget()
    // The core sends points of two sources only.
    if (source === 0) {
      tally.twaps.addUnknown('dataPoints', seq, 1, 'source unspecified')
      return
    }
    const state = period?.seq === seq ? (period.sources[source - 1] ?? null) : null
    const isMean = state !== null && timestamp > state.firstTime && timestamp > period!.start
    if (isMean && verdict !== null) seeMean(event.twap)
    judge({
      kind: 'dataPoints',
      seq,
      source,
      timestamp,
      place,
      verdict,
      cause:
        verdict?.expected === null
          ? DIFFERENCE_CAUSES.refused
          : isMean
            ? DIFFERENCE_CAUSES.mean
            : DIFFERENCE_CAUSES.ownPrice,
      dependsOnAuctions: isMean,
    })
    if (period?.seq !== seq) return
    period.sources[source - 1] = {
      firstTime: state === null || timestamp < state.firstTime ? timestamp : state.firstTime,
      lastTime: state === null || timestamp > state.lastTime ? timestamp : state.lastTime,
    }
  }

  /** The core sent market data in a block of this time (Unix nanoseconds). */
  function marketDataSent(event: MarketDataEvent, blockTime: bigint, place: Place): void {
    verifier.marketDataSent(blockTime)
    const running = verifier.running()
    const doubt = doubts[0] ?? doubts[1] ?? (knowsAuctions ? null : 'auctions not known')
    const { figures } = event
    if (figures?.isMalformed) funding.unreadable(place, blockTime, running)
    else if (figures?.perpetual) {
      funding.estimated(figures.perpetual, { blockTime, place }, running, { doubt, lost })
    }
  }

  /** Events are missing here, for a reason. */
  function forget(reason: UnknownReason = 'events missing'): void {
    lost = reason
    verifier.forget()
    period = null
    knowsAuctions = false
    sawAuction = false
  }

  /**
   * A mean over some time was sent. It would be 0 if all that time were in an auction, so another value shows that none was
   * in progress, unless one has begun or ended since.
   */
  function seeMean(twap: string): void {
    if (!sawAuction && twap !== '0') knowsAuctions = true
  }

  function judgePeriod(
    event: FundingPeriodEvent,
    place: Place,
    kind: Exclude<TwapKind, 'dataPoints'>,
    verdicts: PeriodVerdict | null,
  ): void {
    const isClosing = kind !== 'openingTwaps'
    const sent = [event.externalTwap, event.internalTwap]
    for (const source of [1, 2] as const) {
      const verdict = verdicts?.[source] ?? null
      // A source without points has no TWAP.
      if (sent[source - 1] === null && (verdict?.expected ?? null) === null) continue
      const last = period?.sources[source - 1]?.lastTime ?? null
      const isDatedBack = isClosing && last !== null && last > event.end!
      judge({
        kind,
        seq: event.seq,
        source,
        timestamp: isClosing ? event.end! : event.start,
        place,
        verdict,
        cause: isClosing ? causeOf(source, isDatedBack) : DIFFERENCE_CAUSES.opening,
        isDatedBack,
      })
    }
  }

  function causeOf(source: 1 | 2, isDatedBack: boolean): string {
    if (differs[source - 1]) return DIFFERENCE_CAUSES.afterPoints
    return isDatedBack && method === 'plain-formula'
      ? DIFFERENCE_CAUSES.carriedPast
      : DIFFERENCE_CAUSES.closing
  }

  function judge({
    cause,
    source,
    verdict,
    dependsOnAuctions = true,
    isDatedBack = false,
    ...judged
  }: {
    kind: TwapKind
    seq: bigint
    source: 1 | 2
    timestamp: bigint
    place: Place
    verdict: TwapVerdict | null
    cause: string
    dependsOnAuctions?: boolean
    isDatedBack?: boolean
  }): void {
    const dependsOnMarketData = isDatedBack && method === 'running-sum' && !knowsMarketData
    const doubt =
      doubts[source - 1] ??
      (knowsAuctions || !dependsOnAuctions ? null : 'auctions not known') ??
      (dependsOnMarketData ? 'market data not kept' : null) ??
      (verdict?.followsRefusal ? 'message refused' : null)
    if (verdict !== null && !verdict.agrees && doubt === null) differs[source - 1] = true
    if (agreed.seq !== judged.seq) agreed = { seq: judged.seq, counts: [0, 0] }
    const agreedBefore = agreed.counts[source - 1]!
    if (verdict?.agrees) agreed.counts[source - 1]!++
    tally.twaps.add({
      ...judged,
      marketId,
      agrees: verdict?.agrees ?? null,
      doubt: verdict === null ? lost : doubt,
      group: SOURCES[source],
      difference: () => ({
        source: SOURCES[source],
        of: TWAPS[judged.kind],
        sent: verdict!.sent,
        expected: verdict!.expected,
        cause,
        agreedBefore,
      }),
    })
  }

  return { auction, open, close, point, marketDataSent, forget }
}
