import { MIN_INT64, nearestInt64 } from '../domain/integers.ts'
import {
  type Bucket,
  bucketOf,
  indexAt,
  join,
  joinPoint,
  maximumApart,
  minimumApart,
  type SeriesPoint,
  summaryFrom,
  withoutCopies,
} from '../domain/series.ts'
import type { BatchRow } from '../projections/batch.ts'
import type { KeyValue } from '../resources/resource.ts'
import type { Steps } from './steps.ts'
import { tableOf } from './tables.ts'

/*
 * Series are read from buckets of several lengths. Of each length there are those buckets of a market and source that
 * some later point has closed: the one that its last point is in is read from shorter buckets and, in the end, from
 * the points. So a point that comes in the order of time changes no bucket, and every bucket is written once.
 */

/** A length of buckets, in seconds; they are made from those of `of`, the shortest ones from the points. */
export type Level = { seconds: bigint; nanoseconds: bigint; of: Level | null }

const BASE = levelOf(30n, null)
const MINUTES_5 = levelOf(300n, BASE)
const MINUTES_30 = levelOf(1_800n, MINUTES_5)
const HOURS_4 = levelOf(14_400n, MINUTES_30)
const DAY = levelOf(86_400n, HOURS_4)

/** Shortest first; each after the one that it is made from. */
export const LEVELS: readonly Level[] = [
  ...[BASE, MINUTES_5, MINUTES_30, HOURS_4, DAY],
  ...[levelOf(7n * DAY.seconds, DAY), levelOf(365n * DAY.seconds, DAY)],
]

function levelOf(seconds: bigint, of: Level | null): Level {
  return { seconds, nanoseconds: seconds * 1_000_000_000n, of }
}

/** The points of one source of a market, by the market's number in the store. */
export type SeriesRun = { market: bigint; source: bigint }

/** What has changed of a run's points, once it is written. */
export type SeriesChange = {
  /** The time of the last point before; null where there was none. */
  last: bigint | null
  /** Points that have come or changed, one for each key, in the order of time and seq. */
  points: readonly SeriesPoint[]
  /** Times of points that have gone. */
  gone?: readonly bigint[]
}

const SERIES = tableOf('funding_period_series')

/** Of earlier points so many buckets are made at a time: what is read for them is kept in memory. */
const BUCKETS_AT_A_TIME = 100

/**
 * The time of a run's last point; no row where there is none. Not as the greatest one: PostgreSQL would read them all while
 * it has no statistics of the table, as in the first minute of an ingestion.
 */
export const READ_LAST_TIME = `
  select cast(timestamp as text) from funding_period_data_points where market = $1 and source = $2
  order by funding_period_data_points.timestamp desc limit 1`

const READ_POINTS = `
  select cast(timestamp as text), cast(price as text), cast(twap as text) from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp < $4
  order by funding_period_data_points.timestamp, funding_period_data_points.seq`

const BUCKET_COLUMNS = `cast(points as text), price_first, price_last, price_minimum, price_maximum,
  twap_first, twap_last, twap_minimum, twap_maximum`

const READ_BUCKETS = `
  select ${BUCKET_COLUMNS} from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5
  order by funding_period_series.bucket`

const DELETE_BUCKET = `
  delete from funding_period_series where market = $1 and source = $2 and seconds = $3 and bucket = $4`

const DELETE_OPEN_BUCKETS = `
  delete from funding_period_series where market = $1 and source = $2 and seconds = $3 and bucket >= $4`

/** The steps that bring a run's buckets up to date after its points have been written. */
export function* writeSeries(run: SeriesRun, { last, points, gone = [] }: SeriesChange): Steps {
  const newest = yield* lastTime(run, last, points, gone)
  if (last !== null && (newest === null || newest < last)) {
    const from = (level: Level) => (newest === null ? null : indexAt(newest, level.nanoseconds))
    yield {
      each: DELETE_OPEN_BUCKETS,
      values: LEVELS.map((level) => [...cells(run, level), from(level) ?? MIN_INT64]),
    }
  }
  if (newest === null) return
  const byIndex = pointsByIndex(points)
  let changed = new Set(byIndex.keys())
  for (const timestamp of gone) changed.add(indexAt(timestamp, BASE.nanoseconds))
  const byLevel = new Map<Level, Set<bigint>>()
  for (const level of LEVELS) {
    const { of, nanoseconds } = level
    if (of !== null) changed = parentsOf(byLevel.get(of)!, of, level)
    if (last !== null) changed.add(indexAt(last, nanoseconds))
    const closed = indexAt(newest, nanoseconds)
    changed = new Set([...changed].filter((index) => index < closed).sort((a, b) => (a < b ? -1 : 1)))
    byLevel.set(level, changed)
    if (of === null) yield* writeFromPoints(run, [...changed], last, byIndex)
    else yield* writeFromBuckets(run, level, of, [...changed])
  }
}

/** The time of the run's last point as it is now. */
function* lastTime(
  run: SeriesRun,
  last: bigint | null,
  points: readonly SeriesPoint[],
  gone: readonly bigint[],
): Steps<bigint | null> {
  const newest = points.at(-1)?.timestamp ?? last
  if (gone.length === 0) return last !== null && (newest === null || newest < last) ? last : newest
  const [[row] = []] = yield { each: READ_LAST_TIME, values: [[run.market, run.source]] }
  const found = row?.[0]
  return found === null || found === undefined ? null : BigInt(found)
}

function parentsOf(indexes: ReadonlySet<bigint>, of: Level, level: Level): Set<bigint> {
  return new Set([...indexes].map((index) => indexAt(index * of.nanoseconds, level.nanoseconds)))
}

/** Buckets after the last point of before hold what has come alone; others are made from the points held. */
function* writeFromPoints(
  run: SeriesRun,
  indexes: readonly bigint[],
  last: bigint | null,
  byIndex: PointsByIndex,
): Steps {
  const { nanoseconds } = BASE
  const isNew = (index: bigint) => last === null || index > indexAt(last, nanoseconds)
  yield* writeBuckets(run, BASE, newBuckets(indexes.filter(isNew), byIndex), [])
  const others = indexes.filter((index) => !isNew(index))
  for (let at = 0; at < others.length; at += BUCKETS_AT_A_TIME) {
    const some = others.slice(at, at + BUCKETS_AT_A_TIME)
    const found = yield {
      each: READ_POINTS,
      values: some.map((index) => [
        run.market,
        run.source,
        ...[index, index + 1n].map((at) => nearestInt64(at * nanoseconds)),
      ]),
    }
    const buckets = new Map<bigint, Bucket>()
    for (const [position, rows] of found.entries()) {
      const held = rows.map(([timestamp, price, twap]) => ({
        timestamp: BigInt(timestamp!),
        price: price as string,
        twap: twap as string,
      }))
      const bucket = bucketOfPoints(withoutCopies(held))
      if (bucket !== null) buckets.set(some[position]!, bucket)
    }
    yield* writeBuckets(
      run,
      BASE,
      buckets,
      some.filter((index) => !buckets.has(index)),
    )
  }
}

function newBuckets(indexes: readonly bigint[], byIndex: PointsByIndex): Map<bigint, Bucket> {
  const buckets = new Map<bigint, Bucket>()
  for (const index of indexes) {
    const bucket = bucketOfPoints(withoutCopies(byIndex.get(index) ?? []))
    if (bucket !== null) buckets.set(index, bucket)
  }
  return buckets
}

/** The points of each of the shortest buckets. */
type PointsByIndex = ReadonlyMap<bigint, readonly SeriesPoint[]>

/** `points` are in the order of time: one division for each bucket is enough. */
function pointsByIndex(points: readonly SeriesPoint[]): PointsByIndex {
  const byIndex = new Map<bigint, SeriesPoint[]>()
  let some: SeriesPoint[] = []
  let end: bigint | null = null
  for (const point of points) {
    if (end === null || point.timestamp >= end) {
      const index = indexAt(point.timestamp, BASE.nanoseconds)
      end = (index + 1n) * BASE.nanoseconds
      some = []
      byIndex.set(index, some)
    }
    some.push(point)
  }
  return byIndex
}

function bucketOfPoints(points: Iterable<Pick<SeriesPoint, 'price' | 'twap'>>): Bucket | null {
  let bucket: Bucket | null = null
  for (const point of points) {
    if (bucket === null) bucket = bucketOf(point)
    else joinPoint(bucket, point)
  }
  return bucket
}

function* writeFromBuckets(run: SeriesRun, level: Level, of: Level, indexes: readonly bigint[]): Steps {
  const parts = level.seconds / of.seconds
  for (let at = 0; at < indexes.length; at += BUCKETS_AT_A_TIME) {
    const some = indexes.slice(at, at + BUCKETS_AT_A_TIME)
    const found = yield {
      each: READ_BUCKETS,
      values: some.map((index) => [...cells(run, of), index * parts, (index + 1n) * parts]),
    }
    const buckets = new Map<bigint, Bucket>()
    for (const [position, rows] of found.entries()) {
      const [first, ...others] = rows.map(bucketFromRow)
      if (first === undefined) continue
      for (const bucket of others) join(first, bucket)
      buckets.set(some[position]!, first)
    }
    yield* writeBuckets(
      run,
      level,
      buckets,
      some.filter((index) => !buckets.has(index)),
    )
  }
}

function* writeBuckets(
  run: SeriesRun,
  level: Level,
  buckets: ReadonlyMap<bigint, Bucket>,
  empty: readonly bigint[],
): Steps {
  if (empty.length > 0) {
    yield { each: DELETE_BUCKET, values: empty.map((index) => [...cells(run, level), index]) }
  }
  if (buckets.size === 0) return
  const rows = [...buckets].map(([index, bucket]) => bucketRow(run, level, index, bucket))
  yield { table: SERIES, rows, countsNew: false }
}

/** A row of `funding_period_series`. */
export function bucketRow(
  run: SeriesRun,
  level: Level,
  index: bigint,
  { count, price, twap }: Bucket,
): BatchRow {
  return [
    ...[...cells(run, level), index, count],
    ...[price.first, price.last, minimumApart(price), maximumApart(price)],
    ...[twap.first, twap.last, minimumApart(twap), maximumApart(twap)],
  ]
}

const cells = ({ market, source }: SeriesRun, { seconds }: Level): bigint[] => [market, source, seconds]

/** A bucket as {@link BUCKET_COLUMNS} give it. */
function bucketFromRow(row: readonly (KeyValue | number | null)[]): Bucket {
  const [points, ...texts] = row as [string, ...(string | null)[]]
  const [first, last, minimum, maximum, ...twap] = texts
  return {
    count: Number(points),
    price: summaryFrom(first!, last!, minimum!, maximum!),
    twap: summaryFrom(twap[0]!, twap[1]!, twap[2]!, twap[3]!),
  }
}
