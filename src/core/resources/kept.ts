import type { Arrival } from '../model/arrival.ts'
import type { Resource } from '../model/resource.ts'
import type { Table } from '../model/table.ts'
import { auctionArrival } from './auctions/arrival.ts'
import { auctionTable } from './auctions/table.ts'
import { checkpointArrival } from './checkpoints/arrival.ts'
import { checkpoints } from './checkpoints/description.ts'
import { checkpointTable } from './checkpoints/table.ts'
import { fundingLossArrival, fundingPaymentsArrival } from './funding-payments/arrival.ts'
import { fundingPayments } from './funding-payments/description.ts'
import { fundingPaymentTable } from './funding-payments/table.ts'
import { dataPointArrival } from './funding-period-data-points/arrival.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points/description.ts'
import {
  blockSpanTable,
  dataPointTable,
  periodSpanTable,
  seriesMadeTable,
  seriesStaleTable,
  seriesTable,
} from './funding-period-data-points/table.ts'
import { fundingPeriodArrival } from './funding-periods/arrival.ts'
import { fundingPeriods } from './funding-periods/description.ts'
import { fundingPeriodTable } from './funding-periods/table.ts'
import { assetArrival, instrumentArrival } from './instruments/arrival.ts'
import { instruments } from './instruments/description.ts'
import { assetTable, instrumentTable, instrumentTermTable } from './instruments/table.ts'
import { epochEndArrival, paidFeesArrival } from './liquidity-provider-history/arrival.ts'
import { liquidityProviderHistory } from './liquidity-provider-history/description.ts'
import { historyTable } from './liquidity-provider-history/table.ts'
import { provisionArrival } from './liquidity-providers/arrival.ts'
import { liquidityProviders } from './liquidity-providers/description.ts'
import { providerListTable, providerTable, provisionTable } from './liquidity-providers/table.ts'
import { marketDataArrival } from './market-data/arrival.ts'
import { marketDataTable } from './market-data/table.ts'
import { paidFeesTable } from './paid-liquidity-fees/table.ts'

/** Something that a store keeps of the event stream: a folder beside this file. */
export type Kept = {
  /** Its name in messages about a store without it; the name of its resource, if it has one. */
  name: string
  /** The resource that serves its rows; null if only others derive from them. */
  resource: Resource | null
  /** The source events; events with several results are listed only once. */
  arrivals: readonly Arrival[]
  /**
   * Its tables, in the order of writing. A store that is upgraded to the schema with the first table has it
   * from the next block on (store/schema-version.ts).
   */
  tables: readonly Table[]
}

/** The one list of everything stored. Periods precede data points, whose series depend on them. */
export const KEPT: readonly Kept[] = [
  {
    name: 'checkpoints',
    resource: checkpoints,
    arrivals: [checkpointArrival],
    tables: [checkpointTable],
  },
  {
    name: 'fundingPeriods',
    resource: fundingPeriods,
    arrivals: [fundingPeriodArrival],
    tables: [fundingPeriodTable],
  },
  {
    name: 'fundingPeriodDataPoints',
    resource: fundingPeriodDataPoints,
    arrivals: [dataPointArrival],
    tables: [dataPointTable, periodSpanTable, blockSpanTable, seriesTable, seriesMadeTable, seriesStaleTable],
  },
  { name: 'auctions', resource: null, arrivals: [auctionArrival], tables: [auctionTable] },
  {
    name: 'instruments',
    resource: instruments,
    arrivals: [instrumentArrival, assetArrival],
    tables: [instrumentTable, assetTable],
  },
  { name: 'instrumentTerms', resource: null, arrivals: [], tables: [instrumentTermTable] },
  { name: 'marketData', resource: null, arrivals: [marketDataArrival], tables: [marketDataTable] },
  {
    name: 'liquidityProviders',
    resource: liquidityProviders,
    arrivals: [provisionArrival],
    tables: [provisionTable, providerListTable, providerTable],
  },
  {
    name: 'liquidityProviderHistory',
    resource: liquidityProviderHistory,
    arrivals: [epochEndArrival],
    tables: [historyTable],
  },
  { name: 'paidLiquidityFees', resource: null, arrivals: [paidFeesArrival], tables: [paidFeesTable] },
  {
    name: 'fundingPayments',
    resource: fundingPayments,
    arrivals: [fundingPaymentsArrival, fundingLossArrival],
    tables: [fundingPaymentTable],
  },
]
