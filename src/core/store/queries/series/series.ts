import { greatest, least } from '../../../domain/integers.ts'
import { INTERVALS, type Interval } from '../../../domain/intervals.ts'
import { addPoint, type Bucket, indexAt, joinBucket, summaryFrom } from '../../../domain/series.ts'
import {
  BASE,
  type BucketRange,
  baseAt,
  bucketRanges,
  LEVELS,
  type Level,
} from '../../../domain/series-levels.ts'
import { SOURCE_NUMBERS } from '../../../resources/funding-period-data-points/description.ts'
import type { StoreHead } from '../../pages/page.ts'
import type { Query } from '../../queries-protocol.ts'
import { FIND_MARKET } from '../../statements.ts'
import { readStoreHead } from '../coverage.ts'
import { type BuiltSeries, readBuiltSeries } from './built-series.ts'
import { CountedPoints, listsOf, type MarketSeries, readEnds } from './counted-points.ts'

/** Parameters of a series; times in Unix nanoseconds, null if the request leaves them open. */
export type SeriesQuery = {
  marketId: string
  start: bigint | null
  end: bigint | null
  /** Only points of this source; null for all. */
  source: bigint | null
  /** An interval, or the shortest one with at most this many buckets. */
  by: { interval: string } | { buckets: bigint }
}

/** The buckets of a source that have points, ascending. */
type SourceSeries = { source: bigint; buckets: [start: bigint, Bucket][] }

/** A series of whole buckets from one time to another. */
export type Series = { from: bigint; to: bigint; interval: Interval; sources: SourceSeries[] }

/**
 * A series in one snapshot; null if no point matches. If the requested interval is too short for the range, `tooShort` is
 * the shortest allowed one.
 */
type SeriesAt = { storeHead: StoreHead; series: Series | null; tooShort: Interval | null }

/** Maximum number of buckets that a range may touch if the request names their interval. */
export const MAX_TOUCHED_BUCKETS = 2_001n

const TEXT_COLUMNS = ['first', 'last', 'minimum', 'maximum']

/** All rows as one text for each column. An empty value between commas is null. */
const READ_BUCKETS = `
  select string_agg(cast(bucket - $6 as text), ','), string_agg(cast(points as text), ','),
    string_agg(cast(seq as text), ','),
    ${['price', 'twap']
      .flatMap((of) => TEXT_COLUMNS.map((name) => `string_agg(coalesce(${of}_${name}, ''), ',')`))
      .join(', ')}
  from (
    select * from funding_period_series
    where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5 order by bucket
  ) as found`

/**
 * Reads a series; null in an empty store. A bucket is composed of the longest stored buckets that fill it. If none are
 * built, or they are stale, it is composed of shorter ones and points.
 */
export function* readSeries(query: SeriesQuery): Query<SeriesAt | null> {
  const storeHead = yield* readStoreHead()
  if (storeHead === null) return null
  const none = { storeHead, series: null, tooShort: null }
  const [number] = yield { text: FIND_MARKET, values: [query.marketId] }
  if (number === undefined) return none
  const market = BigInt(number[0]!)
  const allSeries: DatedSeries[] = []
  for (const source of query.source === null ? SOURCE_NUMBERS : [query.source]) {
    const ends = yield* readEnds({ market, source })
    if (ends === null) continue
    allSeries.push({ market, source, ...ends })
  }
  if (allSeries.length === 0) return none
  const from = query.start ?? least(allSeries.map(({ first }) => first))
  const end = query.end ?? greatest(allSeries.map(({ last }) => last)) + 1n
  if (from >= end) return none
  const interval = intervalOf(query, from, end)
  if (touched(interval, from, end) > MAX_TOUCHED_BUCKETS) {
    const fits = INTERVALS.find((other) => touched(other, from, end) <= MAX_TOUCHED_BUCKETS)
    if (fits !== undefined) return { storeHead, series: null, tooShort: fits }
  }
  const length = interval.nanoseconds
  const range = {
    from: indexAt(from, length) * length,
    to: (indexAt(end - 1n, length) + 1n) * length,
    interval,
  }
  const sources: SourceSeries[] = []
  for (const series of allSeries) {
    const buckets = yield* readBuckets(series, range)
    if (buckets.length > 0) sources.push({ source: series.source, buckets })
  }
  return { storeHead, tooShort: null, series: sources.length === 0 ? null : { ...range, sources } }
}

type RequestedRange = { from: bigint; to: bigint; interval: Interval }

/** A series, and the times of its first and last point. */
type DatedSeries = MarketSeries & { first: bigint; last: bigint }

function intervalOf({ by }: SeriesQuery, start: bigint, end: bigint): Interval {
  const interval =
    'interval' in by
      ? INTERVALS.find(({ name }) => name === by.interval)
      : INTERVALS.find(({ nanoseconds }) => end - start <= by.buckets * nanoseconds)
  return interval ?? INTERVALS.at(-1)!
}

/** The number of buckets that a range touches. */
function touched({ nanoseconds }: Interval, start: bigint, end: bigint): bigint {
  return indexAt(end - 1n, nanoseconds) - indexAt(start, nanoseconds) + 1n
}

function* readBuckets(series: DatedSeries, range: RequestedRange): Query<SourceSeries['buckets']> {
  const { from, to, interval } = range
  const buckets = new Map<number, Bucket>()
  const length = interval.nanoseconds
  const at = from > series.first ? from : indexAt(series.first, length) * length
  const level = LEVELS.findLast(({ nanoseconds }) => length % nanoseconds === 0n) ?? null
  if (level === null) yield* readPointsInto(series, range, { from: at, to }, buckets)
  else {
    const built = yield* readBuiltSeries(series)
    for (const part of rangeParts(level, { from: baseAt(at), to: baseAt(to) }, built)) {
      const times = { from: part.from * BASE.nanoseconds, to: part.to * BASE.nanoseconds }
      if (part.level === null) yield* readPointsInto(series, range, times, buckets)
      else yield* readLevel(series, range, part.level, times, buckets)
    }
  }
  return [...buckets].map(([index, bucket]) => [from + BigInt(index) * length, bucket])
}

/** A part of a range, in indexes of the shortest buckets, and the level from which it is read; null for points. */
type RangePart = BucketRange & { level: Level | null }

/**
 * The parts of a range, ascending, each with the longest buckets that are built and not stale. At the level of 4 hours, the range
 * from 3:50 to 12:05 consists of shorter buckets to 4:00, two of this level to 12:00, and shorter ones again.
 */
function* rangeParts(
  level: Level | null,
  range: BucketRange,
  built: BuiltSeries,
): Generator<RangePart, void> {
  if (range.from >= range.to) return
  if (level === null) return yield { ...range, level }
  const ratio = level.seconds / BASE.seconds
  // The buckets of this level that lie wholly in the range and are built; some are stale.
  const whole = { from: -indexAt(-range.from, ratio), to: indexAt(least([range.to, built.to]), ratio) }
  // Up to `from` parts have been yielded; `index` is the next bucket that is not stale.
  let { from } = range
  let index = whole.from
  for (const stale of [...bucketRanges(level, built.stale), { from: whole.to, to: whole.to }]) {
    const end = least([stale.from, whole.to])
    if (index < end) {
      yield* rangeParts(level.of, { from, to: index * ratio }, built)
      from = end * ratio
      yield { from: index * ratio, to: from, level }
    }
    if (stale.to > index) index = stale.to
  }
  yield* rangeParts(level.of, { from, to: range.to }, built)
}

/** Adds the points of a part of the range to its buckets. */
function* readPointsInto(
  series: DatedSeries,
  { from, interval }: RequestedRange,
  times: BucketRange,
  buckets: Map<number, Bucket>,
): Query<void> {
  const points = new CountedPoints(series, times)
  while (!points.isAtEnd) {
    for (const point of yield* points.readChunk())
      addPoint(buckets, Number((point.timestamp - from) / interval.nanoseconds), point)
  }
}

/** Adds the built buckets of a level in a part of the range to the buckets of the range. */
function* readLevel(
  { market, source }: DatedSeries,
  { from, interval }: RequestedRange,
  { seconds, nanoseconds }: Level,
  times: BucketRange,
  buckets: Map<number, Bucket>,
): Query<void> {
  const ends = [times.from / nanoseconds, times.to / nanoseconds, from / nanoseconds]
  const [columns] = yield { text: READ_BUCKETS, values: [market, source, seconds, ...ends] }
  const [offsets, counts, seqs, ...texts] = listsOf(columns!)
  const ratio = Number(interval.nanoseconds / nanoseconds)
  const textAt = (column: number, row: number) => texts[column]![row]!
  const summaryAt = (column: number, row: number) =>
    summaryFrom(
      textAt(column, row),
      textAt(column + 1, row),
      textAt(column + 2, row) || null,
      textAt(column + 3, row) || null,
    )
  for (const [row, offset] of offsets.entries()) {
    const bucket = {
      seq: BigInt(seqs![row]!),
      count: Number(counts![row]),
      price: summaryAt(0, row),
      twap: summaryAt(4, row),
    }
    const index = Math.floor(Number(offset) / ratio)
    const earlier = buckets.get(index)
    if (earlier === undefined) buckets.set(index, bucket)
    else joinBucket(earlier, bucket)
  }
}
