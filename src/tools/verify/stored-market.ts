import { firstGapFrom, type Gap, type HeightRange } from '#core/domain/coverage'
import { hasBlock, isBefore, type Place } from '#core/domain/place'
import type {
  AuctionEvent,
  DataPointSource,
  FundingPeriodDataPointEvent,
  FundingPeriodEvent,
} from '#core/events/event'
import type { TwapMethod } from '#core/funding/market-verifier'
import type { PrunedBefore } from '#core/store/readings/holdings'
import type { TableReader } from '#core/store/table-reader'
import { rowsOf, type TextCell, tableOf } from '#core/store/tables'
import { type NamedRow, namedRow, placeOfRow, walkTable } from '#core/store/walk-table'
import { RowQueue } from '../import/row-queue.ts'
import type { UnknownReason } from './judgements.ts'
import { MarketRun } from './market-run.ts'
import type { ParameterSource } from './parameters.ts'
import type { Tally } from './tally.ts'

/** The stored part of the stream. */
export type StoredStream = {
  /** The height of the first block. */
  first: bigint
  /** Heights that are missing or incomplete, and those that are imported. */
  gaps: readonly (HeightRange & { kind: Gap['kind'] | 'imported' })[]
  pruned: PrunedBefore | null
}

const POINTS = tableOf('funding_period_data_points')
const SPANS = tableOf('funding_period_spans')
export const PERIODS = tableOf('funding_periods')
const AUCTIONS = tableOf('auctions')

export type StoredMarketOptions = {
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

/** A funding period as stored: its last event, and the place of that. */
type StoredPeriod = { event: FundingPeriodEvent; place: Place }

type StoredPoint = { event: FundingPeriodDataPointEvent; place: Place }

/**
 * The events of one market that bear on its TWAPs, in the order of the stream, as far as a store keeps them: no
 * more than the points of two periods are in memory. Of a period that has ended only the last event is stored;
 * it began right after the end of the one before, in the same block.
 */
export class StoredMarket {
  readonly #options: StoredMarketOptions
  readonly #run: MarketRun
  readonly #auctions: RowQueue<TextCell[]>
  /** The period before; null if its end is not stored. */
  #ended: StoredPeriod | null = null
  /** The height of the last event; null before the first. */
  #height: bigint | null = null
  /** Whether the market's opening auction was seen, and nothing is missing since. */
  #sawOpeningAuction = false

  constructor(options: StoredMarketOptions) {
    const { reader, marketId, method, tally, parametersOf, signal } = options
    this.#options = options
    this.#run = new MarketRun({ marketId, method, tally, knowsMarketData: false, parametersOf })
    this.#auctions = new RowQueue(walkTable(reader, AUCTIONS, rowsOf(marketId), signal))
  }

  /** Judges the TWAPs of every period, or of one, for which only its points and those of the period before are read. */
  async verify(only: bigint | null): Promise<void> {
    const { reader, marketId, number, signal } = this.#options
    const periods = new RowQueue(walkTable(reader, PERIODS, rowsOf(marketId), signal))
    const spans = new RowQueue(walkTable(reader, SPANS, rowsOf(number ?? '-1'), signal))
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
        // For the auctions still in progress when the next one begins.
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
    const { event, place } = period
    const end = event.end !== null ? place : next?.event.end === null ? next.place : null
    for (const point of points) {
      await this.#takeAuctions(point.place)
      const isWhole = this.#reach(point.place.height)
      const isWithin = !isBefore(point.place, opening) && (end === null || !isBefore(end, point.place))
      if (isWhole && isWithin) this.#run.point(point.event, point.place)
      else this.#options.tally.twaps.addUnknown('dataPoints', seq, 1, this.#reasonAt(point.place.height))
    }
    if (event.end === null) return
    await this.#takeAuctions(place)
    this.#reach(place.height)
    this.#run.close(event, place)
  }

  /** Begins a period, if it is known to have been seen; returns where in the stream. */
  async #open({ event, place }: StoredPeriod, points: readonly StoredPoint[]): Promise<Place> {
    const isStored = event.end === null
    // The core begins a period at the time at which it ends the one before.
    const follows =
      this.#ended !== null &&
      this.#ended.event.seq + 1n === event.seq &&
      this.#ended.event.end === event.start
    const before = points[0]?.place ?? place
    const opening = isStored
      ? place
      : follows
        ? { height: this.#ended!.place.height, index: this.#ended!.place.index + 0.5 }
        : { height: before.height, index: before.index - 0.5 }
    await this.#takeAuctions(opening)
    const isWhole = this.#reach(opening.height)
    if (!isWhole || !(isStored || follows || (event.seq === 0n && this.#sawTheBeginning(event, points)))) {
      // It may have begun before the store did, or where something is missing.
      this.#forget(isWhole ? 'events missing' : this.#reasonAt(opening.height))
      return opening
    }
    const opened = isStored ? event : { ...event, end: null, internalTwap: null, externalTwap: null }
    this.#run.open(opened, opening, { isStored, doubts: this.#doubts(event, opening, points) })
    return opening
  }

  /**
   * Whether everything of the market is there from before its first period on, and its first point, which the
   * core sends when that begins, has not been pruned.
   */
  #sawTheBeginning({ start }: FundingPeriodEvent, [first]: readonly StoredPoint[]): boolean {
    const { stream } = this.#options
    const isUnpruned =
      stream.pruned === null ||
      (stream.pruned.height === null && first?.event.source === 2 && first.event.timestamp <= start)
    const isFromTheStart = stream.first <= 1n && !stream.gaps.some(({ from }) => from <= this.#height!)
    return isUnpruned && (this.#sawOpeningAuction || isFromTheStart)
  }

  /**
   * Why points of the external and the internal source may be missing: pruned points. None are missing if the period
   * began after the bound, and the last point before it, which was carried over, is there too.
   */
  #doubts(
    { start }: FundingPeriodEvent,
    opening: Place,
    points: readonly StoredPoint[],
  ): [UnknownReason | null, UnknownReason | null] {
    const { pruned } = this.#options.stream
    const doubt = (source: 1 | 2): UnknownReason | null => {
      if (pruned === null) return null
      const { timestamp, height } = pruned
      const isAfterHeight = height === null || opening.height >= BigInt(height)
      const isAfterTime =
        timestamp === null ||
        (start >= BigInt(timestamp) &&
          points.some(({ event }) => event.source === source && event.timestamp <= start))
      return isAfterHeight && isAfterTime ? null : 'points pruned'
    }
    return [doubt(1), doubt(2)]
  }

  /** Takes the auctions before a place. */
  async #takeAuctions(before: Place): Promise<void> {
    for (;;) {
      const row = this.#auctions.head ?? (await this.#auctions.next())
      if (row === null) return
      const named = namedRow(AUCTIONS, row)
      const place = placeOfRow(named)
      if (!isBefore(place, before)) return
      this.#auctions.drop()
      if (!this.#reach(place.height)) continue
      const event = storedAuction(this.#options.marketId, named)
      if (event.openingAuction) this.#sawOpeningAuction = true
      this.#run.auction(event)
    }
  }

  /** Continues to a height, and forgets everything before missing events; false for an incomplete block. */
  #reach(height: bigint): boolean {
    const { gaps } = this.#options.stream
    const from = this.#height ?? height
    this.#height = height
    if (!hasBlock(height)) {
      this.#forget('imported')
      return false
    }
    const first = firstGapFrom(gaps, from)
    if (gaps[first] === undefined || gaps[first].from > height) return true
    const end = firstGapFrom(gaps, height)
    const last = gaps[end]
    const isWhole = last === undefined || last.from > height
    const passed = gaps.slice(first, isWhole ? end : end + 1)
    this.#forget(passed.some(({ kind }) => kind === 'imported') ? 'imported' : 'events missing')
    return isWhole
  }

  /** Why an incomplete block is unknown. */
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
      const range = { after: [number, source, first_timestamp!], upTo: [number, source, last_timestamp!] }
      for await (const chunk of walkTable(reader, POINTS, range, signal)) {
        for (const row of chunk) {
          const named = namedRow(POINTS, row)
          if (named.seq === seq.toString()) points.push(storedPoint(marketId, named))
        }
      }
    }
    return points.sort((a, b) => (isBefore(a.place, b.place) ? -1 : 1))
  }
}

function storedPeriod(marketId: string, row: NamedRow): StoredPeriod {
  const event: FundingPeriodEvent = {
    kind: 'funding-period',
    marketId,
    seq: BigInt(row.seq!),
    start: BigInt(row.start_timestamp!),
    end: row.end_timestamp === null ? null : BigInt(row.end_timestamp!),
    fundingPayment: row.funding_payment!,
    fundingRate: row.funding_rate!,
    internalTwap: row.internal_twap!,
    externalTwap: row.external_twap!,
  }
  return { event, place: placeOfRow(row) }
}

function storedPoint(marketId: string, row: NamedRow): StoredPoint {
  const event: FundingPeriodDataPointEvent = {
    kind: 'funding-period-data-point',
    marketId,
    seq: BigInt(row.seq!),
    source: Number(row.source) as DataPointSource,
    price: row.price!,
    timestamp: BigInt(row.timestamp!),
    twap: row.twap!,
  }
  return { event, place: placeOfRow(row) }
}

function storedAuction(marketId: string, row: NamedRow): AuctionEvent {
  return {
    kind: 'auction',
    marketId,
    openingAuction: row.opening_auction === '1',
    leave: row.leave === '1',
    start: BigInt(row.start_timestamp!),
    end: BigInt(row.end_timestamp!),
  }
}
