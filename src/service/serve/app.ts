import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { RESOURCES } from '#core/resources/resources'
import type { Reader } from '#core/store/store'
import { AnswerCache } from '../answers/answer-cache.ts'
import { Answers } from '../answers/answers.ts'
import { questionRoute } from '../answers/question-route.ts'
import type { Renderer } from '../answers/renderer.ts'
import { createExports, type Exports } from '../exports/export-route.ts'
import type { GrpcOptions } from '../grpc/options.ts'
import { watchCluster } from '../health/cluster-watch.ts'
import { addReadinessMetrics, type IngestionState, type StoreHealth } from '../health/readiness.ts'
import { addStoreMetrics } from '../health/store-metrics.ts'
import { clientAddress } from '../http/clients/client-address.ts'
import { Connections } from '../http/clients/connections.ts'
import { createQueue, createRefusalQueue, type Queue } from '../http/clients/queue.ts'
import { createRequestCount } from '../http/clients/rate-limit.ts'
import { UnsentBytes } from '../http/clients/unsent-bytes.ts'
import type { CorsOrigins } from '../http/cors.ts'
import { notFound } from '../http/errors.ts'
import { addAnswerMetrics, type Exchanges } from '../http/exchange.ts'
import { createExplainError, createNoteDamage } from '../http/explain-error.ts'
import { LIMITS, type Limits } from '../http/limits.ts'
import { MARKET_METRICS_PATH } from '../http/paths.ts'
import { createHttpServer } from '../http/requests/http-server.ts'
import { ParserErrors } from '../http/requests/parser-errors.ts'
import { ServerStop } from '../http/requests/server-stop.ts'
import { RequestTaker } from '../http/requests/take-requests.ts'
import { staticRoutes } from '../http/responses/static-routes.ts'
import { createRouter, type FindRoute, type Route } from '../http/router.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import { marketMetricsQuestion } from '../questions/market-metrics.ts'
import type { QueueClass } from '../questions/question.ts'
import { QUESTIONS } from '../questions/questions.ts'
import { Account } from '../quotas.ts'
import type { LongReads } from '../streams/long-reads/long-reads.ts'
import { withNotedFaults } from '../streams/long-reads/noted-reads.ts'
import { Streams } from '../streams/stream-route.ts'
import { commit } from '../version.ts'
import { serviceRoutes } from './service-routes.ts'

/** Pages rendered at the same time. */
const PAGES_AT_ONCE = 8

/**
 * Reports, and long pages, rendered at the same time: two, so that their renderer never waits. With more, the next address
 * would have to wait for all those of one.
 */
const REPORTS_AT_ONCE = 2

export type AppOptions = {
  reader: Reader
  /** Renders answers, from the store that `reader` reads. */
  renderer: Renderer
  /** Reads for streams and exports, of the same store. */
  longReads: LongReads
  logger: Logger
  ingestion: IngestionState
  corsOrigins: CorsOrigins
  /** Requests a second from one address; null for no limit. */
  rateLimit: number | null
  /** Whether the client's address is the last one of `X-Forwarded-For`, which the proxy in front adds. */
  trustProxy: boolean
  version: string
  /** The store whose commits are announced in this process: streams are read after each. */
  commitsTo: string
  /** Name of an empty store in `/ready`. */
  storeName?: string
  /** Bytes of answers to cache; 0 for none. */
  cacheBytes: number
  /** Whether figures of markets are given to Prometheus. */
  marketMetrics: boolean
  /** Limits that are not those of {@link LIMITS}. */
  limits?: Partial<Limits>
}

/** The application: all routes and their shared parts. The caller listens. */
export type App = {
  server: Server
  /** The paths of all routes. */
  paths: readonly string[]
  metrics: Metrics
  /** Ends streams, finishes answers in flight, and closes. */
  close(): Promise<void>
  /** The parts that gRPC shares with this application. */
  shared: Pick<
    GrpcOptions,
    | 'answers'
    | 'connections'
    | 'unsentBytes'
    | 'countRequest'
    | 'account'
    | 'explainError'
    | 'health'
    | 'known'
  >
}

/** Puts the parts of a service together. Nothing listens yet; the reader, renderer and log stay their owner's to close. */
export function createApp(options: AppOptions): App {
  const { reader, renderer, logger } = options
  const limits = { ...LIMITS, ...options.limits }
  const health: StoreHealth = { isDamaged: false }
  const noteDamage = createNoteDamage(logger, () => {
    health.isDamaged = true
  })
  const longReads = withNotedFaults(options.longReads, noteDamage)
  const metrics = createMetrics()
  const clusterFaults = watchCluster(reader, logger, metrics)
  addServiceMetrics(metrics, options, health)

  const clients = createClients(options, limits)
  const queues = createAnswerQueues(clients.account, renderer)
  const cache = options.cacheBytes === 0 ? null : new AnswerCache(reader, options.cacheBytes)
  const answers = new Answers({ renderer, queues, cache, metrics })
  const exports = createExports({
    longReads,
    // A store without a WAL is that of a database server.
    slots: reader.wal === undefined ? limits.serverExports : limits.exports,
    logger,
    account: clients.account,
    storeWal: reader.wal,
    leastPace: limits.exportPace,
    fileLimits: limits.exportFiles,
  })
  const streams = new Streams({
    reader,
    queue: queues.short,
    longReads,
    commitsTo: options.commitsTo,
    unsentBytes: clients.unsentBytes,
    metrics,
    limits,
    logger,
    account: clients.account,
  })
  const routes = [
    ...questionRoutes(answers, exports),
    ...RESOURCES.flatMap(exports.ofAllMarkets),
    ...streams.routes,
    ...staticRoutes(),
    options.marketMetrics ? marketMetricsRoute(answers, limits) : NO_MARKET_METRICS,
    ...serviceRoutes({ ...options, metrics, storeName: options.storeName, health, clusterFaults }),
  ]

  const explainError = createExplainError(logger, noteDamage)
  const shared: App['shared'] = { answers, ...clients, explainError, health, known: { storeHead: null } }
  let isClosing = false
  const server = createAppServer({
    shared,
    findRoute: createRouter(routes),
    countAnswer: addAnswerMetrics(metrics),
    corsOrigins: options.corsOrigins,
    trustProxy: options.trustProxy,
    isClosing: () => isClosing,
  })
  const serverStop = new ServerStop(server, shared.connections)
  return {
    server,
    paths: routes.map(({ path }) => path),
    metrics,
    close: async () => {
      isClosing = true
      streams.end()
      await serverStop.stop()
      await exports.close()
    },
    shared,
  }
}

/** Adds the figures of the store, of the program and of readiness. */
function addServiceMetrics(
  metrics: Metrics,
  { reader, ingestion, version }: AppOptions,
  health: StoreHealth,
): void {
  addStoreMetrics(metrics, reader)
  const build = metrics.gauge('lyra_build_info', 'Always 1, for the version and commit of this program.', [
    'version',
    'revision',
  ])
  build.set({ version, revision: commit() ?? '' }, 1)
  addReadinessMetrics(metrics, reader, ingestion, health)
}

/** What counts the connections, requests and memory of clients, by address. */
type Clients = Pick<App['shared'], 'account' | 'connections' | 'unsentBytes' | 'countRequest'>

function createClients({ logger, rateLimit, trustProxy }: AppOptions, limits: Limits): Clients {
  const unsentBytes = new UnsentBytes()
  const account = new Account((address) => {
    if (trustProxy) return
    logger.warn(
      `client ${address} takes all connections, running requests, streams or exports that are allowed at a time; if it is a proxy, start with --trust-proxy so that limits apply to each client behind it`,
    )
  })
  const connections = new Connections({
    unsentBytes,
    account,
    slots: limits.connections,
    addressOf: (request) => clientAddress(request, trustProxy),
  })
  return { unsentBytes, account, connections, countRequest: createRequestCount(rateLimit) }
}

function createAnswerQueues(account: Account, renderer: Renderer): Record<QueueClass, Queue> {
  return {
    short: createQueue(account, PAGES_AT_ONCE),
    long: createQueue(account, renderer.isSerial ? REPORTS_AT_ONCE : PAGES_AT_ONCE),
    report: createQueue(account, REPORTS_AT_ONCE),
  }
}

/** The routes of all questions; those of the pages of {@link RESOURCES} give exports, too. */
function questionRoutes(answers: Answers, exports: Exports): Route[] {
  return QUESTIONS.map((question) => {
    const route = questionRoute(question, answers)
    const list = 'list' in question.description ? question.description.list : null
    return list !== null && RESOURCES.includes(list) ? exports.pagesOrExport(list, route) : route
  })
}

/** Says what is missing: whoever asks has set up Prometheus already. */
const NO_MARKET_METRICS: Route = {
  path: MARKET_METRICS_PATH,
  answer: async () => {
    throw notFound(
      'this service has no figures of markets; start it with --market-metrics (LYRA_MARKET_METRICS)',
    )
  },
}

/** As of `/metrics`, requests do not count for the rate limit. */
function marketMetricsRoute(answers: Answers, { marketSeries }: Limits): Route {
  return { ...questionRoute(marketMetricsQuestion(marketSeries), answers), isUnlimited: true }
}

type AppServerOptions = Pick<AppOptions, 'corsOrigins' | 'trustProxy'> &
  Pick<Exchanges, 'countAnswer' | 'isClosing'> & {
    shared: App['shared']
    findRoute: FindRoute
  }

/** The server, with its handlers of connections, requests and errors. */
function createAppServer(options: AppServerOptions): Server {
  const { shared, findRoute, countAnswer, corsOrigins, trustProxy, isClosing } = options
  const { connections, unsentBytes, countRequest, account, explainError, known } = shared
  const requests = new RequestTaker({
    connections,
    countRequest,
    explainError,
    findRoute,
    queue: createRefusalQueue(account),
    trustProxy,
    exchanges: { known, corsOrigins, unsentBytes, countAnswer, isClosing },
  })
  const parserErrors = new ParserErrors({
    known,
    corsOrigins,
    connections,
    findRoute,
    // Behind a proxy the client's address is in the headers, which are not parsed here.
    countRequest: trustProxy ? () => ({}) : countRequest,
  })
  const server = createHttpServer()
  server.on('connection', (socket) => connections.admit(socket))
  server.on('request', (request, response) => requests.take(request, response))
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); Node's own refusal has no body.
  server.on('checkExpectation', (request, response) => requests.take(request, response))
  server.on('clientError', (error, socket) => parserErrors.onClientError(error, socket))
  server.on('connect', (request, socket) => parserErrors.onConnect(request, socket))
  return server
}
