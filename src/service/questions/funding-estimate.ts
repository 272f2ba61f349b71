import { fundingEstimate } from '#core/resources/funding-estimates'
import { readEstimate } from '#core/store/queries/estimates/funding-estimate'
import { cellsOfNode, columnsOfFields } from '../formats/columns.ts'
import { type FileOptions, fileAnswer, fileOptionsOf } from './csv-file.ts'
import { nullable, objectOf, reference } from './node-schemas.ts'
import { marketIdOfPath } from './page-request.ts'
import { type Question, renderedBody } from './question.ts'

const BODY = objectOf({
  fundingEstimate: {
    ...nullable(reference(fundingEstimate.nodeName)),
    description:
      "Null if the market's latest data contain no estimate, if the latest stored period is another one or has ended, or if the market is rejected, cancelled, terminated, closed or settled.",
  },
})

const ESTIMATE_COLUMNS = columnsOfFields(fundingEstimate.fields)

/** The payment of a market's running period if it ended at the second of the last block. */
export const fundingEstimateQuestion: Question<{ marketId: string; file: FileOptions | null }> = {
  path: '/api/v2/funding-estimates/:marketId',
  parameters: [],
  check: (values, pathId) => ({ marketId: marketIdOfPath(pathId), file: fileOptionsOf(values, []) }),
  render: async ({ marketId, file }, { reader }) => {
    const answer = await reader.read(() => readEstimate(marketId))
    if (answer === null) return null
    const { estimate, storeHead, version } = answer
    if (file === null) return renderedBody({ fundingEstimate: estimate }, storeHead, version)
    const rows = estimate === null ? [] : [cellsOfNode(fundingEstimate.fields, estimate)]
    return fileAnswer({ name: 'fundingEstimate', ...file }, ESTIMATE_COLUMNS, { rows, more: false }, answer)
  },
  workload: () => ({ queue: 'report' }),
  sourceOf: () => 'the next commit',
  description: {
    operationId: 'getFundingEstimate',
    summary: "Get the estimated payment of a market's running funding period",
    body: BODY,
    isFile: true,
  },
}
