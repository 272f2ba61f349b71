import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Reader } from '../store/store.ts'
import { coverageBody } from './coverage-body.ts'
import { unavailable } from './errors.ts'
import { sendJson } from './send-json.ts'
import type { Turns } from './turns.ts'

/** The handler of `GET /api/v2/coverage`: what the store holds, and what it lacks. */
export function coverageHandler(reader: Reader, turns: Turns) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    await turns(async () => {
      if (request.raw.socket.destroyed) return reply.hijack()
      const holdings = await reader.holdings()
      if (holdings === null) throw unavailable('the store holds no block yet; try again later')
      reply
        .header('x-block-height', holdings.coverage.height.toString())
        .header('x-block-timestamp', holdings.coverage.timestamp.toString())
      await sendJson(request, reply, JSON.stringify(coverageBody(holdings)))
    })
    return reply
  }
}
