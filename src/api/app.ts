import { type IncomingMessage, METHODS } from 'node:http'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { marketSummaries } from '../resources/market-summaries.ts'
import { RESOURCES } from '../resources/resources.ts'
import type { Reader } from '../store/store.ts'
import type { GrpcOptions } from './grpc/grpc-server.ts'
import { createBacklog } from './http/backlog.ts'
import { clientAddress } from './http/client-address.ts'
import { watchCluster } from './http/cluster-watch.ts'
import { createConnections } from './http/connections.ts'
import { addCorsHeaders, answerPreflight, type CorsOrigins, isPreflight } from './http/cors.ts'
import {
  ALLOWED_METHODS,
  type ApiError,
  expectedError,
  internalError,
  malformedRequest,
  methodNotAllowed,
  notFound,
} from './http/errors.ts'
import { LIMITS, type Limits } from './http/limits.ts'
import { createMetrics, type Metrics, type MetricsText, type WatchedDisks } from './http/metrics.ts'
import { createParserErrors } from './http/parser-errors.ts'
import { checkTarget } from './http/query-string.ts'
import { createRequestCount } from './http/rate-limit.ts'
import type { IngestionState } from './http/readiness.ts'
import { checkHead } from './http/request-head.ts'
import { requestId } from './http/request-id.ts'
import { SAFE_HEADERS } from './http/safe-headers.ts'
import { sendError } from './http/send-json.ts'
import { addServiceRoutes } from './http/service-routes.ts'
import { addStaticRoutes, type StaticRoutes } from './http/static-routes.ts'
import { createTurns } from './http/turns.ts'
import { auctionsHandler } from './pages/auctions-route.ts'
import { coverageHandler } from './pages/coverage-route.ts'
import { fundingEstimateHandler } from './pages/funding-estimate-route.ts'
import { createKeptReports } from './pages/kept-reports.ts'
import type { Pages } from './pages/make-page.ts'
import { marketSummariesHandler } from './pages/market-summaries-route.ts'
import { createPageCache } from './pages/page-cache.ts'
import { createPageFront, type PageFaults, type PageFront } from './pages/page-front.ts'
import { pageHandler } from './pages/page-route.ts'
import { createSendReport } from './pages/send-report.ts'
import { seriesHandler } from './pages/series-route.ts'
import {
  AUCTIONS_PATH,
  COVERAGE_PATH,
  exportPath,
  FUNDING_ESTIMATE_PATH,
  READ_METHODS,
  ROUTED_PATHS,
  SERIES_PATH,
  UNLIMITED_PATHS,
} from './paths.ts'
import { createExports } from './streams/export-route.ts'
import type { LongReads } from './streams/long-reads.ts'
import { addStreamRoutes } from './streams/stream-route.ts'

/** Bytes of request line and headers together. */
const MAX_HEADER_BYTES = 16 * 1024

/** A connection on which nothing moves for this long is closed: the client does not read its answer. */
const IDLE_CONNECTION_MS = 30_000

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
  /** Makes the pages, of the store that `reader` reads. */
  pages: Pages
  /** Reads for streams and exports, of the same store. */
  longReads: LongReads
  log: FastifyBaseLogger
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
  server: FastifyInstance
  metrics: Metrics
  /** What another door to the same pages shares with this one. */
  shared: Pick<GrpcOptions, 'turns' | 'cache' | 'connections' | 'backlog' | 'countRequest' | 'onAlone'>
}

function refuseSchema(): never {
  throw new Error('schemas of routes have no compiler here')
}

export function createApp(options: AppOptions): App {
  const { reader, pages, longReads, log, ingestion, corsOrigins, version } = options
  const clusterFaults = watchCluster(reader, log)
  const metrics = createMetrics(reader, ingestion, clusterFaults, options.disks)
  const backlog = createBacklog()
  const limits = { ...LIMITS, ...options.limits }
  let hasWarnedAlone = false
  const onAlone = (address: string) => {
    if (options.trustProxy || hasWarnedAlone) return
    hasWarnedAlone = true
    log.warn(
      `one client (${address}) holds all that the service can give at a time; if that address is a proxy, --trust-proxy counts its clients one by one`,
    )
  }
  const addressOf = (request: IncomingMessage) => clientAddress(request, options.trustProxy)
  const connections = createConnections({ backlog, places: limits.connections, addressOf, onAlone })
  const countRequest = createRequestCount(options.rateLimit)
  const parserErrors = createParserErrors({
    reader,
    corsOrigins,
    connections,
    // Behind a proxy the client's address stands in the headers, which are not read here.
    countRequest: options.trustProxy ? () => ({}) : countRequest,
  })
  const faults: PageFaults = new WeakMap()
  const server = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    routerOptions: {
      maxParamLength: MAX_HEADER_BYTES,
      // Queries are read by query-string.ts.
      querystringParser: () => ({}),
    },
    // No route has a schema, and Fastify's own compilers of schemas take a twentieth of the start to load.
    schemaController: { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } },
    // While the service stops, what still comes on an open connection is answered, and the connection closed.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    connectionTimeout: IDLE_CONNECTION_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      // Node's own refusal has no body; checkHead has.
      requireHostHeader: false,
    },
    genReqId: requestId,
    // The router would answer a path that cannot be decoded by itself; the hook below sees the original.
    rewriteUrl: ({ url = '/' }) => (!url.includes('%') || isDecodable(url) ? url : '/undecodable'),
    clientErrorHandler: parserErrors.onClientError,
  })
  server.server.on('connection', connections.admit)
  // A client that ends its side of the connection after its last request still gets the answer.
  Object.assign(server.server, { httpAllowHalfOpen: true })
  server.server.on('connect', parserErrors.onConnect)
  // An expectation that is not known may be passed over (RFC 9110, 10.1.1); Node's own refusal has no body.
  server.server.on('checkExpectation', (request, response) =>
    server.server.emit('request', request, response),
  )
  for (const method of METHODS) {
    if (!server.supportedMethods.includes(method) && method !== 'CONNECT') server.addHttpMethod(method)
  }

  server.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id).headers(SAFE_HEADERS)
    addCorsHeaders(corsOrigins, request, reply)
    if (!(await connections.takeTurn(request.raw, reply.raw))) return reply.hijack()
    if (isPreflight(request)) {
      answerPreflight(request, reply)
      return reply
    }
    const fault = faults.get(request.raw)
    if (fault !== undefined) {
      reply.headers(fault.limits)
      throw fault.error
    }
    if (!isUnlimited(request)) {
      reply.headers(countRequest(addressOf(request.raw)))
    }
    checkHead(request.raw)
    checkTarget(request.originalUrl)
    // Before a body is parsed: whatever it holds, the answer is the same.
    if (isUnknown(request, files) && !asksForWholeServer(request)) throw notFound()
    if (request.method === 'OPTIONS') {
      await addBlockHeaders(reader, reply)
      return reply.code(204).header('allow', ALLOWED_METHODS).send()
    }
    if (!READ_METHODS.includes(request.method)) throw methodNotAllowed()
  })

  server.addHook('onSend', (request, reply, payload, done) => {
    if (Buffer.isBuffer(payload)) {
      reply.raw.once('close', backlog.hold(addressOf(request.raw), reply.raw.socket!, payload.length))
    }
    done()
  })

  server.addHook('onResponse', async (request, reply) => {
    metrics.requestSeconds.observe(
      {
        route: request.routeOptions.url ?? 'unknown',
        method: request.method,
        status: String(reply.statusCode),
      },
      reply.elapsedTime / 1000,
    )
  })

  server.setNotFoundHandler(() => {
    throw notFound()
  })

  server.setErrorHandler(async (error, request, reply) => {
    const answer = apiErrorOf(error, request)
    if (!isUnlimited(request)) await addBlockHeaders(reader, reply)
    sendError(request, reply, answer)
    return reply
  })

  const cache = createPageCache(reader, options.cacheBytes)
  const pageTurns = {
    usual: createTurns(onAlone, PAGES_AT_ONCE),
    long: createTurns(onAlone, pages.isSerial ? REPORTS_AT_ONCE : PAGES_AT_ONCE),
  }
  const front = createPageFront({
    pages,
    turns: pageTurns,
    cache,
    connections,
    backlog,
    metrics,
    corsOrigins,
    countRequest,
    addressOf,
    faults,
  })
  answerFirst(server, front)
  const exports = createExports({ longReads, log: reader.log, limits, addressOf, onAlone })
  for (const resource of RESOURCES) {
    server.route({
      method: READ_METHODS,
      url: resource.path,
      handler: exports.handlerOf(
        resource,
        pageHandler(resource, { pages, turns: pageTurns, cache, addressOf }),
      ),
    })
  }
  for (const resource of RESOURCES) {
    server.route({
      method: READ_METHODS,
      url: exportPath(resource),
      handler: exports.fullHandlerOf(resource),
    })
  }
  addStreamRoutes(server, { reader, hub: longReads.hub, backlog, metrics, limits, addressOf, onAlone })
  const turns = createTurns(onAlone, REPORTS_AT_ONCE)
  const sendReport = createSendReport({ reader, pages, turns, addressOf })
  server.route({
    method: READ_METHODS,
    url: COVERAGE_PATH,
    handler: coverageHandler(sendReport),
  })
  const reports = createKeptReports({ reader, pages })
  server.route({
    method: READ_METHODS,
    url: FUNDING_ESTIMATE_PATH,
    handler: fundingEstimateHandler({ sendReport, reports }),
  })
  server.route({
    method: READ_METHODS,
    url: marketSummaries.path,
    handler: marketSummariesHandler({ sendReport, reports }),
  })
  server.route({
    method: READ_METHODS,
    url: SERIES_PATH,
    handler: seriesHandler(sendReport),
  })
  server.route({
    method: READ_METHODS,
    url: AUCTIONS_PATH,
    handler: auctionsHandler(sendReport),
  })
  const files = addStaticRoutes(server)
  addServiceRoutes(server, {
    reader,
    ingestion,
    metrics,
    metricsText: options.metricsText,
    version,
    storeName: options.storeName,
    clusterFaults,
  })
  routeOtherMethods(server)
  return { server, metrics, shared: { turns: pageTurns, cache, connections, backlog, countRequest, onAlone } }
}

/** Lets pages be answered ahead of everything else, until the server closes: it ends connections then. */
function answerFirst(server: FastifyInstance, front: PageFront): void {
  const [handle] = server.server.listeners('request') as Parameters<PageFront>[2][]
  let isClosing = false
  server.addHook('preClose', async () => {
    isClosing = true
  })
  server.server.removeListener('request', handle!)
  server.server.on('request', (request, response) => {
    if (isClosing) handle!(request, response)
    else front(request, response, handle!)
  })
}

/** Routes the other methods of known paths, so that these differ from unknown paths; the hook above answers. */
function routeOtherMethods(server: FastifyInstance): void {
  const method = server.supportedMethods.filter((name) => !READ_METHODS.includes(name))
  for (const url of ROUTED_PATHS) {
    server.route({
      method,
      url,
      handler: () => {
        throw methodNotAllowed()
      },
    })
  }
}

/** Whether what is asked for answers whatever the rate and the store. */
function isUnlimited(request: FastifyRequest): boolean {
  return request.originalUrl !== '*' && UNLIMITED_PATHS.has(request.routeOptions.url ?? '')
}

/** Whether nothing is there to be answered. The router takes `*` for `/`. */
function isUnknown(request: FastifyRequest, files: StaticRoutes): boolean {
  return request.is404 || request.originalUrl === '*' || files.lacks(request)
}

/** `OPTIONS *` (RFC 9110, 9.3.7). */
function asksForWholeServer(request: FastifyRequest): boolean {
  return request.method === 'OPTIONS' && request.originalUrl === '*'
}

function isDecodable(target: string): boolean {
  try {
    checkTarget(target)
    return true
  } catch {
    return false
  }
}

/** What a thrown error is to the client. Our own faults are logged, and the client gets the request's id alone. */
function apiErrorOf(error: unknown, request: FastifyRequest): ApiError {
  const expected = expectedError(error, request.log)
  if (expected !== null) return expected
  const status = (error as { statusCode?: number }).statusCode
  if (status !== undefined && status >= 400 && status < 500) {
    return malformedRequest((error as Error).message)
  }
  request.log.error({ err: error, requestId: request.id }, 'a request failed')
  return internalError(request.id)
}

/** Adds where the store stands, where it can be read and holds a block. */
async function addBlockHeaders(reader: Reader, reply: FastifyReply): Promise<void> {
  const position = await reader.position().catch(() => null)
  if (position === null) return
  reply.header('x-block-height', position.height).header('x-block-timestamp', position.timestamp)
}
