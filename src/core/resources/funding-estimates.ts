import type { Field } from '../model/field.ts'

/** The fields of the estimate for a running funding period. Its operation has no pages. */
export const fundingEstimate: { nodeName: string; meaning: string; fields: readonly Field[] } = {
  nodeName: 'FundingEstimate',
  meaning:
    "Estimate of the running funding period, as published in the market's latest data: the payment if the period ended now.",
  fields: [
    { name: 'marketId', meaning: 'The market.', column: 'scope', form: 'marketId' },
    { name: 'seq', meaning: 'Number of the running funding period.', form: 'integer' },
    { name: 'start', meaning: 'Start of the period, Unix nanoseconds.', form: 'time' },
    { name: 'at', meaning: 'Time of the market data, Unix nanoseconds.', form: 'time' },
    {
      name: 'internalTwap',
      meaning:
        'Time-weighted average of the internal prices since the start of the period, in the smallest unit of the settlement asset.',
      form: 'number',
    },
    {
      name: 'externalTwap',
      meaning:
        'Time-weighted average of the external prices since the start of the period, in the smallest unit of the settlement asset.',
      form: 'number',
    },
    {
      name: 'fundingPayment',
      meaning:
        'Payment per whole unit of position, in the smallest unit of the settlement asset. Positive if long positions would pay short ones.',
      form: 'number',
    },
    {
      name: 'fundingRate',
      meaning: 'Payment divided by the external TWAP, as a decimal number.',
      form: 'text',
    },
  ],
}
