import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { constants, crc32, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { type ApiError, errorBody } from './errors.ts'
import { hasName, queryOf } from './query-string.ts'
import { addVary } from './vary.ts'

export const JSON_TYPE = 'application/json'

/** Answers may be kept, but must be asked about again before they are used. */
export const CACHE_CONTROL = 'no-cache'

const compress = promisify(gzip)

/** Most of the saving at a third of the time of the default level. */
export const GZIP_OPTIONS = { level: constants.Z_BEST_SPEED }

/** A body, compressed. */
export function compressed(body: Buffer): Promise<Buffer> {
  return compress(body, GZIP_OPTIONS)
}

/** The bytes of a success, and their entity tag. */
export type SentBody = { body: Buffer; tag: string; isGzipped: boolean }

/**
 * Sends a success: with an entity tag, compressed or not modified where the request allows it. Returns what was
 * sent; null where that was only that nothing is modified.
 *
 * @param checkSum that of `json`, where it is known
 */
export async function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  json: string | Buffer,
  checkSum: string | null = null,
): Promise<SentBody | null> {
  const plain = bodyOf(request, json)
  const isGzipped = acceptsGzip(request.raw)
  const sum = plain === json && checkSum !== null ? checkSum : checkSumOf(plain)
  const tag = `"${sum}${isGzipped ? '-gzip' : ''}"`
  addVary(reply, 'Accept-Encoding')
  reply.header('cache-control', CACHE_CONTROL).header('etag', tag)
  if (matchesTag(request.headers['if-none-match'], tag)) {
    reply.code(304).send()
    return null
  }
  reply.type(JSON_TYPE)
  if (isGzipped) reply.header('content-encoding', 'gzip')
  const body = isGzipped ? await compressed(plain) : plain
  reply.send(body)
  return { body, tag, isGzipped }
}

/**
 * What identifies a body: its length, and check sums of both its halves. Where a row has come or gone, both
 * have changed; a change of one number is found by either.
 */
export function checkSumOf(body: Buffer): string {
  const middle = body.length >> 1
  const sums = [body.subarray(0, middle), body.subarray(middle)].map((half) => crc32(half).toString(36))
  return `${body.length.toString(36)}-${sums.join('-')}`
}

/** Sends an error answer. */
export function sendError(request: FastifyRequest, reply: FastifyReply, error: ApiError): void {
  addVary(reply, 'Accept-Encoding')
  reply
    .code(error.status)
    .headers(error.headers)
    .type(JSON_TYPE)
    .send(bodyOf(request, errorBody(error)))
}

/** JSON as the bytes of a body: indented where `?pretty`, with any value, asks for that. */
function bodyOf(request: FastifyRequest, json: string | Buffer): Buffer {
  const pretty = hasName(queryOf(request.originalUrl), 'pretty')
  if (pretty) return Buffer.from(JSON.stringify(JSON.parse(json.toString()), null, 2))
  return typeof json === 'string' ? Buffer.from(json) : json
}

/** What each `Accept-Encoding` seen allows: clients send a few. */
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

/** Whether `If-None-Match`, a list of tags, weak or strong, or `*` for any, holds a tag. */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  return header.split(',').some((given) => {
    const candidate = given.trim().replace(/^W\//, '')
    return candidate === '*' || candidate === tag
  })
}
