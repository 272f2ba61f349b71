import { hash } from 'node:crypto'
import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type ApiError, errorBody } from './errors.ts'
import { hasName, queryOf } from './query-string.ts'
import { addVary } from './vary.ts'

export const JSON_TYPE = 'application/json'

const compress = promisify(gzip)

/** Most of the saving at a third of the time of the default level. */
const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED }

/** Sends a success: with an entity tag, compressed or not modified where the request allows it. */
export async function sendJson(request: FastifyRequest, reply: FastifyReply, json: string): Promise<void> {
  const body = bodyOf(request, json)
  const gzipped = acceptsGzip(request)
  const tag = `"${hash('sha1', body, 'base64url')}${gzipped ? '-gzip' : ''}"`
  addVary(reply, 'Accept-Encoding')
  reply.header('cache-control', 'no-cache').header('etag', tag)
  if (matches(request.headers['if-none-match'], tag)) {
    reply.code(304).send()
    return
  }
  reply.type(JSON_TYPE)
  if (gzipped) reply.header('content-encoding', 'gzip')
  reply.send(gzipped ? await compress(body, GZIP_OPTIONS) : body)
}

/** Sends an answer that is no success. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
  addVary(reply, 'Accept-Encoding')
  reply
    .code(error.status)
    .headers(error.headers)
    .type(JSON_TYPE)
    .send(bodyOf(request, errorBody(error)))
}

/** JSON as the bytes of a body: indented where `?pretty`, with any value, asks for that. */
function bodyOf(request: FastifyRequest, json: string): Buffer {
  const pretty = hasName(queryOf(request.originalUrl), 'pretty')
  return Buffer.from(pretty ? JSON.stringify(JSON.parse(json), null, 2) : json)
}

function acceptsGzip(request: FastifyRequest): boolean {
  if (request.headers['accept-encoding'] === undefined) return false
  return new Negotiator(request.raw).encoding(['gzip', 'identity']) === 'gzip'
}

/** `If-None-Match`: a list of tags, weak or strong, or `*` for any. */
function matches(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((given) => {
    const candidate = given.trim().replace(/^W\//, '')
    return candidate === '*' || candidate === tag
  })
}
