import type { Arrival } from './arrival.ts'
import { auctionArrival } from './auctions/arrival.ts'
import { auctionTable } from './auctions/table.ts'
import { checkpointArrival } from './checkpoints/arrival.ts'
import { checkpoints } from './checkpoints/description.ts'
import { checkpointTable } from './checkpoints/table.ts'
import { dataPointArrival } from './funding-period-data-points/arrival.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points/description.ts'
import {
  blockSpanTable,
  dataPointTable,
  importedSpanTable,
  periodSpanTable,
  seriesTable,
} from './funding-period-data-points/table.ts'
import { fundingPeriodArrival } from './funding-periods/arrival.ts'
import { fundingPeriods } from './funding-periods/description.ts'
import { fundingPeriodTable } from './funding-periods/table.ts'
import { assetArrival, instrumentArrival } from './instruments/arrival.ts'
import { instruments } from './instruments/description.ts'
import { assetTable, instrumentTable } from './instruments/table.ts'
import { provisionArrival } from './liquidity-providers/arrival.ts'
import { liquidityProviders } from './liquidity-providers/description.ts'
import { providerListTable, providerTable, provisionTable } from './liquidity-providers/table.ts'
import { marketDataArrival } from './market-data/arrival.ts'
import { marketDataTable } from './market-data/table.ts'
import type { Resource } from './resource.ts'
import type { Table } from './table.ts'

/** Something that a store keeps of the event stream: a folder beside this file. */
export type Kept = {
  /** What it is called where blocks are said to lack it; the name of its resource, if it has one. */
  name: string
  /**
   * The step of the schema that brought it, counted from that of 0.2.0: blocks that an older store holds lack it, and the
   * store says so from its upgrade on (store/schema-version.ts).
   */
  since: number
  /** How its rows are served; null if others are made of them. */
  resource: Resource | null
  /** The events that it is made from. */
  arrivals: readonly Arrival[]
  /** Where its rows stand, in the order in which they are written. */
  tables: readonly Table[]
}

/**
 * Everything that is kept: the one list of it. Periods come before data points, whose series depend on them.
 */
export const KEPT: readonly Kept[] = [
  {
    name: 'checkpoints',
    since: 0,
    resource: checkpoints,
    arrivals: [checkpointArrival],
    tables: [checkpointTable],
  },
  {
    name: 'fundingPeriods',
    since: 0,
    resource: fundingPeriods,
    arrivals: [fundingPeriodArrival],
    tables: [fundingPeriodTable],
  },
  {
    name: 'fundingPeriodDataPoints',
    since: 0,
    resource: fundingPeriodDataPoints,
    arrivals: [dataPointArrival],
    tables: [dataPointTable, periodSpanTable, blockSpanTable, importedSpanTable, seriesTable],
  },
  { name: 'auctions', since: 0, resource: null, arrivals: [auctionArrival], tables: [auctionTable] },
  {
    name: 'instruments',
    since: 0,
    resource: instruments,
    arrivals: [instrumentArrival, assetArrival],
    tables: [instrumentTable, assetTable],
  },
  { name: 'marketData', since: 1, resource: null, arrivals: [marketDataArrival], tables: [marketDataTable] },
  {
    name: 'liquidityProviders',
    since: 0,
    resource: liquidityProviders,
    arrivals: [provisionArrival],
    tables: [provisionTable, providerListTable, providerTable],
  },
]
