import { type EventPosition, hasBlock, isBefore } from '#core/domain/event-position'
import type { Gap } from '#core/domain/gap-list'
import { firstGapFrom, type HeightRange } from '#core/domain/height-ranges'
import type { FundingPeriodEvent } from '#core/events/event'
import type { TwapMethod } from '#core/funding/market-verifier'
import type { PrunedBefore } from '#core/store/queries/pruned'
import { rowsUnder } from '#core/store/schema/ranges'
import { type TextCell, tableOf } from '#core/store/schema/tables'
import type { TableReader } from '#core/store/table-reader'
import { type NamedRow, namedRow, positionOfRow, walkTable } from '#core/store/walk-table'
import { RowQueue } from '../import/row-queue.ts'
import type { SourceReasons, UnknownReason } from './judgements.ts'
import { MarketRun } from './market-run.ts'
import type { ParameterSource } from './parameters.ts'
import {
  type StoredPeriod,
  type StoredPoint,
  storedAuction,
  storedPeriod,
  storedPoint,
} from './stored-rows.ts'
import type { Tally } from './tally.ts'

/** The stored part of the stream. */
export type StoredStream = {
  /** The height of the first block. */
  first: bigint
  /** Heights that are missing, incomplete or imported. */
  gaps: readonly (HeightRange & { kind: Gap['kind'] | 'imported' })[]
  pruned: PrunedBefore | null
}

const POINTS = tableOf('funding_period_data_points')
const SPANS = tableOf('funding_period_spans')
export const PERIODS = tableOf('funding_periods')
const AUCTIONS = tableOf('auctions')

type StoredMarketOptions = {
  reader: TableReader
  stream: StoredStream
  marketId: string
  /** The market's number in the store; null if it never had a point. */
  number: string | null
  method: TwapMethod
  tally: Tally
  parametersOf: ParameterSource
  signal: AbortSignal
}

/**
 * Where a period begins in the stream: at one of its own events, or, if none of these is stored, before or after another
 * event.
 */
type PeriodOpening = { side: 'at' | 'after' | 'before'; event: EventPosition }

/**
 * Judges the TWAPs of every period of a market, or of one, for which only its points and those of the previous period are
 * read. It passes the stored events on in the order of the stream; at most the points of two periods are in memory. Only
 * the last event of an ended period is stored. It began right after the end of the previous period, in the same block.
 */
export async function verifyStoredMarket(options: StoredMarketOptions, only: bigint | null): Promise<void> {
  await new StoredMarketRun(options).verify(only)
}

/** Follows the stored events of one market, and passes them on to a {@link MarketRun}. */
class StoredMarketRun {
  readonly #options: StoredMarketOptions
  readonly #run: MarketRun
  readonly #auctions: RowQueue<TextCell[]>
  /** The previous period; null if its end is not stored. */
  #ended: StoredPeriod | null = null
  /** The height of the last event; null before the first. */
  #lastHeight: bigint | null = null
  /** Whether the market's opening auction was seen, and nothing has been missing since. */
  #sawOpeningAuction = false

  constructor(options: StoredMarketOptions) {
    const { reader, marketId, method, tally, parametersOf, signal } = options
    this.#options = options
    this.#run = new MarketRun({ marketId, method, tally, knowsMarketData: false, parametersOf })
    this.#auctions = new RowQueue(walkTable(reader, AUCTIONS, rowsUnder(marketId), signal))
  }

  /** @param only the one period to judge; null for all */
  async verify(only: bigint | null): Promise<void> {
    const { reader, marketId, number, signal } = this.#options
    const periods = new RowQueue(walkTable(reader, PERIODS, rowsUnder(marketId), signal))
    const spans = new RowQueue(walkTable(reader, SPANS, rowsUnder(number ?? '-1'), signal))
    for (;;) {
      const periodRow = await periods.next()
      const spanRow = await spans.next()
      if (periodRow === null && spanRow === null) return
      const period = periodRow === null ? null : storedPeriod(marketId, namedRow(PERIODS, periodRow))
      const span = spanRow === null ? null : namedRow(SPANS, spanRow)
      const seqs = [period?.event.seq, span === null ? undefined : BigInt(span.seq!)]
      const seq = seqs.filter((value) => value !== undefined).reduce((a, b) => (a < b ? a : b))
      if (only !== null && seq > only) return
      const isPeriods = period?.event.seq === seq
      const isSpans = span !== null && BigInt(span.seq!) === seq
      if (isPeriods) periods.drop()
      if (isSpans) spans.drop()
      if (only === null || seq === 0n || seq + 1n >= only) {
        const nextRow = await periods.next()
        const next = nextRow === null ? null : storedPeriod(marketId, namedRow(PERIODS, nextRow))
        await this.#takePeriod(seq, isPeriods ? period : null, isSpans ? span : null, next)
      } else if (isPeriods) {
        // This finds the auctions that are still in progress when the next period begins.
        await this.#open(period, [])
      }
      this.#ended = isPeriods && period.event.end !== null ? period : null
    }
  }

  async #takePeriod(
    seq: bigint,
    period: StoredPeriod | null,
    span: NamedRow | null,
    next: StoredPeriod | null,
  ): Promise<void> {
    if (period === null) {
      this.#options.tally.twaps.addUnknown('dataPoints', seq, Number(span!.points), 'events missing')
      this.#forget()
      return
    }
    const points = span === null ? [] : await this.#readPoints(seq, span)
    const opening = await this.#open(period, points)
    const { event, position } = period
    const end = event.end !== null ? position : next?.event.end === null ? next.position : null
    for (const point of points) {
      await this.#takeAuctionsWhile((auction) => isBefore(auction, point.position))
      const isComplete = this.#reach(point.position.height)
      const isWithin =
        !isBeforeOpening(point.position, opening) && (end === null || !isBefore(end, point.position))
      if (isComplete && isWithin) this.#run.point(point.event, point.position)
      else this.#options.tally.twaps.addUnknown('dataPoints', seq, 1, this.#reasonAt(point.position.height))
    }
    if (event.end === null) return
    await this.#takeAuctionsWhile((auction) => isBefore(auction, position))
    this.#reach(position.height)
    this.#run.close(event, position)
  }

  /** Begins a period, if its beginning was seen for certain. Returns where it begins. */
  async #open({ event, position }: StoredPeriod, points: readonly StoredPoint[]): Promise<PeriodOpening> {
    const isStored = event.end === null
    // The core begins a period at the time at which it ends the previous one.
    const follows =
      this.#ended !== null &&
      this.#ended.event.seq + 1n === event.seq &&
      this.#ended.event.end === event.start
    const before = points[0]?.position ?? position
    const opening: PeriodOpening = isStored
      ? { side: 'at', event: position }
      : follows
        ? { side: 'after', event: this.#ended!.position }
        : { side: 'before', event: before }
    await this.#takeAuctionsWhile((auction) => isBeforeOpening(auction, opening))
    const isComplete = this.#reach(opening.event.height)
    if (!isComplete || !(isStored || follows || (event.seq === 0n && this.#sawTheBeginning(event, points)))) {
      // The period may have begun before the store did, or within missing events.
      this.#forget(isComplete ? 'events missing' : this.#reasonAt(opening.event.height))
      return opening
    }
    const opened = isStored ? event : { ...event, end: null, internalTwap: null, externalTwap: null }
    this.#run.open(opened, opening.event, {
      hasOpeningTwaps: isStored,
      unknownPoints: this.#unknownPointsOf(event, opening, points),
    })
    return opening
  }

  /**
   * Whether everything of the market is stored from before its first period on, and the first point, which the core sends
   * when that period begins, has not been pruned.
   */
  #sawTheBeginning({ start }: FundingPeriodEvent, [first]: readonly StoredPoint[]): boolean {
    const { first: firstBlock, gaps, pruned } = this.#options.stream
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
  #unknownPointsOf(
    { start }: FundingPeriodEvent,
    opening: PeriodOpening,
    points: readonly StoredPoint[],
  ): SourceReasons {
    const { pruned } = this.#options.stream
    const unknownPoints = (source: 1 | 2): UnknownReason | null => {
      if (pruned === null) return null
      const { timestamp, height } = pruned
      const isAfterHeight = height === null || opening.event.height >= BigInt(height)
      const isAfterTime =
        timestamp === null ||
        (start >= BigInt(timestamp) &&
          points.some(({ event }) => event.source === source && event.timestamp <= start))
      return isAfterHeight && isAfterTime ? null : 'points pruned'
    }
    return [unknownPoints(1), unknownPoints(2)]
  }

  /** Takes the next auctions as long as their positions are early enough. */
  async #takeAuctionsWhile(isEarlyEnough: (auction: EventPosition) => boolean): Promise<void> {
    for (;;) {
      const row = this.#auctions.head() ?? (await this.#auctions.next())
      if (row === null) return
      const named = namedRow(AUCTIONS, row)
      const position = positionOfRow(named)
      if (!isEarlyEnough(position)) return
      this.#auctions.drop()
      if (!this.#reach(position.height)) continue
      const event = storedAuction(this.#options.marketId, named)
      if (event.openingAuction) this.#sawOpeningAuction = true
      this.#run.auction(event)
    }
  }

  /**
   * Continues to a height, and forgets everything if events are missing on the way. Returns false for an incomplete block.
   */
  #reach(height: bigint): boolean {
    const from = this.#lastHeight ?? height
    this.#lastHeight = height
    if (!hasBlock(height)) {
      this.#forget('imported')
      return false
    }
    const { gaps } = this.#options.stream
    const first = firstGapFrom(gaps, from)
    if (gaps[first] === undefined || gaps[first].from > height) return true
    const end = firstGapFrom(gaps, height)
    const last = gaps[end]
    const isComplete = last === undefined || last.from > height
    const passed = gaps.slice(first, isComplete ? end : end + 1)
    this.#forget(passed.some(({ kind }) => kind === 'imported') ? 'imported' : 'events missing')
    return isComplete
  }

  /** Why results in an incomplete block are unknown. */
  #reasonAt(height: bigint): UnknownReason {
    const { gaps } = this.#options.stream
    const gap = gaps[firstGapFrom(gaps, height)]
    const isImported = !hasBlock(height) || (gap?.kind === 'imported' && gap.from <= height)
    return isImported ? 'imported' : 'events missing'
  }

  #forget(reason: UnknownReason = 'events missing'): void {
    this.#run.forget(reason)
    this.#sawOpeningAuction = false
  }

  /** The points of a period, in the order of the stream. */
  async #readPoints(seq: bigint, { first_timestamp, last_timestamp }: NamedRow): Promise<StoredPoint[]> {
    const { reader, marketId, number, signal } = this.#options
    const points: StoredPoint[] = []
    for (const source of ['0', '1', '2']) {
      const range = {
        after: [number, source, first_timestamp!],
        upTo: [number, source, last_timestamp!],
      }
      for await (const chunk of walkTable(reader, POINTS, range, signal)) {
        for (const row of chunk) {
          const named = namedRow(POINTS, row)
          if (named.seq === seq.toString()) points.push(storedPoint(marketId, named))
        }
      }
    }
    return points.sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
  }
}

/** Whether an event is before the beginning of a period. */
function isBeforeOpening(position: EventPosition, { side, event }: PeriodOpening): boolean {
  return side === 'after' ? !isBefore(event, position) : isBefore(position, event)
}
