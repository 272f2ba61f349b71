import { greatest, least, MAX_INT64, MIN_INT64, nearestInt64 } from '../../domain/integers.ts'
import { compareCounted, countedPoints, type SeriesPoint } from '../../domain/series.ts'
import type { Row } from '../../resources/resource.ts'
import type { Reading } from '../pages/page.ts'
import { textOf } from '../statements.ts'

/** The points of one source of a market, by the market's number in the store. */
export type SeriesRun = { market: bigint; source: bigint }

/** Every source of data points. */
export const SOURCE_NUMBERS: readonly bigint[] = [0n, 1n, 2n]

/** Points that are read at a time: a second may have any number. */
const POINTS_AT_A_TIME = 20_000

/** All rows as one text per column: a value costs a tenth of one in a separate row. */
const columnTexts = (...columns: string[]) =>
  columns.map((column) => `string_agg(cast(${column} as text), ',')`).join(', ')

const READ_POINTS = `
  select ${columnTexts('timestamp', 'seq', 'price', 'twap')} from (
    select timestamp, seq, price, twap from funding_period_data_points
    where market = $1 and source = $2 and timestamp <= $3 and (timestamp, seq) > ($4, $5)
    order by timestamp, seq limit cast($6 as bigint)
  ) as found`

/** Periods that start in a range and have earlier points: these were carried over, and count at the start. */
const periodsStarting = (order: 'asc' | 'desc') => `
  select ${textOf('seq')}, ${textOf('start_timestamp')}, cast(first_timestamp as text) from funding_period_spans
  where market = $1 and start_timestamp >= $2 and start_timestamp <= $3 and first_timestamp < start_timestamp
  order by start_timestamp ${order}, seq ${order}`

const READ_CARRIED = `
  select ${textOf('timestamp')}, cast(price as text), cast(twap as text) from funding_period_data_points
  where market = $1 and source = $2 and timestamp >= $3 and timestamp < $4 and seq = $5
  order by timestamp limit cast($6 as bigint)`

/** The later periods that a point was carried over into, too. */
const READ_LATER_COPIES = `
  select cast(seq as text) from funding_period_data_points
  where market = $1 and source = $2 and timestamp = $3 and seq > $4`

/** Starts of the periods of a market that have points, by seq. */
export const READ_STARTS = `
  select cast(seq as text), cast(start_timestamp as text) from funding_period_spans
  where market = $1 and seq >= $2 and seq <= $3 and start_timestamp is not null`

/** The latest start of a period with points of a market. */
export const READ_LAST_START = `
  select ${textOf('start_timestamp')} from funding_period_spans
  where market = $1 and start_timestamp is not null
  order by start_timestamp desc limit 1`

/** Times: `from` is included, `to` is not. */
type TimeRange = { from: bigint; to: bigint }

/**
 * Reads the points of a run that count in `from <= time < to`, in order, and passes each to `add`. Memory is bounded by
 * about 20,000 points.
 */
export function* readCounted(
  run: SeriesRun,
  { from, to }: TimeRange,
  add: (point: SeriesPoint) => void,
): Reading<void> {
  const carried = yield* carriedPoints(run, { from, to })
  let next = yield* carried()
  const starts = new Map<bigint, bigint>()
  const known = new Set<bigint>()
  let rest: SeriesPoint[] = []
  let after: readonly [bigint, bigint] = [nearestInt64(from), -1n]
  for (;;) {
    const points = yield* readNextPoints(run, after, to, POINTS_AT_A_TIME)
    yield* addStarts(run, points, starts, known)
    const all = rest.concat(points)
    const last = all.at(-1)
    // Whether a point counts depends on the others of its timestamp.
    const isEnd = points.length < POINTS_AT_A_TIME
    const cut = isEnd || last === undefined ? all.length : firstOf(all, last.timestamp)
    rest = all.slice(cut)
    for (const point of countedPoints(all.slice(0, cut), starts)) {
      if (point.time !== point.timestamp) continue
      for (; next !== null && compareCounted(next, point) < 0; next = yield* carried()) add(next)
      add(point)
    }
    if (isEnd) break
    after = [last!.timestamp, last!.seq]
  }
  for (; next !== null; next = yield* carried()) add(next)
}

/** The times of the first and the last point of a run that count; null without points. */
export function* readEnds(run: SeriesRun): Reading<{ first: bigint; last: bigint } | null> {
  const [row] = yield { text: READ_LAST_TIMESTAMP, values: [run.market, run.source] }
  if (row === undefined) return null
  const lastTimestamp = BigInt(row[0]!)
  const since = {
    text: periodsStarting('desc'),
    values: [run.market, nearestInt64(lastTimestamp + 1n), MAX_INT64],
  }
  let last = lastTimestamp
  for (const period of (yield since).map(periodOf)) {
    const points = yield* readCarriedOver(run, period, period.first, 1)
    if (points.length > 0) last = period.start
    if (last !== lastTimestamp) break
  }
  return { first: yield* firstTime(run), last }
}

/** The timestamp of a run's last point. By the index: PostgreSQL would read all points for the greatest one while it has
 * no statistics of the table, as in the first minute of an ingestion. */
export const READ_LAST_TIMESTAMP = `
  select ${textOf('timestamp')} from funding_period_data_points where market = $1 and source = $2
  order by timestamp desc limit 1`

/** No later point counts before the first whose time is its timestamp. */
function* firstTime(run: SeriesRun): Reading<bigint> {
  let first = MAX_INT64
  for (let limit = 10; ; limit *= 10) {
    const starts = new Map<bigint, bigint>()
    const points = yield* readNextPoints(run, [MIN_INT64, -1n], MAX_INT64 + 1n, limit)
    yield* addStarts(run, points, starts, new Set())
    const isEnd = points.length < limit
    const whole = isEnd ? points : points.slice(0, firstOf(points, points.at(-1)!.timestamp))
    for (const { time, timestamp } of countedPoints(whole, starts)) {
      if (time < first) first = time
      if (first <= timestamp) return first
    }
    if (isEnd) return first
  }
}

function firstOf(points: readonly SeriesPoint[], timestamp: bigint): number {
  return points.findLastIndex((point) => point.timestamp !== timestamp) + 1
}

/** The next points of a run after one, before a time, by timestamp and seq. */
function* readNextPoints(
  { market, source }: SeriesRun,
  after: readonly [timestamp: bigint, seq: bigint],
  to: bigint,
  limit: number,
): Reading<SeriesPoint[]> {
  const values = [market, source, nearestInt64(to - 1n), ...after, BigInt(limit)]
  const [found] = yield { text: READ_POINTS, values }
  const [timestamps, seqs, prices, twaps] = listsOf(found!)
  let seq = -1n
  return timestamps.map((text, at) => {
    const timestamp = BigInt(text)
    // Neighbours mostly are of one period.
    if (at === 0 || seqs![at] !== seqs![at - 1]) seq = BigInt(seqs![at]!)
    return { time: timestamp, timestamp, seq, price: prices![at]!, twap: twaps![at]! }
  })
}

/** A period with the timestamp of its first point. */
type StartedPeriod = { seq: bigint; start: bigint; first: bigint }

const periodOf = ([seq, start, first]: Row): StartedPeriod => ({
  ...{ seq: BigInt(seq!), start: BigInt(start!), first: BigInt(first!) },
})

/**
 * Reads the periods that start in a range. Returns a function that yields their carried-over points one by one; null
 * after the last.
 */
function* carriedPoints(run: SeriesRun, { from, to }: TimeRange): Reading<() => Reading<SeriesPoint | null>> {
  const values = [run.market, nearestInt64(from), nearestInt64(to - 1n)]
  const periods = (yield { text: periodsStarting('asc'), values }).map(periodOf)
  let points: SeriesPoint[] = []
  let at = 0
  return function* () {
    while (at === points.length && periods.length > 0) {
      const period = periods[0]!
      points = yield* readCarriedOver(run, period, period.first, POINTS_AT_A_TIME)
      at = 0
      period.first = (points.at(-1)?.timestamp ?? period.start) + 1n
      if (period.first >= period.start) periods.shift()
    }
    return points[at++] ?? null
  }
}

/**
 * The next points that count at the start of a period, from a timestamp on; none after the last. One is left out if a
 * still later period that had begun by its timestamp has it too.
 */
function* readCarriedOver(
  { market, source }: SeriesRun,
  { seq, start }: StartedPeriod,
  from: bigint,
  limit: number,
): Reading<SeriesPoint[]> {
  for (let after = from; ; ) {
    const rows = yield { text: READ_CARRIED, values: [market, source, after, start, seq, BigInt(limit)] }
    const points: SeriesPoint[] = []
    for (const [text, price, twap] of rows) {
      const timestamp = BigInt(text!)
      const copies = yield { text: READ_LATER_COPIES, values: [market, source, timestamp, seq] }
      let isReplaced = false
      for (const [later] of copies) {
        const [found] = yield { text: READ_STARTS, values: [market, BigInt(later!), BigInt(later!)] }
        isReplaced ||= found !== undefined && BigInt(found[1]!) <= timestamp
      }
      const point = { time: start, timestamp, seq, price: String(price), twap: String(twap) }
      if (!isReplaced) points.push(point)
    }
    if (points.length > 0 || rows.length < limit) return points
    after = BigInt(rows.at(-1)![0]!) + 1n
  }
}

/** Adds to `starts` those of the periods of points. */
function* addStarts(
  { market }: SeriesRun,
  points: readonly SeriesPoint[],
  starts: Map<bigint, bigint>,
  known: Set<bigint>,
): Reading<void> {
  const unknown: bigint[] = []
  for (const { seq } of points) if (seq !== unknown.at(-1) && !known.has(seq)) unknown.push(seq)
  if (unknown.length === 0) return
  const range = [least(unknown), greatest(unknown)]
  for (const [seq, start] of yield { text: READ_STARTS, values: [market, ...range] })
    starts.set(BigInt(seq!), BigInt(start!))
  for (const seq of unknown) known.add(seq)
}

/** The lists of an aggregated row; empty ones if no row was found. */
export function listsOf(row: Row): [string[], ...string[][]] {
  return row.map((text) => (text === null ? [] : String(text).split(','))) as [string[], ...string[][]]
}
