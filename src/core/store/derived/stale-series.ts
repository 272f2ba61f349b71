import { randomBytes } from 'node:crypto'
import { nearestInt64 } from '../../domain/integers.ts'
import type { PeriodStarts, PointKey } from '../../domain/series.ts'
import { BASE, type BucketRange, baseAt, bucketRanges } from '../../domain/series-levels.ts'
import { seriesStaleTable } from '../../resources/funding-period-data-points/table.ts'
import type { SeriesRun } from '../readings/counted-points.ts'
import type { Steps } from '../steps.ts'

/** A period with points whose start has changed: the new start, null if unknown, and the first and last time of its points. */
export type MovedPeriod = { before: bigint | null; now: bigint | null; first: bigint; last: bigint }

/** Changes of the points of a run. */
export type RunChanges = {
  /** Those that are new, changed or gone, by timestamp. */
  points: readonly PointKey[]
  /** The starts of their periods. */
  starts: PeriodStarts
  /** Periods with points whose start has changed. */
  moved: readonly MovedPeriod[]
}

/** Changes no further apart than so many buckets are one range. */
const SLACK = 20n

/** Maximum number of ranges of one commit; more are joined, because a reader reads each separately. */
const MOST_RANGES = 16

/** Reading a separate range takes about as long as so many points. */
const POINTS_OF_RANGE = 1_000

/**
 * Starts of periods between two timestamps, if points carried over to them also exist in another period: which of these
 * count depends on all points of their timestamp.
 */
const READ_CARRIED_STARTS = `
  select distinct cast(span.start_timestamp as text) from (
    select timestamp from funding_period_data_points
    where market = $1 and source = $2 and timestamp >= $3 and timestamp <= $4
    group by timestamp having count(*) > 1
  ) as copied
  cross join funding_period_data_points as point cross join funding_period_spans as span
  where point.market = $1 and point.source = $2 and point.timestamp = copied.timestamp
    and span.market = $1 and span.seq = point.seq and span.start_timestamp > point.timestamp`

/** How many points a run has between two times, the first included. */
export const COUNT_POINTS = `
  select count(*) from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp < $4`

/**
 * Marks the buckets up to `madeTo` that changes of a run's points make stale. Call it while the store has both the old and
 * the new points, and the new starts of periods.
 *
 * @returns how many points readers read instead, or an equivalent number
 */
export function* markStale(
  { market, source }: SeriesRun,
  madeTo: bigint,
  { points, starts, moved }: RunChanges,
): Steps<number> {
  const changed = createChanges()
  for (const { timestamp, seq } of points) {
    changed.add(timestamp, timestamp)
    const start = starts.get(seq)
    if (start !== undefined && start > timestamp) changed.addStart(start)
  }
  for (const { first, last, before, now } of moved) {
    changed.add(first, last)
    for (const start of [before, now]) if (start !== null) changed.addStart(start)
  }
  const found = yield {
    text: READ_CARRIED_STARTS,
    values: changed.times.map(({ first, last }) => [market, source, first, last]),
  }
  for (const [start] of found.flat()) changed.addStart(BigInt(start!))
  const stale = changed
    .ranges()
    .filter(({ from }) => from < madeTo)
    .map(({ from, to }) => ({ from, to: to < madeTo ? to : madeTo }))
  yield {
    table: seriesStaleTable,
    rows: stale.map(({ from, to }) => ({
      ...{ market, source: Number(source), id: randomBytes(8).readBigInt64BE() },
      ...{ from_bucket: from, to_bucket: to },
    })),
    areNew: true,
  }
  const counts = yield {
    text: COUNT_POINTS,
    values: stale.map(({ from, to }) => [
      ...[market, source, nearestInt64(from * BASE.nanoseconds)],
      nearestInt64(to * BASE.nanoseconds),
    ]),
  }
  return counts.reduce((sum, [row]) => sum + Number(row![0]) + POINTS_OF_RANGE, 0)
}

/** Gathers the times of changes. */
function createChanges() {
  /** Changed timestamps, as the first and last of each cluster. */
  const times: { first: bigint; last: bigint }[] = []
  const starts = new Set<bigint>()

  function add(first: bigint, last: bigint): void {
    const near = times.at(-1)
    const isNear = near !== undefined && first >= near.first && first <= near.last + SLACK * BASE.nanoseconds
    if (!isNear) times.push({ first, last })
    else if (last > near.last) near.last = last
  }

  function addStart(start: bigint): void {
    starts.add(baseAt(start))
  }

  /** At most {@link MOST_RANGES}: the nearest are joined. */
  function ranges(): BucketRange[] {
    const all = [
      ...times.map(({ first, last }) => ({ from: baseAt(first), to: baseAt(last) + 1n })),
      ...[...starts].map((from) => ({ from, to: from + 1n })),
    ]
    let slack = SLACK
    let joined = bucketRanges(BASE, all, slack)
    while (joined.length > MOST_RANGES) {
      slack *= 2n
      joined = bucketRanges(BASE, joined, slack)
    }
    return joined
  }

  return { times, add, addStart, ranges }
}
