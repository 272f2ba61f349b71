import { defineResource, type KeyColumn } from '../resource.ts'
import { textCursor } from '../text-cursor.ts'
import { fundingPeriodTable } from './table.ts'

const key: readonly KeyColumn[] = [
  { column: 'start_timestamp', type: 'int64' },
  { column: 'seq', type: 'uint64' },
]

/** The funding periods of a perpetual market. */
export const fundingPeriods = defineResource({
  name: 'fundingPeriods',
  nodeName: 'FundingPeriod',
  summary: 'List the funding periods of a perpetual market',
  meaning: 'A funding period of a perpetual market. What its latest event did not set is left out.',
  path: '/api/v2/funding-periods/:marketId',
  grpcMethod: 'ListFundingPeriods',
  tag: 4,
  cursor: textCursor('f', key, 'marketId'),
  key,
  scope: 'marketId',
  filters: [],
  needsFilter: false,
  dateRange: true,
  storage: {
    table: fundingPeriodTable,
    columns: [
      'start_timestamp',
      'seq',
      'end_timestamp',
      'funding_payment',
      'funding_rate',
      'internal_twap',
      'external_twap',
    ],
    scopeBy: 'id',
    arrivals: 'all rows',
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'Number of the period within its market.', column: 'seq', form: 'integer' },
    { name: 'start', meaning: 'When it began, Unix nanoseconds.', column: 'start_timestamp', form: 'time' },
    {
      name: 'end',
      meaning: 'When it ended, Unix nanoseconds; not there while it runs.',
      column: 'end_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'fundingPayment',
      meaning:
        "What one whole unit of position pays at the period's end, in the settlement asset's decimals: above zero long positions pay short ones.",
      column: 'funding_payment',
      form: 'number',
      ifNull: 'left out',
    },
    {
      name: 'fundingRate',
      meaning: 'The payment by the external TWAP, for this period.',
      column: 'funding_rate',
      form: 'rate',
      ifNull: 'left out',
    },
    {
      name: 'internalTwap',
      meaning: "Time-weighted average price of the market's own mark prices.",
      column: 'internal_twap',
      form: 'number',
      ifNull: 'left out',
    },
    {
      name: 'externalTwap',
      meaning: "Time-weighted average price of the oracle's prices.",
      column: 'external_twap',
      form: 'number',
      ifNull: 'left out',
    },
  ],
  rowsStay: false,
  coverage: 'times by market',
})
