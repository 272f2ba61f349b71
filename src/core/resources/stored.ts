import type { Projection } from '../model/projection.ts'
import type { Resource } from '../model/resource.ts'
import type { Table } from '../model/table.ts'
import { auctions } from './auctions/description.ts'
import { auctionProjection } from './auctions/projection.ts'
import { auctionIntervalTable, auctionTable } from './auctions/table.ts'
import { checkpoints } from './checkpoints/description.ts'
import { checkpointProjection } from './checkpoints/projection.ts'
import { checkpointTable } from './checkpoints/table.ts'
import { epochs } from './epochs/description.ts'
import { epochProjection } from './epochs/projection.ts'
import { epochEndTable, epochTable } from './epochs/table.ts'
import { fundingPayments } from './funding-payments/description.ts'
import { fundingLossProjection, fundingPaymentsProjection } from './funding-payments/projection.ts'
import { dailySumTable, fundingPaymentTable, paymentSpanTable } from './funding-payments/table.ts'
import { fundingPeriodDataPoints } from './funding-period-data-points/description.ts'
import { dataPointProjection } from './funding-period-data-points/projection.ts'
import {
  blockSpanTable,
  builtSeriesTable,
  dataPointTable,
  periodSpanTable,
  seriesStaleTable,
  seriesTable,
} from './funding-period-data-points/table.ts'
import { fundingPeriods } from './funding-periods/description.ts'
import { fundingPeriodProjection } from './funding-periods/projection.ts'
import { fundingPeriodTable } from './funding-periods/table.ts'
import { instruments } from './instruments/description.ts'
import { assetProjection, instrumentProjection } from './instruments/projection.ts'
import { assetTable, instrumentTable, instrumentTermTable } from './instruments/table.ts'
import { liquidityProviderHistory } from './liquidity-provider-history/description.ts'
import { historyTable, paidFeesTable } from './liquidity-provider-history/table.ts'
import { liquidityProviders } from './liquidity-providers/description.ts'
import { provisionProjection } from './liquidity-providers/projection.ts'
import { providerListTable, providerTable, provisionTable } from './liquidity-providers/table.ts'
import { marketDataProjection } from './market-data/projection.ts'
import { marketDataTable } from './market-data/table.ts'
import { paidLiquidityFeesStats } from './paid-liquidity-fees-stats/description.ts'
import { paidFeesProjection } from './paid-liquidity-fees-stats/projection.ts'
import { paidFeesPartyTable, paidFeesStatsTable } from './paid-liquidity-fees-stats/table.ts'

/** A kind of data that a store contains from the event stream: nearly always a folder beside this file. */
export type StoredData = {
  /** Its name in messages about a store without it. It is the name of its resource, if it has one. */
  name: string
  /** The resource that serves its rows; null if no list serves them. */
  resource: Resource | null
  /** Its source events; an event of several kinds of data is listed only once. */
  projections: readonly Projection[]
  /**
   * Its tables, in the order of writing. A store that is upgraded to the schema with the first table has the data from the
   * next block on (store/schema-version.ts).
   */
  tables: readonly Table[]
}

/** Everything stored, in the order of writing. */
export const STORED: readonly StoredData[] = [
  {
    name: 'checkpoints',
    resource: checkpoints,
    projections: [checkpointProjection],
    tables: [checkpointTable],
  },
  {
    name: 'fundingPeriods',
    resource: fundingPeriods,
    projections: [fundingPeriodProjection],
    tables: [fundingPeriodTable],
  },
  {
    name: 'fundingPeriodDataPoints',
    resource: fundingPeriodDataPoints,
    projections: [dataPointProjection],
    tables: [
      dataPointTable,
      periodSpanTable,
      blockSpanTable,
      seriesTable,
      builtSeriesTable,
      seriesStaleTable,
    ],
  },
  {
    name: 'auctions',
    resource: auctions,
    projections: [auctionProjection],
    tables: [auctionTable, auctionIntervalTable],
  },
  {
    name: 'instruments',
    resource: instruments,
    projections: [instrumentProjection, assetProjection],
    tables: [instrumentTable, assetTable],
  },
  { name: 'instrumentTerms', resource: null, projections: [], tables: [instrumentTermTable] },
  { name: 'marketData', resource: null, projections: [marketDataProjection], tables: [marketDataTable] },
  {
    name: 'liquidityProviders',
    resource: liquidityProviders,
    projections: [provisionProjection],
    tables: [provisionTable, providerListTable, providerTable],
  },
  {
    name: 'epochs',
    resource: epochs,
    projections: [epochProjection],
    tables: [epochTable, epochEndTable],
  },
  {
    name: 'liquidityProviderHistory',
    resource: liquidityProviderHistory,
    projections: [],
    tables: [historyTable],
  },
  { name: 'paidLiquidityFees', resource: null, projections: [], tables: [paidFeesTable] },
  {
    name: 'paidLiquidityFeesStats',
    resource: paidLiquidityFeesStats,
    projections: [paidFeesProjection],
    tables: [paidFeesStatsTable, paidFeesPartyTable],
  },
  {
    name: 'fundingPayments',
    resource: fundingPayments,
    projections: [fundingPaymentsProjection, fundingLossProjection],
    tables: [fundingPaymentTable, paymentSpanTable, dailySumTable],
  },
]
