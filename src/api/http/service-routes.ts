import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import type { Reader } from '../../store/store.ts'
import { openApiDocument } from '../openapi/openapi.ts'
import { DOCUMENT_PATH, READ_METHODS } from '../paths.ts'
import type { Metrics, MetricsText } from './metrics.ts'
import { forwardReport, type IngestionState, unreadiness } from './readiness.ts'
import { createSeldom } from './seldom.ts'
import { JSON_TYPE, sendJson } from './send-json.ts'

export type ServiceRoutesOptions = {
  reader: Reader
  ingestion: IngestionState
  metrics: Metrics
  metricsText: MetricsText | undefined
  version: string
  storeName: string | undefined
  clusterFaults: () => Promise<string[]>
}

/** Adds the routes that report on the service and describe its API. */
export function addServiceRoutes(
  server: FastifyInstance,
  { reader, ingestion, metrics, metricsText, version, storeName, clusterFaults }: ServiceRoutesOptions,
): void {
  const document = JSON.stringify(openApiDocument(version))
  const route = (url: string, handler: RouteHandlerMethod) =>
    server.route({ method: READ_METHODS, url, handler })
  route(DOCUMENT_PATH, async (request, reply) => {
    await sendJson(request, reply, document)
    return reply
  })
  route('/health', async (_, reply) => sendState(reply, 200, { status: 'ok' }))
  /** What kept the store from being read when that was last asked. */
  let lastFault: string | null = null
  route('/ready', async (_, reply) => {
    const [{ reasons, storeFault }, cluster] = await Promise.all([
      unreadiness(reader, ingestion),
      clusterFaults(),
    ])
    const beside = { ...(cluster.length > 0 ? { cluster } : {}), ...forwardReport(ingestion) }
    if (storeFault !== null && storeFault !== lastFault) server.log.error(`store unreachable: ${storeFault}`)
    lastFault = storeFault
    const isEmpty = reasons.some(({ reason }) => reason === 'empty store')
    const store = isEmpty && storeName !== undefined ? { store: storeName } : {}
    return reasons.length === 0
      ? sendState(reply, 200, { status: 'ready', ...beside })
      : sendState(reply, 503, { status: 'not ready', reasons, ...store, ...beside })
  })
  const { registry } = metrics
  // They count open files and handles, of which clients make as many as they like.
  const gather = createSeldom(metricsText ?? (() => registry.metrics()))
  route('/metrics', async (_, reply) => {
    const text = await gather()
    return reply.type(registry.contentType).header('cache-control', 'no-store').send(text)
  })
}

function sendState(reply: FastifyReply, status: number, state: object): FastifyReply {
  return reply
    .code(status)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(Buffer.from(JSON.stringify(state)))
}
