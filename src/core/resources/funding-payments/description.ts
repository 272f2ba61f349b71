import { defineResource } from '../../model/resource.ts'
import { fundingPaymentTable } from './table.ts'

/** Payments of parties at the ends of funding periods. */
export const fundingPayments = defineResource({
  name: 'fundingPayments',
  nodeName: 'FundingPayment',
  summary: 'List the funding payments of a party',
  meaning: 'A payment that a party made or received at the end of a funding period.',
  path: '/api/v2/funding-payments',
  grpcMethod: 'ListFundingPayments',
  tag: 8,
  cursor: 'y',
  key: [
    { column: 'timestamp', type: 'int64' },
    { column: 'market_id', type: 'id' },
    { column: 'seq', type: 'uint64' },
    { column: 'party_id', type: 'id' },
  ],
  filters: [{ name: 'partyId', type: 'traderId' }, 'marketId'],
  required: { list: ['partyId'] },
  dateRange: true,
  storage: {
    table: fundingPaymentTable,
    hasPositionsOfAllMarkets: true,
  },
  fields: [
    { name: 'partyId', meaning: 'The party.', form: 'partyId' },
    { name: 'marketId', meaning: 'The market.', form: 'marketId' },
    {
      name: 'fundingPeriodSeq',
      meaning: 'Number of the funding period within its market.',
      column: 'seq',
      form: 'integer',
    },
    {
      name: 'timestamp',
      meaning: 'Time of the block in which the payment was made, Unix nanoseconds.',
      form: 'time',
    },
    {
      name: 'amount',
      meaning:
        'Amount that the party received, negative if it paid, in the smallest unit of the settlement asset.',
      form: 'number',
    },
    {
      name: 'lossAmount',
      meaning:
        'Part of the amount that others could not pay, zero or negative, in the smallest unit of the settlement asset.',
      form: 'number',
    },
  ],
  coverage: 'times by market',
})
