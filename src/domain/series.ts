import { compareNumbers } from './compare-numbers.ts'

/** First, last, least and greatest of some numbers, as they were sent; the first of equal ones. */
export type Summary = { first: string; last: string; minimum: string; maximum: string }

/** Data points of one source within one stretch of time. */
export type Bucket = { count: number; price: Summary; twap: Summary }

/** A data point, as far as series show it. */
export type SeriesPoint = { timestamp: bigint; seq: bigint; price: string; twap: string }

/** The bucket of one point. */
export function bucketOf({ price, twap }: Pick<SeriesPoint, 'price' | 'twap'>): Bucket {
  return { count: 1, price: summaryOf(price), twap: summaryOf(twap) }
}

/** Adds a bucket of later points to one. */
export function join(bucket: Bucket, later: Bucket): void {
  bucket.count += later.count
  joinSummary(bucket.price, later.price)
  joinSummary(bucket.twap, later.twap)
}

/** Adds a later point to a bucket. */
export function joinPoint(bucket: Bucket, { price, twap }: Pick<SeriesPoint, 'price' | 'twap'>): void {
  bucket.count += 1
  joinNumber(bucket.price, price)
  joinNumber(bucket.twap, twap)
}

/**
 * The points that count, of points in the order of time and seq: one that was carried over into another period stands
 * there again with its time, and counts once, as the row of its lowest seq.
 */
export function* withoutCopies<Point extends Pick<SeriesPoint, 'timestamp'>>(
  points: Iterable<Point>,
): Generator<Point, void, undefined> {
  let before: bigint | null = null
  for (const point of points) {
    if (point.timestamp !== before) yield point
    before = point.timestamp
  }
}

/** Which bucket of a length a time is in, counted from the Unix epoch on; both in nanoseconds. */
export function indexAt(timestamp: bigint, length: bigint): bigint {
  const quotient = timestamp / length
  return timestamp < 0n && quotient * length !== timestamp ? quotient - 1n : quotient
}

/** The least of a summary, where it is not the lesser of first and last; null where it is. */
export function minimumApart(summary: Summary): string | null {
  return summary.minimum === lesser(summary) ? null : summary.minimum
}

/** The greatest of a summary, where it is not the greater of first and last; null where it is. */
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
