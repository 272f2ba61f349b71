import { randomBytes } from 'node:crypto'
import { nearestInt64 } from '../../domain/integers.ts'
import { BASE, type BucketRange, baseAt, bucketRanges } from '../../domain/series-levels.ts'
import { seriesStaleTable } from '../../resources/funding-period-data-points/table.ts'
import type { MarketSeries } from '../queries/series/counted-points.ts'
import type { Mutation } from '../queries-protocol.ts'

/** Changes are joined to one range if no more buckets than this are between them. */
const SLACK = 20n

/** Maximum number of ranges of one commit. Others are joined, because a reader reads each separately. */
const MOST_RANGES = 16

/** Reading one range takes about as long as reading this many points. */
const POINTS_OF_RANGE = 1_000

/** The number of a series' points between two times, of which the first is included. */
export const COUNT_POINTS = `
  select count(*) from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp < $4`

/**
 * Marks the buckets that have become stale because points of a series have changed.
 *
 * @param timestamps times of points that are new, changed or deleted, ascending, all in built buckets
 *
 * @returns the number of points that readers read instead, plus what reading their ranges costs in points
 */
export function* markStale(
  { market, source }: MarketSeries,
  timestamps: readonly bigint[],
): Mutation<number> {
  const stale = staleRanges(timestamps)
  yield {
    table: seriesStaleTable,
    rows: stale.map(({ from, to }) => ({
      market,
      source: Number(source),
      id: randomBytes(8).readBigInt64BE(),
      from_bucket: from,
      to_bucket: to,
    })),
    areNew: true,
  }
  const counts = yield {
    text: COUNT_POINTS,
    each: stale.map(({ from, to }) => [
      market,
      source,
      nearestInt64(from * BASE.nanoseconds),
      nearestInt64(to * BASE.nanoseconds),
    ]),
  }
  return counts.reduce((sum, [row]) => sum + Number(row![0]) + POINTS_OF_RANGE, 0)
}

/** The buckets that contain these times, in at most {@link MOST_RANGES} ranges: the nearest are joined. */
function staleRanges(timestamps: readonly bigint[]): BucketRange[] {
  const changed = [...new Set(timestamps.map(baseAt))].map((from) => ({ from, to: from + 1n }))
  let slack = SLACK
  let ranges = bucketRanges(BASE, changed, slack)
  while (ranges.length > MOST_RANGES) {
    slack *= 2n
    ranges = bucketRanges(BASE, ranges, slack)
  }
  return ranges
}
