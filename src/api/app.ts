import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { RESOURCES } from '../resources/resources.ts'
import { createAccount } from '../shares.ts'
import { readPosition } from '../store/readings/coverage.ts'
import type { Reader } from '../store/store.ts'
import { createAnswerCache } from './answer-cache.ts'
import { createAnswers } from './answers.ts'
import type { GrpcOptions } from './grpc/options.ts'
import { createBacklog } from './http/backlog.ts'
import { clientAddress } from './http/client-address.ts'
import { watchCluster } from './http/cluster-watch.ts'
import { createConnections } from './http/connections.ts'
import { type CorsOrigins, isPreflight } from './http/cors.ts'
import { ALLOWED_METHODS, createExplainError, methodNotAllowed, notFound } from './http/errors.ts'
import { Exchange } from './http/exchange.ts'
import { LIMITS, type Limits } from './http/limits.ts'
import { createMetrics, type Metrics, type MetricsText, type WatchedDisks } from './http/metrics.ts'
import { createParserErrors } from './http/parser-errors.ts'
import { answerPreflight } from './http/preflight.ts'
import { checkTarget, pathOf } from './http/query-string.ts'
import { questionRoute } from './http/question-route.ts'
import { createRequestCount } from './http/rate-limit.ts'
import type { IngestionState } from './http/readiness.ts'
import { checkHead } from './http/request-head.ts'
import { createRouter } from './http/router.ts'
import { serviceRoutes } from './http/service-routes.ts'
import { staticRoutes } from './http/static-routes.ts'
import { createTurns } from './http/turns.ts'
import type { Maker } from './maker.ts'
import { QUESTIONS } from './questions/questions.ts'
import { createExports } from './streams/export-route.ts'
import type { LongReads } from './streams/long-reads.ts'
import { createStreams } from './streams/stream-route.ts'

/** Bytes of request line and headers together. */
const MAX_HEADER_BYTES = 16 * 1024

/** A connection on which nothing moves for this long is closed: the client does not read its answer. */
const IDLE_CONNECTION_MS = 30_000

/** How long a connection may rest between two requests, unless nothing moves on it for {@link IDLE_CONNECTION_MS}. */
const KEEP_ALIVE_MS = 72_000

/** How long a client may take to send its headers, and the whole of its request. */
const HEADERS_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 1_000

/** Pages that are in the making at the same time. */
const PAGES_AT_ONCE = 8

/**
 * Reports in the making, and long pages that are made one after another: the second one, so that who makes them never
 * waits. Of more, those of one address would have to be waited for by the next.
 */
const REPORTS_AT_ONCE = 2

export type AppOptions = {
  reader: Reader
  /** Makes answers, from the store that `reader` reads. */
  maker: Maker
  /** Reads for streams and exports, of the same store. */
  longReads: LongReads
  log: Logger
  ingestion: IngestionState
  corsOrigins: CorsOrigins
  /** Requests a second from one address; null for no limit. */
  rateLimit: number | null
  /** Whether the client's address is the last one of `X-Forwarded-For`: what the proxy in front has seen. */
  trustProxy: boolean
  version: string
  /** What an empty store is called in `/ready`. */
  storeName?: string
  /** Writes the figures for `/metrics`; the application's own, where nothing else is given. */
  metricsText?: MetricsText | undefined
  /** Bytes of answers to keep for those who ask the same again; 0 for none. */
  cacheBytes: number
  /** Folders whose disks are watched, by what lies there; none where it is not said. */
  disks?: WatchedDisks
  /** Limits that are not those of {@link LIMITS}. */
  limits?: Partial<Limits>
}

/** The application: every route, and what all of them share. Listening is left to its user. */
export type App = {
  server: Server
  /** The paths of all routes. */
  paths: readonly string[]
  metrics: Metrics
  /** Ends streams, answers what is in flight, and closes. */
  close(): Promise<void>
  /** What gRPC, the other way in, shares with this one. */
  shared: Pick<
    GrpcOptions,
    'answers' | 'connections' | 'backlog' | 'countRequest' | 'account' | 'explainError'
  >
}

export function createApp(options: AppOptions): App {
  const { reader, maker, longReads, log, ingestion, corsOrigins } = options
  const clusterFaults = watchCluster(reader, log)
  const metrics = createMetrics(reader, ingestion, clusterFaults, options.disks)
  const backlog = createBacklog()
  const limits = { ...LIMITS, ...options.limits }
  const account = createAccount((address) => {
    if (options.trustProxy) return
    log.warn(
      `one client (${address}) holds all that the service can give at a time; if that address is a proxy, --trust-proxy counts its clients one by one`,
    )
  })
  const addressOf = (request: IncomingMessage) => clientAddress(request, options.trustProxy)
  const connections = createConnections({ backlog, places: limits.connections, addressOf, account })
  const countRequest = createRequestCount(options.rateLimit)
  const explainError = createExplainError(log)
  const cache = createAnswerCache(reader, options.cacheBytes)
  const turns = {
    usual: createTurns(account, PAGES_AT_ONCE),
    long: createTurns(account, maker.isSerial ? REPORTS_AT_ONCE : PAGES_AT_ONCE),
    report: createTurns(account, REPORTS_AT_ONCE),
  }
  const answers = createAnswers({ reader, maker, turns, cache, onKept: metrics.answeredFromMemory })

  const exports = createExports({ longReads, storeLog: reader.log, log, limits, account })
  const streams = createStreams({ reader, hub: longReads.hub, backlog, metrics, limits, log, account })
  const resourceAt = new Map(RESOURCES.map((resource) => [resource.path, resource]))
  const routes = [
    ...QUESTIONS.map((question) => {
      const route = questionRoute(question, answers)
      const resource = resourceAt.get(question.path)
      return resource === undefined ? route : exports.besidePages(resource, route)
    }),
    ...RESOURCES.map(exports.ofAllMarkets),
    ...streams.routes,
    ...staticRoutes(),
    ...serviceRoutes({
      ...options,
      metrics,
      metricsText: options.metricsText,
      storeName: options.storeName,
      clusterFaults,
    }),
  ]
  const findRoute = createRouter(routes)

  let isClosing = false
  const exchanges = { corsOrigins, backlog, metrics, isClosing: () => isClosing }

  /** Answers a request, whatever it is: the only way to an answer. */
  function take(request: IncomingMessage, response: ServerResponse): void {
    const exchange = new Exchange(exchanges, request, response, addressOf(request))
    if (connections.takeTurnAtOnce(request, response)) answer(exchange)
    else {
      connections.takeTurn(request, response).then(
        (hasTurn) => {
          if (hasTurn) answer(exchange)
        },
        (error) => fail(exchange, error),
      )
    }
  }

  function answer(exchange: Exchange): void {
    try {
      answerOf(exchange)?.catch((error) => fail(exchange, error))
    } catch (error) {
      void fail(exchange, error)
    }
  }

  async function fail(exchange: Exchange, error: unknown): Promise<void> {
    const fault = explainError(error, { requestId: exchange.id })
    if (exchange.response.headersSent) exchange.response.destroy()
    else exchange.sendError(fault, isUnlimited(exchange) ? null : await position())
  }

  /** Answers at once if it can. Throws, and rejects with, {@link ApiError} and faults of ours. */
  function answerOf(exchange: Exchange): Promise<void> | undefined {
    const { request, target } = exchange
    if (isPreflight(request)) {
      answerPreflight(exchange)
      return undefined
    }
    const found = findRoute(pathOf(target))
    if (found !== null) Object.assign(exchange, found)
    if (!isUnlimited(exchange)) exchange.limits = countRequest(exchange.address)
    checkHead(request)
    checkTarget(target)
    // `OPTIONS *` asks what the whole server can do (RFC 9110, 9.3.7).
    if (found === null && !(request.method === 'OPTIONS' && target === '*')) throw notFound()
    if (request.method === 'OPTIONS') return answerOptions(exchange)
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed()
    return found!.route.answer(exchange)
  }

  async function answerOptions(exchange: Exchange): Promise<void> {
    exchange.send(204, { position: await position(), headers: { allow: ALLOWED_METHODS } })
  }

  /** Where the store stands, if it can be read and holds a block. */
  const position = () => reader.read(readPosition).catch(() => null)

  const parserErrors = createParserErrors({
    reader,
    corsOrigins,
    connections,
    findRoute,
    // Behind a proxy the client's address stands in the headers, which are not read here.
    countRequest: options.trustProxy ? () => ({}) : countRequest,
  })
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // Node's own refusal has no body; checkHead's has.
    requireHostHeader: false,
  })
  server.setTimeout(IDLE_CONNECTION_MS)
  // A client that ends its side of the connection after its last request still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  server.on('connection', connections.admit)
  server.on('request', take)
  // An expectation that is not known may be passed over (RFC 9110, 10.1.1); Node's own refusal has no body.
  server.on('checkExpectation', take)
  server.on('clientError', parserErrors.onClientError)
  server.on('connect', parserErrors.onConnect)
  return {
    server,
    paths: routes.map(({ path }) => path),
    metrics,
    close: async () => {
      isClosing = true
      streams.end()
      const closed = once(server, 'close')
      server.close()
      await closed
    },
    shared: { answers, connections, backlog, countRequest, account, explainError },
  }
}

/** Whether an answer is given whatever the rate and the store. */
function isUnlimited({ route }: Exchange): boolean {
  return route?.isUnlimited === true
}
