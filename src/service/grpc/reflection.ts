import { encoded } from '#core/events/byte-writer'
import { bytesOf, LENGTH_DELIMITED, WireReader } from '#core/events/wire-reader'
import type { CountRequest } from '../http/clients/rate-limit.ts'
import { GRPC, invalidParameter } from '../http/errors.ts'
import { isDeclared, PROTO_FILES, type ProtoFile, SERVICES } from '../protos/descriptors.ts'
import type { MethodHandler } from './call.ts'
import { readRequests } from './framing.ts'

/** Fields of a request at most: it has two. */
const MAX_FIELDS = 16

/** The files by their names, such as `grpc/health/v1/health.proto`. */
const FILES = new Map(PROTO_FILES.map((file) => [file.name, file]))

/**
 * `ServerReflection`, v1 and v1alpha, whose messages are the same. Describes the services and their messages. Each request of
 * a call counts for the rate limit.
 */
export function reflectionMethod(countRequest: CountRequest): MethodHandler {
  return {
    stream: async ({ stream, address }, send) => {
      // The first request has been counted as the call.
      let isCounted = true
      for await (const request of readRequests(stream)) {
        if (!isCounted) countRequest(address)
        isCounted = false
        await send(answerTo(request))
      }
    },
  }
}

/** The answer to one request, which repeats that: the names of the services, a file with its imports, or an error. */
function answerTo(request: Buffer): Buffer {
  const fields = fieldsOf(request)
  const [host, fileName, symbol, list] = [1, 3, 4, 7].map((field) => fields.get(bytesOf(field)))
  const described = withImports(symbol === undefined ? fileName : fileOf(symbol))
  const maxBytes = [...described].reduce((sum, { bytes }) => sum + bytes.length, 2 * request.length + 1_024)
  const echo = { 1: Buffer.from(host ?? ''), 2: request }
  if (list !== undefined)
    return encoded({ ...echo, 6: { 1: SERVICES.map((name) => ({ 1: name })) } }, maxBytes)
  if (described.size > 0)
    return encoded({ ...echo, 4: { 1: Array.from(described, ({ bytes }) => bytes) } }, maxBytes)
  const error = { 1: GRPC.notFound, 2: 'there is no such file, symbol or extension' }
  return encoded({ ...echo, 7: error }, maxBytes)
}

/** The name of the file that declares a message, enum or service, or something within one. Each package here is one file. */
function fileOf(symbol: string): string | undefined {
  return PROTO_FILES.find((file) => {
    const head = `${file.package}.`
    return symbol.startsWith(head) && isDeclared(head + symbol.slice(head.length).split('.')[0]!)
  })?.name
}

/** A file, and those that it imports, added to `described`; none for an unknown name. */
function withImports(name: string | undefined, described = new Set<ProtoFile>()): Set<ProtoFile> {
  const file = FILES.get(name ?? '')
  if (file === undefined || described.has(file)) return described
  described.add(file)
  for (const imported of file.imports) withImports(imported, described)
  return described
}

/** The last text of each field of a request, by tag. @throws {ApiError} for bytes that are no request. */
function fieldsOf(request: Buffer): Map<number, string> {
  const fields = new Map<number, string>()
  let count = 0
  try {
    for (const [tag, text] of lengthDelimitedFields(request)) {
      count++
      if (count > MAX_FIELDS) throw new RangeError(`it has more than ${MAX_FIELDS} fields`)
      fields.set(tag, text)
    }
  } catch (error) {
    throw invalidParameter(`the request is not a message of reflection: ${(error as Error).message}`)
  }
  return fields
}

/** The fields of a message that have a length, as tags and texts. @throws {RangeError} for bytes that are no message. */
function* lengthDelimitedFields(message: Buffer): Generator<[tag: number, text: string], void> {
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  while (reader.at < reader.end) {
    const tag = reader.tag()
    if ((tag & 7) !== LENGTH_DELIMITED) reader.skip(tag)
    else {
      const end = reader.fieldEnd()
      yield [tag, message.toString('utf8', reader.at, end)]
      reader.at = end
    }
  }
}
