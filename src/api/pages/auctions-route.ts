import type { FastifyReply, FastifyRequest } from 'fastify'
import { MARKET_ID } from '../../domain/ids.ts'
import { invalidMarketId, missingMarketId } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { Pages } from './make-page.ts'
import { DATE_RANGE_PARAMETERS, parameterReader } from './parameters.ts'
import { type ReportTurns, sendReport } from './send-report.ts'

/** The handler of `GET /api/v2/auctions/{marketId}`: when a market was in auction. */
export function auctionsHandler({ pages, ...inTurn }: ReportTurns & { pages: Pages }) {
  const readParameters = parameterReader(DATE_RANGE_PARAMETERS)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const { marketId: id } = request.params as { marketId: string }
    if (id === '') throw missingMarketId()
    if (!MARKET_ID.test(id)) throw invalidMarketId(id)
    const auctions = {
      marketId: id.toLowerCase(),
      start: (values.get('dateRange.startTimestamp') as bigint | undefined) ?? null,
      end: (values.get('dateRange.endTimestamp') as bigint | undefined) ?? null,
    }
    return sendReport(request, reply, inTurn, () => pages.report({ auctions }))
  }
}
