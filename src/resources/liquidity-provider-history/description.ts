import { defineResource, type KeyColumn } from '../resource.ts'
import { textCursor } from '../text-cursor.ts'
import { historyTable } from './table.ts'

const key: readonly KeyColumn[] = [
  { column: 'timestamp', type: 'int64' },
  { column: 'market_id', type: 'id', filter: 'marketId' },
  { column: 'party_id', type: 'id', filter: 'partyId' },
  { column: 'epoch', type: 'uint64' },
]

/** How the liquidity providers of a market or a party did in the epochs that have ended. */
export const liquidityProviderHistory = defineResource({
  name: 'liquidityProviderHistory',
  nodeName: 'LiquidityProviderEpoch',
  summary: 'List the performance of liquidity providers, by epoch',
  meaning: 'Performance of a liquidity provider on a market in a completed epoch.',
  path: '/api/v2/liquidity/provider-history',
  tag: 7,
  cursor: textCursor('h', key),
  key,
  scope: null,
  filters: ['marketId', 'partyId'],
  needsFilter: true,
  dateRange: true,
  storage: {
    table: historyTable,
    columns: [
      'timestamp',
      'market_id',
      'party_id',
      'epoch',
      'time_on_book',
      'fee_penalty',
      'bond_penalty',
      'required_liquidity',
      'equity_like_share',
      'height',
    ],
    scopeBy: 'id',
    arrivals: 'all rows',
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'market_id', form: 'marketId' },
    { name: 'partyId', meaning: 'The party.', column: 'party_id', form: 'partyId' },
    { name: 'epoch', meaning: 'Number of the epoch.', column: 'epoch', form: 'integer' },
    {
      name: 'timestamp',
      meaning: 'Time of the block in which the epoch ended, Unix nanoseconds.',
      column: 'timestamp',
      form: 'time',
    },
    { name: 'atBlock', meaning: 'Height of that block.', column: 'height', form: 'integer' },
    {
      name: 'timeOnBook',
      meaning: 'Fraction of the epoch during which its orders covered its commitment.',
      column: 'time_on_book',
      form: 'text',
    },
    {
      name: 'feePenalty',
      meaning: 'Fraction of its fees lost for the epoch.',
      column: 'fee_penalty',
      form: 'text',
    },
    {
      name: 'bondPenalty',
      meaning: 'Fraction of its bond lost for the epoch.',
      column: 'bond_penalty',
      form: 'text',
    },
    {
      name: 'requiredLiquidity',
      meaning: "Amount to be offered on each side of the book, in the asset's decimals.",
      column: 'required_liquidity',
      form: 'text',
    },
    {
      name: 'equityLikeShare',
      meaning: 'Its share of the liquidity fees. Null if the market listed none.',
      column: 'equity_like_share',
      form: 'text',
      ifNull: 'null',
    },
  ],
  rowsStay: false,
  coverage: 'times by market',
})
