import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib'

const CHUNK_BYTES = 512 * 1024

const MAGIC = [0x1f, 0x8b] as const
const DEFLATE = 8
const HEADER_BYTES = 10
const TRAILER_BYTES = 8

/** Flags of a member's header: what stands behind its ten bytes. */
const FLAG = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const

/** A compressed source whose bytes are no gzip stream, or hold something else behind one. */
export class CompressionError extends Error {
  override name = 'CompressionError'
}

/** The source ends within a gzip member. */
class CutShortError extends Error {}

/** Whether bytes begin as gzip does. */
export function isGzip(head: Buffer): boolean {
  return head[0] === MAGIC[0] && head[1] === MAGIC[1]
}

/**
 * Uncompresses a gzip stream: one member or several, one after another. Returns whether it is whole; one that
 * is cut short gives its good bytes first.
 *
 * Node's own gunzip drops the last good bytes before rubbish, and takes a single byte of it for a cut.
 *
 * @throws {CompressionError} for damaged data, and for anything but a further member behind a member.
 */
export async function* gunzip(compressed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, boolean, undefined> {
  const source = new ByteSource(compressed)
  try {
    do yield* member(source)
    while (!(await source.isAtEnd()))
    return true
  } catch (error) {
    if (error instanceof CutShortError) return false
    throw error
  }
}

async function* member(source: ByteSource): AsyncGenerator<Buffer, void, undefined> {
  await skipHeader(source)
  const inflate = createInflateRaw({ chunkSize: CHUNK_BYTES })
  let checksum = 0
  let length = 0
  try {
    const fed = feed(inflate, source)
    // It is awaited below; until then its failure is the stream's own.
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
    throw damaged(source, message, error)
  } finally {
    inflate.destroy()
  }
  const trailer = await source.read(TRAILER_BYTES)
  if (trailer.readUInt32LE(0) !== checksum || trailer.readUInt32LE(4) !== length % 2 ** 32) {
    throw damaged(source, 'its check sum is wrong')
  }
}

/** Writes the source to the inflater until that has the end of its member; the rest stays in the source. */
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
      `something that is no gzip data stands behind the gzip stream, at byte ${start} of the compressed file`,
    )
  }
  if (magic.length < 2) throw new CutShortError()
  const [method, flags] = await source.read(HEADER_BYTES - 2)
  if (method !== DEFLATE || (flags! & FLAG.reserved) !== 0) throw damaged(source, 'an unknown header')
  if (flags! & FLAG.extra) await source.skip((await source.read(2)).readUInt16LE())
  if (flags! & FLAG.name) await source.skipText()
  if (flags! & FLAG.comment) await source.skipText()
  if (flags! & FLAG.headerCrc) await source.skip(2)
}

function damaged(source: ByteSource, what: string, cause?: unknown): CompressionError {
  return new CompressionError(
    `the gzip data is damaged before byte ${source.offset} of the compressed file (${what})`,
    {
      cause,
    },
  )
}

/** Chunks that are read in pieces and can be put back. */
class ByteSource {
  /** Bytes that have been taken. */
  offset = 0
  readonly #chunks: AsyncIterator<Buffer>
  #back: Buffer | null = null

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** The next bytes; null at the end. */
  async next(): Promise<Buffer | null> {
    let chunk = this.#back
    this.#back = null
    while (chunk === null || chunk.length === 0) {
      const { done, value } = await this.#chunks.next()
      if (done) return null
      chunk = value
    }
    this.offset += chunk.length
    return chunk
  }

  putBack(rest: Buffer): void {
    this.#back = rest
    this.offset -= rest.length
  }

  async isAtEnd(): Promise<boolean> {
    const chunk = await this.next()
    if (chunk !== null) this.putBack(chunk)
    return chunk === null
  }

  /** The next bytes, as many as told or what there is to the end. */
  async readUpTo(count: number): Promise<Buffer> {
    let bytes: Buffer = Buffer.alloc(0)
    while (bytes.length < count) {
      const chunk = await this.next()
      if (chunk === null) break
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk])
    }
    if (bytes.length > count) this.putBack(bytes.subarray(count))
    return bytes.subarray(0, count)
  }

  /** @throws {CutShortError} where there are fewer. */
  async read(count: number): Promise<Buffer> {
    const bytes = await this.readUpTo(count)
    if (bytes.length < count) throw new CutShortError()
    return bytes
  }

  async skip(count: number): Promise<void> {
    await this.read(count)
  }

  /** Skips a text that ends with a zero byte, of any length. */
  async skipText(): Promise<void> {
    for (;;) {
      const chunk = await this.next()
      if (chunk === null) throw new CutShortError()
      const end = chunk.indexOf(0)
      if (end >= 0) {
        this.putBack(chunk.subarray(end + 1))
        return
      }
    }
  }
}
