import { MIN_INT64 } from '../../domain/integers.ts'
import {
  type Bucket,
  bucketOf,
  indexAt,
  joinBucket,
  joinPoint,
  maximumApart,
  minimumApart,
  type Summary,
  summaryFrom,
} from '../../domain/series.ts'
import { type BucketRange, baseAt, type Level } from '../../domain/series-levels.ts'
import type { Row } from '../../model/resource.ts'
import type { RowOf } from '../../model/table.ts'
import type { seriesTable } from '../../resources/funding-period-data-points/table.ts'
import { CountedPoints, type MarketSeries } from '../queries/series/counted-points.ts'
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
 * buckets of the next shorter length.
 */
export type RangeBuckets = {
  /** Reads the next chunk of points or shorter buckets, and returns the buckets that it completes; there may be none. */
  readChunk(): Query<BucketRow[]>
  /** Whether all buckets have been returned. */
  readonly isAtEnd: boolean
}

/** @param onPoint called with each point read */
export function rangeBuckets(
  series: MarketSeries,
  level: Level,
  range: BucketRange,
  onPoint = () => {},
): RangeBuckets {
  return level.of === null
    ? new BucketsOfPoints(series, level, range, onPoint)
    : new BucketsOfShorter(series, level, level.of, range)
}

/** The bucket to which points or shorter buckets are being joined, and the complete ones before it. */
class BucketsInOrder {
  readonly #series: MarketSeries
  readonly #level: Level
  /** The bucket that may continue in the next chunk, its index, and the time at which it ends; null before the first. */
  open: Bucket | null = null
  index = 0n
  end = MIN_INT64
  #completeRows: BucketRow[] = []

  constructor(series: MarketSeries, level: Level) {
    this.#series = series
    this.#level = level
  }

  /** Begins the next bucket; the one before is complete. */
  begin(index: bigint, bucket: Bucket): void {
    this.#complete()
    this.open = bucket
    this.index = index
    this.end = (index + 1n) * this.#level.nanoseconds
  }

  /** The rows of the buckets that are complete and not taken yet; at the end the open one is complete, too. */
  takeComplete(isAtEnd: boolean): BucketRow[] {
    if (isAtEnd) this.#complete()
    return this.#completeRows.splice(0)
  }

  #complete(): void {
    if (this.open === null) return
    this.#completeRows.push(bucketRow(this.#series, this.#level, this.index, this.open))
  }
}

/** The shortest buckets, from points. */
class BucketsOfPoints implements RangeBuckets {
  readonly #points: CountedPoints
  readonly #onPoint: () => void
  readonly #buckets: BucketsInOrder

  constructor(series: MarketSeries, level: Level, { from, to }: BucketRange, onPoint: () => void) {
    const { nanoseconds } = level
    this.#points = new CountedPoints(series, { from: from * nanoseconds, to: to * nanoseconds })
    this.#onPoint = onPoint
    this.#buckets = new BucketsInOrder(series, level)
  }

  get isAtEnd(): boolean {
    return this.#points.isAtEnd
  }

  *readChunk(): Query<BucketRow[]> {
    const buckets = this.#buckets
    for (const point of yield* this.#points.readChunk()) {
      this.#onPoint()
      if (buckets.open !== null && point.timestamp < buckets.end) joinPoint(buckets.open, point)
      else buckets.begin(baseAt(point.timestamp), bucketOf(point))
    }
    return buckets.takeComplete(this.isAtEnd)
  }
}

/** Longer buckets, from stored shorter ones. */
class BucketsOfShorter implements RangeBuckets {
  readonly #key: bigint[]
  /** How many shorter buckets make up one. */
  readonly #parts: bigint
  /** The shorter buckets that are not yet read, by their indexes. */
  readonly #unread: BucketRange
  readonly #buckets: BucketsInOrder
  #isAtEnd = false

  constructor(series: MarketSeries, level: Level, shorter: Level, { from, to }: BucketRange) {
    this.#key = levelKey(series, shorter)
    this.#parts = level.seconds / shorter.seconds
    this.#unread = { from: from * this.#parts, to: to * this.#parts }
    this.#buckets = new BucketsInOrder(series, level)
  }

  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  *readChunk(): Query<BucketRow[]> {
    const buckets = this.#buckets
    const { from, to } = this.#unread
    const rows = yield { text: READ_SHORTER_BUCKETS, values: [...this.#key, from, to] }
    for (const row of rows) {
      const part = BigInt(row[0]!)
      const index = indexAt(part, this.#parts)
      if (buckets.open !== null && index === buckets.index) joinBucket(buckets.open, bucketFrom(row))
      else buckets.begin(index, bucketFrom(row))
      this.#unread.from = part + 1n
    }
    this.#isAtEnd = rows.length < CHUNK_BUCKETS
    return buckets.takeComplete(this.#isAtEnd)
  }
}

/** Calculates all buckets of one length in a range at once. */
export function* readRangeBuckets(
  series: MarketSeries,
  level: Level,
  range: BucketRange,
): Query<BucketRow[]> {
  const buckets = rangeBuckets(series, level, range)
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
function bucketFrom(row: Row): Bucket {
  return {
    seq: BigInt(row[1]!),
    count: Number(row[2]),
    price: summaryAt(row, 3),
    twap: summaryAt(row, 7),
  }
}

/** The summary in four columns of such a row: first, last, least and greatest number. */
function summaryAt(row: Row, at: number): Summary {
  return summaryFrom(row[at] as string, row[at + 1] as string, row[at + 2] as string, row[at + 3] as string)
}
