import { baseAt } from '../../domain/series-levels.ts'
import { count } from '../../domain/words.ts'
import { seriesMadeTable } from '../../resources/funding-period-data-points/table.ts'
import { type SeriesRun, SOURCE_NUMBERS } from '../readings/counted-points.ts'
import { READ_MARKET_IDS, WRITE_START } from '../statements.ts'
import { asSteps, type Steps } from '../steps.ts'
import { makeSeries, readClosing } from './make-series.ts'

/** Points between two reports of progress. */
const REPORT_POINTS = 1_000_000

const READ_PERIOD_STARTS = `
  select cast(seq as text), cast(start_timestamp as text) from funding_periods where market_id = $1`

/**
 * The steps that upgrade the series of an older store.
 *
 * @param areThere whether an older version has written them with the points: all buckets that are closed
 */
export function* upgradeSeries(areThere: boolean, onNotice: (message: string) => void): Steps {
  const [markets = []] = yield { text: READ_MARKET_IDS, values: [[]] }
  let read = 0
  const onPoint = () => {
    if (++read % REPORT_POINTS === 0)
      onNotice(`new schema: computing series, ${count(read)} data points read`)
  }
  for (const [number, marketId] of markets) {
    const market = BigInt(number!)
    if (!areThere) {
      const [periods = []] = yield { text: READ_PERIOD_STARTS, values: [[marketId!]] }
      yield {
        text: WRITE_START,
        values: periods.map(([seq, start]) => [market, BigInt(seq!), BigInt(start!)]),
      }
    }
    for (const source of SOURCE_NUMBERS) {
      const run = { market, source }
      if (areThere) yield* noteMade(run)
      else yield* makeSeries(run, onPoint)
    }
  }
}

function* noteMade(run: SeriesRun): Steps {
  const closing = yield* asSteps(readClosing(run))
  if (closing === null) return
  const row = { market: run.market, source: Number(run.source), made_to: baseAt(closing) }
  yield { table: seriesMadeTable, rows: [row] }
}
