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
import { Hub, type RequestedFeed } from './hub.ts'
import type { LongReads } from './long-reads/long-reads.ts'
import { RowFeed } from './row-feed.ts'
import { RETRY, ResponseFollower } from './stream-route-follower.ts'
import { streamParametersOf, streamRequest } from './stream-route-request.ts'
import { StreamSlots, selectionKey } from './stream-slots.ts'
import { SummaryFeed } from './summary-feed.ts'

export const STREAM_TYPE = 'text/event-stream'

const STREAM_HEADERS = {
  'content-type': STREAM_TYPE,
  'cache-control': 'no-store',
  // Asks proxies that buffer answers not to.
  'x-accel-buffering': 'no',
}

type StreamsOptions = {
  reader: Reader
  /** That of short pages: the reads that precede the acceptance of a request wait in it, too. */
  queue: Queue
  /** Reads what followers are sent. */
  longReads: Pick<LongReads, 'readChunk' | 'readSummaries'>
  /** The store whose commits are announced in this process. */
  commitsTo: string
  unsentBytes: UnsentBytes
  metrics: Metrics
  limits: Pick<Limits, 'streams' | 'selections'>
  logger: Logger
  account: Account
}

/** A stream that a client has requested, and the last block of the store then. */
type RequestedStream = { feed: RequestedFeed; storeHead: StoreHead }

/** A stream that clients can request. */
type OfferedStream = {
  resource: Resource
  parameters: Parameters<typeof parameterReader>[0]
  /** @param lastIdHeader the header `Last-Event-ID`; empty if the client sends none */
  request(values: ParameterValues, lastIdHeader: string): Promise<RequestedStream>
}

/** The streams of one service; they share the slots, the limit of unsent bytes and one hub. */
export class Streams {
  readonly routes: readonly Route[]
  readonly #reader: Reader
  readonly #queue: Queue
  readonly #longReads: Pick<LongReads, 'readChunk' | 'readSummaries'>
  readonly #unsentBytes: UnsentBytes
  readonly #logger: Logger
  readonly #hub: Hub
  readonly #slots: StreamSlots
  readonly #followers = new Set<ResponseFollower>()
  /** Counts streams that were ended because the client read too slowly. */
  readonly #dropped: Counter
  readonly #stopListening: () => void
  #hasEnded = false

  constructor({
    reader,
    queue,
    longReads,
    commitsTo,
    unsentBytes,
    metrics,
    limits,
    logger,
    account,
  }: StreamsOptions) {
    this.#reader = reader
    this.#queue = queue
    this.#longReads = longReads
    this.#unsentBytes = unsentBytes
    this.#logger = logger
    this.#hub = new Hub({ reader, onNotice: (message) => logger.warn(message) })
    this.#slots = new StreamSlots(limits, account)
    this.#dropped = addStreamMetrics(metrics, this.#slots)
    this.#stopListening = listenForCommits(commitsTo, () => this.#hub.committed())
    const offered = [...RESOURCES.map((resource) => this.#rowsOf(resource)), this.#summaries()]
    this.routes = offered.map((stream) => this.#routeOf(stream))
  }

  /** Ends all open streams, and further ones as soon as they begin, and asks the store for no more. */
  end(): void {
    this.#hasEnded = true
    this.#stopListening()
    this.#hub.close()
    for (const follower of this.#followers) follower.end()
  }

  /** The stream of a resource's rows: followers of one selection share a feed. */
  #rowsOf(resource: Resource): OfferedStream {
    const { readChunk } = this.#longReads
    return {
      resource,
      parameters: streamParametersOf(resource),
      request: async (values, lastIdHeader) => {
        const requested = await streamRequest(resource, values, lastIdHeader, this.#reader)
        const { selection, start, storeHead } = requested
        const key = selectionKey(resource, selection)
        const createFeed = () => new RowFeed(resource, selection, readChunk)
        return { feed: { key, createFeed, start }, storeHead }
      },
    }
  }

  /** The stream of all market summaries: one feed serves all followers. */
  #summaries(): OfferedStream {
    const summaryFeed = new SummaryFeed(this.#longReads.readSummaries)
    const feed: RequestedFeed = {
      key: marketSummaries.name,
      // It retains the state of the markets without followers, too.
      createFeed: () => summaryFeed,
      start: 'now',
    }
    return {
      resource: marketSummaries,
      parameters: [],
      request: async () => {
        const { storeHead } = await this.#reader.freshness(null)
        if (storeHead === null) throw emptyStore()
        return { feed, storeHead }
      },
    }
  }

  #routeOf({ resource, parameters, request: requestStream }: OfferedStream): Route {
    const readParameters = parameterReader(parameters, 'refused')
    return {
      path: streamPath(resource),
      answer: async (exchange) => {
        const values = readParameters(parseQuery(queryOf(exchange.target)))
        const { address, request } = exchange
        const lastIdHeader = String(request.headers['last-event-id'] ?? '')
        const requested = await this.#queue.run(
          () => requestStream(values, lastIdHeader),
          address,
          request.socket,
        )
        this.#answer(exchange, resource, requested)
      },
    }
  }

  /**
   * Sends the head of the answer, and lets the client follow.
   *
   * @throws {ApiError} 503 if too many streams are open.
   */
  #answer(exchange: Exchange, resource: Resource, { feed, storeHead }: RequestedStream): void {
    const { request, response, address } = exchange
    if (response.destroyed) return
    let follower: ResponseFollower | null = null
    const leave = this.#slots.take({ resource, key: feed.key, address, end: () => follower?.end() })
    if (leave === null) throw unavailable('too many streams are open; try again later')
    response.once('close', leave)
    exchange.begin(200, { storeHead, headers: STREAM_HEADERS })
    if (request.method === 'HEAD' || response.destroyed) {
      response.end()
      return
    }
    response.write(RETRY)
    const added = this.#addFollower(exchange)
    follower = added
    if (this.#hasEnded) {
      // Its read came late. A browser reconnects after an orderly end, and gives up after an error.
      added.end()
      return
    }
    this.#hub.follow(feed, added).catch((error: unknown) => {
      // The client reconnects automatically, and the status of that answer gives the reason.
      if (error instanceof StoreUnavailableError || error instanceof ApiError) {
        this.#logger.warn(`a stream ends: ${error.message}`)
      } else this.#logger.error({ err: error, requestId: exchange.id }, 'a stream failed')
      added.end()
    })
  }

  /** A follower for as long as the response is open. */
  #addFollower({ response, address }: Exchange): ResponseFollower {
    const follower = new ResponseFollower(response, this.#unsentBytes, address, () => this.#dropped.inc())
    this.#followers.add(follower)
    const { socket } = response
    const leave = () => response.destroy()
    response.once('close', () => {
      this.#followers.delete(follower)
      this.#hub.leave(follower)
      socket?.off('end', leave)
    })
    // The server leaves a connection open whose client has ended its side, but a client that ends its side of a stream is gone.
    socket?.once('end', leave)
    return follower
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
