import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Resource } from '../resources/resource.ts'
import type { Reader } from '../store/store.ts'
import { unavailable } from './errors.ts'
import { pageKey } from './hot-pages.ts'
import { pageBody } from './page-body.ts'
import type { PageCache } from './page-cache.ts'
import { extentOf } from './page-extent.ts'
import { pageRequest } from './page-request.ts'
import { parameterReader, parametersOf } from './parameters.ts'
import { parseQuery, queryOf } from './query-string.ts'
import { sendJson } from './send-json.ts'
import type { Turns } from './turns.ts'

export type PageHandlerOptions = { reader: Reader; turns: Turns; cache: PageCache | null }

/** The handler of a resource's route: a page of its rows. */
export function pageHandler(resource: Resource, { reader, turns, cache }: PageHandlerOptions) {
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
      const { json, lastCursor } = pageBody(asked, page)
      const sent = await sendJson(request, reply, json)
      if (sent === null || cache === null || request.method !== 'GET') return
      const extent = extentOf(asked.query, page, lastCursor)
      // Not waited for: the answer is sent, and others wait for the turn.
      void cache.put(pageKey(request.raw), { ...sent, extent, route: resource.path, version: page.version })
    })
    return reply
  }
}
