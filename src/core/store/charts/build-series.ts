import { MIN_INT64 } from '../../domain/integers.ts'
import {
  type Bucket,
  bucketOf,
  indexAt,
  joinBucket,
  joinPoint,
  maximumApart,
  minimumApart,
  summaryFrom,
} from '../../domain/series.ts'
import {
  BASE,
  type BucketRange,
  baseAt,
  bucketRanges,
  FIRST_BASE,
  LEVELS,
  type Level,
} from '../../domain/series-levels.ts'
import type { Row } from '../../model/resource.ts'
import type { RowOf } from '../../model/table.ts'
import { builtSeriesTable, seriesTable } from '../../resources/funding-period-data-points/table.ts'
import type { Query } from '../pages/page.ts'
import { valueLists } from '../pages/statement.ts'
import { readBuiltSeries } from '../queries/built-series.ts'
import { type MarketSeries, readCounted, readEnds } from '../queries/counted-points.ts'
import { asMutation, type Mutation, type Write } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/** Number of buckets read or written at a time. */
const CHUNK_BUCKETS = 2_000

/** A row of `funding_period_series`. */
export type BucketRow = RowOf<typeof seriesTable>

/** The buckets of a length, from which those of the next longer one are built. */
const READ_SHORTER_BUCKETS = `
  select ${textOf('bucket')}, cast(seq as text), cast(points as text),
    price_first, price_last, price_minimum, price_maximum, twap_first, twap_last, twap_minimum, twap_maximum
  from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5
  order by bucket limit ${CHUNK_BUCKETS}`

const DELETE_BUCKETS = `
  delete from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5`

const LOCK_SERIES =
  'update funding_period_series_made set made_to = made_to where market = $1 and source = $2'

const DELETE_MARK = `
  delete from funding_period_series_stale where market = $1 and source = $2 and id = $3`

/**
 * Locks a series until the transaction ends: others that build it, or mark it outside its writer's commits, wait. It
 * changes nothing.
 */
export function lockSeries({ market, source }: MarketSeries): Write {
  return { text: LOCK_SERIES, values: [[market, source]] }
}

/**
 * Builds the stale buckets of a series, and all that its last point has completed. Answers to readers do not change. Only the
 * writer of points may advance the built end, because others do not see points that are being written.
 *
 * @param onPoint called with each point read
 *
 * @returns the first of the shortest buckets that is not built
 */
export function* buildSeries(series: MarketSeries, onPoint?: () => void): Mutation<bigint> {
  const ends = yield* asMutation(readEnds(series))
  return yield* buildUpTo(series, ends === null ? FIRST_BASE : baseAt(ends.last), onPoint)
}

/** Builds the stale buckets of a series. It may work beside a writer of points. */
export function* rebuildSeries(series: MarketSeries): Mutation<void> {
  yield* buildUpTo(series, FIRST_BASE)
}

function* buildUpTo(series: MarketSeries, closed: bigint, onPoint = () => {}): Mutation<bigint> {
  const { market, source } = series
  yield lockSeries(series)
  const built = yield* asMutation(readBuiltSeries(series))
  const to = closed > built.to ? closed : built.to
  const changed = [...built.stale]
  if (to > built.to) changed.push({ from: built.to, to })
  if (changed.length === 0) return to
  for (const level of LEVELS) {
    for (const range of closedRanges(level, changed, to)) {
      yield { text: DELETE_BUCKETS, values: [[...cells(series, level), range.from, range.to]] }
      yield* writing((add) => bucketRows(series, level, range, add, onPoint))
    }
  }
  yield { table: builtSeriesTable, rows: [{ market, source: Number(source), made_to: to }] }
  yield { text: DELETE_MARK, values: built.marks.map((id) => [market, source, id]) }
  return to
}

/** The buckets of a length that overlap ranges of the shortest ones and end by `to`. */
function closedRanges(level: Level, ranges: readonly BucketRange[], to: bigint): BucketRange[] {
  const end = indexAt(to, level.seconds / BASE.seconds)
  return bucketRanges(level, ranges)
    .map((range) => ({ from: range.from, to: range.to < end ? range.to : end }))
    .filter((range) => range.from < range.to)
}

/** Writes the rows that a query adds, while it continues. */
function* writing(query: (add: (row: BucketRow) => void) => Query<void>): Mutation {
  const rows: BucketRow[] = []
  const running = query((row) => rows.push(row))
  let step = running.next()
  for (;;) {
    if (rows.length >= CHUNK_BUCKETS || (step.done && rows.length > 0))
      yield { table: seriesTable, rows: rows.splice(0), areNew: true }
    if (step.done) return
    const found = yield { text: step.value.text, values: valueLists(step.value) }
    step = running.next(found.flat())
  }
}

/**
 * The buckets of a length in a range, in order, as rows: the shortest ones from the points, others from the stored buckets
 * of the next shorter length.
 *
 * @param add called with each bucket once it is complete
 */
export function* bucketRows(
  series: MarketSeries,
  level: Level,
  range: BucketRange,
  add: (row: BucketRow) => void,
  onPoint = () => {},
): Query<void> {
  let index = 0n
  let bucket: Bucket | null = null
  const begin = (next: bigint, begun: Bucket | null) => {
    if (bucket !== null) add(bucketRow(series, level, index, bucket))
    index = next
    bucket = begun
  }
  if (level.of === null) {
    let end = MIN_INT64
    yield* readCounted(
      series,
      { from: range.from * level.nanoseconds, to: range.to * level.nanoseconds },
      (point) => {
        onPoint()
        if (bucket !== null && point.timestamp < end) return joinPoint(bucket, point)
        begin(baseAt(point.timestamp), bucketOf(point))
        end = (index + 1n) * level.nanoseconds
      },
    )
  } else {
    const parts = level.seconds / level.of.seconds
    let from = range.from * parts
    let rows: readonly Row[]
    do {
      const ends = [from, range.to * parts]
      rows = yield { text: READ_SHORTER_BUCKETS, values: [...cells(series, level.of), ...ends] }
      for (const row of rows) {
        const part = BigInt(row[0]!)
        const longer = indexAt(part, parts)
        if (bucket !== null && longer === index) joinBucket(bucket, bucketFrom(row))
        else begin(longer, bucketFrom(row))
        from = part + 1n
      }
    } while (rows.length === CHUNK_BUCKETS)
  }
  begin(0n, null)
}

function bucketRow(series: MarketSeries, level: Level, index: bigint, bucket: Bucket): BucketRow {
  const { seq, count, price, twap } = bucket
  return {
    market: series.market,
    source: Number(series.source),
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

const cells = ({ market, source }: MarketSeries, { seconds }: Level): bigint[] => [market, source, seconds]

/** A bucket from a row of {@link READ_SHORTER_BUCKETS}. */
function bucketFrom([, seq, points, ...texts]: Row): Bucket {
  const [first, last, minimum, maximum, ...twap] = texts as (string | null)[]
  return {
    seq: BigInt(seq!),
    count: Number(points),
    price: summaryFrom(first!, last!, minimum!, maximum!),
    twap: summaryFrom(twap[0]!, twap[1]!, twap[2]!, twap[3]!),
  }
}
