import { fundingEstimate } from '../../resources/funding-estimates.ts'
import { closedObject } from './node-schemas.ts'
import { reportAnswers } from './openapi-answers.ts'
import { COMMON_PARAMETERS, parametersOfMarket } from './openapi-parameters.ts'

const ESTIMATE_SCHEMA = closedObject({
  fundingEstimate: {
    oneOf: [{ type: 'null' }, { $ref: `#/components/schemas/${fundingEstimate.nodeName}` }],
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
    parameters: [...parametersOfMarket([]), ...COMMON_PARAMETERS],
    responses: reportAnswers('An estimate.', ESTIMATE_SCHEMA, 'A malformed request or market id'),
  }
}
