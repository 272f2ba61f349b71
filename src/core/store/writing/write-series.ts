import { MIN_INT64 } from '../../domain/integers.ts'
import {
  addPoint,
  type Bucket,
  bucketOf,
  compareCounted,
  countedPoints,
  indexAt,
  join,
  joinPoint,
  maximumApart,
  minimumApart,
  type PeriodStarts,
  type PointKey,
  type SeriesPoint,
  summaryFrom,
} from '../../domain/series.ts'
import { BASE, closingTime, LEVELS, type Level } from '../../domain/series-levels.ts'
import { seriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { KeyValue } from '../../resources/resource.ts'
import type { RowOf } from '../../resources/table.ts'
import {
  READ_LAST_START,
  READ_LAST_TIMESTAMP,
  READ_STARTS,
  readCounted,
  type SeriesRun,
} from '../readings/counted-points.ts'
import { asSteps, runTogether, type Steps } from './steps.ts'

/** Changes of a run, after its points and the market's period starts are written. */
export type SeriesChange = {
  /** The run's closing time before and now; null without points. */
  closing: { before: bigint | null; now: bigint | null }
  /** Points that are new or changed, one for each key, by timestamp and seq. */
  points: readonly SeriesPoint[]
  gone: readonly PointKey[]
  /** Periods with points whose start has changed. */
  moved: readonly bigint[]
  /** Starts of the periods of all these: as they were, and as they are. */
  starts: { before: PeriodStarts; now: PeriodStarts }
  /** Whether the market had no points of a later period than those of `points`. */
  isAhead: boolean
}

/** Buckets of earlier points written at a time: their points are in memory. */
const BUCKETS_AT_A_TIME = 100

/** The closing times of runs (see above); null without points. */
export function* readClosing(runs: readonly SeriesRun[]): Steps<(bigint | null)[]> {
  const lasts = yield* readLastTimestamps(runs)
  const starts = yield { text: READ_LAST_START, values: runs.map(({ market }) => [market]) }
  return lasts.map((last, index) => closingTime(last, starts[index]![0]?.[0] ?? null))
}

/** The timestamps of the last points of runs; null without points. */
export function* readLastTimestamps(runs: readonly SeriesRun[]): Steps<(bigint | null)[]> {
  const found = yield {
    text: READ_LAST_TIMESTAMP,
    values: runs.map(({ market, source }) => [market, source]),
  }
  return found.map(([row]) => (row === undefined ? null : BigInt(row[0]!)))
}

/** The starts of some periods with points, as series are written with them. */
export function* readStarts({ market }: SeriesRun, seqs: readonly bigint[]): Steps<PeriodStarts> {
  const found = yield { text: READ_STARTS, values: seqs.map((seq) => [market, seq, seq]) }
  return new Map(found.flat().map(([seq, start]) => [BigInt(seq!), BigInt(start!)]))
}

/** In which of the shortest buckets a period has points of a run, or next to them: a division cuts towards zero. */
const READ_INDEXES = `
  select distinct cast(timestamp / ${BASE.nanoseconds} as text) from funding_period_data_points
  where market = $1 and source = $2 and seq = $3
    and timestamp >= (select first_timestamp from funding_period_spans where market = $1 and seq = $3)
    and timestamp <= (select last_timestamp from funding_period_spans where market = $1 and seq = $3)`

const BUCKET_COLUMNS = `cast(seq as text), cast(points as text), price_first, price_last, price_minimum, price_maximum,
  twap_first, twap_last, twap_minimum, twap_maximum`

const READ_BUCKETS = `
  select ${BUCKET_COLUMNS} from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5
  order by funding_period_series.bucket`

const DELETE_BUCKET = `
  delete from funding_period_series where market = $1 and source = $2 and seconds = $3 and bucket = $4`

const DELETE_OPEN_BUCKETS = `
  delete from funding_period_series where market = $1 and source = $2 and seconds = $3 and bucket >= $4`

/** The steps that bring a run's buckets up to date. */
export function* writeSeries(run: SeriesRun, change: SeriesChange): Steps {
  const { before, now } = change.closing
  if (before !== null && (now === null || now < before)) {
    yield {
      text: DELETE_OPEN_BUCKETS,
      values: LEVELS.map((level) => [
        ...cells(run, level),
        now === null ? MIN_INT64 : indexAt(now, level.nanoseconds),
      ]),
    }
  }
  if (now === null) return
  const fresh = freshBuckets(change)
  let changed = new Set(fresh.keys())
  const stale = yield* staleBuckets(run, change)
  for (const index of stale) changed.add(index)
  const byLevel = new Map<Level, Set<bigint>>()
  for (const level of LEVELS) {
    const { of, nanoseconds } = level
    if (of !== null) changed = parentsOf(byLevel.get(of)!, of, level)
    if (before !== null) changed.add(indexAt(before, nanoseconds))
    const closed = indexAt(now, nanoseconds)
    changed = new Set([...changed].filter((index) => index < closed).sort((a, b) => (a < b ? -1 : 1)))
    if (of !== null) yield* writeFromBuckets(run, level, of, [...changed])
    else changed = yield* writeFromPoints(run, changed, fresh, change)
    byLevel.set(level, changed)
  }
}

const baseOf = (time: bigint) => indexAt(time, BASE.nanoseconds)

/** The points of a change that count, by the shortest buckets. */
function freshBuckets({ points, starts }: SeriesChange): Map<bigint, SeriesPoint[]> {
  const byIndex = new Map<bigint, SeriesPoint[]>()
  const unsorted = new Set<bigint>()
  let some: SeriesPoint[] = []
  let end: bigint | null = null
  // Times mostly ascend: one division for each bucket is enough.
  for (const point of countedPoints(points, starts.now)) {
    const isCarried = point.time !== point.timestamp
    if (end === null || isCarried || point.time >= end) {
      const index = baseOf(point.time)
      end = isCarried ? null : (index + 1n) * BASE.nanoseconds
      some = byIndex.get(index) ?? []
      byIndex.set(index, some)
      if (isCarried || some.length > 0) unsorted.add(index)
    }
    some.push(point)
  }
  for (const index of unsorted) byIndex.get(index)!.sort(compareCounted)
  return byIndex
}

/** The shortest buckets whose set of points may have changed because of changes elsewhere. */
function* staleBuckets(run: SeriesRun, { points, gone, moved, starts }: SeriesChange): Steps<Set<bigint>> {
  const stale = new Set<bigint>()
  const startsOf = (seq: bigint) => [starts.before.get(seq), starts.now.get(seq)]
  const add = ({ timestamp, seq }: PointKey) => {
    stale.add(baseOf(timestamp))
    for (const start of startsOf(seq)) if (start !== undefined && start > timestamp) stale.add(baseOf(start))
  }
  for (const place of gone) add(place)
  for (const point of points) {
    const start = starts.now.get(point.seq)
    // Others of its timestamp may be of periods whose starts are not known.
    if (start !== undefined && start > point.timestamp) stale.add(baseOf(point.timestamp))
  }
  for (const seq of moved) {
    for (const start of startsOf(seq)) if (start !== undefined) stale.add(baseOf(start))
    const [rows = []] = yield { text: READ_INDEXES, values: [[run.market, run.source, seq]] }
    for (const [index] of rows) for (const at of [-1n, 0n]) stale.add(BigInt(index!) + at)
  }
  return stale
}

/** Buckets after the previous closing time contain only new points; others are recomputed from stored points. */
function* writeFromPoints(
  run: SeriesRun,
  indexes: ReadonlySet<bigint>,
  fresh: ReadonlyMap<bigint, readonly SeriesPoint[]>,
  { closing: { before, now }, points, gone, moved, isAhead }: SeriesChange,
): Steps<Set<bigint>> {
  const isAdded = moved.length === 0 && gone.length === 0 && isAhead
  const open = before === null ? null : baseOf(before)
  const isWhole = (index: bigint) => open === null || (isAdded && index > open)
  const buckets = new Map<bigint, Bucket>()
  for (const index of indexes) {
    const bucket = isWhole(index) ? bucketOfPoints(fresh.get(index) ?? []) : null
    if (bucket !== null) buckets.set(index, bucket)
  }
  yield* writeBuckets(run, BASE, buckets, [])
  const others = [...indexes].filter((index) => !isWhole(index))
  if (others.length === 0) return new Set(indexes)
  // A point that has changed may decide about a carried-over one of its timestamp, which counts later.
  const late = new Set([...points, ...gone].map(({ timestamp }) => timestamp))
  const moves = (point: SeriesPoint) => moved.length > 0 || late.has(point.timestamp)
  const further = new Set<bigint>()
  yield* rewrite(run, others, (point) => {
    const index = baseOf(point.time)
    if (moves(point) && !indexes.has(index) && index < baseOf(now!)) further.add(index)
  })
  yield* rewrite(run, [...further])
  return new Set([...indexes, ...further])
}

function* rewrite(
  run: SeriesRun,
  indexes: readonly bigint[],
  seen: (carried: SeriesPoint) => void = () => {},
): Steps {
  for (let at = 0; at < indexes.length; at += BUCKETS_AT_A_TIME) {
    const some = indexes.slice(at, at + BUCKETS_AT_A_TIME)
    const buckets = new Map<bigint, Bucket>()
    const readings = some.map((index) => {
      const range = { from: index * BASE.nanoseconds, to: (index + 1n) * BASE.nanoseconds }
      const add = (point: SeriesPoint) => addPoint(buckets, index, point)
      return asSteps(readCounted(run, range, add, seen))
    })
    yield* runTogether(readings)
    yield* writeBuckets(run, BASE, buckets, some)
  }
}

function parentsOf(indexes: ReadonlySet<bigint>, of: Level, level: Level): Set<bigint> {
  return new Set([...indexes].map((index) => indexAt(index * of.nanoseconds, level.nanoseconds)))
}

function bucketOfPoints(points: Iterable<SeriesPoint>): Bucket | null {
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
      text: READ_BUCKETS,
      values: some.map((index) => [...cells(run, of), index * parts, (index + 1n) * parts]),
    }
    const buckets = new Map<bigint, Bucket>()
    for (const [position, rows] of found.entries()) {
      const [first, ...others] = rows.map(bucketFromRow)
      if (first === undefined) continue
      for (const bucket of others) join(first, bucket)
      buckets.set(some[position]!, first)
    }
    yield* writeBuckets(run, level, buckets, some)
  }
}

/** Writes buckets, and deletes those of `indexes` that are not among them. */
function* writeBuckets(
  run: SeriesRun,
  level: Level,
  buckets: ReadonlyMap<bigint, Bucket>,
  indexes: readonly bigint[],
): Steps {
  const empty = indexes.filter((index) => !buckets.has(index))
  if (empty.length > 0) {
    yield { text: DELETE_BUCKET, values: empty.map((index) => [...cells(run, level), index]) }
  }
  if (buckets.size === 0) return
  const rows = [...buckets].map(([index, bucket]) => bucketRow(run, level, index, bucket))
  yield { table: seriesTable, rows }
}

/** A row of `funding_period_series`. */
export function bucketRow(
  run: SeriesRun,
  level: Level,
  index: bigint,
  { seq, count, price, twap }: Bucket,
): RowOf<typeof seriesTable> {
  return {
    market: run.market,
    source: Number(run.source),
    seconds: level.seconds,
    bucket: index,
    points: BigInt(count),
    price_first: price.first,
    price_last: price.last,
    price_minimum: minimumApart(price),
    price_maximum: maximumApart(price),
    twap_first: twap.first,
    twap_last: twap.last,
    twap_minimum: minimumApart(twap),
    twap_maximum: maximumApart(twap),
    seq,
  }
}

const cells = ({ market, source }: SeriesRun, { seconds }: Level): bigint[] => [market, source, seconds]

/** A bucket as {@link BUCKET_COLUMNS} give it. */
function bucketFromRow(row: readonly (KeyValue | number | null)[]): Bucket {
  const [seq, points, ...texts] = row as [string, string, ...(string | null)[]]
  const [first, last, minimum, maximum, ...twap] = texts
  return {
    ...{ seq: BigInt(seq), count: Number(points) },
    price: summaryFrom(first!, last!, minimum!, maximum!),
    twap: summaryFrom(twap[0]!, twap[1]!, twap[2]!, twap[3]!),
  }
}
