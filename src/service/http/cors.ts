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

/** The CORS headers of an answer for an origin, including Vary. */
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

/** Whether a request is a browser's preflight, which any path answers. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  return (
    method === 'OPTIONS' &&
    headers.origin !== undefined &&
    headers['access-control-request-method'] !== undefined
  )
}
