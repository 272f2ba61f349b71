import { greatest, least } from '../../../domain/integers.ts'
import type { PositionRange } from '../../../domain/unseen.ts'
import type { Row } from '../../../model/resource.ts'
import { BLOCKS_OF_SPAN } from '../../../resources/funding-period-data-points/table.ts'
import { filtersBySpan } from '../../pages/locate.ts'
import type { KeySpan } from '../../pages/scan.ts'
import type { Query } from '../../queries-protocol.ts'
import { beginPass, continuePass, type Pass, type RangeRead } from './points-pass.ts'
import { cutAt, type LocatedRows, MAX_READ_ROWS, positionedRowOf } from './positioned-rows.ts'
import {
  countStatement,
  type PointsToRead,
  pointsStatement,
  SPANS_AT_ONCE,
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
 * If even a single span has more points than are read at a time, a pass over its blocks takes several queries
 * (points-pass.ts).
 */

/** The same as {@link MAX_READ_ROWS} for all markets: dividing the points of one span would take longer than reading them. */
const MAX_READ_ROWS_OF_ALL = 40_000

/** Cost of locating rows, in rows that could be read instead. */
const STATEMENTS_IN_ROWS = 100

/** A query for the first rows of some blocks; `pass` is the one to continue. */
export type RangeQuery = LocatedRows & { limit: number; pass: Pass | null }

/** Reads the points of a range of blocks, between the times that the block spans give for it. */
export function* readUnseenPoints(
  { limit, pass, ...located }: RangeQuery,
  range: PositionRange,
): Query<RangeRead> {
  if (pass !== null) return yield* continuePass(pass, located, range)
  const spans = yield spansStatement(located, range)
  if (spans.length === 0) {
    return { ...cutAt(limit, [], range.to), readRows: STATEMENTS_IN_ROWS, pass: null }
  }
  const { through, points, isTooLong, countedRows } = yield* spansThatFit(spans, limit, located, range)
  if (isTooLong) {
    const times = 'spans' in points ? null : points
    return yield* beginPass({ through, limit, times }, located, range)
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
