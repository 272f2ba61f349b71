import { fundingEstimate } from '../../resources/funding-estimates.ts'
import { closedObject } from './node-schemas.ts'
import { reportAnswers } from './openapi-answers.ts'
import { COMMON_PARAMETERS, parametersOfMarket } from './openapi-parameters.ts'

const ESTIMATE_SCHEMA = closedObject({
  fundingEstimate: {
    oneOf: [{ type: 'null' }, { $ref: `#/components/schemas/${fundingEstimate.nodeName}` }],
    description:
      "Null if the market's latest data contain no estimate, if the latest stored period is another one or has ended, or if the market is rejected, cancelled, terminated, closed or settled.",
  },
})

/** The operation of `GET /api/v2/funding-estimates/{marketId}`. */
export function fundingEstimateOperation(): object {
  return {
    operationId: 'getFundingEstimate',
    summary: 'Get what the running funding period of a market would pay if it ended now',
    tags: ['market data'],
    parameters: [...parametersOfMarket([]), ...COMMON_PARAMETERS],
    responses: reportAnswers('An estimate.', ESTIMATE_SCHEMA, 'A malformed request or market id'),
  }
}
