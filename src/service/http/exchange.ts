import type { IncomingMessage, ServerResponse } from 'node:http'
import { onOneLine } from '#core/model/node-json'
import type { StoreHead } from '#core/store/pages/page'
import type { Metrics } from '../metrics.ts'
import type { UnsentBytes } from './clients/unsent-bytes.ts'
import { type CorsOrigins, corsHeaders } from './cors.ts'
import { type ApiError, errorBody } from './errors.ts'
import { hasName, queryOf } from './query-string.ts'
import { newRequestId } from './request-id.ts'

export const JSON_TYPE = 'application/json'

/** Headers of every answer: browsers must use the body only as its type says. */
const SAFE_PAIRS = Object.entries({ 'x-content-type-options': 'nosniff' })

/** An id that a client may give its request: printable ASCII of up to 64 characters. */
const REQUEST_ID = /^[\x20-\x7e]{1,64}$/

/** The parts of a response head that differ between answers to one request. */
type Head = {
  /** The last block of the snapshot that the answer shows. */
  storeHead?: StoreHead | null
  /** The request headers that the answer depends on, beside `Origin`. */
  vary?: string
  headers?: Readonly<Record<string, string>>
}

/** The last store head that an answer of this process has shown. Errors show it, since they read nothing. */
export type KnownStoreHead = { storeHead: StoreHead | null }

/** Counts an answer. */
type CountAnswer = (seconds: number, route: string, method: string, status: string) => void

/** Adds the histogram of answers, and returns what counts one. */
export const addAnswerMetrics = (metrics: Metrics): CountAnswer =>
  metrics.durations('lyra_http_request_duration_seconds', 'Time from a request to its response.', [
    'route',
    'method',
    'status',
  ])

/** State shared by all exchanges of a server. */
export type Exchanges = {
  known: KnownStoreHead
  corsOrigins: CorsOrigins
  unsentBytes: UnsentBytes
  countAnswer: CountAnswer
  /** Whether the server stops, and closes each connection after the answer in progress. */
  isClosing(): boolean
}

/**
 * The head of an answer: alternating names and values, which Node writes fastest.
 *
 * @param origin the request's Origin header
 * @param limits the headers of its rate limit
 */
export function answerHead(
  corsOrigins: CorsOrigins,
  {
    id,
    origin,
    limits,
  }: { id: string; origin: string | undefined; limits: Readonly<Record<string, string>> },
  { storeHead = null, vary, headers = {} }: Head,
): string[] {
  const cors = corsHeaders(corsOrigins, origin)
  const head = ['x-request-id', id]
  if (storeHead !== null) {
    head.push('x-block-height', storeHead.height, 'x-block-timestamp', storeHead.timestamp)
  }
  if (cors.vary !== null) head.push('vary', vary === undefined ? cors.vary : `${cors.vary}, ${vary}`)
  else if (vary !== undefined) head.push('vary', vary)
  for (const [name, value] of SAFE_PAIRS) head.push(name, value)
  for (const name in cors.headers) head.push(name, cors.headers[name]!)
  for (const name in limits) head.push(name, limits[name]!)
  for (const name in headers) head.push(name, headers[name]!)
  return head
}

/** A request that is being answered. */
export class Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The address that the request counts for. */
  readonly address: string
  /** The route that answers it, by whose path it is counted; null for an unknown path. */
  route: { path: string; isUnlimited?: true } | null = null
  /** The last part of the path, if the route's path has a parameter. */
  pathId: string | null = null
  /** The headers of the rate limit. */
  limits: Readonly<Record<string, string>> = {}
  readonly #shared: Exchanges
  readonly #startedAt = performance.now()
  #id: string | null = null

  constructor(shared: Exchanges, request: IncomingMessage, response: ServerResponse, address: string) {
    this.#shared = shared
    this.request = request
    this.response = response
    this.address = address
  }

  /** The request's target: path and query. */
  get target(): string {
    return this.request.url ?? '/'
  }

  /** The id that the client has given it, or a new one. */
  get id(): string {
    if (this.#id === null) {
      const header = this.request.headers['x-request-id']
      this.#id = typeof header === 'string' && REQUEST_ID.test(header) ? header : newRequestId()
    }
    return this.#id
  }

  /** Writes the head of an answer whose body follows piece by piece. It counts as answered once that has ended. */
  begin(status: number, head: Head): void {
    this.response.once('close', () => this.#count(status))
    this.response.writeHead(status, this.#headOf(head))
  }

  /** Sends a whole answer. */
  send(status: number, head: Head, body: Buffer | string | null = null): void {
    const pairs = this.#headOf(head)
    if (body === null) this.response.writeHead(status, pairs).end()
    else {
      pairs.push('content-length', String(body.length))
      this.response.writeHead(status, pairs).end(body, 'latin1')
      // The system has nearly always accepted everything.
      const { socket } = this.request
      if (socket.writableLength > 0) {
        this.response.once('close', this.#shared.unsentBytes.count(this.address, socket, body.length))
      }
    }
    this.#count(status)
  }

  /** Sends an error, with the last known store head; without one if `storeHead` is null. */
  sendError(error: ApiError, storeHead: StoreHead | null = this.#shared.known.storeHead): void {
    const headers = { ...error.headers, 'content-type': JSON_TYPE }
    this.send(error.status, { storeHead, vary: 'Accept-Encoding', headers }, this.pretty(errorBody(error)))
  }

  /** JSON as the bytes of a body, indented with `?pretty` of any value. */
  pretty(json: string | Buffer): Buffer {
    if (hasName(queryOf(this.target), 'pretty'))
      return Buffer.from(onOneLine(JSON.stringify(JSON.parse(json.toString()), null, 2)))
    return typeof json === 'string' ? Buffer.from(json) : json
  }

  #headOf(head: Head): string[] {
    const { id, limits, request } = this
    if (head.storeHead) this.#shared.known.storeHead = head.storeHead
    const pairs = answerHead(this.#shared.corsOrigins, { id, origin: request.headers.origin, limits }, head)
    if (this.#shared.isClosing() && head.headers?.Connection === undefined) pairs.push('connection', 'close')
    return pairs
  }

  #count(status: number): void {
    const seconds = (performance.now() - this.#startedAt) / 1000
    const route = this.route?.path ?? 'unknown'
    this.#shared.countAnswer(seconds, route, this.request.method!, String(status))
  }
}
