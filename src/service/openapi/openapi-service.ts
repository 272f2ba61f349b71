import type { StateReport, UnreadyReason } from '../health/readiness.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { DOCUMENT_30_PATH, DOCUMENT_PATH, INFO_PATH, MARKET_METRICS_PATH, TIME_PATH } from '../http/paths.ts'
import { MARKET_METRICS } from '../questions/market-metrics.ts'
import { listOf, named, nullable, objectOf, reference, valueSchema } from '../questions/node-schemas.ts'
import type { JsonSchema } from '../questions/question.ts'
import {
  COMMON_HEADERS,
  headersOf,
  LIMIT_HEADERS,
  REPORT_REFUSALS,
  refusedAnswer,
} from './openapi-answers.ts'
import { operation } from './operation.ts'

/** Descriptions of the reasons in `/ready`. */
const REASONS: Record<UnreadyReason['reason'], string> = {
  'empty store': 'the store is empty',
  'intake stopped': 'ingestion stopped at an error, or at missing blocks',
  'store unreachable': 'the store cannot be read',
  behind: 'the last block is too old',
  'store damaged': 'the database file is damaged, and some answers cannot be given',
  'thread stopped': 'a thread of the service has ended',
  starting: 'the service has begun to start',
  'receiver silent': 'nothing is heard of a receiver whose event log is followed',
}

const CACHE_HEADERS = headersOf(['X-Request-Id', ...LIMIT_HEADERS, 'ETag', 'Cache-Control'])

const TEXT = { type: 'string' }

const STATUS = (status: string): JsonSchema => ({ type: 'string', const: status })

const blocksOrNull = (description: string) => nullable({ ...reference('BlockRange'), description })

const textOrNull = (description: string) => nullable({ ...TEXT, description })

const FORWARD = {
  ...named(
    'ForwardState',
    objectOf({
      connected: { type: 'boolean', description: 'whether the receiver is connected' },
      height: textOrNull('height of the last block forwarded'),
      lagBytes: { type: 'integer', description: 'bytes of events not yet forwarded' },
      lagBlocks: { type: 'integer', description: 'blocks between the last one forwarded and the newest one' },
      lagSeconds: { type: 'number', description: 'the same lag in seconds of block time' },
      missingBlocks: blocksOrNull(
        'the first and the last block that the receiver must get from another source, or from a core restarted from an earlier snapshot; those between them may have been forwarded; forwarding continues after the last of them',
      ),
      failure: textOrNull('why forwarding has stopped; null if it has not'),
    }),
  ),
  description:
    "State of forwarding the core's events to another receiver. Only present if forwarding is on. Does not affect readiness.",
}

const LIVE = {
  ...named(
    'LiveState',
    objectOf({
      coreConnected: { type: 'boolean', description: 'whether a core is connected' },
      eventsReceived: { type: 'integer', description: 'events received since the start of the service' },
      bufferBytes: {
        type: 'integer',
        description: 'bytes of events in the event log that are not in the store',
      },
      stopped: {
        type: 'boolean',
        description: 'whether a fault prevents received events from being committed',
      },
      connectionFaults: listOf(
        named('ConnectionFaults', objectOf({ reason: TEXT, count: { type: 'integer' } })),
        'connections closed by the service since its start, by reason',
      ),
    }),
  ),
  description:
    'State of live ingestion. Only present if the service reads event logs (`--listen`, `--follow`).',
}

const STANDBY = {
  ...named(
    'StandbyState',
    objectOf({
      message: TEXT,
      seconds: { type: 'integer', description: 'for how long' },
    }),
  ),
  description: "Only present while another process is the store's writer. Does not affect readiness.",
}

const PROTOCOL_UPGRADE = {
  ...named(
    'UpgradeState',
    objectOf({
      height: { type: 'string', description: 'last block before the upgrade' },
      answered: {
        type: 'boolean',
        description: 'whether the core has been told that all blocks up to it are safe',
      },
      waitingFor: textOrNull('for whom the core waits, if it has waited for 10 s'),
    }),
  ),
  description:
    'The protocol upgrade that the core is in. Only present from its announcement to the next block. Does not affect readiness.',
}

const CLUSTER = listOf(
  TEXT,
  'problems of the database cluster; only present if there are any; does not affect readiness',
)

/** What `/ready` reports beside its status, each part only if it applies. */
const REPORTS: Record<keyof StateReport | 'cluster', JsonSchema> = {
  cluster: CLUSTER,
  live: LIVE,
  standby: STANDBY,
  protocolUpgrade: PROTOCOL_UPGRADE,
  forward: FORWARD,
}

const READY = named('Ready', objectOf({ status: STATUS('ready'), ...REPORTS }, Object.keys(REPORTS)))

const UNREADY_REASON = named(
  'UnreadyReason',
  objectOf({
    reason: {
      type: 'string',
      enum: Object.keys(REASONS),
      description: Object.entries(REASONS)
        .map(([reason, meaning]) => `\`${reason}\`: ${meaning}`)
        .join('; '),
    },
    message: TEXT,
  }),
)

const NOT_READY = named(
  'NotReady',
  objectOf(
    {
      status: STATUS('not ready'),
      reasons: { ...listOf(UNREADY_REASON), minItems: 1 },
      store: {
        type: 'string',
        description:
          'name of the empty store: the SQLite file name without its folder, or the PostgreSQL database and schema',
      },
      ...REPORTS,
    },
    ['store', ...Object.keys(REPORTS)],
  ),
)

/** An object whose fields are those that OpenAPI defines. */
const ANY_OBJECT = { type: 'object' }

const DOCUMENT = named('OpenApiDocument', objectOf({ openapi: TEXT, info: ANY_OBJECT, paths: ANY_OBJECT }))

const INFO = named(
  'Info',
  objectOf({
    version: { ...TEXT, description: 'Version of Lyra.' },
    commitHash: { ...TEXT, description: 'Commit that it was built from; empty if that is not known.' },
  }),
)

const TIME_BODY = named(
  'VegaTime',
  objectOf({
    timestamp: valueSchema('time', 'Time of the last block, Unix nanoseconds.'),
  }),
)

const REFUSALS = {
  '4XX': refusedAnswer('Invalid request, method not allowed, or rate limit exceeded.'),
}

/** The paths that report on the service and describe its API. */
export const SERVICE_OPERATIONS = {
  [INFO_PATH]: storeOperation('getInfo', 'Get the version of the service', INFO),
  [TIME_PATH]: storeOperation('getVegaTime', 'Get the time of the last block', TIME_BODY),
  '/health': serviceOperation('getHealth', 'Check whether the process is running', {
    200: describedAnswer('The process is running.', named('Health', objectOf({ status: STATUS('ok') }))),
    ...REFUSALS,
  }),
  // Lists no other errors: generators give an operation one type of error.
  '/ready': serviceOperation('getReady', 'Check whether the service serves current data', {
    200: describedAnswer('Ready.', READY),
    503: describedAnswer('Not ready, for the reasons given.', NOT_READY),
  }),
  '/metrics': serviceOperation('getMetrics', 'Get the metrics of the service in Prometheus text format', {
    200: describedAnswer('The metrics.', TEXT, 'text/plain'),
    ...REFUSALS,
  }),
  [DOCUMENT_PATH]: documentOperation('getOpenApi', 'Get this document'),
  [DOCUMENT_30_PATH]: documentOperation('getOpenApi30', 'Get this document as OpenAPI 3.0'),
}

/** The metrics of markets, by path, for a service that has them. */
export const MARKET_METRICS_OPERATION = {
  [MARKET_METRICS_PATH]: storeOperation(
    MARKET_METRICS.operationId,
    MARKET_METRICS.summary,
    MARKET_METRICS.body,
    'text/plain',
  ),
}

function documentOperation(operationId: string, summary: string): object {
  return serviceOperation(operationId, summary, {
    200: { ...describedAnswer('The document.', DOCUMENT), headers: CACHE_HEADERS },
    304: { description: 'Not modified.', headers: CACHE_HEADERS },
    ...REFUSALS,
  })
}

function serviceOperation(operationId: string, summary: string, responses: object): object {
  return operation({ operationId, summary, tags: ['service'] }, [], responses)
}

/** An operation whose answer has the headers of a list. */
function storeOperation(operationId: string, summary: string, schema: JsonSchema, type = JSON_TYPE): object {
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  return operation({ operationId, summary, tags: ['service'] }, [], {
    200: { description: 'The answer.', headers, content: { [type]: { schema } } },
    304: { description: 'Not modified.', headers },
    ...REPORT_REFUSALS,
  })
}

function describedAnswer(description: string, schema: JsonSchema, type = JSON_TYPE): object {
  return { description, headers: headersOf(['X-Request-Id']), content: { [type]: { schema } } }
}
