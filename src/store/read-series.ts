import { nearestInt64 } from '../domain/integers.ts'
import { INTERVALS, type Interval } from '../domain/intervals.ts'
import { type Bucket, bucketOf, indexAt, join, joinPoint, summaryFrom } from '../domain/series.ts'
import type { KeyValue } from '../resources/resource.ts'
import { positionOf } from './coverage-rows.ts'
import type { Position, Reading } from './page.ts'
import { FIND_MARKET } from './page-statement.ts'
import { READ_POSITION } from './statements.ts'
import { LEVELS, type Level } from './write-series.ts'

/** What a series is asked for; times are Unix nanoseconds, null where the request leaves them open. */
export type SeriesQuery = {
  marketId: string
  start: bigint | null
  end: bigint | null
  /** Points of this source alone; null: of all. */
  source: bigint | null
  /** One interval, or as short a one as gives no more than so many buckets. */
  by: { interval: string } | { buckets: bigint }
}

/** The buckets of a source that have points, in the order of time. */
export type SourceSeries = { source: bigint; buckets: [start: bigint, Bucket][] }

/** A series of whole buckets from one time to another. */
export type Series = { from: bigint; to: bigint; interval: Interval; sources: SourceSeries[] }

/**
 * What one snapshot of the store answers: null where no point is in question, and where the interval asked for is too
 * short for its range the shortest that is not.
 */
export type SeriesAt = { position: Position; series: Series | null; tooShort: Interval | null }

/** Buckets that a range may touch where the request names their interval. */
export const MAX_BUCKETS = 2_001n

const END =
  'select timestamp from funding_period_data_points where market = $1 and source = $2 order by timestamp'

/** The first and the last time of the points of a market and source. */
const READ_ENDS = `select cast((${END} limit 1) as text), cast((${END} desc limit 1) as text)`

/** Points that are read at a time: those of a few seconds may be any number. */
const POINTS_AT_A_TIME = 20_000

/** All rows as one text for each column: a value costs a tenth of what it does in a separate row. */
const READ_POINTS = `
  select string_agg(cast(timestamp - $5 as text), ','), string_agg(cast(price as text), ','),
    string_agg(cast(twap as text), ',')
  from (
    select timestamp, price, twap from funding_period_data_points
    where market = $1 and source = $2 and timestamp >= $3 and timestamp < $4
    order by timestamp, seq limit cast(${POINTS_AT_A_TIME} as bigint)
  ) as found`

const TEXT_COLUMNS = ['first', 'last', 'minimum', 'maximum']

/** As {@link READ_POINTS}; nothing between two commas stands for null. */
const READ_BUCKETS = `
  select string_agg(cast(bucket - $6 as text), ','), string_agg(cast(points as text), ','),
    ${['price', 'twap']
      .flatMap((of) => TEXT_COLUMNS.map((name) => `string_agg(coalesce(${of}_${name}, ''), ',')`))
      .join(', ')}
  from (
    select * from funding_period_series
    where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5 order by bucket
  ) as found`

/**
 * The statements that read a series, in one snapshot, one after another: each is yielded and wants its rows. Null in an
 * empty store. A bucket is made from the longest stored ones that fill it, a market's last ones from shorter ones and
 * its last points.
 */
export function* readSeries(query: SeriesQuery): Reading<SeriesAt | null> {
  const [at] = yield { text: READ_POSITION, values: [] }
  if (at === undefined) return null
  const position = positionOf(at)!
  const none = { position, series: null, tooShort: null }
  const [number] = yield { text: FIND_MARKET, values: [query.marketId] }
  if (number === undefined) return none
  const market = BigInt(number[0]!)
  const runs: Run[] = []
  for (const source of query.source === null ? [0n, 1n, 2n] : [query.source]) {
    const [ends] = yield { text: READ_ENDS, values: [market, source] }
    if (ends![0] === null) continue
    runs.push({ market, source, first: BigInt(ends![0]!), last: BigInt(ends![1]!) })
  }
  if (runs.length === 0) return none
  const start = query.start ?? runs.map(({ first }) => first).reduce((a, b) => (b < a ? b : a))
  const end = query.end ?? runs.map(({ last }) => last).reduce((a, b) => (b > a ? b : a)) + 1n
  if (start >= end) return none
  const interval = intervalOf(query, start, end)
  if (touched(interval, start, end) > MAX_BUCKETS) {
    const fits = INTERVALS.find((other) => touched(other, start, end) <= MAX_BUCKETS)
    if (fits !== undefined) return { position, series: null, tooShort: fits }
  }
  const length = interval.nanoseconds
  const range = {
    from: indexAt(start, length) * length,
    to: (indexAt(end - 1n, length) + 1n) * length,
    interval,
  }
  const sources: SourceSeries[] = []
  for (const run of runs) {
    const buckets = yield* readBuckets(run, range)
    if (buckets.length > 0) sources.push({ source: run.source, buckets })
  }
  return { position, tooShort: null, series: sources.length === 0 ? null : { ...range, sources } }
}

type Range = { from: bigint; to: bigint; interval: Interval }

/** The points of a source of a market, and the times of the first and the last. */
type Run = { market: bigint; source: bigint; first: bigint; last: bigint }

function intervalOf({ by }: SeriesQuery, start: bigint, end: bigint): Interval {
  const found =
    'interval' in by
      ? INTERVALS.find(({ name }) => name === by.interval)
      : INTERVALS.find(({ nanoseconds }) => end - start <= by.buckets * nanoseconds)
  return found ?? INTERVALS.at(-1)!
}

/** How many buckets of an interval a range touches. */
function touched({ nanoseconds }: Interval, start: bigint, end: bigint): bigint {
  return indexAt(end - 1n, nanoseconds) - indexAt(start, nanoseconds) + 1n
}

function* readBuckets(run: Run, range: Range): Reading<SourceSeries['buckets']> {
  const { from, interval } = range
  const made = new Map<number, Bucket>()
  let at = from > run.first ? from : indexAt(run.first, interval.nanoseconds) * interval.nanoseconds
  const to = range.to <= run.last ? range.to : run.last + 1n
  let level = LEVELS.findLast(({ nanoseconds }) => interval.nanoseconds % nanoseconds === 0n) ?? null
  for (; level !== null && at < to; level = level.of) {
    const closed = indexAt(run.last, level.nanoseconds) * level.nanoseconds
    const upTo = closed < to ? closed : to
    if (at >= upTo) continue
    yield* readLevel(run, range, level, at, upTo, made)
    at = upTo
  }
  if (at < to) yield* readPoints(run, range, at, to, made)
  return [...made].map(([index, bucket]) => [from + BigInt(index) * interval.nanoseconds, bucket])
}

function* readLevel(
  { market, source }: Run,
  { from, interval }: Range,
  { seconds, nanoseconds }: Level,
  at: bigint,
  upTo: bigint,
  made: Map<number, Bucket>,
): Reading<void> {
  const ends = [at / nanoseconds, upTo / nanoseconds, from / nanoseconds]
  const [found] = yield { text: READ_BUCKETS, values: [market, source, seconds, ...ends] }
  if (found![0] === null) return
  const [offsets, counts, ...texts] = found!.map((text) => (text as string).split(',')) as [
    string[],
    string[],
    ...string[][],
  ]
  const ratio = Number(interval.nanoseconds / nanoseconds)
  const textAt = (column: number, row: number) => texts[column]![row]!
  const summaryAt = (column: number, row: number) =>
    summaryFrom(
      ...([textAt(column, row), textAt(column + 1, row)] as const),
      ...([textAt(column + 2, row) || null, textAt(column + 3, row) || null] as const),
    )
  for (const [row, offset] of offsets.entries()) {
    const bucket = { count: Number(counts[row]), price: summaryAt(0, row), twap: summaryAt(4, row) }
    const index = Math.floor(Number(offset) / ratio)
    const known = made.get(index)
    if (known === undefined) made.set(index, bucket)
    else join(known, bucket)
  }
}

/** Adds points one by one; what lies between two times is some minutes, or as short as the buckets asked for. */
function* readPoints(
  { market, source }: Run,
  { from, interval }: Range,
  at: bigint,
  upTo: bigint,
  made: Map<number, Bucket>,
): Reading<void> {
  const length = Number(interval.nanoseconds)
  const origin = nearestInt64(at)
  const shift = Number(origin - from)
  let next = origin
  for (;;) {
    const values: KeyValue[] = [market, source, next, nearestInt64(upTo), origin]
    const [found] = yield { text: READ_POINTS, values }
    if (found![0] === null) return
    const [offsets, prices, twaps] = found!.map((text) => (text as string).split(',')) as [
      string[],
      string[],
      string[],
    ]
    let before = ''
    for (const [row, offset] of offsets.entries()) {
      // A copy in another period.
      if (offset === before) continue
      before = offset
      const point = { price: prices[row]!, twap: twaps[row]! }
      const index = Math.floor((Number(offset) + shift) / length)
      const bucket = made.get(index)
      if (bucket === undefined) made.set(index, bucketOf(point))
      else joinPoint(bucket, point)
    }
    if (offsets.length < POINTS_AT_A_TIME) return
    next = origin + BigInt(before) + 1n
  }
}
