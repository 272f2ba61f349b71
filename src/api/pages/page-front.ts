import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Resource } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import type { Backlog } from '../http/backlog.ts'
import type { Connections } from '../http/connections.ts'
import { type CorsOrigins, corsHeaders } from '../http/cors.ts'
import { emptyStore } from '../http/errors.ts'
import type { Metrics } from '../http/metrics.ts'
import { parseQuery, pathOf, queryOf } from '../http/query-string.ts'
import type { CountRequest } from '../http/rate-limit.ts'
import { checkHead } from '../http/request-head.ts'
import { requestId } from '../http/request-id.ts'
import { SAFE_HEADERS } from '../http/safe-headers.ts'
import {
  acceptsGzip,
  CACHE_CONTROL,
  checkSumOf,
  compressed,
  JSON_TYPE,
  matchesTag,
} from '../http/send-json.ts'
import type { PageTurns } from '../http/turns.ts'
import type { MadePage, Pages } from './make-page.ts'
import {
  type CheckedPage,
  type KeptPage,
  keptPage,
  type PageCache,
  pageKey,
  scopeOfPage,
} from './page-cache.ts'
import { isLong, type PageRequest, pageRequest } from './page-request.ts'
import { parameterReader, parametersOf } from './parameters.ts'

const SAFE_PAIRS = Object.entries(SAFE_HEADERS)

/** Takes a request; what it cannot answer goes to `next`, as if it had never been there. */
export type PageFront = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (request: IncomingMessage, response: ServerResponse) => void,
) => void

export type PageFrontOptions = {
  pages: Pages
  turns: PageTurns
  /** Pages that are kept; null where none are. */
  cache: PageCache | null
  connections: Connections
  backlog: Backlog
  metrics: Metrics
  corsOrigins: CorsOrigins
  countRequest: CountRequest
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  /** Takes requests whose pages could not be made: the router answers them with the error. */
  faults: PageFaults
}

/** What went wrong with requests that have been counted already, and the headers of their rate limit. */
export type PageFaults = WeakMap<IncomingMessage, { error: unknown; limits: Record<string, string> }>

/** What of a page its answer needs. */
type Answer = Pick<KeptPage, 'route' | 'body' | 'tag' | 'isGzipped'>

/**
 * Answers requests for pages ahead of router and hooks, which would cost as much again: pages that are kept, and pages
 * that are made. The answer is the one that they would give: anything out of the ordinary is left to them.
 */
export function createPageFront(options: PageFrontOptions): PageFront {
  const { pages, turns, cache, connections, backlog, metrics, corsOrigins, countRequest, addressOf } = options
  const find = resourceFinder()

  /** Sends a page. */
  function send(
    request: IncomingMessage,
    response: ServerResponse,
    { body, tag, isGzipped }: Answer,
    at: CheckedPage['at'],
    limits: Record<string, string>,
  ): 200 | 304 {
    const { headers, vary } = corsHeaders(corsOrigins, request.headers.origin)
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
      tag,
    ]
    for (const [name, value] of SAFE_PAIRS) head.push(name, value)
    for (const name in headers) head.push(name, headers[name]!)
    for (const name in limits) head.push(name, limits[name]!)
    if (matchesTag(request.headers['if-none-match'], tag)) {
      response.writeHead(304, head).end()
      return 304
    }
    head.push('content-type', JSON_TYPE, 'content-length', String(body.length))
    if (isGzipped) head.push('content-encoding', 'gzip')
    response.writeHead(200, head).end(body, 'latin1')
    // Nearly always the system has taken it all.
    if (request.socket.writableLength > 0) {
      response.once('close', backlog.hold(addressOf(request), request.socket, body.length))
    }
    return 200
  }

  /** Counts a request and checks its head; null where something is wrong, which is reported elsewhere. */
  function admit(request: IncomingMessage): Record<string, string> | null {
    try {
      checkHead(request)
      return countRequest(addressOf(request))
    } catch {
      return null
    }
  }

  function sendKept(
    request: IncomingMessage,
    response: ServerResponse,
    { page, at }: CheckedPage,
    { limits, startedAt }: { limits: Record<string, string>; startedAt: number },
  ): void {
    const status = send(request, response, page, at, limits)
    metrics.pageFromMemory(page.route, status, (performance.now() - startedAt) / 1000)
  }

  async function sendMade(
    request: IncomingMessage,
    response: ServerResponse,
    { body: json, checkSum, position, version, release }: MadePage,
    { asked, route, key, limits }: AdmittedPage,
  ): Promise<200 | 304> {
    const isGzipped = acceptsGzip(request)
    const tag = `"${checkSum ?? checkSumOf(json)}${isGzipped ? '-gzip' : ''}"`
    const body =
      isGzipped && !matchesTag(request.headers['if-none-match'], tag) ? await compressed(json) : json
    const answer = { route, body, tag, isGzipped }
    const status = send(request, response, answer, position, limits)
    // Not waited for: the answer is sent, and others wait for the turn.
    if (status === 200) {
      void cache?.put(key, { ...answer, scope: scopeOfPage(asked.query), version })
    }
    if (status === 200 && body === json && release !== undefined) response.once('close', release)
    else release?.()
    return status
  }

  async function make(
    request: IncomingMessage,
    response: ServerResponse,
    admitted: AdmittedPage,
  ): Promise<void> {
    const { asked, route, key, limits } = admitted
    const startedAt = performance.now()
    const inTurn = isLong(asked) ? turns.long : turns.usual
    await inTurn(
      async () => {
        if (request.socket.destroyed) return
        // Where many ask for the same at once, as after a block, others have had it made meanwhile.
        const kept = await keptPage(cache, key)
        if (kept !== null) return sendKept(request, response, kept, { limits, startedAt })
        const page = await pages.make(asked)
        if (page === null) throw emptyStore()
        const status = await sendMade(request, response, page, admitted)
        metrics.pageMade(route, status, (performance.now() - startedAt) / 1000)
      },
      addressOf(request),
      request.socket,
    )
  }

  /** Makes the page that is asked for; a request that is not one for here is left. */
  function makePage(
    request: IncomingMessage,
    response: ServerResponse,
    { key, hasTurn, leave }: { key: string; hasTurn: boolean; leave: () => void },
  ): void {
    const found = find(request.url ?? '')
    const isTaken = found !== null && (hasTurn || connections.takeTurnAtOnce(request, response))
    const limits = isTaken ? admit(request) : null
    if (!isTaken || limits === null) {
      leave()
      return
    }
    make(request, response, { ...found, key, limits }).catch((error: unknown) => {
      options.faults.set(request, { error, limits })
      leave()
    })
  }

  return (request, response, next) => {
    if (request.method !== 'GET') return next(request, response)
    const leave = () => next(request, response)
    const key = pageKey(request)
    if (cache === null || !cache.has(key)) return makePage(request, response, { key, hasTurn: false, leave })
    // Turns go in the order in which requests come, however they are answered.
    if (!connections.takeTurnAtOnce(request, response)) return leave()
    const startedAt = performance.now()
    const finish = (checked: CheckedPage | null) => {
      if (checked === null) return makePage(request, response, { key, hasTurn: true, leave })
      const limits = admit(request)
      if (limits === null) return leave()
      sendKept(request, response, checked, { limits, startedAt })
    }
    const checked = cache.checkAtOnce(key)
    if (checked !== null) finish(checked)
    // What is wrong with the store is reported where it is read.
    else void cache.check(key).then(finish, () => finish(null))
  }
}

/** A page that is asked for, and the route that it is of. */
type Found = { asked: PageRequest; route: string }

/** A page that is to be made: what it is kept under, and the headers of the request's rate limit. */
type AdmittedPage = Found & { key: string; limits: Record<string, string> }

/** Finds out which page the target of a request asks for; null for any other request, and for one that is not plain. */
function resourceFinder(): (target: string) => Found | null {
  const whole = new Map<string, Resource>()
  const withId = new Map<string, Resource>()
  for (const resource of RESOURCES) {
    if (resource.path.endsWith('/:marketId')) withId.set(resource.path.replace(':marketId', ''), resource)
    else whole.set(resource.path, resource)
  }
  const readers = new Map(RESOURCES.map((resource) => [resource, parameterReader(parametersOf(resource))]))

  return (target) => {
    const query = queryOf(target)
    // Escapes in a path, indented answers, and exports are for the router.
    const path = pathOf(target)
    if (path.includes('%') || path.includes('#') || /format|pretty|%|#/.test(query)) return null
    const cut = path.lastIndexOf('/') + 1
    const single = whole.get(path)
    const resource = single ?? withId.get(path.slice(0, cut))
    if (resource === undefined) return null
    const marketId = single === undefined ? path.slice(cut) : null
    try {
      const values = readers.get(resource)!(parseQuery(query))
      return { asked: pageRequest(resource, marketId, values), route: resource.path }
    } catch {
      // What is wrong with it is said in the order of docs/api.md's table of errors.
      return null
    }
  }
}
