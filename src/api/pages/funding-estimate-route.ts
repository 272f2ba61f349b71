import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { KeptReports } from './kept-reports.ts'
import { marketIdOfPath } from './page-request.ts'
import { parameterReader } from './parameters.ts'
import { type ReportTurns, sendReport } from './send-report.ts'

export type KeptReportOptions = ReportTurns & { reports: KeptReports }

/**
 * The handler of `GET /api/v2/funding-estimates/{marketId}`: what the running period would pay if it ended at the last
 * block's second.
 */
export function fundingEstimateHandler({ reports, ...inTurn }: KeptReportOptions) {
  const readParameters = parameterReader([])
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    readParameters(parseQuery(queryOf(request.originalUrl)))
    const id = marketIdOfPath(request)
    return sendReport(request, reply, inTurn, () => reports(`estimate ${id}`, { fundingEstimate: id }))
  }
}
