import type { Logger } from 'pino'
import type { Counter } from 'prom-client'
import type { Resource } from '#core/model/resource'
import { marketSummaries } from '#core/resources/market-summaries'
import { LISTS, RESOURCES } from '#core/resources/resources'
import { StoreUnavailableError } from '#core/store/errors'
import type { StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { listenForCommits } from '../commits.ts'
import type { Queue } from '../http/clients/queue.ts'
import type { UnsentBytes } from '../http/clients/unsent-bytes.ts'
import { ApiError, emptyStore, unavailable } from '../http/errors.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Limits } from '../http/limits.ts'
import { streamPath } from '../http/paths.ts'
import { parseQuery, queryOf } from '../http/query-string.ts'
import type { Route } from '../http/router.ts'
import type { Metrics } from '../metrics.ts'
import { type ParameterValues, parameterReader } from '../questions/parameters.ts'
import type { Account } from '../quotas.ts'
import type { Follower } from './follower.ts'
import { Hub } from './hub.ts'
import type { LongReads } from './long-reads.ts'
import { RowFeed } from './row-feed.ts'
import { createStreamFollower, RETRY, type StreamFollower } from './stream-route-follower.ts'
import { streamParametersOf, streamRequest } from './stream-route-request.ts'
import { createStreamSlots, type StreamSlots, selectionKey } from './stream-slots.ts'
import { SummaryFeed } from './summary-feed.ts'

export const STREAM_TYPE = 'text/event-stream'

type StreamRoutesOptions = {
  reader: Reader
  /** That of short pages: the reads that precede the acceptance of a request wait in it, too. */
  queue: Queue
  /** Reads what followers are sent. */
  longReads: Pick<LongReads, 'readChunk' | 'readSummaries'>
  commitsTo: string
  unsentBytes: UnsentBytes
  metrics: Metrics
  limits: Pick<Limits, 'streams' | 'selections'>
  log: Logger
  account: Account
}

/** The routes of streams. */
type Streams = {
  routes: Route[]
  /** Ends all open streams, and asks the store for no more. */
  end(): void
}

/** A stream that a client has requested. */
type RequestedStream = {
  /** Streams with the same key share a feed. */
  key: string
  storeHead: StoreHead
  /** Resolves once the missing events have been sent to the follower, or later. */
  follow(follower: Follower): Promise<void>
}

/** A stream that clients can request. */
type OfferedStream = {
  resource: Resource
  parameters: Parameters<typeof parameterReader>[0]
  /** @param lastIdHeader the header `Last-Event-ID`; empty if the client sends none */
  request(values: ParameterValues, lastIdHeader: string): Promise<RequestedStream>
}

/** The streams of one service; they share the slots, the limit of unsent bytes and one hub. */
export function createStreams(options: StreamRoutesOptions): Streams {
  const { reader, queue, longReads, unsentBytes, metrics, limits, log, account } = options
  const hub = new Hub({ reader, onNotice: (message) => log.warn(message) })
  const summaryFeed = new SummaryFeed(longReads.readSummaries)
  const stopListening = listenForCommits(options.commitsTo, () => hub.committed())
  const slots = createStreamSlots(limits, account)
  const open = new Set<StreamFollower>()
  const dropped = addStreamMetrics(metrics, slots)

  async function answer(exchange: Exchange, resource: Resource, requested: RequestedStream): Promise<void> {
    const { request, response, address } = exchange
    const { key, storeHead } = requested
    if (response.destroyed) return
    let follower: StreamFollower | null = null
    const leave = slots.take({ resource, key, address, end: () => follower?.end() })
    if (leave === null) throw unavailable('too many streams are open; try again later')
    response.once('close', leave)
    const headers = {
      'content-type': STREAM_TYPE,
      'cache-control': 'no-store',
      // Asks proxies that buffer answers not to.
      'x-accel-buffering': 'no',
    }
    exchange.begin(200, { storeHead, headers })
    if (request.method === 'HEAD' || response.destroyed) {
      response.end()
      return
    }
    response.write(RETRY)
    const created = createStreamFollower(response, unsentBytes, address, () => dropped.inc())
    follower = created
    open.add(created)
    response.once('close', () => {
      open.delete(created)
      hub.leave(created)
    })
    // The server leaves a connection open whose client has ended its side, but a client that ends its side of a stream is gone.
    response.socket?.once('end', () => response.destroy())
    requested.follow(created).catch((error: unknown) => {
      // The client reconnects automatically, and the status of that answer gives the reason.
      if (error instanceof StoreUnavailableError || error instanceof ApiError) {
        log.warn(`a stream ends: ${error.message}`)
      } else log.error({ err: error, requestId: exchange.id }, 'a stream failed')
      created.end()
    })
  }

  const rowsOf = (resource: Resource): OfferedStream => ({
    resource,
    parameters: streamParametersOf(resource),
    request: async (values, lastIdHeader) => {
      const { selection, start, storeHead } = await streamRequest(resource, values, lastIdHeader, reader)
      const key = selectionKey(resource, selection)
      const feed = () => new RowFeed(resource, selection, longReads.readChunk)
      const follow = (follower: Follower) =>
        hub.follow(key, feed, follower, (rows) => rows.join(follower, start))
      return { key, storeHead, follow }
    },
  })

  const summaries: OfferedStream = {
    resource: marketSummaries,
    parameters: [],
    request: async () => {
      const { storeHead } = await reader.freshness(null)
      if (storeHead === null) throw emptyStore()
      // One feed serves all followers.
      const key = marketSummaries.name
      const follow = (follower: Follower) =>
        hub.follow(
          key,
          () => summaryFeed,
          follower,
          (feed) => feed.join(follower),
        )
      return { key, storeHead, follow }
    },
  }

  return {
    routes: [...RESOURCES.map(rowsOf), summaries].map(({ resource, parameters, request: requestStream }) => {
      const readParameters = parameterReader(parameters, 'refused')
      return {
        path: streamPath(resource),
        answer: async (exchange) => {
          const values = readParameters(parseQuery(queryOf(exchange.target)))
          const lastIdHeader = String(exchange.request.headers['last-event-id'] ?? '')
          const { address, request } = exchange
          const requested = await queue(() => requestStream(values, lastIdHeader), address, request.socket)
          await answer(exchange, resource, requested)
        },
      }
    }),
    end: () => {
      stopListening()
      hub.close()
      for (const follower of open) follower.end()
    },
  }
}

/** Adds the metrics of streams. Returns the counter of streams that were ended because the client read too slowly. */
function addStreamMetrics(metrics: Metrics, slots: StreamSlots): Counter {
  metrics.gauge('lyra_streams', 'Open streams, by resource.', ['resource'], (streams) => {
    for (const { name } of LISTS) streams.set({ resource: name }, 0)
    for (const [resource, count] of slots.counts()) streams.set({ resource }, count)
  })
  return metrics.counter('lyra_streams_dropped_total', 'Streams ended because the client read too slowly.')
}
