import type { Filter, RequestKind, Resource } from '#core/model/resource'
import {
  type ApiError,
  emptyStore,
  errorBody,
  headersTooLarge,
  internalError,
  invalidMarketId,
  invalidPagination,
  invalidPartyId,
  invalidTraderId,
  malformedRequest,
  methodNotAllowed,
  missingMarketId,
  notFound,
  tooManyRequests,
} from '../http/errors.ts'
import { JSON_TYPE } from '../http/exchange.ts'
import { changedFile, unsatisfiableRange } from '../http/ranges.ts'
import { listOf, named, objectOf, reference } from '../questions/node-schemas.ts'
import { missingFilterOf } from '../questions/page-request.ts'
import { MAX_PAGE_SIZE } from '../questions/parameter-types.ts'

/** What the document calls the body of every error answer: `Error` is a type of many languages. */
export const ERROR_NAME = 'ErrorAnswer'

/** Its schema. */
export const ERROR_SCHEMA = objectOf({
  code: { type: 'integer', description: 'gRPC status code.', enum: [3, 5, 8, 9, 11, 12, 13, 14] },
  message: { type: 'string' },
  details: {
    ...listOf(
      named(
        'ErrorDetail',
        objectOf({
          // Not a constant, of which some generators make an enum by the name of the field.
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
    'The id from the request if it has 1 to 64 printable characters; otherwise a generated one.',
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
    content: { [JSON_TYPE]: ERROR_CONTENT },
  }
}

/** The error answers to a request that is not for rows of a resource. */
export const REPORT_REFUSALS = {
  '4XX': refusedAnswer('Invalid request or parameter, method not allowed, or rate limit exceeded.'),
  '5XX': refusedAnswer('The store is empty or temporarily unavailable, or an internal error.'),
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

/** What else can be wrong with a request for rows of a resource. */
function errorsOf(resource: Resource, kind: RequestKind): Record<string, ApiError> {
  const { scope, filters } = resource
  const missing = missingFilterOf(resource, kind)
  const has = (filterType: Filter['type']) => filters.some(({ type }) => type === filterType)
  const byMarket = scope === 'marketId' || has('marketId')
  return {
    ...(missing === null ? {} : { missing }),
    ...(byMarket ? { marketId: invalidMarketId('abc') } : {}),
    ...(scope === 'marketId' && kind === 'list' ? { missingMarketId: missingMarketId() } : {}),
    ...(has('partyId') ? { partyId: invalidPartyId('abc') } : {}),
    ...(has('traderId') ? { partyId: invalidTraderId('abc') } : {}),
  }
}

/** Errors of one status, with examples of each. */
type ListedErrors = [description: string, headers: HeaderName[], examples: Record<string, ApiError>]

/** What can be wrong with a request for a part of a file. */
const FILE_ERRORS: readonly ListedErrors[] = [
  ['The file has changed since the one that If-Match names.', [], { changed: changedFile() }],
  ['The range begins after the end of the file.', ['Content-Range'], { range: unsatisfiableRange(17_026) }],
]

/** The error answers to a request for rows (docs/api.md, errors), by status. */
export function errorAnswers(resource: Resource, kind: RequestKind): object {
  const answers: ListedErrors[] = [
    [
      'Invalid request: malformed, or a parameter is missing, repeated, unparsable or out of range.',
      [],
      { ...FAULTS_OF_PAGES, ...errorsOf(resource, kind) },
    ],
    ['Unknown path.', [], { unknown: notFound() }],
    ['Method not allowed: only GET, HEAD and OPTIONS are.', ['Allow'], { method: methodNotAllowed() }],
    ...(kind === 'export' ? FILE_ERRORS : []),
    ['Rate limit exceeded. Only if a rate limit is set.', ['Retry-After'], { rate: tooManyRequests({}) }],
    ['Request line and headers exceed 16 KiB.', [], { size: headersTooLarge() }],
    [
      'Internal error. The detail is the request id.',
      [],
      { fault: internalError('5c7e2c5a-9d0f-4a6e-8f5e-0a3b1c2d3e4f') },
    ],
    [
      'The store is empty or temporarily unavailable, or the service is overloaded.',
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
          content: { [JSON_TYPE]: { ...ERROR_CONTENT, examples } },
        },
      ]
    }),
  )
}
