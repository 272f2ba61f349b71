import { count } from '../../domain/words.ts'
import { SOURCE_NUMBERS } from '../../resources/funding-period-data-points/description.ts'
import { readMarketNumbers } from '../queries/contents/ids.ts'
import { asMutation, type Mutation } from '../queries-protocol.ts'
import { buildToLastPoint } from './build-series.ts'

/** Points between two reports of progress. */
const REPORT_POINTS = 1_000_000

/** The mutation that builds all series of an upgraded store, whose schema steps have emptied them. */
export function* upgradeSeries(onNotice: (message: string) => void): Mutation {
  const markets = yield* asMutation(readMarketNumbers())
  let pointsRead = 0
  const onPoint = () => {
    if (++pointsRead % REPORT_POINTS === 0)
      onNotice(`new schema: computing series, ${count(pointsRead)} data points read`)
  }
  for (const market of markets) {
    for (const source of SOURCE_NUMBERS) yield* buildToLastPoint({ market, source }, onPoint)
  }
}
