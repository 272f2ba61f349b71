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
import { type BucketRange, baseAt, type Level } from '../../domain/series-levels.ts'
import type { Row } from '../../model/resource.ts'
import type { RowOf } from '../../model/table.ts'
import type { seriesTable } from '../../resources/funding-period-data-points/table.ts'
import { CountedPoints, type MarketSeries } from '../queries/counted-points.ts'
import type { Query } from '../queries-protocol.ts'
import { textOf } from '../statements.ts'

/** Number of buckets read or written at a time. */
export const CHUNK_BUCKETS = 2_000

/** A row of `funding_period_series`. */
export type BucketRow = RowOf<typeof seriesTable>

/** The buckets of a length, from which those of the next longer one are built. */
const READ_SHORTER_BUCKETS = `
  select ${textOf('bucket')}, cast(seq as text), cast(points as text),
    price_first, price_last, price_minimum, price_maximum, twap_first, twap_last, twap_minimum, twap_maximum
  from funding_period_series
  where market = $1 and source = $2 and seconds = $3 and bucket >= $4 and bucket < $5
  order by bucket limit ${CHUNK_BUCKETS}`

/**
 * The buckets of one length in a range, calculated in order: the shortest ones from the points, others from the stored
 * buckets of the next shorter length. Each call of `readChunk` reads some of these, until `isAtEnd`.
 */
export class RangeBuckets {
  readonly #series: MarketSeries
  readonly #level: Level
  /** The points; null if the buckets are calculated from shorter ones. */
  readonly #points: CountedPoints | null
  readonly #onPoint: () => void
  /** The shorter buckets that are not yet read, by their indexes. */
  readonly #unread: BucketRange
  /** The bucket that may continue in the next chunk, its index, and the time at which it ends. */
  #bucket: Bucket | null = null
  #index = 0n
  #end = MIN_INT64
  #completeRows: BucketRow[] = []
  /** Whether all buckets have been returned. */
  isAtEnd = false

  /** @param onPoint called with each point read */
  constructor(series: MarketSeries, level: Level, { from, to }: BucketRange, onPoint = () => {}) {
    this.#series = series
    this.#level = level
    this.#onPoint = onPoint
    const { of, seconds, nanoseconds } = level
    const times = { from: from * nanoseconds, to: to * nanoseconds }
    this.#points = of === null ? new CountedPoints(series, times) : null
    const parts = of === null ? 1n : seconds / of.seconds
    this.#unread = { from: from * parts, to: to * parts }
  }

  /** Reads the next chunk of points or shorter buckets, and returns the buckets that it completes; there may be none. */
  *readChunk(): Query<BucketRow[]> {
    if (this.#level.of === null) yield* this.#joinPoints(this.#points!)
    else yield* this.#joinShorterBuckets(this.#level.of)
    if (this.isAtEnd) this.#complete()
    return this.#completeRows.splice(0)
  }

  *#joinPoints(points: CountedPoints): Query<void> {
    for (const point of yield* points.readChunk()) {
      this.#onPoint()
      if (this.#bucket !== null && point.timestamp < this.#end) joinPoint(this.#bucket, point)
      else this.#begin(baseAt(point.timestamp), bucketOf(point))
    }
    this.isAtEnd = points.isAtEnd
  }

  *#joinShorterBuckets(shorter: Level): Query<void> {
    const { from, to } = this.#unread
    const rows = yield { text: READ_SHORTER_BUCKETS, values: [...levelKey(this.#series, shorter), from, to] }
    for (const row of rows) {
      const part = BigInt(row[0]!)
      const index = indexAt(part, this.#level.seconds / shorter.seconds)
      if (this.#bucket !== null && index === this.#index) joinBucket(this.#bucket, bucketFrom(row))
      else this.#begin(index, bucketFrom(row))
      this.#unread.from = part + 1n
    }
    this.isAtEnd = rows.length < CHUNK_BUCKETS
  }

  #begin(index: bigint, bucket: Bucket): void {
    this.#complete()
    this.#bucket = bucket
    this.#index = index
    this.#end = (index + 1n) * this.#level.nanoseconds
  }

  #complete(): void {
    if (this.#bucket === null) return
    this.#completeRows.push(bucketRow(this.#series, this.#level, this.#index, this.#bucket))
  }
}

/** Calculates all buckets of one length in a range, as {@link RangeBuckets} does. */
export function* readRangeBuckets(
  series: MarketSeries,
  level: Level,
  range: BucketRange,
): Query<BucketRow[]> {
  const buckets = new RangeBuckets(series, level, range)
  const rows: BucketRow[] = []
  while (!buckets.isAtEnd) for (const row of yield* buckets.readChunk()) rows.push(row)
  return rows
}

/** The first columns of the series' key. */
export const levelKey = ({ market, source }: MarketSeries, { seconds }: Level): bigint[] => [
  market,
  source,
  seconds,
]

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
