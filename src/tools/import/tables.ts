import type { ResourceName } from '#core/model/resource'
import type { TableQuery } from './source.ts'

/* The columns of the data node's tables that are read (docs/import.md), by name: releases have only added columns. */

/** The column in every table that names a row's block by its time. */
export const BLOCK_TIME = 'vega_time'

const isInState = true

const PAYMENT_HISTORY = {
  table: 'funding_payment',
  columns: ['market_id', 'party_id', 'funding_period_seq', 'amount', 'loss_socialisation_amount'],
  key: ['market_id', 'party_id', 'vega_time'],
} as const

const MARKET_DATA = {
  table: 'market_data',
  columns: ['market', 'seq_num', 'liquidity_provider_fee_shares', 'liquidity_provider_sla'],
} as const

/** Epochs have a row for the start, and one for the end, which alone has an `end_time`. */
const EPOCHS = {
  table: 'epochs',
  columns: ['id', 'start_time', 'expire_time', 'end_time'],
  key: ['id'],
  isInState,
} as const

/** Tables whose rows have a position in the stream. */
export const HISTORY = {
  checkpoints: {
    table: 'checkpoints',
    columns: ['hash', 'block_hash', 'block_height', 'seq_num'],
    key: ['vega_time', 'seq_num'],
  },
  points: {
    table: 'funding_period_data_points',
    columns: ['market_id', 'funding_period_seq', 'data_point_type', 'price', 'twap', 'timestamp'],
    key: ['market_id', 'funding_period_seq', 'data_point_type', 'vega_time'],
  },
  provisions: {
    table: 'liquidity_provisions',
    columns: ['id', 'party_id', 'market_id', 'status'],
    key: ['id', 'vega_time'],
  },
  payments: PAYMENT_HISTORY,
  epochs: EPOCHS,
  /** Each market's data in every block; only a fraction of these are in the blocks in which epochs end. */
  epochData: {
    ...MARKET_DATA,
    key: ['seq_num'],
    hasLists: true,
    besides: { query: EPOCHS, by: 'synthetic_time' },
  },
  paidFees: {
    table: 'paid_liquidity_fees',
    columns: ['market_id', 'asset_id', 'epoch_seq', 'total_fees_paid', 'fees_paid_per_party'],
    key: ['market_id', 'epoch_seq', 'asset_id'],
    hasLists: true,
  },
} as const satisfies Record<string, TableQuery>

/** Which fees a provider was paid in an epoch, depends on where the epoch ends. */
export const FEES_OF_EPOCHS: TableQuery = { ...HISTORY.paidFees, needs: EPOCHS }

/** Releases before schema version 117 have no losses. */
export const PAYMENTS_WITHOUT_LOSSES: TableQuery = {
  ...PAYMENT_HISTORY,
  columns: PAYMENT_HISTORY.columns.slice(0, -1),
}

/** Tables with only the latest value of each row's key. */
export const STATE = {
  periods: {
    table: 'funding_period',
    columns: [
      'market_id',
      'funding_period_seq',
      'start_time',
      'end_time',
      'funding_payment',
      'funding_rate',
      'external_twap',
      'internal_twap',
    ],
    // The core cuts the start of a period to the second.
    second: 'start_time',
    isInState,
    key: ['market_id', 'funding_period_seq'],
  },
  liveProvisions: { ...HISTORY.provisions, table: 'live_liquidity_provisions', isInState },
  marketData: { ...MARKET_DATA, table: 'current_market_data', key: ['market'], isInState },
  marketFigures: {
    table: 'current_market_data',
    columns: [
      'market',
      'seq_num',
      'mark_price',
      'open_interest',
      'market_state',
      'market_trading_mode',
      'product_data',
    ],
    isInState,
    key: ['market'],
  },
  markets: {
    table: 'markets_current',
    columns: [
      'id',
      'tradable_instrument',
      'decimal_places',
      'position_decimal_places',
      'trading_mode',
      'state',
      'liquidity_sla_parameters',
    ],
    isInState,
    key: ['id'],
  },
  assets: {
    table: 'assets',
    columns: ['id', 'name', 'symbol', 'decimals', 'status'],
    isInState,
    key: ['id', 'vega_time'],
  },
} as const satisfies Record<string, TableQuery>

/** The table of blocks, without which nothing is imported. */
export const BLOCKS = {
  table: 'blocks',
  columns: ['height'],
  key: ['height'],
} as const satisfies TableQuery

type StateResource = Exclude<
  ResourceName,
  | 'markets'
  | 'checkpoints'
  | 'epochs'
  | 'fundingPeriodDataPoints'
  | 'fundingPayments'
  | 'liquidityProviderHistory'
  | 'paidLiquidityFees'
  | 'paidLiquidityFeesStats'
>

/** Resources of current state, which are written after all blocks, and the tables that they are derived from. */
export const OF_STATE: Record<StateResource, readonly TableQuery[]> = {
  fundingPeriods: [STATE.periods],
  liquidityProviders: [STATE.marketData, STATE.liveProvisions],
  marketData: [STATE.marketFigures],
  instruments: [STATE.markets, STATE.assets],
  instrumentTerms: [STATE.markets],
}
