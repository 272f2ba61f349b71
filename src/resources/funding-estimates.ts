import type { Field } from './field.ts'

/** The estimate of a running funding period, field by field; its operation has no pages. */
export const fundingEstimate: { nodeName: string; meaning: string; fields: readonly Field[] } = {
  nodeName: 'FundingEstimate',
  meaning:
    "Estimate of the current funding period, as published in the market's latest data: the payment if the period ended now.",
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'Number of the current funding period.', column: 'seq', form: 'integer' },
    { name: 'start', meaning: 'Start of the period, Unix nanoseconds.', column: 'start', form: 'time' },
    { name: 'at', meaning: 'Time of the market data, Unix nanoseconds.', column: 'at', form: 'time' },
    {
      name: 'internalTwap',
      meaning: "Time-weighted average of the market's mark prices since the start of the period.",
      column: 'internal_twap',
      form: 'number',
    },
    {
      name: 'externalTwap',
      meaning: "Time-weighted average of the oracle's prices since the start of the period.",
      column: 'external_twap',
      form: 'number',
    },
    {
      name: 'fundingPayment',
      meaning:
        "Payment per whole unit of position, in the settlement asset's decimals. Positive if long positions would pay short ones.",
      column: 'funding_payment',
      form: 'number',
    },
    {
      name: 'fundingRate',
      meaning: 'Payment divided by the external TWAP, as a decimal number.',
      column: 'funding_rate',
      form: 'text',
    },
  ],
}
