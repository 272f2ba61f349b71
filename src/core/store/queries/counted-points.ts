import { nearestInt64 } from '../../domain/integers.ts'
import type { SeriesPoint } from '../../domain/series.ts'
import type { Row } from '../../model/resource.ts'
import type { Query } from '../pages/page.ts'
import { textOf } from '../statements.ts'

/** The series of one source of a market, which is named by its number in the store. */
export type MarketSeries = { market: bigint; source: bigint }

/** Every source of data points. */
export const SOURCE_NUMBERS: readonly bigint[] = [0n, 1n, 2n]

/** Number of points read at a time: a second may have any number. */
const POINTS_AT_A_TIME = 20_000

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

/** A range of times: `from` is included, `to` is not. */
type TimeRange = { from: bigint; to: bigint }

/**
 * Reads the points of a series that count, in `from <= timestamp < to` and in order, and passes each to `add`. Of several
 * points with one timestamp the one with the lowest seq counts: the others are copies, carried over into later periods.
 */
export function* readCounted(
  { market, source }: MarketSeries,
  { from, to }: TimeRange,
  add: (point: SeriesPoint) => void,
): Query<void> {
  const until = nearestInt64(to - 1n)
  let after = [nearestInt64(from), -1n]
  let last: string | undefined
  for (;;) {
    const values = [market, source, until, ...after, BigInt(POINTS_AT_A_TIME)]
    const [found] = yield { text: READ_POINTS, values }
    const [timestamps, seqs, prices, twaps] = listsOf(found!)
    for (const [at, text] of timestamps.entries()) {
      if (text === last) continue
      last = text
      add({ timestamp: BigInt(text), seq: BigInt(seqs![at]!), price: prices![at]!, twap: twaps![at]! })
    }
    if (timestamps.length < POINTS_AT_A_TIME) return
    after = [BigInt(last!), BigInt(seqs!.at(-1)!)]
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
