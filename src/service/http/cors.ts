import type { IncomingMessage } from 'node:http'

/** The headers of answers that scripts of other origins may read. */
const EXPOSED_HEADERS = [
  'Accept-Ranges',
  'Content-Range',
  'ETag',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'X-Block-Height',
  'X-Block-Timestamp',
  'X-Missing-Blocks',
  'X-Request-Id',
  'X-Since',
].join(', ')

/** `*` for any origin, or the origins that are allowed. */
export type CorsOrigins = '*' | readonly string[]

/** The CORS headers of an answer, and whether they differ between origins. */
type CorsHeaders = { headers: Readonly<Record<string, string>>; vary: 'Origin' | null }

const NOT_ALLOWED: CorsHeaders = { headers: {}, vary: 'Origin' }
const ANY_ORIGIN: CorsHeaders = { headers: headersFor('*'), vary: null }

/** The CORS headers of an answer for an origin. */
export function corsHeaders(origins: CorsOrigins, origin: string | undefined): CorsHeaders {
  if (origins === '*') return ANY_ORIGIN
  const allowed = origins.find((known) => known === origin)
  return allowed === undefined ? NOT_ALLOWED : { headers: headersFor(allowed), vary: 'Origin' }
}

function headersFor(origin: string): Record<string, string> {
  return { 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED_HEADERS }
}

/** Whether a request is a browser's preflight, which any path answers. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
