import { crc32, createInflateRaw, type InflateRaw, inflateRawSync } from 'node:zlib'
import { ByteSource, CutShortError } from './byte-source.ts'

const INFLATED_CHUNK_BYTES = 512 * 1024

/** Members up to this size, compressed and inflated, are inflated at once, because a file may contain very many. */
const MAX_SMALL_BYTES = 16 * 1024

/** The contents of small members are handed on once they have this size together. */
const SMALL_BATCH_BYTES = 64 * 1024

/** They are also handed on once this many members are together; each takes at least 1 KiB of memory. */
const SMALL_BATCH_MEMBERS = 1_000

const SMALL_MEMBER_CHUNK_BYTES = 1024

const MAGIC = [0x1f, 0x8b] as const
const DEFLATE = 8
const GZIP_HEADER_BYTES = 10
const TRAILER_BYTES = 8

/** Flags of a member's header: optional fields after its ten bytes. */
const FLAG = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const

/** A compressed source that is not a gzip stream, or has something else after one. */
export class CompressionError extends Error {
  override name = 'CompressionError'
}

/** Whether bytes begin as gzip does. */
export function isGzip(head: Buffer): boolean {
  return head[0] === MAGIC[0] && head[1] === MAGIC[1]
}

/**
 * Uncompresses a gzip stream of one or several members. Returns whether it is complete; a truncated one yields its good
 * bytes first. Node's own gunzip drops the last good bytes before trailing garbage, and reports a single byte of garbage as
 * a truncation.
 *
 * @throws {CompressionError} for damaged data, and if anything but another member follows a member.
 */
export async function* gunzip(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, boolean, undefined> {
  const source = new ByteSource(compressed)
  const small = new SmallMembers()
  try {
    do {
      await skipHeader(source)
      if (!(await small.add(source))) {
        yield* small.take()
        yield* member(source)
      } else if (small.isFull) yield* small.take()
    } while (!(await source.isAtEnd()))
    yield* small.take()
    return true
  } catch (error) {
    // The complete members before it are good.
    yield* small.take()
    if (error instanceof CutShortError) return false
    throw error
  }
}

/** Collects small members: a separate stream for each would be slow. */
class SmallMembers {
  #chunks: Buffer[] = []
  #bytes = 0

  get isFull(): boolean {
    return this.#bytes >= SMALL_BATCH_BYTES || this.#chunks.length >= SMALL_BATCH_MEMBERS
  }

  /**
   * Adds the member whose header has just been read, if it is small and already buffered. Otherwise it consumes nothing and
   * returns false.
   *
   * @throws {CompressionError} if its checksum is wrong.
   */
  async add(source: ByteSource): Promise<boolean> {
    const ahead = source.ahead(MAX_SMALL_BYTES)
    const member = inflateSmall(ahead)
    if (member === null || ahead.length < member.used + TRAILER_BYTES) return false
    await source.skip(member.used)
    const { bytes } = member
    if (bytes.length > 0) this.#chunks.push(bytes)
    this.#bytes += bytes.length
    checkTrailer(source, await source.read(TRAILER_BYTES), crc32(bytes), bytes.length)
    return true
  }

  /** The collected bytes in one piece, if there are any. */
  *take(): Generator<Buffer, void, undefined> {
    const chunks = this.#chunks
    this.#chunks = []
    this.#bytes = 0
    if (chunks.length > 0) yield Buffer.concat(chunks)
  }
}

/**
 * Inflates a small member at once. Null if it does not end within these bytes, or is damaged: it must then be read as a
 * stream.
 */
function inflateSmall(compressed: Buffer): { bytes: Buffer; used: number } | null {
  if (compressed.length === 0) return null
  try {
    const options = { maxOutputLength: MAX_SMALL_BYTES, chunkSize: SMALL_MEMBER_CHUNK_BYTES, info: true }
    // With `info`, the result includes the engine, which knows how many bytes it has used (Node's zlib).
    const { buffer, engine } = inflateRawSync(compressed, options) as unknown as {
      buffer: Buffer
      engine: InflateRaw
    }
    return { bytes: buffer, used: engine.bytesWritten }
  } catch {
    return null
  }
}

/** A member after its header, whatever its size. */
async function* member(source: ByteSource): AsyncGenerator<Buffer, void, undefined> {
  const inflate = createInflateRaw({ chunkSize: INFLATED_CHUNK_BYTES })
  let checksum = 0
  let length = 0
  try {
    const fed = feed(inflate, source)
    // This is awaited below; until then a failure ends the stream.
    fed.catch((error) => inflate.destroy(error))
    for await (const chunk of inflate as AsyncIterable<Buffer>) {
      checksum = crc32(chunk, checksum)
      length += chunk.length
      yield chunk
    }
    await fed
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'Z_BUF_ERROR') throw new CutShortError()
    if (!code?.startsWith('Z_')) throw error
    throw damagedGzip(source, message, error)
  } finally {
    inflate.destroy()
  }
  checkTrailer(source, await source.read(TRAILER_BYTES), checksum, length)
}

function checkTrailer(source: ByteSource, trailer: Buffer, checksum: number, length: number): void {
  if (trailer.readUInt32LE(0) !== checksum || trailer.readUInt32LE(4) !== length % 2 ** 32) {
    throw damagedGzip(source, 'its check sum is wrong')
  }
}

/** Writes the source to the inflater until the end of the member. The bytes after it stay in the source. */
async function feed(inflate: InflateRaw, source: ByteSource): Promise<void> {
  for (;;) {
    const chunk = await source.next()
    if (chunk === null) {
      inflate.end()
      return
    }
    const before = inflate.bytesWritten
    await new Promise<void>((resolve, reject) => {
      inflate.write(chunk, (error) => (error ? reject(error) : resolve()))
    })
    const used = inflate.bytesWritten - before
    if (used < chunk.length) {
      source.putBack(chunk.subarray(used))
      return
    }
  }
}

async function skipHeader(source: ByteSource): Promise<void> {
  const start = source.offset
  const magic = await source.readUpTo(2)
  if (magic[0] !== MAGIC[0] || (magic.length > 1 && magic[1] !== MAGIC[1])) {
    throw new CompressionError(
      `the gzip stream is followed by other data, at byte ${start} of the compressed file`,
    )
  }
  if (magic.length < 2) throw new CutShortError()
  const [method, flags] = await source.read(GZIP_HEADER_BYTES - 2)
  if (method !== DEFLATE || (flags! & FLAG.reserved) !== 0) throw damagedGzip(source, 'an unknown header')
  if (flags! & FLAG.extra) await source.skip((await source.read(2)).readUInt16LE())
  if (flags! & FLAG.name) await source.skipText()
  if (flags! & FLAG.comment) await source.skipText()
  if (flags! & FLAG.headerCrc) await source.skip(2)
}

function damagedGzip(source: ByteSource, what: string, cause?: unknown): CompressionError {
  return new CompressionError(
    `the gzip data is damaged before byte ${source.offset} of the compressed file (${what})`,
    {
      cause,
    },
  )
}
