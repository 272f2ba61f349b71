import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { MARKET_ID } from '../../domain/ids.ts'
import type { HoldingsQuery } from '../../store/store.ts'
import { invalidMarketId, invalidPagination, unavailable } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { sendJson } from '../http/send-json.ts'
import type { Turns } from '../http/turns.ts'
import { decodeCoverageCursor } from './coverage-cursor.ts'
import type { Pages } from './make-page.ts'
import { PARAMETER_TYPES } from './parameter-types.ts'
import { PATH_MARKET_ID, type Parameter, type ParameterValues, parameterReader } from './parameters.ts'

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

export type CoverageOptions = {
  pages: Pages
  turns: Turns
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
}

/** The handler of `GET /api/v2/coverage`: what the store holds, and what it lacks. */
export function coverageHandler({ pages, turns, addressOf }: CoverageOptions) {
  const readParameters = parameterReader(COVERAGE_PARAMETERS)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const query = coverageQuery(readParameters(parseQuery(queryOf(request.originalUrl))))
    await turns(async () => {
      if (request.raw.socket.destroyed) return reply.hijack()
      const made = await pages.report({ coverage: query })
      if (made === null) throw unavailable('the store holds no block yet; try again later')
      const { json, position } = made
      reply.header('x-block-height', position.height).header('x-block-timestamp', position.timestamp)
      await sendJson(request, reply, json)
    }, addressOf(request.raw))
    return reply
  }
}

function coverageQuery(values: ParameterValues): HoldingsQuery {
  const marketId = values.get('marketId') as string | undefined
  if (marketId !== undefined && !MARKET_ID.test(marketId)) throw invalidMarketId(marketId)
  const after = values.get('after') as string | undefined
  const place = after === undefined ? { fromHeight: 0n, afterMarket: '' } : decodeCoverageCursor(after)
  if (place === null) {
    throw invalidPagination('after is not a cursor of the coverage; allowed is the next of an earlier answer')
  }
  return { marketId: marketId?.toLowerCase() ?? null, ...place, limit: MAX_COVERAGE_ROWS }
}
