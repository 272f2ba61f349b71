import { on } from 'node:events'
import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '../concurrency/module-beside.ts'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'
import type { ReadFailure, ReadPiece } from './reading-thread.ts'

/** A smaller file is read before a thread could start. */
const MIN_BYTES = 4 * 1024 * 1024

/** Shared blocks, each owned by one thread at a time. They limit how much is read ahead. */
const SHARED_BLOCKS = 4
const BLOCK_BYTES = 1024 * 1024

/** The thread's garbage is chunks of bytes, to be collected as soon as possible. */
const MAX_YOUNG_MB = 4

/**
 * As {@link readEventFile}, but a large file is read and inflated by a separate thread while the caller works on
 * earlier chunks. A chunk is valid until the next one is requested.
 */
export async function* readAhead(
  path: string,
  progress: ReadProgress,
  signal?: AbortSignal,
): AsyncGenerator<Buffer, void, undefined> {
  const stats = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() && stats.size >= MIN_BYTES) yield* readInThread(path, progress, signal)
  else yield* readEventFile(path, progress, signal)
}

async function* readInThread(
  path: string,
  progress: ReadProgress,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer, void, undefined> {
  progress.isCutShort = false
  const bytesBefore = progress.bytesRead
  const worker = new Worker(moduleBeside(import.meta.url, 'reading-thread'), {
    workerData: path,
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
  })
  const blocks = Array.from({ length: SHARED_BLOCKS }, () => new SharedArrayBuffer(BLOCK_BYTES))
  for (const block of blocks) worker.postMessage(block)
  let turn = 0
  try {
    for await (const [piece] of on(worker, 'message', { signal }) as AsyncIterable<[ReadPiece]>) {
      const { length, end, ...read } = piece
      Object.assign(progress, read, { bytesRead: bytesBefore + read.bytesRead })
      const block = blocks[turn++ % SHARED_BLOCKS]!
      if (length > 0) yield Buffer.from(block, 0, length)
      if (end === 'whole') return
      if (end !== undefined) throw readErrorOf(end)
      worker.postMessage(block)
    }
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    await worker.terminate()
  }
}

function readErrorOf({ message, isCompression, code, syscall }: ReadFailure): Error {
  if (isCompression) return new CompressionError(message)
  return Object.assign(new Error(message), code === undefined ? {} : { code, syscall })
}
