import Negotiator from 'negotiator'
import type { Exchange } from '../exchange.ts'
import { ASSETS_PATH, EXPLORER_PATH, REFERENCE_PATH } from '../paths.ts'
import type { Route } from '../router.ts'
import { matchesTag } from './negotiation.ts'
import { readStaticFiles, type StaticEncoding, type StaticFile } from './static-files.ts'

/** The pages run only what this service sends, and send requests only to it. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const PAGE_HEADERS = {
  'cache-control': 'no-cache',
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

/** An asset's name contains the digest of its content. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' }

const NOT_BUILT =
  'The explorer and the API reference have not been built in this checkout: run "npm run build:web" and restart.\n'

/**
 * The routes of the explorer, the API reference and their assets. If these have not been built, each route explains how to
 * build them.
 */
export function staticRoutes(): Route[] {
  const files = readStaticFiles()
  const page = (path: string, name: string): Route => ({
    path,
    isUnlimited: true,
    answer: async (exchange) => {
      const file = files.get(name)
      if (file === undefined) sendNotBuilt(exchange)
      else sendFile(exchange, file, PAGE_HEADERS)
    },
  })
  return [
    page(EXPLORER_PATH, 'index.html'),
    page(REFERENCE_PATH, 'reference.html'),
    {
      path: ASSETS_PATH,
      isUnlimited: true,
      isMissing: (name) => !files.has(`assets/${name}`),
      answer: async (exchange) => sendFile(exchange, files.get(`assets/${exchange.pathId}`)!, ASSET_HEADERS),
    },
  ]
}

function sendFile(exchange: Exchange, file: StaticFile, more: Readonly<Record<string, string>>): void {
  const encoding = encodingFor(exchange, file)
  const etag = `"${file.digest}${encoding === 'identity' ? '' : `-${encoding}`}"`
  const headers: Record<string, string> = { ...more, etag }
  if (matchesTag(exchange.request.headers['if-none-match'], etag)) {
    exchange.send(304, { vary: 'Accept-Encoding', headers })
    return
  }
  headers['content-type'] = file.type
  if (encoding !== 'identity') headers['content-encoding'] = encoding
  exchange.send(200, { vary: 'Accept-Encoding', headers }, file.bodies.get(encoding))
}

/** The encoding of the smallest body that the client accepts. */
function encodingFor({ request }: Exchange, { bodies }: StaticFile): StaticEncoding {
  if (request.headers['accept-encoding'] === undefined) return 'identity'
  const accepted = new Negotiator(request).encodings([...bodies.keys()])
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? 'identity'
}

function sendNotBuilt(exchange: Exchange): void {
  const headers = { 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' }
  exchange.send(503, { headers }, Buffer.from(NOT_BUILT))
}
