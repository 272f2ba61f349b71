import { defineResource } from '../../model/resource.ts'
import { fundingPeriodTable } from './table.ts'

const RUNNING_TWAP =
  'While the period is in progress, lists and streams have its opening price, and exports and market summaries no value.'

/** The funding periods of a perpetual market. */
export const fundingPeriods = defineResource({
  name: 'fundingPeriods',
  nodeName: 'FundingPeriod',
  summary: 'List the funding periods of a perpetual market',
  meaning: 'A funding period of a perpetual market. Fields that its latest event did not set are absent.',
  path: '/api/v2/funding-periods/:marketId',
  grpcMethod: 'ListFundingPeriods',
  tag: 4,
  cursor: 'f',
  key: [
    { column: 'start_timestamp', type: 'int64' },
    { column: 'seq', type: 'uint64' },
  ],
  scope: 'marketId',
  dateRange: true,
  storage: {
    table: fundingPeriodTable,
  },
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'Number of the period within its market.', form: 'integer' },
    {
      name: 'start',
      meaning: 'Start of the period, Unix nanoseconds.',
      column: 'start_timestamp',
      form: 'time',
    },
    {
      name: 'end',
      meaning: 'End of the period, Unix nanoseconds. Absent while the period is in progress.',
      column: 'end_timestamp',
      form: 'time',
      ifNull: 'left out',
    },
    {
      name: 'fundingPayment',
      meaning:
        'Payment per whole unit of position at the end of the period, in the smallest unit of the settlement asset. Positive if long positions pay short ones.',
      form: 'number',
      ifNull: 'left out',
    },
    {
      name: 'fundingRate',
      meaning: 'Payment divided by the external TWAP, for this period.',
      form: 'rate',
      ifNull: 'left out',
    },
    {
      name: 'internalTwap',
      meaning: `Time-weighted average of the internal prices, in the smallest unit of the settlement asset. ${RUNNING_TWAP}`,
      form: 'number',
      ifNull: 'left out',
      finalWith: 'end_timestamp',
    },
    {
      name: 'externalTwap',
      meaning: `Time-weighted average of the external prices, in the smallest unit of the settlement asset. ${RUNNING_TWAP}`,
      form: 'number',
      ifNull: 'left out',
      finalWith: 'end_timestamp',
    },
  ],
  coverage: 'times by market',
})
