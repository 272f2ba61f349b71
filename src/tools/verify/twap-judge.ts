import type { EventPosition } from '#core/domain/event-position'
import type { FundingPeriodDataPointEvent, FundingPeriodEvent } from '#core/events/event'
import type { PeriodVerdict, TwapMethod, TwapVerdict } from '#core/funding/market-verifier'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import type { UnknownInputs } from './judgements.ts'
import { type Tally, TWAPS, type TwapKind } from './tally.ts'

type TwapJudgeOptions = {
  marketId: string
  method: TwapMethod
  tally: Tally
  /** Whether the run receives all market data that the core has sent. */
  knowsMarketData: boolean
}

/** The time of the last point of the external and the internal source in a period; null if there is none. */
export type LastTimes = [external: bigint | null, internal: bigint | null]

/** A data point to be judged. */
type JudgedPoint = {
  event: FundingPeriodDataPointEvent
  position: EventPosition
  source: 1 | 2
  /** Null if there is nothing to compare with. */
  verdict: TwapVerdict | null
  /** Whether its TWAP is a mean over some time, not only its own price. */
  isMean: boolean
}

/** The TWAPs of an event that ends or begins a period, to be judged. */
type JudgedPeriod = {
  event: FundingPeriodEvent
  position: EventPosition
  /** Null if there is nothing to compare with. */
  verdicts: PeriodVerdict | null
}

/** A single TWAP to be judged: of a point, or of one source of an event that begins or ends a period. */
type JudgedTwap = {
  kind: TwapKind
  seq: bigint
  source: 1 | 2
  /** Of the point, or of the beginning or end of the period, Unix nanoseconds. */
  timestamp: bigint
  position: EventPosition
  /** Null if there is nothing to compare with. */
  verdict: TwapVerdict | null
  /** Why it is wrong, if it is. */
  cause: string
  /** Whether an auction would change it; true by default. */
  dependsOnAuctions?: boolean
  /** Whether the period ends before its last point; false by default. */
  isDatedBack?: boolean
}

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
 * Decides whether the TWAPs of one market agree, differ or are unknown, and counts them in the tally. A TWAP counts as
 * different only if nothing that affects it can be missing; otherwise it is unknown. The methods do not throw.
 */
export class TwapJudge {
  readonly #marketId: string
  readonly #method: TwapMethod
  readonly #tally: Tally
  readonly #knowsMarketData: boolean
  /** Whether TWAPs of the external and the internal source have differed in the running period. */
  #differs: [external: boolean, internal: boolean] = [false, false]
  /** The number of correct TWAPs of each source, in the period that was judged last. */
  #agreed: { seq: bigint; counts: [external: number, internal: number] } = { seq: -1n, counts: [0, 0] }

  constructor({ marketId, method, tally, knowsMarketData }: TwapJudgeOptions) {
    this.#marketId = marketId
    this.#method = method
    this.#tally = tally
    this.#knowsMarketData = knowsMarketData
  }

  /** Must be called when a period begins, before its opening TWAPs are judged: nothing has differed in it. */
  beginPeriod(): void {
    this.#differs = [false, false]
  }

  /** Counts a point without a source as unknown. The core sends no such points. */
  pointWithoutSource(seq: bigint): void {
    this.#tally.twaps.addUnknown('dataPoints', seq, 1, 'source unspecified')
  }

  /** Judges the TWAP of a point. Must be called in the order of the stream. */
  point({ event, position, source, verdict, isMean }: JudgedPoint, inputs: UnknownInputs): void {
    this.#judge(
      {
        kind: 'dataPoints',
        seq: event.seq,
        source,
        timestamp: event.timestamp,
        position,
        verdict,
        cause:
          verdict?.expected === null
            ? DIFFERENCE_CAUSES.refused
            : isMean
              ? DIFFERENCE_CAUSES.mean
              : DIFFERENCE_CAUSES.ownPrice,
        dependsOnAuctions: isMean,
      },
      inputs,
    )
  }

  /** Judges the TWAPs of an event that begins a period. Must be called after {@link beginPeriod}. */
  opening(opened: JudgedPeriod, inputs: UnknownInputs): void {
    const { event, position } = opened
    for (const { source, verdict } of twapsOf(opened)) {
      this.#judge(
        {
          kind: 'openingTwaps',
          seq: event.seq,
          source,
          timestamp: event.start,
          position,
          verdict,
          cause: DIFFERENCE_CAUSES.opening,
        },
        inputs,
      )
    }
  }

  /** Judges the TWAPs of an event that ends a period. Must be called after its points. */
  closing(closed: JudgedPeriod, lastTimes: LastTimes, inputs: UnknownInputs): void {
    const { event, position } = closed
    const end = event.end!
    for (const { source, verdict } of twapsOf(closed)) {
      const last = lastTimes[source - 1]!
      const isDatedBack = last !== null && last > end
      this.#judge(
        {
          kind: end === event.start ? 'closingTwapsOfNoLength' : 'closingTwaps',
          seq: event.seq,
          source,
          timestamp: end,
          position,
          verdict,
          cause: this.#causeAtEnd(source, isDatedBack),
          isDatedBack,
        },
        inputs,
      )
    }
  }

  #causeAtEnd(source: 1 | 2, isDatedBack: boolean): string {
    if (this.#differs[source - 1]) return DIFFERENCE_CAUSES.afterPoints
    return isDatedBack && this.#method === 'plain-formula'
      ? DIFFERENCE_CAUSES.carriedPast
      : DIFFERENCE_CAUSES.closing
  }

  #judge(
    { cause, source, verdict, dependsOnAuctions = true, isDatedBack = false, ...judged }: JudgedTwap,
    inputs: UnknownInputs,
  ): void {
    const dependsOnMarketData = isDatedBack && this.#method === 'running-sum' && !this.#knowsMarketData
    const unknown =
      inputs.points[source - 1] ??
      (dependsOnAuctions ? inputs.auctions : null) ??
      (dependsOnMarketData ? 'market data not stored' : null) ??
      (verdict?.followsRefusal ? 'message refused' : null)
    if (verdict !== null && !verdict.agrees && unknown === null) this.#differs[source - 1] = true
    if (this.#agreed.seq !== judged.seq) this.#agreed = { seq: judged.seq, counts: [0, 0] }
    const agreedBefore = this.#agreed.counts[source - 1]!
    if (verdict?.agrees) this.#agreed.counts[source - 1]!++
    this.#tally.twaps.add({
      ...judged,
      marketId: this.#marketId,
      agrees: verdict?.agrees ?? null,
      unknown: verdict === null ? inputs.beginning : unknown,
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
}

/** The TWAPs of a period's event by source; a source without points has none. */
function twapsOf({ event, verdicts }: JudgedPeriod): { source: 1 | 2; verdict: TwapVerdict | null }[] {
  const sent = [event.externalTwap, event.internalTwap]
  return ([1, 2] as const)
    .map((source) => ({ source, verdict: verdicts?.[source] ?? null }))
    .filter(({ source, verdict }) => sent[source - 1] !== null || (verdict?.expected ?? null) !== null)
}
