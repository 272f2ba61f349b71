import { type EventPosition, isBefore } from '../../../domain/event-position.ts'
import { MAX_INT64, MIN_INT64 } from '../../../domain/integers.ts'
import type { PositionRange } from '../../../domain/unseen.ts'
import type { Row, Selection } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import {
  cutAt,
  type LocatedRows,
  MAX_READ_ROWS,
  type PositionedRow,
  positionedRowOf,
} from './positioned-rows.ts'
import {
  MARKETS_AT_ONCE,
  marketsStatement,
  type PartOfSource,
  type PointKey,
  type PointsToRead,
  partEndStatement,
  pointsStatement,
  sourcesOf,
  spanNumbers,
  type TimesOfMarket,
} from './unseen-points-sql.ts'

/*
 * A pass over blocks with more points than are read at a time takes several queries. Each reads the next points in the order
 * in which they are stored, or finds that a market has too many of them. The pass remembers the first `limit` + 1 rows by
 * position so far. They are returned at its end, when all points of the blocks have been read:
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
  /** The last of its points that has been read. */
  after: PointKey
}

/** The first rows of some blocks, the position reached, and what reading them has cost, in rows. */
export type RangeRead = { rows: PositionedRow[]; reached: EventPosition; readRows: number; pass: Pass | null }

const BEFORE_ALL: PointKey = [MIN_INT64, MIN_INT64]
const BEYOND_ALL: PointKey = [MAX_INT64, MAX_INT64]

/** The beginning of a market that is read in parts. */
function beginParts(times: TimesOfMarket, selection: Selection): MarketInParts {
  const [source] = sourcesOf(selection) as [bigint]
  return { times, source, after: BEFORE_ALL }
}

/**
 * Begins a pass over blocks, and reads their first points.
 *
 * @param times the points of the one requested market; null for all markets
 */
export function beginPass(
  { through, limit, times }: Pick<Pass, 'through' | 'limit'> & { times: TimesOfMarket | null },
  located: LocatedRows,
  range: PositionRange,
): Query<RangeRead> {
  const marketInParts = times === null ? null : beginParts(times, located.selection)
  return continuePass({ through, afterMarket: 0n, marketInParts, limit, firstRows: [] }, located, range)
}

/** Reads the next points of a pass; the first rows by position are returned at its end. */
export function continuePass(pass: Pass, located: LocatedRows, range: PositionRange): Query<RangeRead> {
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
