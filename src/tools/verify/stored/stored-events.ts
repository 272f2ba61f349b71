import { type EventPosition, isBefore } from '#core/domain/event-position'
import { least } from '#core/domain/integers'
import { rowsUnder } from '#core/store/schema/ranges'
import { type Table, type TextCell, tableOf } from '#core/store/schema/tables'
import type { TableReader } from '#core/store/table-reader'
import { type NamedRow, namedRow, walkTable } from '#core/store/walk-table'
import { RowQueue } from '../../import/row-queue.ts'
import {
  type StoredAuction,
  type StoredPeriod,
  type StoredPoint,
  type StoredSpan,
  storedAuction,
  storedPeriod,
  storedPoint,
  storedSpan,
} from './stored-rows.ts'

/** A market of a store, and what reads it. */
export type StoredMarket = {
  reader: TableReader
  marketId: string
  /** The market's number in the store; null if it never had a point. */
  number: string | null
  signal: AbortSignal
}

/** What is stored of a market, as events in the order of the stream. */
export type StoredEvent =
  | ({ kind: 'auction' } & StoredAuction)
  | ({ kind: 'begin' } & StoredBeginning)
  /** `isWithin`: whether it lies between the beginning and the end of its period. */
  | ({ kind: 'point'; isWithin: boolean } & StoredPoint)
  | ({ kind: 'end' } & StoredPeriod)
  /** Points of a period of which no event is stored. They are only counted. */
  | { kind: 'points without period'; seq: bigint; count: number }

/** The beginning of a period. Only the last event of a period is stored: of one that has ended, its end. */
export type StoredBeginning = {
  period: StoredPeriod
  opening: PeriodOpening
  /** Whether it begins with the end of the previous period, as the core begins periods. */
  follows: boolean
  /** The stored points of the period. */
  points: readonly StoredPoint[]
}

/**
 * Where a period begins in the stream: at one of its own events, or, if none of these is stored, before or after another
 * event.
 */
type PeriodOpening = { side: 'at' | 'after' | 'before'; event: EventPosition }

/**
 * Reads what is stored of a market. The points of one period are in memory.
 *
 * @param only the one period to verify; null for all. Of earlier ones, only the previous one and the first one are read whole
 */
export async function* storedEvents(
  market: StoredMarket,
  only: bigint | null,
): AsyncGenerator<StoredEvent, void, undefined> {
  const auctions = new AuctionQueue(market)
  /** The previous period; null if its end is not stored. */
  let ended: StoredPeriod | null = null
  for await (const { seq, period, span, next } of storedPeriods(market)) {
    if (only !== null && seq > only) return
    // The first point of the first period says whether its beginning is stored.
    const isRead = only === null || seq === 0n || seq + 1n >= only
    if (period === null) {
      if (isRead) yield { kind: 'points without period', seq, count: span!.points }
      ended = null
      continue
    }
    const points = isRead && span !== null ? await readPoints(market, span) : []
    const beginning = beginningOf(period, ended, points)
    const isBeforeBeginning = (position: EventPosition) => isBeforeOpening(position, beginning.opening)
    for (const auction of await auctions.takeWhile(isBeforeBeginning)) yield auction
    // All that matters of a period that is not read is which auctions are still in progress when the next one begins.
    yield { kind: 'begin', ...beginning }
    const { event, position } = period
    const hasEnded = event.end !== null
    // If its own end is not stored, the beginning of the next one may be.
    const end = hasEnded ? position : next?.event.end === null ? next.position : null
    for (const point of points) {
      for (const auction of await auctions.takeWhile((at) => isBefore(at, point.position))) yield auction
      const isWithin = !isBeforeBeginning(point.position) && (end === null || !isBefore(end, point.position))
      yield { kind: 'point', isWithin, ...point }
    }
    if (isRead && hasEnded) {
      for (const auction of await auctions.takeWhile((at) => isBefore(at, position))) yield auction
      yield { kind: 'end', ...period }
    }
    ended = hasEnded ? period : null
  }
}

function beginningOf(
  period: StoredPeriod,
  ended: StoredPeriod | null,
  points: readonly StoredPoint[],
): StoredBeginning {
  const { event, position } = period
  // The core begins a period at the time at which it ends the previous one.
  const follows = ended !== null && ended.event.seq + 1n === event.seq && ended.event.end === event.start
  if (event.end === null) return { period, opening: { side: 'at', event: position }, follows, points }
  const opening: PeriodOpening = follows
    ? { side: 'after', event: ended.position }
    : { side: 'before', event: points[0]?.position ?? position }
  return { period, opening, follows, points }
}

/** Whether an event is before the beginning of a period. */
function isBeforeOpening(position: EventPosition, { side, event }: PeriodOpening): boolean {
  return side === 'after' ? !isBefore(event, position) : isBefore(position, event)
}

/** What is stored of a period: its event, and the span of its points; one of the two may be missing. */
type PeriodAndSpan = {
  seq: bigint
  period: StoredPeriod | null
  span: StoredSpan | null
  /** The stored period after it, if it is stored itself. */
  next: StoredPeriod | null
}

const PERIODS = tableOf('funding_periods')
const SPANS = tableOf('funding_period_spans')
const POINTS = tableOf('funding_period_data_points')
const AUCTIONS = tableOf('auctions')

/** Joins the periods of a market with the spans of their points, by seq. */
async function* storedPeriods(market: StoredMarket): AsyncGenerator<PeriodAndSpan, void, undefined> {
  const { marketId, number } = market
  const periods = new NamedRows(market, PERIODS, marketId)
  const spans = new NamedRows(market, SPANS, number ?? '-1')
  const takePeriod = async () => periods.take((row) => storedPeriod(marketId, row))
  const takeSpan = async () => spans.take(storedSpan)
  let period = await takePeriod()
  let span = await takeSpan()
  while (period !== null || span !== null) {
    const seqs = [period?.event.seq, span?.seq].filter((value) => value !== undefined)
    const seq = least(seqs)
    const isStored = period?.event.seq === seq
    const hasPoints = span?.seq === seq
    const next: StoredPeriod | null = isStored ? await takePeriod() : period
    yield { seq, period: isStored ? period : null, span: hasPoints ? span : null, next }
    period = next
    if (hasPoints) span = await takeSpan()
  }
}

/** The rows of a table whose keys begin with a value. */
class NamedRows {
  readonly #table: Table
  readonly #rows: RowQueue<TextCell[]>

  constructor({ reader, signal }: StoredMarket, table: Table, key: string) {
    this.#table = table
    this.#rows = new RowQueue(walkTable(reader, table, rowsUnder(key), signal))
  }

  /** Takes the next row, and reads it; null if no row follows. */
  async take<Item>(read: (row: NamedRow) => Item): Promise<Item | null> {
    const row = await this.#rows.next()
    if (row === null) return null
    this.#rows.drop()
    return read(namedRow(this.#table, row))
  }
}

/** The auctions of a market, which are taken in the order of the stream. */
class AuctionQueue {
  readonly #marketId: string
  readonly #rows: NamedRows
  /** The next one; null if none follows, undefined before the first one is read. */
  #next: StoredAuction | null | undefined

  constructor(market: StoredMarket) {
    this.#marketId = market.marketId
    this.#rows = new NamedRows(market, AUCTIONS, market.marketId)
  }

  /** Takes the next ones as long as their positions are early enough. */
  async takeWhile(isEarlyEnough: (position: EventPosition) => boolean): Promise<StoredEvent[]> {
    const taken: StoredEvent[] = []
    if (this.#next === undefined) this.#next = await this.#read()
    while (this.#next !== null && isEarlyEnough(this.#next.position)) {
      taken.push({ kind: 'auction', ...this.#next })
      this.#next = await this.#read()
    }
    return taken
  }

  #read(): Promise<StoredAuction | null> {
    return this.#rows.take((row) => storedAuction(this.#marketId, row))
  }
}

/** The points of a period, in the order of the stream. */
async function readPoints(
  { reader, marketId, number, signal }: StoredMarket,
  { seq, first, last }: StoredSpan,
): Promise<StoredPoint[]> {
  const points: StoredPoint[] = []
  for (const source of ['0', '1', '2']) {
    const range = { after: [number, source, first], upTo: [number, source, last] }
    for await (const chunk of walkTable(reader, POINTS, range, signal)) {
      for (const row of chunk) {
        const named = namedRow(POINTS, row)
        if (named.seq === seq.toString()) points.push(storedPoint(marketId, named))
      }
    }
  }
  return points.sort((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
}
