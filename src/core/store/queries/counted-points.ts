import { nearestInt64 } from '../../domain/integers.ts'
import type { SeriesPoint } from '../../domain/series.ts'
import type { Row } from '../../model/resource.ts'
import type { Query } from '../pages/page.ts'
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

/** By the index: PostgreSQL would read all points for the least or greatest one while it has no statistics of the table,
 * as in the first minute of an ingestion. */
const readEnd = (order: 'asc' | 'desc') => `
  select ${textOf('timestamp')} from funding_period_data_points where market = $1 and source = $2
  order by timestamp ${order} limit 1`
const READ_FIRST_TIMESTAMP = readEnd('asc')
export const READ_LAST_TIMESTAMP = readEnd('desc')

/** Times: `from` is included, `to` is not. */
type TimeRange = { from: bigint; to: bigint }

/**
 * Reads the points of a run that count in `from <= timestamp < to`, in order, and passes each to `add`: of those of one
 * timestamp the one with the lowest seq, because the others are copies, carried over into later periods.
 */
export function* readCounted(
  { market, source }: SeriesRun,
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

/** The times of the first and the last point of a run; null without points. */
export function* readEnds({ market, source }: SeriesRun): Query<{ first: bigint; last: bigint } | null> {
  const [first] = yield { text: READ_FIRST_TIMESTAMP, values: [market, source] }
  const [last] = yield { text: READ_LAST_TIMESTAMP, values: [market, source] }
  return first === undefined ? null : { first: BigInt(first[0]!), last: BigInt(last![0]!) }
}

/** The lists of an aggregated row; empty ones if no row was found. */
export function listsOf(row: Row): [string[], ...string[][]] {
  return row.map((text) => (text === null ? [] : String(text).split(','))) as [string[], ...string[][]]
}
