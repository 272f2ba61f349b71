import { nearestInt64 } from '../../../domain/integers.ts'
import type { PointKey, SeriesPoint } from '../../../domain/series.ts'
import type { Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'
import { textOf } from '../../statements.ts'

/** The series of one source of a market, which is named by its number in the store. */
export type MarketSeries = { market: bigint; source: bigint }

/** Number of points of one chunk: a second may have any number. */
const CHUNK_POINTS = 20_000

/** All rows as one text for each column: a value then costs a tenth of one in a separate row. */
const columnTexts = (...columns: string[]) =>
  columns.map((column) => `string_agg(cast(${column} as text), ',')`).join(', ')

const READ_POINTS = `
  select ${columnTexts('timestamp', 'seq', 'price', 'twap')} from (
    select timestamp, seq, price, twap from funding_period_data_points
    where market = $1 and source = $2 and timestamp <= $3 and (timestamp, seq) > ($4, $5)
    order by timestamp, seq limit cast($6 as bigint)
  ) as found`

/**
 * Reads the index: without statistics of the table, as in the first minute of an ingestion, PostgreSQL would read all
 * points to find the least or greatest.
 */
const readEnd = (order: 'asc' | 'desc') => `
  select ${textOf('timestamp')} from funding_period_data_points where market = $1 and source = $2
  order by timestamp ${order} limit 1`
const READ_FIRST_TIMESTAMP = readEnd('asc')
export const READ_LAST_TIMESTAMP = readEnd('desc')

/** A range of times, Unix nanoseconds: `from` is included, `to` is not. */
type TimeRange = { from: bigint; to: bigint }

/**
 * The points of a series that count, in `from <= timestamp < to` and in order, which are read a chunk at a time. Of several
 * points with one timestamp the one with the lowest seq counts: the others are copies, carried over into later periods.
 */
export class CountedPoints {
  readonly #series: MarketSeries
  /** The last time that is read. */
  readonly #until: bigint
  /** The key of the last point that was read. */
  #after: PointKey
  /** Timestamp of the last point that counts, as text. */
  #lastCounted: string | undefined
  /** Whether all points have been read. */
  isAtEnd = false

  constructor(series: MarketSeries, { from, to }: TimeRange) {
    this.#series = series
    this.#until = nearestInt64(to - 1n)
    this.#after = { timestamp: nearestInt64(from), seq: -1n }
  }

  /** Reads the next chunk, which may be empty. */
  *readChunk(): Query<SeriesPoint[]> {
    const { market, source } = this.#series
    const { timestamp, seq } = this.#after
    const values = [market, source, this.#until, timestamp, seq, BigInt(CHUNK_POINTS)]
    const [row] = yield { text: READ_POINTS, values }
    const [timestamps, seqs, prices, twaps] = listsOf(row!)
    const points: SeriesPoint[] = []
    for (const [at, text] of timestamps.entries()) {
      if (text === this.#lastCounted) continue
      this.#lastCounted = text
      points.push({
        timestamp: BigInt(text),
        seq: BigInt(seqs![at]!),
        price: prices![at]!,
        twap: twaps![at]!,
      })
    }
    if (timestamps.length < CHUNK_POINTS) this.isAtEnd = true
    else this.#after = { timestamp: BigInt(timestamps.at(-1)!), seq: BigInt(seqs!.at(-1)!) }
    return points
  }
}

/** The times of a series' first and last point; null if it has none. */
export function* readEnds({ market, source }: MarketSeries): Query<{ first: bigint; last: bigint } | null> {
  const [first] = yield { text: READ_FIRST_TIMESTAMP, values: [market, source] }
  const [last] = yield { text: READ_LAST_TIMESTAMP, values: [market, source] }
  return first === undefined ? null : { first: BigInt(first[0]!), last: BigInt(last![0]!) }
}

/** The lists in an aggregated row; empty if no row matched. */
export function listsOf(row: Row): [string[], ...string[][]] {
  return row.map((text) => (text === null ? [] : String(text).split(','))) as [string[], ...string[][]]
}
