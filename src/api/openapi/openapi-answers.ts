import type { Resource } from '../../resources/resource.ts'
import {
  type ApiError,
  emptyStore,
  errorBody,
  headersTooLarge,
  internalError,
  invalidMarketId,
  invalidPagination,
  invalidPartyId,
  malformedRequest,
  methodNotAllowed,
  missingFilter,
  missingMarketId,
  notFound,
  tooManyRequests,
} from '../http/errors.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { MAX_PAGE_SIZE } from '../questions/parameter-types.ts'
import { closedObject } from './node-schemas.ts'

/** The schema of the body of every error answer. */
export const ERROR_SCHEMA = closedObject({
  code: { type: 'integer', description: 'gRPC status code.', enum: [3, 5, 8, 12, 13, 14] },
  message: { type: 'string' },
  details: {
    type: 'array',
    maxItems: 1,
    items: closedObject({
      '@type': { type: 'string', const: 'type.googleapis.com/vega.ErrorDetail' },
      code: { type: 'integer', description: "The network's own error code." },
      message: { type: 'string' },
      inner: { type: 'string', description: 'What was wrong, and what is allowed.' },
    }),
  },
})

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema })
const COUNT = { type: 'integer', minimum: 0 }

/** The headers of answers, by name. */
export const HEADERS = {
  'X-Block-Height': header(
    'Height of the last block of the snapshot that the answer is made from. Absent while the store holds no block, or is unavailable.',
    { type: 'string', pattern: '^[0-9]+$' },
  ),
  'X-Block-Timestamp': header('Time of that block, Unix nanoseconds.', {
    type: 'string',
    pattern: '^-?[0-9]+$',
  }),
  'X-Request-Id': header(
    "The request's own id if it sends one of 1 to 64 printable characters; else a new one.",
  ),
  'X-Content-Type-Options': header('Forbids browsers to guess the type of the body.', {
    type: 'string',
    const: 'nosniff',
  }),
  ETag: header('Tag of this body; If-None-Match with it gets 304 for as long as nothing changes.'),
  'Cache-Control': header('`no-cache`: to be kept only with its tag, and asked for again.'),
  'RateLimit-Limit': header('Requests a second, where a rate limit is set.', COUNT),
  'RateLimit-Remaining': header('Requests that may follow at once, where a rate limit is set.', COUNT),
  'RateLimit-Reset': header(
    'Seconds until a whole burst may follow at once, where a rate limit is set.',
    COUNT,
  ),
  'Retry-After': header('Seconds after which to try again.', COUNT),
  Allow: header('The methods that are answered.'),
}

type HeaderName = keyof typeof HEADERS

/** Where a rate limit is set. */
export const LIMIT_HEADERS: HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

/** The headers of every answer of the API's own operations. */
export const COMMON_HEADERS: HeaderName[] = [
  'X-Request-Id',
  'X-Block-Height',
  'X-Block-Timestamp',
  ...LIMIT_HEADERS,
]

/** References to headers, as an answer lists them: with the one that every answer has. */
export function headersOf(names: HeaderName[]): object {
  return Object.fromEntries(
    ['X-Content-Type-Options', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

/** An error answer, of operations that list no examples. */
export function refusedAnswer(description: string): object {
  return {
    description,
    headers: headersOf([...COMMON_HEADERS, 'Allow', 'Retry-After']),
    content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Error' } } },
  }
}

/** What is wrong with a request for a page of any resource. */
const FAULTS_OF_PAGES = {
  malformed: malformedRequest(
    'the query of the request holds invalid percent-encoding, or invalid UTF-8; write % as %25',
  ),
  parameter: malformedRequest(
    `parsing field "first": pagination.first is "ten", allowed is an integer from 1 to ${MAX_PAGE_SIZE}`,
  ),
  pagination: invalidPagination(`pagination.first is 0, allowed is an integer from 1 to ${MAX_PAGE_SIZE}`),
}

/** What else can be wrong with a request for rows of a resource. */
function faultsOf(resource: Resource): Record<string, ApiError> {
  const { scope, filters, needsFilter } = resource
  const byMarket = scope === 'marketId' || filters.includes('marketId')
  return {
    ...(needsFilter ? { missing: missingFilter(resource) } : {}),
    ...(byMarket ? { marketId: invalidMarketId('abc') } : {}),
    ...(scope === 'marketId' ? { missingMarketId: missingMarketId() } : {}),
    ...(filters.includes('partyId') ? { partyId: invalidPartyId('abc') } : {}),
  }
}

/** The error answers to a request for rows (docs/api.md, errors), by status. */
export function errorAnswers(resource: Resource): object {
  const answers: [description: string, headers: HeaderName[], examples: Record<string, ApiError>][] = [
    [
      'A malformed request; a parameter that does not parse, comes twice, is missing, malformed or out of range.',
      [],
      { ...FAULTS_OF_PAGES, ...faultsOf(resource) },
    ],
    ['An unknown path.', [], { unknown: notFound() }],
    ['Another method than GET, HEAD or OPTIONS.', ['Allow'], { method: methodNotAllowed() }],
    [
      'Too many requests from one address, where a rate limit is set.',
      ['Retry-After'],
      { rate: tooManyRequests({}) },
    ],
    ['The request line and headers are over 16 KiB.', [], { size: headersTooLarge() }],
    [
      'A fault of the service; the detail is the id of the request.',
      [],
      { fault: internalError('5c7e2c5a-9d0f-4a6e-8f5e-0a3b1c2d3e4f') },
    ],
    [
      'The store is temporarily unavailable, the service is overloaded, or the store holds no block yet.',
      ['Retry-After'],
      { store: emptyStore() },
    ],
  ]
  return Object.fromEntries(
    answers.map(([description, headers, errors]) => {
      const examples = Object.fromEntries(
        Object.entries(errors).map(([name, error]) => [name, { value: JSON.parse(errorBody(error)) }]),
      )
      return [
        String(Object.values(errors)[0]!.status),
        {
          description,
          headers: headersOf([...COMMON_HEADERS, ...headers]),
          content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/Error' }, examples } },
        },
      ]
    }),
  )
}
