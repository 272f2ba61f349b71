import { fundingEstimate } from '#core/resources/funding-estimates'
import { readEstimate } from '#core/store/readings/market-data'
import { closedObject } from './node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { madeOf, type Question } from './question.ts'

const BODY = closedObject({
  fundingEstimate: {
    oneOf: [{ type: 'null' }, { $ref: `#/components/schemas/${fundingEstimate.nodeName}` }],
    description:
      "Null if the market's latest data contain no estimate, if the latest stored period is another one or has ended, or if the market is rejected, cancelled, terminated, closed or settled.",
  },
})

/** The payment of a market's current period if it ended at the second of the last block. */
export const fundingEstimateQuestion: Question<string> = {
  path: '/api/v2/funding-estimates/:marketId',
  parameters: [],
  check: (_, pathId) => marketIdOfPath(pathId),
  make: async (marketId, { reader }) => {
    const found = await reader.read(() => readEstimate(marketId))
    return found && madeOf({ fundingEstimate: found.estimate }, found.position, found.version)
  },
  lane: () => 'report',
  keptUntil: () => 'the next commit',
  description: {
    operationId: 'getFundingEstimate',
    summary: "Get the estimated payment of a market's current funding period",
    body: BODY,
  },
}
