import { compareNumbers } from './compare-numbers.ts'

/** The first, last, least and greatest of several numbers, as they were sent; of equal ones the first. */
export type Summary = { first: string; last: string; minimum: string; maximum: string }

/**
 * Data points of one source within one stretch of time. Prices and `count` are those of all points; TWAPs are those of
 * the points of `seq` alone, the greatest seq among them: a TWAP belongs to one period.
 */
export type Bucket = { seq: bigint; count: number; price: Summary; twap: Summary }

/** The parts of a data point that series show. */
export type SeriesPoint = {
  /** Unix nanoseconds. */
  timestamp: bigint
  seq: bigint
  price: string
  twap: string
}

/** The key of a data point among those of its market and source. */
export type PointKey = { timestamp: bigint; seq: bigint }

/** The bucket of one point. */
export function bucketOf({ seq, price, twap }: SeriesPoint): Bucket {
  return { seq, count: 1, price: summaryOf(price), twap: summaryOf(twap) }
}

/** Adds a bucket of later points to an earlier one. */
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

/** Index of the bucket that contains a time, counted from the Unix epoch; time and length in nanoseconds. */
export function indexAt(timestamp: bigint, length: bigint): bigint {
  const quotient = timestamp / length
  return timestamp < 0n && quotient * length !== timestamp ? quotient - 1n : quotient
}

/** The least value of a summary; null if it is the lesser of the first and the last. */
export function minimumApart(summary: Summary): string | null {
  return summary.minimum === lesser(summary) ? null : summary.minimum
}

/** The greatest value of a summary; null if it is the greater of the first and the last. */
export function maximumApart(summary: Summary): string | null {
  return summary.maximum === greater(summary) ? null : summary.maximum
}

/** The inverse of {@link minimumApart} and {@link maximumApart}. */
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
