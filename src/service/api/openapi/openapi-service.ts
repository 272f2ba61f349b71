import { JSON_TYPE } from '../http/exchange.ts'
import type { UnreadyReason } from '../http/readiness.ts'
import { DOCUMENT_30_PATH, DOCUMENT_PATH, INFO_PATH, TIME_PATH } from '../paths.ts'
import { closedObject, valueSchema } from '../questions/node-schemas.ts'
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
}

const CACHE_HEADERS = headersOf(['X-Request-Id', ...LIMIT_HEADERS, 'ETag', 'Cache-Control'])

/** The schema of an object with these fields, and maybe others. */
const object = (
  properties: Record<string, object>,
  { description, optional = [] }: { description?: string; optional?: readonly string[] } = {},
) => ({
  type: 'object',
  ...(description === undefined ? {} : { description }),
  properties,
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
})

const TEXT = { type: 'string' }

const STATUS = (status: string) => ({ type: 'string', const: status })

const blocksOrNull = (description: string) => ({
  ...object({ from: TEXT, to: TEXT }, { description }),
  type: ['object', 'null'],
})

const FORWARD = object(
  {
    connected: { type: 'boolean', description: 'whether the receiver is connected' },
    height: { type: ['string', 'null'], description: 'height of the last block forwarded' },
    lagBytes: { type: 'integer', description: 'bytes of events not yet forwarded' },
    lagBlocks: { type: 'integer', description: 'blocks between the last one forwarded and the newest one' },
    lagSeconds: { type: 'number', description: 'the same lag in seconds of block time' },
    droppedBytes: { type: 'integer', description: 'bytes of events deleted before they were forwarded' },
    droppedBlocks: blocksOrNull('range of blocks deleted before they were forwarded'),
    missingBlocks: blocksOrNull(
      'blocks that the receiver must get from another source, or from a core restarted from an earlier snapshot; forwarding continues after the last of them',
    ),
    failure: { type: ['string', 'null'], description: 'why forwarding has stopped; null if it has not' },
  },
  {
    description:
      "State of forwarding the core's events to another receiver. Only present if forwarding is on. Does not affect readiness.",
  },
)

const STANDBY = object(
  {
    message: TEXT,
    seconds: { type: 'integer', description: 'for how long' },
  },
  {
    description: "Only present while another process is the store's writer. Does not affect readiness.",
  },
)

const PROTOCOL_UPGRADE = object(
  {
    height: { type: 'string', description: 'last block before the upgrade' },
    answered: {
      type: 'boolean',
      description: 'whether the core has been told that all blocks up to it are safe',
    },
    waitingFor: {
      type: ['string', 'null'],
      description: 'for whom the core waits, if it has waited for 10 s',
    },
  },
  {
    description:
      'The protocol upgrade that the core is in. Only present from its announcement to the next block. Does not affect readiness.',
  },
)

const CLUSTER = {
  type: 'array',
  description: 'problems of the database cluster; only present if there are any; does not affect readiness',
  items: TEXT,
}

const READY = object(
  {
    status: STATUS('ready'),
    cluster: CLUSTER,
    standby: STANDBY,
    protocolUpgrade: PROTOCOL_UPGRADE,
    forward: FORWARD,
  },
  { optional: ['cluster', 'standby', 'protocolUpgrade', 'forward'] },
)

const NOT_READY = object(
  {
    status: STATUS('not ready'),
    reasons: {
      type: 'array',
      minItems: 1,
      items: object({
        reason: {
          type: 'string',
          enum: Object.keys(REASONS),
          description: Object.entries(REASONS)
            .map(([reason, meaning]) => `\`${reason}\`: ${meaning}`)
            .join('; '),
        },
        message: TEXT,
      }),
    },
    store: {
      type: 'string',
      description:
        'name of the empty store: the SQLite file name without its folder, or the PostgreSQL database and schema',
    },
    cluster: CLUSTER,
    standby: STANDBY,
    protocolUpgrade: PROTOCOL_UPGRADE,
    forward: FORWARD,
  },
  { optional: ['store', 'cluster', 'standby', 'protocolUpgrade', 'forward'] },
)

const DOCUMENT = object({ openapi: TEXT, info: { type: 'object' }, paths: { type: 'object' } })

const INFO = closedObject({
  version: { ...TEXT, description: 'Version of Lyra.' },
  commitHash: { ...TEXT, description: 'Commit that it was built from; empty if that is not known.' },
})

const TIME_BODY = closedObject({
  timestamp: valueSchema('time', 'Time of the last block, Unix nanoseconds.'),
})

/** The paths that report on the service and describe its API. */
export const SERVICE_OPERATIONS = {
  [INFO_PATH]: nodeOperation('getInfo', 'Get the version of the service', INFO),
  [TIME_PATH]: nodeOperation('getVegaTime', 'Get the time of the last block', TIME_BODY),
  '/health': serviceOperation('getHealth', 'Check whether the process is running', {
    200: describedAnswer('The process is running.', object({ status: STATUS('ok') })),
  }),
  '/ready': serviceOperation('getReady', 'Check whether the service serves current data', {
    200: describedAnswer('Ready.', READY),
    503: describedAnswer('Not ready, for the reasons given.', NOT_READY),
  }),
  '/metrics': serviceOperation('getMetrics', 'Get the metrics of the service in Prometheus text format', {
    200: describedAnswer('The metrics.', TEXT, 'text/plain'),
  }),
  [DOCUMENT_PATH]: documentOperation('getOpenApi', 'Get this document'),
  [DOCUMENT_30_PATH]: documentOperation('getOpenApi30', 'Get this document as OpenAPI 3.0'),
}

function documentOperation(operationId: string, summary: string): object {
  return serviceOperation(operationId, summary, {
    200: { ...describedAnswer('The document.', DOCUMENT), headers: CACHE_HEADERS },
    304: { description: 'Not modified.', headers: CACHE_HEADERS },
  })
}

function serviceOperation(operationId: string, summary: string, responses: object): object {
  return operation({ operationId, summary, tags: ['service'] }, [], {
    ...responses,
    '4XX': refusedAnswer('Invalid request, method not allowed, or rate limit exceeded.'),
  })
}

/** An operation that data nodes have, too. */
function nodeOperation(operationId: string, summary: string, schema: object): object {
  const headers = headersOf([...COMMON_HEADERS, 'ETag', 'Cache-Control'])
  return operation({ operationId, summary, tags: ['service'] }, [], {
    200: { description: 'The answer.', headers, content: { [JSON_TYPE]: { schema } } },
    304: { description: 'Not modified.', headers },
    ...REPORT_REFUSALS,
  })
}

function describedAnswer(description: string, schema: object, type = JSON_TYPE): object {
  return { description, headers: headersOf(['X-Request-Id']), content: { [type]: { schema } } }
}
