import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { KeptReports } from './kept-reports.ts'
import type { ReportRequest } from './make-page.ts'
import { marketIdOfPath } from './page-request.ts'
import { parameterReader } from './parameters.ts'
import type { SendReport } from './send-report.ts'

export type KeptReportOptions = { sendReport: SendReport; reports: KeptReports }

/**
 * The handler of `GET /api/v2/funding-estimates/{marketId}`: what the running period would pay if it ended at the last
 * block's second.
 */
export function fundingEstimateHandler({ sendReport, reports }: KeptReportOptions) {
  const readParameters = parameterReader([])
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    readParameters(parseQuery(queryOf(request.originalUrl)))
    const marketId = marketIdOfPath(request)
    const make = (asked: ReportRequest) => reports(`estimate ${marketId}`, asked)
    return sendReport(request, reply, { fundingEstimate: marketId }, { marketId, make })
  }
}
