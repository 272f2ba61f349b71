import type { FastifyReply, FastifyRequest } from 'fastify'
import type { SeriesQuery } from '../../store/read-series.ts'
import { invalidParameter } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { marketIdOfPath } from './page-request.ts'
import { DEFAULT_BUCKETS } from './parameter-types.ts'
import { parameterReader, SERIES_PARAMETERS } from './parameters.ts'
import type { SendReport } from './send-report.ts'

/**
 * The handler of `GET /api/v2/series/funding-period-data-points/{marketId}`: a chart in one request.
 */
export function seriesHandler(sendReport: SendReport) {
  const readParameters = parameterReader(SERIES_PARAMETERS)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const [buckets, interval] = [values.get('buckets'), values.get('interval')]
    if (buckets !== undefined && interval !== undefined) {
      throw invalidParameter(
        `parsing field "interval": buckets is ${buckets} and interval is "${interval}", allowed is one of the two`,
      )
    }
    const marketId = marketIdOfPath(request)
    const source = values.get('source') as bigint | undefined
    const query: SeriesQuery = {
      marketId,
      start: (values.get('dateRange.startTimestamp') as bigint | undefined) ?? null,
      end: (values.get('dateRange.endTimestamp') as bigint | undefined) ?? null,
      source: source === undefined || source === 0n ? null : source,
      by:
        interval === undefined
          ? { buckets: (buckets as bigint | undefined) ?? DEFAULT_BUCKETS }
          : { interval: interval as string },
    }
    return sendReport(request, reply, { series: query }, { marketId })
  }
}
