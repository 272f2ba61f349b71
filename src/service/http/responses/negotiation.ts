import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import Negotiator from 'negotiator'

const compress = promisify(gzip)

/** Saves nearly as much as the default level in a third of the time. */
export const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED }

/** A body, compressed. */
export function compressed(body: Buffer): Promise<Buffer> {
  return compress(body, GZIP_OPTIONS)
}

/** Whether gzip is allowed, by `Accept-Encoding`: clients send only a few different ones. */
const gzipAllowed = new Map<string, boolean>()
const MAX_SEEN = 1_000

/** Whether a request allows an answer to be compressed. */
export function acceptsGzip(request: IncomingMessage): boolean {
  const accepted = request.headers['accept-encoding']
  if (accepted === undefined) return false
  let allowed = gzipAllowed.get(accepted as string)
  if (allowed === undefined) {
    allowed = new Negotiator(request).encoding(['gzip', 'identity']) === 'gzip'
    if (gzipAllowed.size >= MAX_SEEN) gzipAllowed.clear()
    gzipAllowed.set(accepted as string, allowed)
  }
  return allowed
}

/**
 * Whether a list of tags contains a tag, as `*` does.
 *
 * @param isWeak whether weak tags count, as in `If-None-Match`
 */
export function matchesTag(header: string | undefined, tag: string, { isWeak = true } = {}): boolean {
  if (header === undefined) return false
  return header.split(',').some((given) => {
    const candidate = isWeak ? given.trim().replace(/^W\//, '') : given.trim()
    return candidate === '*' || candidate === tag
  })
}
