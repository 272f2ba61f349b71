import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Resource } from '../resources/resource.ts'
import type { Reader } from '../store/store.ts'
import { unavailable } from './errors.ts'
import { pageBody } from './page-body.ts'
import { pageRequest } from './page-request.ts'
import { parameterReader, parametersOf } from './parameters.ts'
import { parseQuery, queryOf } from './query-string.ts'
import { sendJson } from './send-json.ts'
import type { Turns } from './turns.ts'

/** The handler of a resource's route: a page of its rows. */
export function pageHandler(resource: Resource, reader: Reader, turns: Turns) {
  const readParameters = parameterReader(parametersOf(resource))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const { marketId = null } = request.params as { marketId?: string }
    const asked = pageRequest(resource, marketId, values)
    await turns(async () => {
      if (request.raw.socket.destroyed) return reply.hijack()
      const page = await reader.page(asked.query)
      if (page.position === null) throw unavailable('the store holds no block yet; try again later')
      reply
        .header('x-block-height', page.position.height)
        .header('x-block-timestamp', page.position.timestamp)
      await sendJson(request, reply, pageBody(asked, page))
    })
    return reply
  }
}
