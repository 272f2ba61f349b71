import { encoded } from '../../events/byte-writer.ts'
import { bytesOf, LENGTH_DELIMITED, WireReader } from '../../events/wire-reader.ts'
import { GRPC, invalidParameter } from '../http/errors.ts'
import { fileDescriptors, PROTOS, SERVICES } from '../protos.ts'
import { type Method, readRequests } from './call.ts'

/** A `FileDescriptorProto`; each package here is one file. */
type File = { bytes: Buffer; package: string; imports: string[] }

/** `ServerReflection`, v1 and v1alpha, whose messages are the same: describes the services and their messages. */
export function createReflection(): Method {
  const files = new Map<string, File>()
  for (const bytes of fileDescriptors()) {
    const fields = textsOf(bytes)
    const [[name], [packageName]] = [1, 2].map((field) => fields.get(bytesOf(field)) ?? []) as [
      string[],
      string[],
    ]
    files.set(name!, { bytes, package: packageName!, imports: fields.get(bytesOf(3)) ?? [] })
  }

  /** The file that declares a message, enum or service, or what lies within one. */
  function fileOf(symbol: string): string | undefined {
    for (const [name, file] of files) {
      const head = `${file.package}.`
      if (symbol.startsWith(head) && head + symbol.slice(head.length).split('.')[0] in PROTOS) return name
    }
    return undefined
  }

  /** A file, and those that it imports. */
  function withImports(name: string | undefined, found = new Set<File>()): Set<File> {
    const file = files.get(name ?? '')
    if (file === undefined || found.has(file)) return found
    found.add(file)
    for (const imported of file.imports) withImports(imported, found)
    return found
  }

  function answer(request: Buffer): Buffer {
    const fields = textsOf(request)
    const [host, fileName, symbol, list] = [1, 3, 4, 7].map((field) => fields.get(bytesOf(field))?.at(-1))
    const found = withImports(symbol === undefined ? fileName : fileOf(symbol))
    const maxBytes = [...found].reduce((sum, { bytes }) => sum + bytes.length, 2 * request.length + 1_024)
    const asked = { 1: Buffer.from(host ?? ''), 2: request }
    if (list !== undefined)
      return encoded({ ...asked, 6: { 1: SERVICES.map((name) => ({ 1: name })) } }, maxBytes)
    if (found.size > 0)
      return encoded({ ...asked, 4: { 1: Array.from(found, ({ bytes }) => bytes) } }, maxBytes)
    const error = { 1: GRPC.notFound, 2: 'there is no such file, symbol or extension' }
    return encoded({ ...asked, 7: error }, maxBytes)
  }

  return {
    stream: async ({ stream }, send) => {
      for await (const request of readRequests(stream)) await send(answer(request))
    },
  }
}

/** The fields of a message that have a length, by tag, as texts. @throws {ApiError} for bytes that are no message. */
function textsOf(message: Buffer): Map<number, string[]> {
  const texts = new Map<number, string[]>()
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  try {
    while (reader.at < reader.end) {
      const tag = reader.tag()
      if ((tag & 7) !== LENGTH_DELIMITED) reader.skip(tag)
      else {
        const end = reader.fieldEnd()
        texts.set(tag, [...(texts.get(tag) ?? []), message.toString('utf8', reader.at, end)])
        reader.at = end
      }
    }
  } catch (error) {
    throw invalidParameter(`the request is not a message: ${(error as Error).message}`)
  }
  return texts
}
