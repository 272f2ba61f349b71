import { count } from '../../domain/words.ts'
import { SOURCE_NUMBERS } from '../queries/counted-points.ts'
import type { Mutation } from '../queries-protocol.ts'
import { READ_MARKET_IDS } from '../statements.ts'
import { buildSeries } from './build-series.ts'

/** Points between two reports of progress. */
const REPORT_POINTS = 1_000_000

/** The mutation that builds the series of an upgraded store, whose schema steps have emptied them. */
export function* upgradeSeries(onNotice: (message: string) => void): Mutation {
  const [markets = []] = yield { text: READ_MARKET_IDS, values: [[]] }
  let read = 0
  const onPoint = () => {
    if (++read % REPORT_POINTS === 0)
      onNotice(`new schema: computing series, ${count(read)} data points read`)
  }
  for (const [number] of markets) {
    for (const source of SOURCE_NUMBERS) yield* buildSeries({ market: BigInt(number!), source }, onPoint)
  }
}
