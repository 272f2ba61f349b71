import { compareNumbers } from './compare-numbers.ts'

/** First, last, least and greatest of some numbers, as they were sent; the first of equal ones. */
export type Summary = { first: string; last: string; minimum: string; maximum: string }

/**
 * Data points of one source within one stretch of time. Prices and `count` are those of all points; TWAPs are those of
 * the points of `seq` alone, the greatest seq among them: a TWAP belongs to one period.
 */
export type Bucket = { seq: bigint; count: number; price: Summary; twap: Summary }

/** A data point, as far as series show it. */
export type SeriesPoint = {
  /** The time at which it counts, Unix nanoseconds: its timestamp, or the start of its period if that is later. */
  time: bigint
  timestamp: bigint
  seq: bigint
  price: string
  twap: string
}

/** The rest of a data point's key within those of its market and source. */
export type PointKey = { timestamp: bigint; seq: bigint }

/** Starts of periods by seq, Unix nanoseconds; without those that are not stored. */
export type PeriodStarts = ReadonlyMap<bigint, bigint>

/** The bucket of one point. */
export function bucketOf({ seq, price, twap }: SeriesPoint): Bucket {
  return { seq, count: 1, price: summaryOf(price), twap: summaryOf(twap) }
}

/** Adds a bucket of later points to one. */
export function joinBucket(bucket: Bucket, later: Bucket): void {
  bucket.count += later.count
  joinSummary(bucket.price, later.price)
  if (later.seq === bucket.seq) joinSummary(bucket.twap, later.twap)
  else if (later.seq > bucket.seq) {
    bucket.seq = later.seq
    bucket.twap = { ...later.twap }
  }
}

/** Adds a later point to a bucket. */
export function joinPoint(bucket: Bucket, { seq, price, twap }: SeriesPoint): void {
  bucket.count += 1
  joinNumber(bucket.price, price)
  if (seq === bucket.seq) joinNumber(bucket.twap, twap)
  else if (seq > bucket.seq) {
    bucket.seq = seq
    bucket.twap = summaryOf(twap)
  }
}

/** Adds a point to its bucket, after those before it. */
export function addPoint<Key>(buckets: Map<Key, Bucket>, key: Key, point: SeriesPoint): void {
  const bucket = buckets.get(key)
  if (bucket === undefined) buckets.set(key, bucketOf(point))
  else joinPoint(bucket, point)
}

/** Orders points as a bucket takes them. */
export function compareCounted(a: SeriesPoint, b: SeriesPoint): number {
  if (a.time !== b.time) return a.time < b.time ? -1 : 1
  if (a.seq !== b.seq) return a.seq < b.seq ? -1 : 1
  return a.timestamp < b.timestamp ? -1 : a.timestamp > b.timestamp ? 1 : 0
}

/**
 * The points of a run that count, each with its `time`, in the order given. A point is left out if a later period that
 * had started by its timestamp has a point of the same timestamp, or if the start of its own period is not stored and
 * an earlier period has such a point.
 *
 * @param points all points of their timestamps, by timestamp and seq
 */
export function* countedPoints(
  points: Iterable<SeriesPoint>,
  starts: PeriodStarts,
): Generator<SeriesPoint, void, undefined> {
  let start: bigint | undefined
  let last: SeriesPoint | null = null
  let alike: SeriesPoint[] | null = null
  for (const point of points) {
    if (last !== null) {
      if (last.timestamp === point.timestamp) {
        alike ??= [last]
        alike.push(point)
      } else if (alike === null) yield timed(last, start)
      else {
        yield* countedAlike(alike, starts)
        alike = null
      }
    }
    if (last?.seq !== point.seq) start = starts.get(point.seq)
    last = point
  }
  if (alike !== null) yield* countedAlike(alike, starts)
  else if (last !== null) yield timed(last, start)
}

/** Of points with one timestamp, those that count. */
function* countedAlike(points: readonly SeriesPoint[], starts: PeriodStarts) {
  const isStarted = ({ seq, timestamp }: SeriesPoint) => (starts.get(seq) ?? timestamp + 1n) <= timestamp
  const from = Math.max(0, points.findLastIndex(isStarted))
  for (const point of points.slice(from)) {
    const start = starts.get(point.seq)
    if (start !== undefined || point === points[0]) yield timed(point, start)
  }
}

function timed(point: SeriesPoint, start: bigint | undefined): SeriesPoint {
  return start === undefined || start <= point.timestamp ? point : { ...point, time: start }
}

/** Index of the bucket that contains a time, counted from the Unix epoch; time and length in nanoseconds. */
export function indexAt(timestamp: bigint, length: bigint): bigint {
  const quotient = timestamp / length
  return timestamp < 0n && quotient * length !== timestamp ? quotient - 1n : quotient
}

/** The least of a summary, if it is not the lesser of first and last; null if it is. */
export function minimumApart(summary: Summary): string | null {
  return summary.minimum === lesser(summary) ? null : summary.minimum
}

/** The greatest of a summary, if it is not the greater of first and last; null if it is. */
export function maximumApart(summary: Summary): string | null {
  return summary.maximum === greater(summary) ? null : summary.maximum
}

/** The summary whose least and greatest are given as {@link minimumApart} and {@link maximumApart} give them. */
export function summaryFrom(
  first: string,
  last: string,
  minimum: string | null,
  maximum: string | null,
): Summary {
  const ends = { first, last }
  return { first, last, minimum: minimum ?? lesser(ends), maximum: maximum ?? greater(ends) }
}

const lesser = ({ first, last }: Pick<Summary, 'first' | 'last'>) =>
  compareNumbers(last, first) < 0 ? last : first
const greater = ({ first, last }: Pick<Summary, 'first' | 'last'>) =>
  compareNumbers(last, first) > 0 ? last : first

function summaryOf(number: string): Summary {
  return { first: number, last: number, minimum: number, maximum: number }
}

function joinNumber(summary: Summary, number: string): void {
  if (number !== summary.last) {
    if (compareNumbers(number, summary.minimum) < 0) summary.minimum = number
    else if (compareNumbers(number, summary.maximum) > 0) summary.maximum = number
  }
  summary.last = number
}

function joinSummary(summary: Summary, later: Summary): void {
  if (compareNumbers(later.minimum, summary.minimum) < 0) summary.minimum = later.minimum
  if (compareNumbers(later.maximum, summary.maximum) > 0) summary.maximum = later.maximum
  summary.last = later.last
}
