import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge } from 'prom-client'
import type { Resource } from '../resources/resource.ts'
import { RESOURCES } from '../resources/resources.ts'
import { type Reader, StoreUnavailableError } from '../store/store.ts'
import { createHub, type Hub } from '../stream/hub.ts'
import type { Backlog } from './backlog.ts'
import { ApiError, unavailable } from './errors.ts'
import type { Limits } from './limits.ts'
import type { Metrics } from './metrics.ts'
import { parameterReader } from './parameters.ts'
import { READ_METHODS, streamPath } from './paths.ts'
import { parseQuery, queryOf } from './query-string.ts'
import { createStreamFollower, type StreamFollower } from './stream-route-follower.ts'
import { streamParametersOf, streamRequest } from './stream-route-request.ts'
import type { Turns } from './turns.ts'

export const STREAM_TYPE = 'text/event-stream'

/** How long clients wait before they come back, milliseconds. */
const RETRY_MS = 1_000

export type StreamRoutesOptions = {
  reader: Reader
  turns: Turns
  backlog: Backlog
  metrics: Metrics
  limits: Pick<Limits, 'streams' | 'selections'>
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  /** Is told of an address that holds all streams or selections and asks for more. */
  onAlone: (address: string) => void
}

/** Adds the routes on which rows are sent as they come, and ends what is open when the server closes. */
export function addStreamRoutes(
  server: FastifyInstance,
  { reader, turns, backlog, metrics, limits, addressOf, onAlone }: StreamRoutesOptions,
): void {
  const hub = createHub({ reader, turns, limits, onNotice: (message) => server.log.warn(message), onAlone })
  const open = new Set<StreamFollower>()
  const dropped = addMetrics(metrics, hub)
  for (const resource of Object.values(RESOURCES)) {
    server.route({
      method: READ_METHODS,
      url: streamPath(resource),
      handler: streamHandler(resource, reader, hub, addressOf, (raw) => {
        const follower = createStreamFollower(raw, backlog, () => dropped.inc())
        open.add(follower)
        raw.once('close', () => open.delete(follower))
        return follower
      }),
    })
  }
  server.addHook('preClose', (done) => {
    hub.close()
    for (const follower of open) follower.end()
    done()
  })
}

function streamHandler(
  resource: Resource,
  reader: Reader,
  hub: Hub,
  addressOf: (request: IncomingMessage) => string,
  createFollower: (response: ServerResponse) => StreamFollower,
) {
  const readParameters = parameterReader(streamParametersOf(resource))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const lastEventId = request.headers['last-event-id'] ?? ''
    const { selection, start, coverage } = await streamRequest(resource, values, String(lastEventId), reader)
    const seat = hub.takeSeat(resource, selection, addressOf(request.raw))
    if (seat === null) throw unavailable('too many streams are open; try again later')
    const head = {
      ...reply.getHeaders(),
      'content-type': STREAM_TYPE,
      'cache-control': 'no-store',
      // Proxies that gather answers before they pass them on are asked not to.
      'x-accel-buffering': 'no',
      'x-block-height': coverage.height.toString(),
      'x-block-timestamp': coverage.timestamp.toString(),
    }
    reply.hijack()
    const { raw } = reply
    raw.writeHead(200, head as Record<string, string>)
    if (request.method === 'HEAD' || raw.destroyed) {
      hub.leave(seat)
      raw.end()
      return reply
    }
    raw.write(`retry: ${RETRY_MS}\n\n`)
    const follower = createFollower(raw)
    raw.once('close', () => hub.leave(seat))
    // The server keeps a connection whose client has ended its side: here that client is gone.
    raw.socket?.once('end', () => raw.destroy())
    hub.follow(seat, follower, start).catch((error: unknown) => {
      // The client comes back by itself, and is told with a status what is wrong then.
      if (error instanceof StoreUnavailableError || error instanceof ApiError) {
        request.log.warn(`a stream ends: ${error.message}`)
      } else request.log.error({ err: error, requestId: request.id }, 'a stream failed')
      follower.end()
    })
    return reply
  }
}

function addMetrics({ registry }: Metrics, hub: Hub): Counter {
  const registers = [registry]
  new Gauge({
    name: 'lyra_streams',
    help: 'Streams that are open, by resource.',
    labelNames: ['resource'],
    registers,
    collect() {
      this.reset()
      for (const [resource, count] of hub.counts()) this.set({ resource }, count)
    },
  })
  return new Counter({
    name: 'lyra_streams_dropped_total',
    help: 'Streams ended because their client read too slowly.',
    registers,
  })
}
