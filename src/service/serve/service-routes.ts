import type { Logger } from 'pino'
import type { StoreHead } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { createNodeAnswers, type NodeAnswers } from '../answers/node-answers.ts'
import { sendRendered } from '../answers/question-route.ts'
import { type IngestionState, type StoreHealth, stateReport, unreadiness } from '../health/readiness.ts'
import { throttled } from '../health/throttled.ts'
import { type Exchange, JSON_TYPE } from '../http/exchange.ts'
import { DOCUMENT_30_PATH, DOCUMENT_PATH, INFO_PATH, TIME_PATH } from '../http/paths.ts'
import { acceptsGzip } from '../http/responses/negotiation.ts'
import type { Route } from '../http/router.ts'
import type { Metrics } from '../metrics.ts'
import { openApiDocument } from '../openapi/openapi.ts'
import { asOpenApi30 } from '../openapi/openapi-3-0.ts'
import { checkSumOf, type RenderedBody } from '../questions/question.ts'

type ServiceRoutesOptions = {
  reader: Reader
  ingestion: IngestionState
  metrics: Metrics
  version: string
  /** Whether the service has the metrics of markets. */
  marketMetrics: boolean
  storeName: string | undefined
  /** What answers have found out about the store. */
  health: StoreHealth
  clusterFaults: () => Promise<string[]>
  logger: Logger
}

const NOT_STORED = { 'cache-control': 'no-store' }

/** The routes that report on the service and describe its API. */
export function serviceRoutes(options: ServiceRoutesOptions): Route[] {
  const { reader, ingestion, metrics, version, storeName, health, clusterFaults, logger, marketMetrics } =
    options
  const document = () => openApiDocument(version, { hasMarketMetrics: marketMetrics })
  /** Why the store could not be read at the last request of `/ready`; null if it could. */
  let lastFault: string | null = null
  // Collecting them counts open files and handles, and clients can open many.
  const gather = throttled(metrics.text)
  const { info, vegaTime } = createNodeAnswers(reader)
  return [
    { path: INFO_PATH, answer: (exchange) => sendOfNode(exchange, info) },
    { path: TIME_PATH, answer: (exchange) => sendOfNode(exchange, vegaTime) },
    documentRoute(DOCUMENT_PATH, document),
    documentRoute(DOCUMENT_30_PATH, () => asOpenApi30(document())),
    {
      path: '/health',
      isUnlimited: true,
      answer: async (exchange) => sendState(exchange, 200, { status: 'ok' }),
    },
    {
      path: '/ready',
      isUnlimited: true,
      answer: async (exchange) => {
        const [{ reasons, storeFault }, cluster] = await Promise.all([
          unreadiness(reader, ingestion, health),
          clusterFaults(),
        ])
        const reports = { ...(cluster.length > 0 ? { cluster } : {}), ...stateReport(ingestion) }
        if (storeFault !== null && storeFault !== lastFault) logger.error(`store unreachable: ${storeFault}`)
        lastFault = storeFault
        const isEmpty = reasons.some(({ reason }) => reason === 'empty store')
        const store = isEmpty && storeName !== undefined ? { store: storeName } : {}
        if (reasons.length === 0) sendState(exchange, 200, { status: 'ready', ...reports })
        else sendState(exchange, 503, { status: 'not ready', reasons, ...store, ...reports })
      },
    },
    {
      path: '/metrics',
      isUnlimited: true,
      answer: async (exchange) => {
        const text = Buffer.from(await gather())
        const headers = { ...NOT_STORED, 'content-type': metrics.contentType }
        exchange.send(200, { headers }, text)
      },
    },
  ]
}

/** Generates the document at its first request: that takes a tenth of the time of a start. */
function documentRoute(path: string, document: () => object): Route {
  let json: JsonBody | null = null
  return {
    path,
    answer: async (exchange) => {
      json ??= jsonOf(document())
      await sendJson(exchange, json, null)
    },
  }
}

async function sendOfNode(exchange: Exchange, answer: NodeAnswers['info']): Promise<void> {
  const { message, storeHead } = await answer()
  await sendJson(exchange, jsonOf(message), storeHead)
}

type JsonBody = Pick<RenderedBody, 'body' | 'checkSum'>

function jsonOf(value: object): JsonBody {
  const body = Buffer.from(JSON.stringify(value))
  return { body, checkSum: checkSumOf(body) }
}

async function sendJson(exchange: Exchange, json: JsonBody, storeHead: StoreHead | null): Promise<void> {
  await sendRendered(exchange, { ...json, storeHead }, acceptsGzip(exchange.request))
}

function sendState(exchange: Exchange, status: number, state: object): void {
  const headers = { ...NOT_STORED, 'content-type': JSON_TYPE }
  exchange.send(status, { headers }, Buffer.from(JSON.stringify(state)))
}
