import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { ASSETS_PATH, EXPLORER_PATH, READ_METHODS, REFERENCE_PATH } from '../paths.ts'
import { notFound } from './errors.ts'
import { matchesTag } from './send-json.ts'
import { readStaticFiles, type StaticEncoding, type StaticFile } from './static-files.ts'
import { addVary } from './vary.ts'

/** The pages run what this service sends and ask this service; nothing else, nowhere else. */
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

/** An asset's name has the digest of its content in it. */
const ASSET_HEADERS = { 'cache-control': 'public, max-age=31536000, immutable' }

const NOT_BUILT =
  'The explorer and the API reference are not built in this checkout: run "npm run build:web", and start again.\n'

/** The pages of the service: explorer and API reference, and what they load. */
export type StaticRoutes = {
  /** Whether a request that the router takes for an asset names none. */
  lacks(request: FastifyRequest): boolean
}

/** Adds the routes of the pages; where they are not built, each says so. */
export function addStaticRoutes(server: FastifyInstance): StaticRoutes {
  const files = readStaticFiles()
  const pages = [
    [EXPLORER_PATH, 'index.html'],
    [REFERENCE_PATH, 'reference.html'],
  ] as const
  for (const [url, name] of pages) {
    server.route({
      method: READ_METHODS,
      url,
      handler: (request, reply) => {
        const file = files.get(name)
        if (file === undefined) return sendNotBuilt(reply)
        return sendFile(request, reply.headers(PAGE_HEADERS), file)
      },
    })
  }
  server.route({
    method: READ_METHODS,
    url: ASSETS_PATH,
    handler: (request, reply) => {
      const file = files.get(assetName(request))
      if (file === undefined) throw notFound()
      return sendFile(request, reply.headers(ASSET_HEADERS), file)
    },
  })
  return {
    lacks: (request) => request.routeOptions.url === ASSETS_PATH && !files.has(assetName(request)),
  }
}

function assetName(request: FastifyRequest): string {
  return `assets/${(request.params as { name: string }).name}`
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  const encoding = encodingFor(request, file)
  const tag = `"${file.digest}${encoding === 'identity' ? '' : `-${encoding}`}"`
  addVary(reply, 'Accept-Encoding')
  reply.header('etag', tag)
  if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
  if (encoding !== 'identity') reply.header('content-encoding', encoding)
  return reply.type(file.type).send(file.bodies.get(encoding))
}

/** The smallest of the bodies that the client takes. */
function encodingFor(request: FastifyRequest, { bodies }: StaticFile): StaticEncoding {
  if (request.headers['accept-encoding'] === undefined) return 'identity'
  const accepted = new Negotiator(request.raw).encodings([...bodies.keys()])
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? 'identity'
}

function sendNotBuilt(reply: FastifyReply): FastifyReply {
  return reply
    .code(503)
    .header('cache-control', 'no-store')
    .type('text/plain; charset=utf-8')
    .send(Buffer.from(NOT_BUILT))
}
