import type { FastifyReply, FastifyRequest } from 'fastify'
import { marketSummaries } from '../../resources/market-summaries.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { KeptReportOptions } from './funding-estimate-route.ts'
import { pageRequest } from './page-request.ts'
import { parameterReader, parametersOf } from './parameters.ts'

/** The handler of `GET /api/v2/market-summaries`: a page of markets, each with what other operations say of it. */
export function marketSummariesHandler({ sendReport, reports }: KeptReportOptions) {
  const readParameters = parameterReader(parametersOf(marketSummaries))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const { query, backward } = pageRequest(marketSummaries, null, values)
    const { resource: _, ...asked } = query
    const key = `summaries ${JSON.stringify({ ...asked, backward })}`
    const { marketId } = asked.selection
    return sendReport(
      request,
      reply,
      { marketSummaries: { query: asked, backward } },
      { ...(marketId === undefined ? {} : { marketId }), make: (report) => reports(key, report) },
    )
  }
}
