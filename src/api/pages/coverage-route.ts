import type { FastifyReply, FastifyRequest } from 'fastify'
import type { HoldingsQuery } from '../../store/store.ts'
import { invalidPagination } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { decodeCoverageCursor } from './coverage-cursor.ts'
import { checkedId } from './page-request.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { PATH_MARKET_ID, type Parameter, type ParameterValues, parameterReader } from './parameters.ts'
import type { SendReport } from './send-report.ts'

/** Gaps in one answer at most, and markets in each of its lists. */
export const MAX_COVERAGE_ROWS = 1_000

/** The query parameters, by name. */
export const COVERAGE_PARAMETERS: readonly Parameter[] = [
  {
    name: 'after',
    type: PARAMETER_TYPES.cursor,
    description: 'The rest of an answer: its `next`.',
  },
  { ...PATH_MARKET_ID, description: 'Rows of this market alone: 64 hex digits, in any case.' },
]

/** The handler of `GET /api/v2/coverage`: what the store holds, and what it lacks. */
export function coverageHandler(sendReport: SendReport) {
  const readParameters = parameterReader(COVERAGE_PARAMETERS)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const coverage = coverageQuery(readParameters(parseQuery(queryOf(request.originalUrl))))
    return sendReport(request, reply, { coverage })
  }
}

function coverageQuery(values: ParameterValues): HoldingsQuery {
  const given = values.get('marketId') as string | undefined
  const marketId = given === undefined ? null : checkedId('marketId', given)
  const after = values.get('after') as string | undefined
  const place = after === undefined ? { fromHeight: 0n, afterMarket: '' } : decodeCoverageCursor(after)
  if (place === null) {
    throw invalidPagination('after is not a cursor of the coverage; allowed is the next of an earlier answer')
  }
  return { marketId, ...place, limit: MAX_COVERAGE_ROWS }
}
