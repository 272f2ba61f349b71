import type { IncomingMessage } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Resource } from '../../resources/resource.ts'
import { emptyStore } from '../http/errors.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { sendJson } from '../http/send-json.ts'
import type { PageTurns } from '../http/turns.ts'
import type { Pages } from './make-page.ts'
import { type PageCache, pageKey, scopeOfPage } from './page-cache.ts'
import { isLong, pageRequest } from './page-request.ts'
import { parameterReader, parametersOf } from './parameters.ts'

export type PageHandlerOptions = {
  pages: Pages
  turns: PageTurns
  cache: PageCache | null
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
}

/** The handler of a resource's route: a page of its rows. */
export function pageHandler(resource: Resource, { pages, turns, cache, addressOf }: PageHandlerOptions) {
  const readParameters = parameterReader(parametersOf(resource))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const { marketId = null } = request.params as { marketId?: string }
    const asked = pageRequest(resource, marketId, values)
    const inTurn = isLong(asked) ? turns.long : turns.usual
    await inTurn(
      async () => {
        if (request.raw.socket.destroyed) return reply.hijack()
        const page = await pages.make(asked)
        if (page === null) throw emptyStore()
        const { body: json, checkSum, position, version, release } = page
        reply.header('x-block-height', position.height).header('x-block-timestamp', position.timestamp)
        const sent = await sendJson(request, reply, json, checkSum)
        if (sent !== null && cache !== null && request.method === 'GET') {
          // Not waited for: the answer is sent, and others wait for the turn.
          void cache.put(pageKey(request.raw), {
            ...sent,
            scope: scopeOfPage(asked.query),
            route: resource.path,
            version,
          })
        }
        if (release === undefined) return
        if (sent?.body === json) reply.raw.once('close', release)
        else release()
      },
      addressOf(request.raw),
      request.raw.socket,
    )
    return reply
  }
}
