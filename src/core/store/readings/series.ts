import { greatest, least } from '../../domain/integers.ts'
import { INTERVALS, type Interval } from '../../domain/intervals.ts'
import { addPoint, type Bucket, indexAt, join, type SeriesPoint, summaryFrom } from '../../domain/series.ts'
import { closingTime, LEVELS, type Level } from '../../domain/series-levels.ts'
import type { Position, Reading } from '../pages/page.ts'
import { FIND_MARKET } from '../statements.ts'
import { READ_LAST_START, readCounted, readEnds, type SeriesRun, SOURCES } from './counted-points.ts'
import { readPosition } from './coverage.ts'

/** Parameters of a series; times in Unix nanoseconds, null if the request leaves them open. */
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
 * A series of one snapshot: null if no point matches; if the requested interval is too short for the range, the
 * shortest allowed one.
 */
export type SeriesAt = { position: Position; series: Series | null; tooShort: Interval | null }

/** Buckets that a range may touch if the request names their interval. */
export const MAX_BUCKETS = 2_001n

const TEXT_COLUMNS = ['first', 'last', 'minimum', 'maximum']

/** All rows as one text per column; an empty value between commas is null. */
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
 * The statements that read a series, in one snapshot, one after another: each is yielded and wants its rows. Null in an
 * empty store. A bucket is made from the longest stored ones that fill it, a market's last ones from shorter ones and
 * its last points.
 */
export function* readSeries(query: SeriesQuery): Reading<SeriesAt | null> {
  const position = yield* readPosition()
  if (position === null) return null
  const none = { position, series: null, tooShort: null }
  const [number] = yield { text: FIND_MARKET, values: [query.marketId] }
  if (number === undefined) return none
  const market = BigInt(number[0]!)
  const runs: Run[] = []
  const [start = null] = yield { text: READ_LAST_START, values: [market] }
  for (const source of query.source === null ? SOURCES : [query.source]) {
    const ends = yield* readEnds({ market, source })
    if (ends === null) continue
    const closing = closingTime(ends.lastTimestamp, start?.[0] ?? null)!
    runs.push({ market, source, first: ends.first, last: ends.last, closing })
  }
  if (runs.length === 0) return none
  const from = query.start ?? least(runs.map(({ first }) => first))
  const end = query.end ?? greatest(runs.map(({ last }) => last)) + 1n
  if (from >= end) return none
  const interval = intervalOf(query, from, end)
  if (touched(interval, from, end) > MAX_BUCKETS) {
    const fits = INTERVALS.find((other) => touched(other, from, end) <= MAX_BUCKETS)
    if (fits !== undefined) return { position, series: null, tooShort: fits }
  }
  const length = interval.nanoseconds
  const range = {
    from: indexAt(from, length) * length,
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

/** A run with the times of its first and its last point, and the time up to which its buckets are stored. */
type Run = SeriesRun & { first: bigint; last: bigint; closing: bigint }

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
  const { from, to, interval } = range
  const made = new Map<number, Bucket>()
  let at = from > run.first ? from : indexAt(run.first, interval.nanoseconds) * interval.nanoseconds
  let level = LEVELS.findLast(({ nanoseconds }) => interval.nanoseconds % nanoseconds === 0n) ?? null
  for (; level !== null && at < to; level = level.of) {
    const closed = indexAt(run.closing, level.nanoseconds) * level.nanoseconds
    const upTo = least([closed, to])
    if (at >= upTo) continue
    yield* readLevel(run, range, level, at, upTo, made)
    at = upTo
  }
  const length = interval.nanoseconds
  const add = (point: SeriesPoint) => addPoint(made, Number((point.time - from) / length), point)
  if (at < to) yield* readCounted(run, { from: at, to }, add)
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
  const [offsets, counts, seqs, ...texts] = found!.map((text) => (text as string).split(',')) as [
    string[],
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
    const bucket = {
      ...{ seq: BigInt(seqs[row]!), count: Number(counts[row]) },
      ...{ price: summaryAt(0, row), twap: summaryAt(4, row) },
    }
    const index = Math.floor(Number(offset) / ratio)
    const known = made.get(index)
    if (known === undefined) made.set(index, bucket)
    else join(known, bucket)
  }
}
