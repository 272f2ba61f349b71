import { MIN_INT64 } from '../domain/integers.ts'
import type { SeriesPoint } from '../domain/series.ts'
import type { Row } from '../resources/resource.ts'
import { READ_MARKETS } from './prune-statements.ts'
import type { Steps } from './steps.ts'
import { writeSeries } from './write-series.ts'

/** The version of both schemas from which on there are series. */
export const SERIES_VERSION = 5

/** Points that are read at a time. */
const CHUNK_ROWS = 10_000

/** Points between two reports of progress. */
const REPORT_ROWS = 1_000_000

const NEXT_POINTS = `
  select cast(timestamp as text), cast(seq as text), cast(price as text), cast(twap as text)
  from funding_period_data_points
  where market = $1 and source = $2 and (timestamp, seq) > ($3, $4)
  order by funding_period_data_points.timestamp, funding_period_data_points.seq limit ${CHUNK_ROWS}`

/** The steps that make the series of points that a store holds already. */
export function* fillSeries(onNotice: (message: string) => void): Steps {
  const [markets = []] = yield { each: READ_MARKETS, values: [[]] }
  let read = 0
  let reported = 0
  for (const [number] of markets) {
    for (const source of [0n, 1n, 2n]) {
      const run = { market: BigInt(number!), source }
      let last: bigint | null = null
      let seq = -1n
      for (;;) {
        const [rows = []]: readonly Row[][] = yield {
          each: NEXT_POINTS,
          values: [[run.market, source, last ?? MIN_INT64, seq]],
        }
        if (rows.length === 0) break
        const points = rows.map(
          ([timestamp, of, price, twap]): SeriesPoint => ({
            ...{ timestamp: BigInt(timestamp!), seq: BigInt(of!) },
            ...{ price: price as string, twap: twap as string },
          }),
        )
        // Points of one time may lie in two chunks: those of before are read again from the store.
        yield* writeSeries(run, { last, points })
        ;({ timestamp: last, seq } = points.at(-1)!)
        read += points.length
        if (read - reported < REPORT_ROWS) continue
        reported = read
        onNotice(`new schema: series are made, ${read.toLocaleString('en')} data points read`)
      }
    }
  }
}
