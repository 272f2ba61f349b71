import { type EventPosition, isBefore } from '../../../domain/event-position.ts'
import { greatest, least, MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import type { PositionRange } from '../../../domain/unseen.ts'
import type { Row, Selection } from '../../../model/resource.ts'
import { BLOCKS_OF_SPAN } from '../../../resources/funding-period-data-points/table.ts'
import { filtersBySpan } from '../../pages/locate.ts'
import type { KeySpan } from '../../pages/scan.ts'
import type { Query } from '../../queries-protocol.ts'
import {
  cutAt,
  type LocatedRows,
  MAX_READ_ROWS,
  type PositionedRow,
  positionedRowOf,
} from './positioned-rows.ts'
import {
  countStatement,
  MARKETS_AT_ONCE,
  marketsStatement,
  type PartOfSource,
  type PointKey,
  type PointsToRead,
  partEndStatement,
  pointsStatement,
  SPANS_AT_ONCE,
  sourcesOf,
  spanNumbers,
  spansStatement,
  type TimesOfMarket,
} from './unseen-points-sql.ts'

/*
 * Points are sent in the order of their events, but stored by market, source and time. A table has the first and the last
 * time of the points from each 64 blocks, a span. A query reads all points between the times of the first spans that a
 * follower has not received, and sorts those of the blocks by position:
 *
 *   height      0         64        128       192       256
 *   spans       |---------|---------|---------|---------|
 *   range           ^ height                        ^ to
 *   points read |-----------------------------|            as many spans as have few enough points: 16, or 4, or 1
 *   returned        |-----------------|                    the first `limit` rows; `reached` is where they end
 *
 * If even a single span has more points than are read at a time, a pass over its blocks takes several queries. Each reads
 * the next points in the order in which they are stored, and the pass remembers the first `limit` + 1 rows by position so
 * far. They are returned at its end, when all points of the blocks have been read:
 *
 *   market          1        2        3                         4        5
 *   source          0  1  2  0  1  2  0          1          2   0  1  2  0  1  2
 *   points          ··    ·  ·  ·     ·········· ·········· ··   ·       ·  ·
 *   query           |----- 1st -----| |2nd |3rd| |-- 4th -| |5th|----- 6th -----|
 *   afterMarket                     2    2    2          2    3                 5
 *   marketInParts                null    3    3          3 null              null
 *
 * Whole markets are read together, but one with more points than are read at a time is read alone, part by part.
 */

/** The same as {@link MAX_READ_ROWS} for all markets: dividing the points of one span would take longer than reading them. */
const MAX_READ_ROWS_OF_ALL = 40_000

/** Cost of locating rows, in rows that could be read instead. */
const STATEMENTS_IN_ROWS = 100

/** How far a pass over blocks has read the points of these blocks, of which there are more than are read at a time. */
export type Pass = {
  /** The last of the blocks. */
  through: bigint
  /** Number of the last market that has been read whole; 0 before the first, and if only one is requested. */
  afterMarket: bigint
  /** The market that is being read in parts; null if whole markets are. */
  marketInParts: MarketInParts | null
  /** How many rows the pass returns at its end: the limit of its first query. */
  limit: number
  /** The first rows by position, of those read so far: up to one more than the limit. */
  firstRows: PositionedRow[]
}

/** A market with more points in these blocks than are read at a time. */
type MarketInParts = {
  times: TimesOfMarket
  /** The source that is being read. */
  source: bigint
  /** The last point of it that has been read. */
  after: PointKey
}

export type RangeQuery = LocatedRows & { limit: number; pass: Pass | null }

/** The first rows of some blocks, the position reached, and the number of rows read. */
export type RangeRead = { rows: PositionedRow[]; reached: EventPosition; readRows: number; pass: Pass | null }

/** Reads the points of a range of blocks, between the times that the block spans give for it. */
export function* readPoints({ limit, pass, ...located }: RangeQuery, range: PositionRange): Query<RangeRead> {
  if (pass !== null) return yield* continuePass(pass, located, range)
  const spans = yield spansStatement(located, range)
  if (spans.length === 0) {
    return { ...cutAt(limit, [], range.to), readRows: STATEMENTS_IN_ROWS, pass: null }
  }
  const { through, points, isTooLong, countedRows } = yield* spansThatFit(spans, limit, located, range)
  if (isTooLong) {
    const marketInParts = 'spans' in points ? null : beginParts(points, located.selection)
    const begun: Pass = { through, afterMarket: 0n, marketInParts, limit, firstRows: [] }
    return yield* continuePass(begun, located, range)
  }
  const rows = yield pointsStatement(located, { ...range, to: through }, points, limit + 1)
  const readRows = STATEMENTS_IN_ROWS + countedRows
  return { ...cutAt(limit, rows.map(positionedRowOf(located)), through), readRows, pass: null }
}

/** Blocks whose points are read at a time. */
type BlocksAtOnce = {
  /** The last of the blocks. */
  through: bigint
  points: PointsToRead
  /** Whether there are more points than are read at a time, although they are those of a single span. */
  isTooLong: boolean
  /** Number of rows read to count the points. */
  countedRows: number
}

/**
 * Chooses the first spans of blocks whose points can be read at a time: all of them, a quarter of them, and so on down to
 * one.
 */
function* spansThatFit(
  spans: readonly Row[],
  limit: number,
  located: LocatedRows,
  range: PositionRange,
): Query<BlocksAtOnce> {
  // Without a filter nearly all points that are read are sent: twice the requested number is enough.
  const isDense = filtersBySpan(located.resource, located.selection).length === 0
  const mostOfSeveral = isDense ? Math.min(2 * limit, MAX_READ_ROWS) : MAX_READ_ROWS
  const mostOfOne = located.market === null ? MAX_READ_ROWS_OF_ALL : MAX_READ_ROWS
  let countedRows = 0
  for (let count = spans.length; ; count = Math.ceil(count / 4)) {
    const areAllSpans = spans.length < SPANS_AT_ONCE && count === spans.length
    const { through, first, last } = rangeOfSpans(spans.slice(0, count), areAllSpans, range)
    const points: PointsToRead =
      located.market === null
        ? { spans: spanNumbers(range, through), afterMarket: 0n, upToMarket: null }
        : withinPeriod(located.span, { market: located.market, first, last })
    const most = count > 1 ? mostOfSeveral : mostOfOne
    const [[total]] = (yield countStatement(located, points, most)) as [Row]
    const pointCount = Number(total)
    countedRows += pointCount
    if (pointCount <= most || count === 1)
      return { through, points, isTooLong: pointCount > most, countedRows }
  }
}

/** The points of a market that are also within a period's span; null for any period. */
function withinPeriod(period: KeySpan | null, { market, first, last }: TimesOfMarket): TimesOfMarket {
  if (period === null) return { market, first, last }
  return { market, first: greatest([first, period.first]), last: least([last, period.last]) }
}

const BEFORE_ALL: PointKey = [MIN_INT64, MIN_INT64]
const BEYOND_ALL: PointKey = [MAX_INT64, MAX_INT64]

/** The beginning of a market that is read in parts. */
function beginParts(times: TimesOfMarket, selection: Selection): MarketInParts {
  const [source] = sourcesOf(selection) as [bigint]
  return { times, source, after: BEFORE_ALL }
}

/** Reads the next points of a pass; the first rows by position are returned at its end. */
function continuePass(pass: Pass, located: LocatedRows, range: PositionRange): Query<RangeRead> {
  return pass.marketInParts === null
    ? readNextMarkets(pass, located, range)
    : readNextPart(pass, pass.marketInParts, located, range)
}

/** Reads the next part of a market. */
function* readNextPart(
  pass: Pass,
  { times, source, after }: MarketInParts,
  located: LocatedRows,
  range: PositionRange,
): Query<RangeRead> {
  const [end] = yield partEndStatement(times, source, after)
  const upTo: PointKey = end === undefined ? BEYOND_ALL : [BigInt(end[0]!), BigInt(end[1]!)]
  const firstRows = yield* readFirstRows(pass, located, range, times, { source, after, upTo })
  const read: Pass = { ...pass, firstRows }
  if (end !== undefined) {
    return continuing({ ...read, marketInParts: { times, source, after: upTo } }, range)
  }
  const sources = sourcesOf(located.selection)
  const nextSource = sources[sources.indexOf(source) + 1]
  if (nextSource !== undefined) {
    return continuing({ ...read, marketInParts: { times, source: nextSource, after: BEFORE_ALL } }, range)
  }
  if (located.market !== null) return finished(read)
  return continuing({ ...read, marketInParts: null, afterMarket: times.market }, range)
}

/** Reads the next markets whole, at most MAX_READ_ROWS rows; one with more will be read in parts. */
function* readNextMarkets(pass: Pass, located: LocatedRows, range: PositionRange): Query<RangeRead> {
  const spans = spanNumbers(range, pass.through)
  const { afterMarket } = pass
  const markets = yield marketsStatement(located, { spans, afterMarket, upToMarket: null })
  if (markets.length === 0) return finished(pass)
  const count = marketsThatFit(markets)
  if (count === 0) {
    const [market, first, last] = markets[0]!.map((value) => BigInt(value!)) as [bigint, bigint, bigint]
    const marketInParts = beginParts({ market, first, last }, located.selection)
    return continuing({ ...pass, marketInParts }, range)
  }
  const upToMarket = BigInt(markets[count - 1]![0]!)
  const firstRows = yield* readFirstRows(pass, located, range, { spans, afterMarket, upToMarket })
  const next = { ...pass, firstRows, afterMarket: upToMarket }
  return count < MARKETS_AT_ONCE && count === markets.length ? finished(next) : continuing(next, range)
}

/** How many of the first markets, as {@link marketsStatement} returns them, have few enough points to be read together. */
function marketsThatFit(markets: readonly Row[]): number {
  let total = 0
  const first = markets.findIndex((market) => {
    total += Number(market.at(-1))
    return total > MAX_READ_ROWS
  })
  return first < 0 ? markets.length : first
}

/** The first rows by position of those that the pass has read and of further points. */
function* readFirstRows(
  { limit, through, firstRows }: Pass,
  located: LocatedRows,
  range: PositionRange,
  points: PointsToRead,
  part?: PartOfSource,
): Query<PositionedRow[]> {
  const rows = yield pointsStatement(located, { ...range, to: through }, points, limit + 1, part)
  return [...firstRows, ...rows.map(positionedRowOf(located))]
    .toSorted((a, b) => (isBefore(a.position, b.position) ? -1 : 1))
    .slice(0, limit + 1)
}

function continuing(pass: Pass, reached: PositionRange): RangeRead {
  return { rows: [], reached, readRows: MAX_READ_ROWS, pass }
}

function finished({ limit, firstRows, through }: Pass): RangeRead {
  return { ...cutAt(limit, firstRows, through), readRows: MAX_READ_ROWS, pass: null }
}

/**
 * The last block of these spans, and the first and last time of their points.
 *
 * @param areAllSpans whether no further span of the range has points
 */
function rangeOfSpans(
  spans: readonly Row[],
  areAllSpans: boolean,
  { to }: PositionRange,
): { through: bigint; first: bigint; last: bigint } {
  const first = least(spans.map(([, from]) => BigInt(from!)))
  const last = greatest(spans.map(([, , upTo]) => BigInt(upTo!)))
  const end = (BigInt(spans.at(-1)![0]!) + 1n) * BLOCKS_OF_SPAN - 1n
  return { through: areAllSpans || end > to ? to : end, first, last }
}
