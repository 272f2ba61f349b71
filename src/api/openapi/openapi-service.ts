import { JSON_TYPE } from '../http/exchange.ts'
import type { UnreadyReason } from '../http/readiness.ts'
import { DOCUMENT_PATH } from '../paths.ts'
import { headersOf, LIMIT_HEADERS, refusedAnswer } from './openapi-answers.ts'
import { COMMON_PARAMETERS } from './openapi-parameters.ts'

/** Descriptions of the reasons in `/ready`. */
const REASONS: Record<UnreadyReason['reason'], string> = {
  'empty store': 'the store is empty',
  gap: 'blocks are missing',
  'intake stopped': 'ingestion stopped because of an error',
  'store unreachable': 'the store cannot be read',
  behind: 'the last block is too old (live ingestion only)',
}

const CACHE_HEADERS = headersOf(['X-Request-Id', ...LIMIT_HEADERS, 'ETag', 'Cache-Control'])

const STATUS = (status: string) => ({ type: 'string', const: status })

const FORWARD = {
  type: 'object',
  description:
    "State of forwarding the core's events to another receiver. Only present if forwarding is on. Does not affect readiness.",
  properties: {
    connected: { type: 'boolean', description: 'whether the receiver is connected' },
    height: { type: ['string', 'null'], description: 'height of the last block forwarded' },
    lagBytes: { type: 'integer', description: 'bytes of events not yet forwarded' },
    lagBlocks: { type: 'integer', description: 'blocks between the last one forwarded and the newest one' },
    lagSeconds: { type: 'number', description: 'the same lag in seconds of block time' },
    droppedBytes: { type: 'integer', description: 'bytes of events deleted before they were forwarded' },
    droppedBlocks: {
      type: ['object', 'null'],
      description: 'range of blocks deleted before they were forwarded',
      properties: { from: { type: 'string' }, to: { type: 'string' } },
      required: ['from', 'to'],
    },
    missingBlocks: {
      type: ['object', 'null'],
      description:
        'blocks that the receiver must get from another source, or from a core restarted from an earlier snapshot; forwarding continues after the last of them',
      properties: { from: { type: 'string' }, to: { type: 'string' } },
      required: ['from', 'to'],
    },
    failure: { type: ['string', 'null'], description: 'why forwarding has stopped; null if it has not' },
  },
  required: [
    'connected',
    'height',
    'lagBytes',
    'lagBlocks',
    'lagSeconds',
    'droppedBytes',
    'droppedBlocks',
    'missingBlocks',
    'failure',
  ],
}

const CLUSTER = {
  type: 'array',
  description: 'problems of the database cluster; only present if there are any; does not affect readiness',
  items: { type: 'string' },
}

const READY = {
  type: 'object',
  properties: { status: STATUS('ready'), cluster: CLUSTER, forward: FORWARD },
  required: ['status'],
}

const NOT_READY = {
  type: 'object',
  properties: {
    status: STATUS('not ready'),
    reasons: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        properties: {
          reason: {
            type: 'string',
            enum: Object.keys(REASONS),
            description: Object.entries(REASONS)
              .map(([reason, meaning]) => `\`${reason}\`: ${meaning}`)
              .join('; '),
          },
          message: { type: 'string' },
        },
        required: ['reason', 'message'],
      },
    },
    store: {
      type: 'string',
      description:
        'name of the empty store: the SQLite file name without its folder, or the PostgreSQL database and schema',
    },
    cluster: CLUSTER,
    forward: FORWARD,
  },
  required: ['status', 'reasons'],
}

const DOCUMENT = {
  type: 'object',
  properties: { openapi: { type: 'string' }, info: { type: 'object' }, paths: { type: 'object' } },
  required: ['openapi', 'info', 'paths'],
}

/** The paths that report on the service and describe its API. */
export const SERVICE_OPERATIONS = {
  '/health': operation('getHealth', 'Check whether the process is running', {
    200: answer('The process is running.', {
      type: 'object',
      properties: { status: STATUS('ok') },
      required: ['status'],
    }),
  }),
  '/ready': operation('getReady', 'Check whether the service serves current data', {
    200: answer('Ready.', READY),
    503: answer('Not ready, for the reasons given.', NOT_READY),
  }),
  '/metrics': operation('getMetrics', 'Get the metrics of the service in Prometheus text format', {
    200: answer('The metrics.', { type: 'string' }, 'text/plain'),
  }),
  [DOCUMENT_PATH]: operation('getOpenApi', 'Get this document', {
    200: { ...answer('The document.', DOCUMENT), headers: CACHE_HEADERS },
    304: { description: 'Not modified.', headers: CACHE_HEADERS },
  }),
}

function operation(operationId: string, summary: string, responses: object): object {
  return {
    get: {
      operationId,
      summary,
      tags: ['service'],
      parameters: COMMON_PARAMETERS,
      responses: {
        ...responses,
        '4XX': refusedAnswer('Invalid request, method not allowed, or rate limit exceeded.'),
      },
    },
  }
}

function answer(description: string, schema: object, type = JSON_TYPE): object {
  return { description, headers: headersOf(['X-Request-Id']), content: { [type]: { schema } } }
}
