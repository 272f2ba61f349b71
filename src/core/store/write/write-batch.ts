import { type Batch, rowsOf } from '../../model/batch.ts'
import { marketColumn } from '../../model/table.ts'
import { dataPointTable } from '../../resources/funding-period-data-points/table.ts'
import { provisionTable } from '../../resources/liquidity-providers/table.ts'
import { latestDataRow } from '../../resources/market-data/row.ts'
import { marketDataTable } from '../../resources/market-data/table.ts'
import type { SeriesBuilder } from '../charts/series-builder.ts'
import type { Mutation } from '../queries-protocol.ts'
import { TABLES, tableOf } from '../schema/tables.ts'
import { type MarketNumbers, numbered, numberMarkets } from './market-numbers.ts'
import { writePoints } from './write-points.ts'
import { writeProviders } from './write-providers.ts'

/* The writes of a commit, in the same order on every store. Each is yielded to the store's writer, which returns its rows. */

const DELETE_AFTER = TABLES.filter(({ goesWithBlock }) => goesWithBlock).map((table) => ({
  text: `delete from ${table.name} where height = $1 and event_index > $2 returning height`,
  deletesFrom: table,
}))

/** Number of rows written at once, if they are created only then. */
const MAX_STEP_ROWS = 10_000

/** The mutation that writes a batch's rows, within the caller's transaction. */
export function* writeBatch(batch: Batch, markets: MarketNumbers, builder: SeriesBuilder): Mutation {
  const { replaced } = batch
  if (replaced.length > 0) {
    const values = replaced.map(({ height, index }) => [height, index])
    for (const deletion of DELETE_AFTER) yield { ...deletion, values }
  }
  yield* numberMarkets(batchMarkets(batch), markets)
  for (const table of TABLES) {
    const rows = batch.rows.get(table.name)
    // Providers follow from all else that is written.
    if (rows === undefined || table.follows === 'providers') continue
    if (table.follows === 'series') {
      yield* writePoints(rowsOf(batch, dataPointTable), markets, builder)
      continue
    }
    for (const list of rows.lists(MAX_STEP_ROWS)) {
      yield { table, rows: marketColumn(table) === 'market' ? numbered(list, markets) : list }
    }
  }
  const lists = batch.marketData
  const data = [...lists.values()].flatMap((ofMarket) => latestDataRow(ofMarket) ?? [])
  if (data.length > 0) yield { table: marketDataTable, rows: data }
  yield* writeProviders(rowsOf(batch, provisionTable), lists)
}

/** The markets that a batch's rows name. */
function batchMarkets({ rows, marketData }: Batch): Set<string> {
  const ids = new Set(marketData.keys())
  for (const [name, ofTable] of rows) {
    const column = marketColumn(tableOf(name))
    if (column !== undefined) for (const id of ofTable.markets(column)) ids.add(id)
  }
  return ids
}
