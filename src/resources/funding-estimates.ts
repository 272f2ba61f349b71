import type { Field } from './field.ts'

/** The estimate of a running funding period, field by field; its operation has no pages. */
export const fundingEstimate: { nodeName: string; meaning: string; fields: readonly Field[] } = {
  nodeName: 'FundingEstimate',
  meaning:
    "What the running funding period of a market would pay if it ended now, as the network itself says in the market's latest data.",
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'The funding period that runs.', column: 'seq', form: 'integer' },
    { name: 'start', meaning: 'When it began, Unix nanoseconds.', column: 'start', form: 'time' },
    { name: 'at', meaning: 'Time of the market data, Unix nanoseconds.', column: 'at', form: 'time' },
    {
      name: 'internalTwap',
      meaning: "Time-weighted average price of the market's own mark prices so far.",
      column: 'internal_twap',
      form: 'number',
    },
    {
      name: 'externalTwap',
      meaning: "Time-weighted average price of the oracle's prices so far.",
      column: 'external_twap',
      form: 'number',
    },
    {
      name: 'fundingPayment',
      meaning:
        "What one whole unit of position would pay, in the settlement asset's decimals: above zero long positions pay short ones.",
      column: 'funding_payment',
      form: 'number',
    },
    {
      name: 'fundingRate',
      meaning: 'The payment divided by the external TWAP: a decimal number.',
      column: 'funding_rate',
      form: 'text',
    },
  ],
}
