import { constants, createReadStream, openSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { gunzip, isGzip } from './gunzip.ts'

const READ_CHUNK_BYTES = 256 * 1024

/** Progress in reading a source, in bytes as stored (compressed if the file is). */
export type ReadProgress = {
  bytesRead: number
  /** Whether the last source read was a gzip stream that is cut short. */
  isCutShort?: boolean
}

/**
 * Reads a file (`-`: standard input) in chunks, uncompressed if its content is gzip, whatever its name. A truncated gzip
 * stream yields its good bytes and then ends, as a truncated file does.
 *
 * @param chunkBytes number of stored bytes to read from a file at a time
 *
 * @throws {CompressionError} for damaged gzip data, and if anything but gzip follows a gzip stream.
 */
export async function* readEventFile(
  path: string,
  progress: ReadProgress,
  signal?: AbortSignal,
  chunkBytes = READ_CHUNK_BYTES,
): AsyncGenerator<Buffer, void, undefined> {
  progress.isCutShort = false
  const source = openByteStream(path, chunkBytes)
  const stop = () => source.destroy()
  signal?.addEventListener('abort', stop, { once: true })
  try {
    const chunks = countedChunks(source, progress)
    const head = await readHead(chunks)
    if (isGzip(head)) {
      progress.isCutShort = !(yield* gunzip(prepend(head, chunks)))
    } else {
      if (head.length > 0) yield head
      yield* chunks
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    signal?.removeEventListener('abort', stop)
    source.destroy()
  }
}

function openByteStream(path: string, chunkBytes: number): Readable {
  if (path === '-') return process.stdin
  if (statSync(path, { throwIfNoEntry: false })?.isFIFO()) {
    // If no writer has opened a pipe, opening it would block a thread, and with it the process.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    return new Socket({ fd, readable: true, writable: false })
  }
  return createReadStream(path, { highWaterMark: chunkBytes })
}

async function* countedChunks(
  source: AsyncIterable<Buffer>,
  progress: ReadProgress,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const chunk of source) {
    progress.bytesRead += chunk.length
    yield chunk
  }
}

/** The beginning of a source, in one buffer of at least two bytes if it has them: a pipe may yield a single byte first. */
async function readHead(chunks: AsyncGenerator<Buffer>): Promise<Buffer> {
  let head: Buffer = Buffer.alloc(0)
  while (head.length < 2) {
    const next = await chunks.next()
    if (next.done) break
    head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return head
}

async function* prepend(head: Buffer, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield head
  yield* rest
}
