import { hasBlock } from '#core/domain/event-position'
import type { FundingPeriodEvent } from '#core/events/event'
import type { TwapMethod } from '#core/funding/market-verifier'
import type { SourceReasons, UnknownReason } from '../judgements.ts'
import { MarketRun } from '../market-run.ts'
import type { ParameterSource } from '../parameters.ts'
import type { Tally } from '../tally.ts'
import { type StoredBeginning, type StoredEvent, type StoredMarket, storedEvents } from './stored-events.ts'
import type { StoredAuction, StoredPeriod, StoredPoint } from './stored-rows.ts'
import { type StoredStream, unknownAt, unknownBetween } from './stored-stream.ts'

type StoredRunOptions = {
  marketId: string
  stream: StoredStream
  method: TwapMethod
  tally: Tally
  parametersOf: ParameterSource
}

/** Judges the TWAPs, payments and estimates of every period of a market, or of one. */
export async function verifyStoredMarket(
  options: StoredMarket & StoredRunOptions,
  only: bigint | null,
): Promise<void> {
  const run = new StoredMarketRun(options)
  for await (const stored of storedEvents(options, only)) run.take(stored)
}

/** Passes the stored events of one market on to a {@link MarketRun}, and tells it where events are missing. */
class StoredMarketRun {
  readonly #stream: StoredStream
  readonly #tally: Tally
  readonly #run: MarketRun
  /** The height of the last event; null before the first. */
  #lastHeight: bigint | null = null
  /** Whether the market's opening auction was seen, and nothing has been missing since. */
  #sawOpeningAuction = false

  constructor({ marketId, stream, method, tally, parametersOf }: StoredRunOptions) {
    this.#stream = stream
    this.#tally = tally
    this.#run = new MarketRun({ marketId, method, tally, knowsMarketData: false, parametersOf })
  }

  /** Takes the next event of {@link storedEvents}. */
  take(stored: StoredEvent): void {
    switch (stored.kind) {
      case 'auction':
        this.#auction(stored)
        break
      case 'begin':
        this.#begin(stored)
        break
      case 'point':
        this.#point(stored, stored.isWithin)
        break
      case 'end':
        this.#end(stored)
        break
      case 'points without period':
        this.#tally.twaps.addUnknown('dataPoints', stored.seq, stored.count, 'events missing')
        this.#forget('events missing')
        break
      default:
        stored satisfies never
    }
  }

  #auction({ event, position }: StoredAuction): void {
    if (!this.#reach(position.height)) return
    if (event.openingAuction) this.#sawOpeningAuction = true
    this.#run.auction(event)
  }

  /** Begins a period, if its beginning was seen for certain: it may be before the store began, or within missing events. */
  #begin(beginning: StoredBeginning): void {
    const { period, opening, follows } = beginning
    const { event } = period
    const isOpen = event.end === null
    const { height } = opening.event
    const isComplete = this.#reach(height)
    if (!isComplete || !(isOpen || follows || this.#sawFirstPeriodBegin(beginning))) {
      this.#forget(unknownAt(this.#stream, height) ?? 'events missing')
      return
    }
    // Of an ended period the event of its beginning is not stored.
    const opened: FundingPeriodEvent = isOpen
      ? event
      : { ...event, end: null, internalTwap: null, externalTwap: null }
    const unknownPoints = this.#unknownPointsOf(beginning)
    this.#run.open(opened, opening.event, { hasOpeningTwaps: isOpen, unknownPoints })
  }

  #point({ event, position }: StoredPoint, isWithin: boolean): void {
    const { height } = position
    if (this.#reach(height) && isWithin) this.#run.point(event, position)
    else
      this.#tally.twaps.addUnknown(
        'dataPoints',
        event.seq,
        1,
        unknownAt(this.#stream, height) ?? 'events missing',
      )
  }

  #end({ event, position }: StoredPeriod): void {
    this.#reach(position.height)
    this.#run.close(event, position)
  }

  /**
   * Whether a period is the market's first one, everything of the market is stored from before it on, and its first point, which
   * the core sends when it begins, has not been pruned.
   */
  #sawFirstPeriodBegin({ period, points: [first] }: StoredBeginning): boolean {
    const { seq, start } = period.event
    if (seq !== 0n) return false
    const { first: firstBlock, gaps, pruned } = this.#stream
    const isUnpruned =
      pruned === null ||
      (pruned.height === null && first?.event.source === 2 && first.event.timestamp <= start)
    const isFromTheStart = firstBlock <= 1n && !gaps.some(({ from }) => from <= this.#lastHeight!)
    return isUnpruned && (this.#sawOpeningAuction || isFromTheStart)
  }

  /**
   * Why points of the external and the internal source may be missing: they may be pruned. None are missing if the period
   * began after the bound, and the last point before it, which was carried over, is still stored.
   */
  #unknownPointsOf({ period, opening, points }: StoredBeginning): SourceReasons {
    const { pruned } = this.#stream
    if (pruned === null) return [null, null]
    const { start } = period.event
    const { timestamp, height } = pruned
    const isAfterHeight = height === null || opening.event.height >= BigInt(height)
    const unknownPoints = (source: 1 | 2): UnknownReason | null => {
      const isAfterTime =
        timestamp === null ||
        (start >= BigInt(timestamp) &&
          points.some(({ event }) => event.source === source && event.timestamp <= start))
      return isAfterHeight && isAfterTime ? null : 'points pruned'
    }
    return [unknownPoints(1), unknownPoints(2)]
  }

  /**
   * Continues to a height, and forgets everything if events are missing on the way. Returns whether the events of the block
   * there are all stored.
   */
  #reach(height: bigint): boolean {
    const from = this.#lastHeight ?? height
    this.#lastHeight = height
    const unknown = hasBlock(height) ? unknownBetween(this.#stream, from, height) : 'imported'
    if (unknown === null) return true
    this.#forget(unknown)
    return unknownAt(this.#stream, height) === null
  }

  #forget(reason: UnknownReason): void {
    this.#run.forget(reason)
    this.#sawOpeningAuction = false
  }
}
