import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Counter, Gauge } from 'prom-client'
import type { Resource } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import { type Reader, StoreUnavailableError } from '../../store/store.ts'
import type { Hub } from '../../stream/hub.ts'
import { createRoom, type Room } from '../../stream/room.ts'
import type { Backlog } from '../http/backlog.ts'
import { ApiError, unavailable } from '../http/errors.ts'
import type { Limits } from '../http/limits.ts'
import type { Metrics } from '../http/metrics.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import { parameterReader } from '../pages/parameters.ts'
import { READ_METHODS, streamPath } from '../paths.ts'
import { createStreamFollower, type StreamFollower } from './stream-route-follower.ts'
import { streamParametersOf, streamRequest } from './stream-route-request.ts'

export const STREAM_TYPE = 'text/event-stream'

/** How long clients wait before they come back, milliseconds. */
const RETRY_MS = 1_000

export type StreamRoutesOptions = {
  reader: Reader
  /** Reads what followers are sent; its owner closes it. */
  hub: Hub
  backlog: Backlog
  metrics: Metrics
  limits: Pick<Limits, 'streams' | 'selections'>
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  /** Called with an address that holds all streams or selections and asks for more. */
  onAlone: (address: string) => void
}

/** Adds the routes on which rows are sent as they come, and ends what is open when the server closes. */
export function addStreamRoutes(
  server: FastifyInstance,
  { reader, hub, backlog, metrics, limits, addressOf, onAlone }: StreamRoutesOptions,
): void {
  const room = createRoom({ limits, onAlone })
  const open = new Set<StreamFollower>()
  const dropped = addMetrics(metrics, room)
  for (const resource of RESOURCES) {
    server.route({
      method: READ_METHODS,
      url: streamPath(resource),
      handler: streamHandler(resource, { reader, hub, room, addressOf }, (raw, address) => {
        const follower = createStreamFollower(raw, backlog, address, () => dropped.inc())
        open.add(follower)
        raw.once('close', () => open.delete(follower))
        return follower
      }),
    })
  }
  server.addHook('preClose', (done) => {
    for (const follower of open) follower.end()
    done()
  })
}

function streamHandler(
  resource: Resource,
  {
    reader,
    hub,
    room,
    addressOf,
  }: Pick<StreamRoutesOptions, 'reader' | 'hub' | 'addressOf'> & { room: Room },
  createFollower: (response: ServerResponse, address: string) => StreamFollower,
) {
  const readParameters = parameterReader(streamParametersOf(resource))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const values = readParameters(parseQuery(queryOf(request.originalUrl)))
    const lastEventId = request.headers['last-event-id'] ?? ''
    const { selection, start, position } = await streamRequest(resource, values, String(lastEventId), reader)
    const { raw } = reply
    if (raw.destroyed) return reply.hijack()
    let follower: StreamFollower | null = null
    const address = addressOf(request.raw)
    const leaveRoom = room.take({ resource, selection, address, end: () => follower?.end() })
    if (leaveRoom === null) throw unavailable('too many streams are open; try again later')
    raw.once('close', leaveRoom)
    const head = {
      ...reply.getHeaders(),
      'content-type': STREAM_TYPE,
      'cache-control': 'no-store',
      // Proxies that gather answers before they pass them on are asked not to.
      'x-accel-buffering': 'no',
      'x-block-height': position.height,
      'x-block-timestamp': position.timestamp,
    }
    reply.hijack()
    raw.writeHead(200, head as Record<string, string>)
    if (request.method === 'HEAD' || raw.destroyed) {
      raw.end()
      return reply
    }
    raw.write(`retry: ${RETRY_MS}\n\n`)
    const created = createFollower(raw, address)
    follower = created
    raw.once('close', () => hub.leave(created))
    // The server keeps a connection whose client has ended its side: here that client is gone.
    raw.socket?.once('end', () => raw.destroy())
    hub.follow(resource, selection, created, start).catch((error: unknown) => {
      // The client connects again by itself, and the status of that answer says what is wrong.
      if (error instanceof StoreUnavailableError || error instanceof ApiError) {
        request.log.warn(`a stream ends: ${error.message}`)
      } else request.log.error({ err: error, requestId: request.id }, 'a stream failed')
      created.end()
    })
    return reply
  }
}

function addMetrics({ registry }: Metrics, room: Room): Counter {
  const registers = [registry]
  new Gauge({
    name: 'lyra_streams',
    help: 'Streams that are open, by resource.',
    labelNames: ['resource'],
    registers,
    collect() {
      for (const { name } of RESOURCES) this.set({ resource: name }, 0)
      for (const [resource, count] of room.counts()) this.set({ resource }, count)
    },
  })
  return new Counter({
    name: 'lyra_streams_dropped_total',
    help: 'Streams ended because their client read too slowly.',
    registers,
  })
}
