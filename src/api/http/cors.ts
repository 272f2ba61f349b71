import type { IncomingMessage } from 'node:http'
import { ALLOWED_METHODS } from './errors.ts'
import type { Exchange } from './exchange.ts'

/** The headers of ours that scripts of other origins may read. */
export const EXPOSED_HEADERS = [
  'ETag',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Block-Height',
  'X-Block-Timestamp',
  'X-Request-Id',
].join(', ')

/** Seconds that a browser may remember a preflight's answer. */
const PREFLIGHT_MAX_AGE = '7200'

/** `*` for any origin, or the origins that are allowed. */
export type CorsOrigins = '*' | readonly string[]

/** The CORS headers of an answer to a request of an origin, and what it varies by. */
export function corsHeaders(
  origins: CorsOrigins,
  origin: string | undefined,
): { headers: Record<string, string>; vary: 'Origin' | null } {
  const allowed = origins === '*' ? '*' : origins.find((known) => known === origin)
  const headers: Record<string, string> =
    allowed === undefined
      ? {}
      : {
          'access-control-allow-origin': allowed,
          'access-control-expose-headers': EXPOSED_HEADERS,
        }
  return { headers, vary: origins === '*' ? null : 'Origin' }
}

/** Whether a request is a browser's question for leave, which any path answers. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}

/** Answers a preflight. */
export function answerPreflight(exchange: Exchange): void {
  const asked = exchange.request.headers['access-control-request-headers']
  exchange.send(204, {
    vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
    headers: {
      'access-control-allow-methods': ALLOWED_METHODS,
      'access-control-allow-headers': asked ?? '*',
      'access-control-max-age': PREFLIGHT_MAX_AGE,
    },
  })
}
