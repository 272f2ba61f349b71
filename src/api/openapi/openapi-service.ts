import { JSON_TYPE } from '../http/exchange.ts'
import type { UnreadyReason } from '../http/readiness.ts'
import { DOCUMENT_PATH } from '../paths.ts'
import { headersOf, LIMIT_HEADERS, refusedAnswer } from './openapi-answers.ts'
import { COMMON_PARAMETERS } from './openapi-parameters.ts'

/** Why the service is not ready, by what the answer calls it. */
const REASONS: Record<UnreadyReason['reason'], string> = {
  'empty store': 'the store holds no block yet',
  gap: 'blocks are missing',
  'intake stopped': 'something stopped the ingestion',
  'store unreachable': 'the store cannot be read',
  behind: 'the last block is old, with live ingestion',
}

const CACHE_HEADERS = headersOf(['X-Request-Id', ...LIMIT_HEADERS, 'ETag', 'Cache-Control'])

const STATUS = (status: string) => ({ type: 'string', const: status })

const FORWARD = {
  type: 'object',
  description:
    'How the events of the core are passed on to another receiver; only where the service does that. It does not make the service unready.',
  properties: {
    connected: { type: 'boolean', description: 'whether the receiver is connected' },
    height: { type: ['string', 'null'], description: 'the last block passed on' },
    lagBytes: { type: 'integer', description: 'bytes of events that are still to be passed on' },
    lagBlocks: { type: 'integer', description: 'blocks between the last one passed on and the newest one' },
    lagSeconds: { type: 'number', description: "the same in seconds of the chain's time" },
    droppedBytes: { type: 'integer', description: 'bytes of events deleted before they were passed on' },
    droppedBlocks: {
      type: ['object', 'null'],
      description: 'between which heights these lay',
      properties: { from: { type: 'string' }, to: { type: 'string' } },
      required: ['from', 'to'],
    },
    missingBlocks: {
      type: ['object', 'null'],
      description:
        'blocks that the receiver needs from elsewhere, or from a core that is restarted from a snapshot before the first of them; what is passed on begins after the last',
      properties: { from: { type: 'string' }, to: { type: 'string' } },
      required: ['from', 'to'],
    },
    failure: { type: ['string', 'null'], description: 'why nothing is passed on; null while all is well' },
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
  description:
    'what is wrong with the cluster that the store is spread over, only where something is; it does not make the service unready',
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
        'the name of a store that holds no block yet: of a SQLite file without its folder, of a PostgreSQL address only database and schema',
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
  '/health': operation('getHealth', 'Whether the process runs', {
    200: answer('It does.', { type: 'object', properties: { status: STATUS('ok') }, required: ['status'] }),
  }),
  '/ready': operation('getReady', 'Whether the service serves current data', {
    200: answer('It does.', READY),
    503: answer('It does not, for these reasons.', NOT_READY),
  }),
  '/metrics': operation('getMetrics', "Figures of the service, in Prometheus' text format", {
    200: answer('The figures.', { type: 'string' }, 'text/plain'),
  }),
  [DOCUMENT_PATH]: operation('getOpenApi', 'This document', {
    200: { ...answer('The document.', DOCUMENT), headers: CACHE_HEADERS },
    304: { description: 'The client holds the body already.', headers: CACHE_HEADERS },
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
        '4XX': refusedAnswer('A malformed request, another method, or too many requests.'),
      },
    },
  }
}

function answer(description: string, schema: object, type = JSON_TYPE): object {
  return { description, headers: headersOf(['X-Request-Id']), content: { [type]: { schema } } }
}
