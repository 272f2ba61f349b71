import { PATH_MARKET_ID } from '../pages/parameters.ts'
import { closedObject } from './node-schemas.ts'
import { reportAnswers } from './openapi-answers.ts'
import { COMMON_PARAMETERS, describedParameter } from './openapi-parameters.ts'

const digits = (description: string) => ({ type: 'string', pattern: '^-?[0-9]+$', description })

const ESTIMATE_SCHEMA = closedObject({
  fundingEstimate: {
    oneOf: [
      { type: 'null' },
      closedObject({
        marketId: { type: 'string', pattern: '^[0-9a-f]{64}$' },
        seq: digits('The funding period that runs.'),
        start: digits('When it began, Unix nanoseconds.'),
        at: digits('The second of the last block, Unix nanoseconds.'),
        internalTwap: digits("Time-weighted average price of the market's own mark prices so far."),
        externalTwap: digits("Time-weighted average price of the oracle's prices so far."),
        fundingPayment: digits(
          "What one whole unit of position would pay, in the settlement asset's decimals: above zero long positions pay short ones.",
        ),
        fundingRate: { type: 'string', description: 'The payment by the external TWAP.' },
      }),
    ],
    description:
      "Null where no period runs, a TWAP is missing, the market's parameters are not known or not numbers, the market is settled or closed, or some of the period's blocks or points are not held.",
  },
})

/** The operation of `GET /api/v2/funding-estimates/{marketId}`. */
export function fundingEstimateOperation(): object {
  return {
    operationId: 'getFundingEstimate',
    summary: 'What the running funding period of a market would pay if it ended at the last block',
    tags: ['market data'],
    parameters: [{ ...describedParameter(PATH_MARKET_ID), in: 'path', required: true }, ...COMMON_PARAMETERS],
    responses: reportAnswers('An estimate.', ESTIMATE_SCHEMA, 'A malformed request or market id'),
  }
}
