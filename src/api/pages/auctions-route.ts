import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { marketIdOfPath } from './page-request.ts'
import { DATE_RANGE_PARAMETERS, parameterReader } from './parameters.ts'
import type { SendReport } from './send-report.ts'

/** The handler of `GET /api/v2/auctions/{marketId}`: when a market was in auction. */
export function auctionsHandler(sendReport: SendReport) {
  const readParameters = parameterReader(DATE_RANGE_PARAMETERS)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const marketId = marketIdOfPath(request)
    const auctions = {
      marketId,
      start: (values.get('dateRange.startTimestamp') as bigint | undefined) ?? null,
      end: (values.get('dateRange.endTimestamp') as bigint | undefined) ?? null,
    }
    return sendReport(request, reply, { auctions }, { marketId })
  }
}
