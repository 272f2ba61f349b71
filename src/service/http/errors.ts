import { type FilterName, wordsOf } from '#core/model/resource'
import { LISTS } from '#core/resources/resources'

/** gRPC status codes, as used by the data node. */
export const GRPC = {
  ok: 0,
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
} as const

/** The network's own error codes, in the details of an error. */
const DETAIL = {
  general: 10000,
  missingMarketId: 10003,
  missingPartyId: 10014,
  malformedRequest: 10015,
  invalidPagination: 10028,
} as const

/** One entry of an error's details. */
type ErrorDetail = { code: number; message: string; inner: string }

/** An error answer, as in docs/api.md's table of errors. */
export class ApiError extends Error {
  readonly status: number
  readonly code: number
  readonly detail: ErrorDetail | null
  readonly headers: Record<string, string>

  constructor(
    status: number,
    code: number,
    message: string,
    { detail = null, headers = {} }: { detail?: ErrorDetail | null; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = code
    this.detail = detail
    this.headers = headers
  }
}

/** The body of an error answer, as JSON. */
export function errorBody({ code, message, detail }: Pick<ApiError, 'code' | 'message' | 'detail'>): string {
  const details = detail === null ? [] : [{ '@type': 'type.googleapis.com/vega.ErrorDetail', ...detail }]
  return JSON.stringify({ code, message, details })
}

const invalidArgument = (code: number, message: string, inner: string) =>
  new ApiError(400, GRPC.invalidArgument, 'InvalidArgument error', { detail: { code, message, inner } })

/** 429: an address has sent more requests than its rate allows. */
export const tooManyRequests = (headers: Record<string, string>) =>
  new ApiError(429, GRPC.resourceExhausted, 'api request rate limit exceeded', { headers })

/** 431. */
export const headersTooLarge = () =>
  new ApiError(431, GRPC.invalidArgument, 'the request line and headers are over 16 KiB; send less')

/** 400 for a request that is not valid HTTP, or whose target cannot be read. */
export const malformedRequest = (what: string, headers: Record<string, string> = {}) =>
  new ApiError(400, GRPC.invalidArgument, what, { headers })

/** Tells clients of a data node which lists Lyra has, and that a data node has the others. */
const onlyLists = (lists: readonly string[], others = '') =>
  `this is Lyra, whose lists are ${lists.join(', ')}${others}; a data node has the rest`

/** @param available what exists instead */
export const notFound = (available = onlyLists(LISTS.map(wordsOf), ' (/docs describes every request)')) =>
  new ApiError(404, GRPC.notFound, `Not Found: ${available}`)

/** The methods of every known path. */
export const ALLOWED_METHODS = 'GET, HEAD, OPTIONS'

/** 405, with the methods that every path allows. */
export const methodNotAllowed = () =>
  new ApiError(405, GRPC.unimplemented, 'Method Not Allowed', { headers: { Allow: ALLOWED_METHODS } })

/** A parameter that cannot be parsed, or is given twice. */
export const invalidParameter = (message: string) => new ApiError(400, GRPC.invalidArgument, message)

/** A request without any of the filters of which one must be given. */
export const missingFilter = (names: readonly FilterName[]) =>
  invalidArgument(
    DETAIL.malformedRequest,
    'malformed request',
    `${names.join(' or ')}${names.length === 2 ? ' or both' : ''} must be provided`,
  )

/** 400 for an operation that needs a market. */
export const missingMarketId = () =>
  invalidArgument(
    DETAIL.missingMarketId,
    'empty or missing market ID',
    'a market id must be given: 64 hex digits',
  )

/** 400, with the value that was sent. */
export const invalidMarketId = (value: string) =>
  invalidArgument(DETAIL.general, 'invalid market ID', `${quoted(value)} is not 64 hex digits`)

/** 400, with the value that was sent. */
export const invalidPartyId = (value: string) =>
  invalidArgument(
    DETAIL.general,
    'invalid party ID',
    `${quoted(value)} is neither 64 hex digits nor "network"`,
  )

/** 400, with the data node's message. */
export const invalidTraderId = (value: string) =>
  invalidArgument(
    DETAIL.general,
    'invalid party id',
    value === ''
      ? 'partyId (or party_id) is required: 64 hex digits'
      : `${quoted(value)} is not 64 hex digits`,
  )

/** 400, with the value that was sent. */
export const invalidAssetId = (value: string) =>
  invalidArgument(
    DETAIL.general,
    'invalid asset ID',
    `${quoted(value)} is neither 64 hex digits nor the name of an asset`,
  )

/** A parameter that is true, but has a meaning only with a list of parties. */
export const missingPartyIds = (flag: string, needed: FilterName) =>
  invalidArgument(DETAIL.missingPartyId, 'missing party id', `${needed} must be provided if ${flag} is true`)

/** 400; `inner` says which parameter of the page is wrong, and why. */
export const invalidPagination = (inner: string) =>
  invalidArgument(DETAIL.invalidPagination, 'invalid pagination', inner)

/** 503 if the store cannot be read or contains no block yet; `retryAfter` in seconds. */
export const unavailable = (message: string, retryAfter = 1) =>
  new ApiError(503, GRPC.unavailable, message, { headers: { 'Retry-After': String(retryAfter) } })

/** 503, over gRPC only. */
export const tooManyCalls = () => unavailable('too many calls are open; try again later')

/** 404 for a health check of an unknown service. */
export const unknownService = () => new ApiError(404, GRPC.notFound, 'there is no such service')

/** 501 (UNIMPLEMENTED), with the methods that there are. */
export const unknownMethod = (path: string) =>
  new ApiError(
    501,
    GRPC.unimplemented,
    `there is no method ${quoted(path)}: ${onlyLists(LISTS.flatMap(({ grpcMethod }) => grpcMethod ?? []))}`,
  )

/** 501 (UNIMPLEMENTED). */
export const compressedRequest = (encoding: string) =>
  new ApiError(501, GRPC.unimplemented, `grpc-encoding must be identity, not ${quoted(encoding)}`)

/** RESOURCE_EXHAUSTED. `bytes` is the size that the message's prefix declares. */
export const messageTooLarge = (bytes: number, most: number) =>
  new ApiError(429, GRPC.resourceExhausted, `the request has ${bytes} bytes, more than the ${most} allowed`)

/** An invalid gRPC request. */
export const protocolError = (what: string) => new ApiError(500, GRPC.internal, what)

/** DEADLINE_EXCEEDED. */
export const tooLate = (what: string) => new ApiError(504, GRPC.deadlineExceeded, what)

/** 503 until the first block is stored. */
export const emptyStore = () => unavailable('the store has no block yet; try again later')

/** 500: the client gets the id of the request, under which the log has the cause. */
export const internalError = (requestId: string) =>
  new ApiError(500, GRPC.internal, 'Internal error', {
    detail: { code: DETAIL.general, message: 'internal error', inner: requestId },
  })

/** A client's text within an error: quoted, and cut if it is long. */
export function quoted(text: string): string {
  const shown = text.length > 100 ? `${text.slice(0, 100)}...` : text
  return JSON.stringify(shown.toWellFormed())
}
