import type { Filter, RequestKind, Resource } from '#core/model/resource'
import {
  type ApiError,
  emptyStore,
  errorBody,
  headersTooLarge,
  internalError,
  invalidAssetId,
  invalidMarketId,
  invalidPagination,
  invalidPartyId,
  invalidTraderId,
  malformedRequest,
  methodNotAllowed,
  missingMarketId,
  missingPartyIds,
  notFound,
  tooManyRequests,
} from '../http/errors.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { changedFile, unsatisfiableRange } from '../http/responses/ranges.ts'
import { listOf, named, objectOf, reference } from '../questions/node-schemas.ts'
import { missingFilterOf } from '../questions/page-request.ts'
import { MAX_PAGE_SIZE } from '../questions/parameter-types.ts'

/** The document's name for the body of every error answer: `Error` is a type of many languages. */
export const ERROR_NAME = 'ErrorAnswer'

/** The schema of that body. */
export const ERROR_SCHEMA = objectOf({
  code: { type: 'integer', description: 'gRPC status code.', enum: [3, 5, 8, 9, 11, 12, 13, 14] },
  message: { type: 'string' },
  details: {
    ...listOf(
      named(
        'ErrorDetail',
        objectOf({
          // Not a constant: some generators turn one into an enum with the name of the field.
          '@type': { type: 'string', description: 'Always `type.googleapis.com/vega.ErrorDetail`.' },
          code: { type: 'integer', description: 'Vega error code.' },
          message: { type: 'string' },
          inner: { type: 'string', description: 'Cause of the error, and the allowed values.' },
        }),
      ),
    ),
    maxItems: 1,
  },
})

const ERROR_CONTENT = { schema: reference(ERROR_NAME) }

const header = (description: string, schema: object = { type: 'string' }) => ({ description, schema })
const COUNT = { type: 'integer', minimum: 0 }

/** The headers of answers, by name. */
export const ANSWER_HEADERS = {
  'X-Block-Height': header(
    'Height of the last block of the snapshot that was read. Absent if the store is empty or unavailable.',
    { type: 'string', pattern: '^[0-9]+$' },
  ),
  'X-Block-Timestamp': header('Time of that block in Unix nanoseconds.', {
    type: 'string',
    pattern: '^-?[0-9]+$',
  }),
  'X-Request-Id': header(
    'The id from the request if it has 1 to 64 printable characters; otherwise a generated one, which is unique but can be guessed.',
  ),
  'X-Content-Type-Options': header('Tells browsers not to guess the content type.', {
    type: 'string',
    const: 'nosniff',
  }),
  ETag: header('Tag of this body. Send it in If-None-Match to get 304 if nothing has changed.'),
  'Cache-Control': header(
    '`no-cache`: a cached copy must be revalidated with its ETag. `no-store`: it has none.',
  ),
  'Accept-Ranges': header('`bytes` if ranges of this body can be requested.'),
  'Content-Range': header('The range of bytes of the body, and the length of the whole.'),
  'Content-Disposition': header('The name of the file.'),
  'RateLimit-Limit': header('Allowed requests per second. Only sent if a rate limit is set.', COUNT),
  'RateLimit-Remaining': header(
    'Requests that can be sent immediately. Only sent if a rate limit is set.',
    COUNT,
  ),
  'RateLimit-Reset': header(
    'Seconds until a full burst is allowed again. Only sent if a rate limit is set.',
    COUNT,
  ),
  'Retry-After': header('Seconds to wait before retrying.', COUNT),
  Allow: header('The allowed methods.'),
}

type HeaderName = keyof typeof ANSWER_HEADERS

/** Only sent if a rate limit is set. */
export const LIMIT_HEADERS: HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

/** The headers of every answer of the API's own operations. */
export const COMMON_HEADERS: HeaderName[] = [
  'X-Request-Id',
  'X-Block-Height',
  'X-Block-Timestamp',
  ...LIMIT_HEADERS,
]

/** References to headers, as an answer lists them, and to the one that every answer has. */
export function headersOf(names: HeaderName[]): object {
  return Object.fromEntries(
    ['X-Content-Type-Options', ...names].map((name) => [name, { $ref: `#/components/headers/${name}` }]),
  )
}

/** An error answer of an operation that lists no examples. */
export function refusedAnswer(description: string): object {
  return {
    description,
    headers: headersOf([...COMMON_HEADERS, 'Allow', 'Retry-After']),
    content: { [JSON_TYPE]: ERROR_CONTENT },
  }
}

/** The error answers to a request for something else than rows of a resource. */
export const REPORT_REFUSALS = {
  '4XX': refusedAnswer('Invalid request or parameter, method not allowed, or rate limit exceeded.'),
  '5XX': refusedAnswer('The store is empty or temporarily unavailable, or an internal error.'),
}

/** The same, with examples of the faults that the filters of a list can have. */
export function refusalsOfFilters(list: Resource): object {
  return { 400: errorAnswer(400, Object.entries(errorsOf(list, 'list'))), ...REPORT_REFUSALS }
}

/** Examples of faults in a request for a page. */
const FAULTS_OF_PAGES = {
  malformed: malformedRequest(
    'the query string contains invalid percent-encoding or invalid UTF-8; write % as %25',
  ),
  parameter: malformedRequest(
    `parsing field "first": pagination.first must be an integer from 1 to ${MAX_PAGE_SIZE}, not "ten"`,
  ),
  pagination: invalidPagination(`pagination.first must be an integer from 1 to ${MAX_PAGE_SIZE}, not 0`),
}

/** Examples of faults that only some requests for rows can have. */
function errorsOf(resource: Resource, kind: RequestKind): Record<string, ApiError> {
  const { scope, filters, flags } = resource
  const missing = missingFilterOf(resource, kind)
  const has = (filterType: Filter['type']) => filters.some(({ type }) => type === filterType)
  const byMarket = scope === 'marketId' || has('marketId')
  return {
    ...(missing === null ? {} : { missing }),
    ...(byMarket ? { marketId: invalidMarketId('abc') } : {}),
    ...(scope === 'marketId' && kind === 'list' ? { missingMarketId: missingMarketId() } : {}),
    ...(has('partyId') || has('partyIds') ? { partyId: invalidPartyId('abc') } : {}),
    ...(has('assetId') ? { assetId: invalidAssetId('abc') } : {}),
    ...(kind === 'list'
      ? Object.fromEntries(flags.map(({ name, needs }) => [name, missingPartyIds(name, needs)]))
      : {}),
    ...(has('traderId') ? { partyId: invalidTraderId('abc') } : {}),
  }
}

/** The statuses of errors: what they mean, and the headers that only they have. */
const ERROR_STATUSES: Readonly<Record<number, { description: string; headers: HeaderName[] }>> = {
  400: {
    description:
      'Invalid request: malformed, or a parameter is missing, repeated, unparsable or out of range.',
    headers: [],
  },
  404: { description: 'Unknown path.', headers: [] },
  405: { description: 'Method not allowed: only GET, HEAD and OPTIONS are.', headers: ['Allow'] },
  412: { description: 'The file has changed since the one that If-Match names.', headers: [] },
  416: { description: 'The range begins after the end of the file.', headers: ['Content-Range'] },
  429: { description: 'Rate limit exceeded. Only if a rate limit is set.', headers: ['Retry-After'] },
  431: { description: 'Request line and headers exceed 16 KiB.', headers: [] },
  500: { description: 'Internal error. The detail is the request id.', headers: [] },
  503: {
    description: 'The store is empty or temporarily unavailable, or the service is overloaded.',
    headers: ['Retry-After'],
  },
}

/** The error answers to a request for rows (docs/api.md, errors), by status. */
export function errorAnswers(resource: Resource, kind: RequestKind): object {
  const examples: Record<string, ApiError> = {
    ...FAULTS_OF_PAGES,
    ...errorsOf(resource, kind),
    unknown: notFound(),
    method: methodNotAllowed(),
    ...(kind === 'export' ? { changed: changedFile(), range: unsatisfiableRange(17_026) } : {}),
    rate: tooManyRequests({}),
    size: headersTooLarge(),
    fault: internalError('5c7e2c5a-9d0f-4a6e-8f5e-0a3b1c2d3e4f'),
    store: emptyStore(),
  }
  const byStatus = Map.groupBy(Object.entries(examples), ([, { status }]) => status)
  return Object.fromEntries(Array.from(byStatus, ([status, errors]) => [status, errorAnswer(status, errors)]))
}

function errorAnswer(status: number, errors: [name: string, error: ApiError][]): object {
  const { description, headers } = ERROR_STATUSES[status]!
  const examples = Object.fromEntries(
    errors.map(([name, error]) => [name, { value: JSON.parse(errorBody(error)) }]),
  )
  return {
    description,
    headers: headersOf([...COMMON_HEADERS, ...headers]),
    content: { [JSON_TYPE]: { ...ERROR_CONTENT, examples } },
  }
}
