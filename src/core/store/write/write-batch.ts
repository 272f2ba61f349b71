import type { EventPosition } from '../../domain/event-position.ts'
import { type Batch, rowsOf } from '../../model/batch.ts'
import type { BatchRows } from '../../model/batch-rows.ts'
import { marketColumn, type Table } from '../../model/table.ts'
import { fundingPaymentTable } from '../../resources/funding-payments/table.ts'
import { dataPointTable } from '../../resources/funding-period-data-points/table.ts'
import { provisionTable } from '../../resources/liquidity-providers/table.ts'
import { latestDataRow } from '../../resources/market-data/row.ts'
import { marketDataTable } from '../../resources/market-data/table.ts'
import type { SeriesBuilder } from '../charts/series-builder.ts'
import type { Mutation } from '../queries-protocol.ts'
import { TABLES, tableOf } from '../schema/tables.ts'
import { type MarketNumbers, numbered, numberMarkets } from './market-numbers.ts'
import { writeProviders } from './providers/write-providers.ts'
import { changedAuctions, writeAuctions } from './write-auctions.ts'
import { changedPayments, type PaymentRow, writeDailySums } from './write-daily-sums.ts'
import { writePoints } from './write-points.ts'

/** Number of rows written at once, if they are created only then. */
const MAX_STEP_ROWS = 10_000

/**
 * The mutation that writes a batch's rows, within the caller's transaction. The order of its writes is the same on every
 * store.
 *
 * @param markets the writer's cache of market numbers, to which the batch's markets are added
 * @param builder learns which buckets of the writer's series become stale
 */
export function* writeBatch(batch: Batch, markets: MarketNumbers, builder: SeriesBuilder): Mutation {
  // Both also read the rows that are deleted next.
  const auctions = yield* changedAuctions(batch)
  const payments = yield* changedPayments(batch)
  yield* deleteReplaced(batch.replaced)
  yield* numberMarkets(marketsOf(batch), markets)
  for (const table of TABLES) {
    const rows = batch.rows.get(table.name)
    if (rows === undefined) continue
    switch (table.alsoChanges) {
      case undefined:
        yield* writeRows(table, rows, markets)
        break
      case 'daily sums':
        refuseOthers(table, fundingPaymentTable)
        for (const list of rows.lists(MAX_STEP_ROWS)) {
          payments?.add(list as readonly PaymentRow[])
          yield { table, rows: list }
        }
        break
      case 'series':
        refuseOthers(table, dataPointTable)
        yield* writePoints(rowsOf(batch, dataPointTable), markets, builder)
        break
      case 'providers':
        refuseOthers(table, provisionTable)
        // Written below: providers depend on the market data, too.
        break
      default:
        table.alsoChanges satisfies never
    }
  }
  yield* writeMarketData(batch.marketData)
  yield* writeAuctions(auctions)
  if (payments !== null) yield* writeDailySums(payments)
  yield* writeProviders(rowsOf(batch, provisionTable), batch.marketData)
}

/**
 * Each case above but the first is written for one table.
 *
 * @throws {TypeError} for another table.
 */
function refuseOthers({ name, alsoChanges }: Table, only: Table): void {
  if (name === only.name) return
  throw new TypeError(
    `${name}: only the writes of ${only.name} change ${alsoChanges} (store/write/write-batch.ts)`,
  )
}

const DELETE_AFTER = TABLES.filter(({ goesWithBlock }) => goesWithBlock).map((table) => ({
  text: `delete from ${table.name} where height = $1 and event_index > $2 returning height`,
  deletesFrom: table,
}))

/** Deletes the rows of incomplete blocks that are complete now, from these positions on. */
function* deleteReplaced(replaced: readonly EventPosition[]): Mutation {
  if (replaced.length === 0) return
  const each = replaced.map(({ height, index }) => [height, index])
  for (const deletion of DELETE_AFTER) yield { ...deletion, each }
}

function* writeRows(table: Table, rows: BatchRows, markets: MarketNumbers): Mutation {
  const isNumbered = marketColumn(table) === 'market'
  for (const list of rows.lists(MAX_STEP_ROWS)) {
    yield { table, rows: isNumbered ? numbered(list, markets) : list }
  }
}

/** Writes the last data of each market. */
function* writeMarketData(marketData: Batch['marketData']): Mutation {
  const rows = [...marketData.values()].flatMap((ofMarket) => latestDataRow(ofMarket) ?? [])
  if (rows.length > 0) yield { table: marketDataTable, rows }
}

/** The ids of the markets that a batch's rows name. */
function marketsOf({ rows, marketData }: Batch): Set<string> {
  const ids = new Set(marketData.keys())
  for (const [name, ofTable] of rows) {
    const column = marketColumn(tableOf(name))
    if (column !== undefined) for (const id of ofTable.markets(column)) ids.add(id)
  }
  return ids
}
