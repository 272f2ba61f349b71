import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { RESOURCES } from '#core/resources/resources'
import type { Reader } from '#core/store/store'
import { createAnswerCache } from '../answers/answer-cache.ts'
import { createAnswers } from '../answers/answers.ts'
import { questionRoute } from '../answers/question-route.ts'
import type { Renderer } from '../answers/renderer.ts'
import { createExports } from '../exports/export-route.ts'
import type { GrpcOptions } from '../grpc/options.ts'
import { clientAddress } from '../http/client-address.ts'
import { watchCluster } from '../http/cluster-watch.ts'
import { createConnections } from '../http/connections.ts'
import type { CorsOrigins } from '../http/cors.ts'
import { createExplainError } from '../http/errors.ts'
import { addAnswerMetrics, type KnownStoreHead } from '../http/exchange.ts'
import { createHttpServer } from '../http/http-server.ts'
import { LIMITS, type Limits } from '../http/limits.ts'
import { createParserErrors } from '../http/parser-errors.ts'
import { createQueue, createRefusalQueue } from '../http/queue.ts'
import { createRequestCount } from '../http/rate-limit.ts'
import { addReadinessMetrics, type IngestionState, type StoreHealth } from '../http/readiness.ts'
import { createRouter } from '../http/router.ts'
import { staticRoutes } from '../http/static-routes.ts'
import { addStoreMetrics } from '../http/store-metrics.ts'
import { requestTaker } from '../http/take-requests.ts'
import { createUnsentBytes } from '../http/unsent-bytes.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import { QUESTIONS } from '../questions/questions.ts'
import { createAccount } from '../quotas.ts'
import type { LongReads } from '../streams/long-reads.ts'
import { createStreams } from '../streams/stream-route.ts'
import { commit } from '../version.ts'
import { serviceRoutes } from './service-routes.ts'

/** Pages made at the same time. */
const PAGES_AT_ONCE = 8

/**
 * Reports, and long pages, made at the same time: two, so that their renderer never waits. With more, the next address
 * would have to wait for all those of one.
 */
const REPORTS_AT_ONCE = 2

export type AppOptions = {
  reader: Reader
  /** Makes answers, from the store that `reader` reads. */
  renderer: Renderer
  /** Reads for streams and exports, of the same store. */
  longReads: LongReads
  log: Logger
  ingestion: IngestionState
  corsOrigins: CorsOrigins
  /** Requests a second from one address; null for no limit. */
  rateLimit: number | null
  /** Whether the client's address is the last one of `X-Forwarded-For`, which the proxy in front adds. */
  trustProxy: boolean
  version: string
  /** The store whose commits are announced in this process, after which streams are read. */
  commitsTo: string
  /** Name of an empty store in `/ready`. */
  storeName?: string
  /** Bytes of answers to cache; 0 for none. */
  cacheBytes: number
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
  const { reader, renderer, longReads, log, ingestion, corsOrigins } = options
  const metrics = createMetrics()
  const clusterFaults = watchCluster(reader, log, metrics)
  addStoreMetrics(metrics, reader)
  const build = metrics.gauge('lyra_build_info', 'Always 1, for the version and commit of this program.', [
    'version',
    'revision',
  ])
  build.set({ version: options.version, revision: commit() ?? '' }, 1)
  const health: StoreHealth = { isDamaged: false }
  addReadinessMetrics(metrics, reader, ingestion, health)
  const unsentBytes = createUnsentBytes()
  const limits = { ...LIMITS, ...options.limits }
  const account = createAccount((address) => {
    if (options.trustProxy) return
    log.warn(
      `client ${address} uses all available connections, streams or exports; if it is a proxy, start with --trust-proxy so that limits apply to each client behind it`,
    )
  })
  const connections = createConnections({
    unsentBytes,
    account,
    slots: limits.connections,
    addressOf: (request) => clientAddress(request, options.trustProxy),
  })
  const countRequest = createRequestCount(options.rateLimit)
  const explainError = createExplainError(log, () => {
    health.isDamaged = true
  })
  const cache = createAnswerCache(reader, options.cacheBytes)
  const queues = {
    short: createQueue(account, PAGES_AT_ONCE),
    long: createQueue(account, renderer.isSerial ? REPORTS_AT_ONCE : PAGES_AT_ONCE),
    report: createQueue(account, REPORTS_AT_ONCE),
  }
  const answers = createAnswers({ renderer, queues, cache, metrics })

  // A store without a WAL is that of a database server.
  const slots = reader.wal === undefined ? limits.serverExports : limits.exports
  const exports = createExports({
    longReads,
    slots,
    log,
    account,
    storeWal: reader.wal,
    leastPace: limits.exportPace,
    fileLimits: limits.exportFiles,
  })
  const streams = createStreams({
    reader,
    queue: queues.short,
    longReads,
    commitsTo: options.commitsTo,
    unsentBytes,
    metrics,
    limits,
    log,
    account,
  })
  const routes = [
    ...QUESTIONS.map((question) => {
      const route = questionRoute(question, answers)
      const list = 'list' in question.description ? question.description.list : null
      return list !== null && RESOURCES.includes(list) ? exports.pagesOrExport(list, route) : route
    }),
    ...RESOURCES.flatMap(exports.ofAllMarkets),
    ...streams.routes,
    ...staticRoutes(),
    ...serviceRoutes({
      ...options,
      metrics,
      storeName: options.storeName,
      health,
      clusterFaults,
    }),
  ]
  const findRoute = createRouter(routes)
  const known: KnownStoreHead = { storeHead: null }

  let isClosing = false
  const take = requestTaker({
    connections,
    countRequest,
    explainError,
    findRoute,
    queue: createRefusalQueue(account),
    trustProxy: options.trustProxy,
    exchanges: {
      known,
      corsOrigins,
      unsentBytes,
      countAnswer: addAnswerMetrics(metrics),
      isClosing: () => isClosing,
    },
  })
  const parserErrors = createParserErrors({
    known,
    corsOrigins,
    connections,
    findRoute,
    // Behind a proxy the client's address is in the headers, which are not parsed here.
    countRequest: options.trustProxy ? () => ({}) : countRequest,
  })
  const server = createHttpServer()
  server.on('connection', connections.admit)
  server.on('request', take)
  // An unknown expectation may be ignored (RFC 9110, 10.1.1); Node's own refusal has no body.
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
      await exports.close()
    },
    shared: { answers, connections, unsentBytes, countRequest, account, explainError, health, known },
  }
}
