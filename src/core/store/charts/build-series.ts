import { indexAt } from '../../domain/series.ts'
import {
  BASE,
  type BucketRange,
  baseAt,
  bucketRanges,
  FIRST_BASE,
  LEVELS,
  type Level,
} from '../../domain/series-levels.ts'
import { builtSeriesTable, seriesTable } from '../../resources/funding-period-data-points/table.ts'
import { readBuiltSeries } from '../queries/series/built-series.ts'
import { type MarketSeries, readEnds } from '../queries/series/counted-points.ts'
import { asMutation, type Mutation, type Write } from '../queries-protocol.ts'
import { type BucketRow, CHUNK_BUCKETS, levelKey, type RangeBuckets, rangeBuckets } from './range-buckets.ts'

const LOCK_SERIES =
  'update funding_period_series_made set made_to = made_to where market = $1 and source = $2'

const DELETE_BUCKETS = `
  delete from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5`

const DELETE_MARK = `
  delete from funding_period_series_stale where market = $1 and source = $2 and id = $3`

/**
 * Locks a series until the transaction ends: others that build it, or mark it outside its writer's commits, wait. It
 * changes nothing.
 */
export function lockSeries({ market, source }: MarketSeries): Write {
  return { text: LOCK_SERIES, values: [market, source] }
}

/**
 * Builds the stale buckets of a series, and all that its last point has completed. Answers to readers do not change. Only the
 * writer of points may advance the built end, because others do not see points that are being written.
 *
 * @param onPoint called with each point read
 *
 * @returns the first of the shortest buckets that is not built
 */
export function* buildToLastPoint(series: MarketSeries, onPoint?: () => void): Mutation<bigint> {
  const ends = yield* asMutation(readEnds(series))
  return yield* buildUpTo(series, ends === null ? FIRST_BASE : baseAt(ends.last), onPoint)
}

/** Builds the stale buckets of a series. It may work beside a writer of points. */
export function* buildStaleBuckets(series: MarketSeries): Mutation<void> {
  yield* buildUpTo(series, FIRST_BASE)
}

function* buildUpTo(series: MarketSeries, closed: bigint, onPoint = () => {}): Mutation<bigint> {
  const { market, source } = series
  yield lockSeries(series)
  const built = yield* asMutation(readBuiltSeries(series))
  const to = closed > built.to ? closed : built.to
  const changed = [...built.stale]
  if (to > built.to) changed.push({ from: built.to, to })
  if (changed.length === 0) return to
  // Shortest first, because longer buckets are calculated from the stored shorter ones.
  for (const level of LEVELS) {
    for (const range of closedRanges(level, changed, to)) {
      yield { text: DELETE_BUCKETS, values: [...levelKey(series, level), range.from, range.to] }
      yield* writeBuckets(rangeBuckets(series, level, range, onPoint))
    }
  }
  yield { table: builtSeriesTable, rows: [{ market, source: Number(source), made_to: to }] }
  yield { text: DELETE_MARK, each: built.marks.map((id) => [market, source, id]) }
  return to
}

/** The buckets of a length that overlap ranges of the shortest ones and end by `to`. */
function closedRanges(level: Level, ranges: readonly BucketRange[], to: bigint): BucketRange[] {
  const end = indexAt(to, level.seconds / BASE.seconds)
  return bucketRanges(level, ranges)
    .map((range) => ({ from: range.from, to: range.to < end ? range.to : end }))
    .filter((range) => range.from < range.to)
}

/** Writes calculated buckets, whose rows have been deleted, as soon as enough are complete. */
function* writeBuckets(buckets: RangeBuckets): Mutation {
  let rows: BucketRow[] = []
  while (!buckets.isAtEnd) {
    for (const row of yield* asMutation(buckets.readChunk())) rows.push(row)
    if (rows.length >= CHUNK_BUCKETS || (buckets.isAtEnd && rows.length > 0)) {
      yield { table: seriesTable, rows, areNew: true }
      rows = []
    }
  }
}
