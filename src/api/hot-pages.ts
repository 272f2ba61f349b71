import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Backlog } from './backlog.ts'
import type { Connections } from './connections.ts'
import { type CorsOrigins, corsHeaders } from './cors.ts'
import type { Metrics } from './metrics.ts'
import type { CheckedPage, PageCache } from './page-cache.ts'
import type { CountRequest } from './rate-limit.ts'
import { checkHead } from './request-head.ts'
import { requestId } from './request-id.ts'
import { SAFE_HEADERS } from './safe-headers.ts'
import { acceptsGzip, CACHE_CONTROL, JSON_TYPE, matchesTag } from './send-json.ts'

const SAFE_PAIRS = Object.entries(SAFE_HEADERS)

/** Takes a request; what it cannot answer goes to `next`, as if it had never been there. */
export type HotPages = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (request: IncomingMessage, response: ServerResponse) => void,
) => void

export type HotPagesOptions = {
  cache: PageCache
  connections: Connections
  backlog: Backlog
  metrics: Metrics
  corsOrigins: CorsOrigins
  countRequest: CountRequest
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
}

/** The key that an answer to a request is kept under. */
export function pageKey(request: IncomingMessage): string {
  return `${acceptsGzip(request) ? 'gzip' : 'plain'} ${request.url}`
}

/**
 * Answers pages that are kept, ahead of router and hooks, which would cost as much again as sending the answer.
 * The answer is the one that they would give: anything out of the ordinary is left to them.
 */
export function createHotPages(options: HotPagesOptions): HotPages {
  const { cache, connections, backlog, metrics, corsOrigins, countRequest, addressOf } = options

  /** Answers; false where the request is not one for here, and nothing has been done. */
  function answer(
    request: IncomingMessage,
    response: ServerResponse,
    { page, at }: CheckedPage,
    startedAt: number,
  ): boolean {
    let limits: Record<string, string>
    try {
      checkHead(request)
      limits = countRequest(addressOf(request))
    } catch {
      return false
    }
    const { headers, vary } = corsHeaders(corsOrigins, request.headers.origin)
    const isKnown = matchesTag(request.headers['if-none-match'], page.tag)
    // Names and values in turns, which Node writes soonest.
    const head = [
      'x-request-id',
      requestId(request),
      'x-block-height',
      at.height,
      'x-block-timestamp',
      at.timestamp,
      'vary',
      vary === null ? 'Accept-Encoding' : `${vary}, Accept-Encoding`,
      'cache-control',
      CACHE_CONTROL,
      'etag',
      page.tag,
    ]
    for (const [name, value] of SAFE_PAIRS) head.push(name, value)
    for (const name in headers) head.push(name, headers[name]!)
    for (const name in limits) head.push(name, limits[name]!)
    if (isKnown) {
      response.writeHead(304, head).end()
    } else {
      head.push('content-type', JSON_TYPE, 'content-length', String(page.body.length))
      if (page.isGzipped) head.push('content-encoding', 'gzip')
      response.writeHead(200, head).end(page.body, 'latin1')
      // Nearly always the system has taken it all.
      if (request.socket.writableLength > 0) {
        response.once('close', backlog.hold(request.socket, page.body.length))
      }
    }
    metrics.pageFromMemory(page.route, isKnown ? 304 : 200, (performance.now() - startedAt) / 1000)
    return true
  }

  return (request, response, next) => {
    if (request.method !== 'GET') return next(request, response)
    const key = pageKey(request)
    // Turns are taken in the order in which requests come, whoever answers them.
    if (!cache.has(key) || !connections.takeTurnAtOnce(request, response)) return next(request, response)
    const startedAt = performance.now()
    const finish = (checked: CheckedPage | null) => {
      if (checked === null || !answer(request, response, checked, startedAt)) next(request, response)
    }
    const checked = cache.checkAtOnce(key)
    if (checked !== null) finish(checked)
    // What is wrong with the store is told by who reads it.
    else void cache.check(key).then(finish, () => finish(null))
  }
}
