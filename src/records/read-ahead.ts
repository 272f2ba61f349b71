import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '../module-beside.ts'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'
import type { FromReadingThread, ReadFailure, ReadingTask, ToReadingThread } from './reading-thread.ts'

/** Smaller files are read sooner than a thread has started. */
const MIN_BYTES = 4 * 1024 * 1024

/** Shared blocks, each owned by one thread at a time: the most that is read ahead. */
const BLOCKS = 4
const BLOCK_BYTES = 1024 * 1024

/** The thread's garbage is chunks of bytes; the sooner it is collected the better. */
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
  const blocks = Array.from({ length: BLOCKS }, () => new SharedArrayBuffer(BLOCK_BYTES))
  const task: ReadingTask = { path, blocks }
  const worker = new Worker(moduleBeside(import.meta.url, 'reading-thread'), {
    workerData: task,
    resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
  })
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()))
  const send = (message: ToReadingThread) => worker.postMessage(message)
  const arrived: FromReadingThread[] = []
  let wake = () => {}
  const arrive = (message: FromReadingThread) => {
    arrived.push(message)
    wake()
  }
  worker.on('message', arrive)
  worker.on('error', (error: Error) => arrive({ type: 'failed', failure: { message: error.message } }))
  const stop = () => {
    send({ type: 'stop' })
    wake()
  }
  signal?.addEventListener('abort', stop, { once: true })
  const bytesBefore = progress.bytesRead
  try {
    while (!signal?.aborted) {
      const message = arrived.shift()
      if (message === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve
        })
        continue
      }
      if (message.type === 'failed') throw errorOf(message.failure)
      progress.bytesRead = bytesBefore + message.bytesRead
      if (message.type === 'ended') {
        progress.isCutShort = message.isCutShort
        return
      }
      yield Buffer.from(blocks[message.block]!, 0, message.length)
      send({ type: 'free', block: message.block })
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    send({ type: 'stop' })
    await ended
  }
}

function errorOf({ message, isCompression, code, syscall }: ReadFailure): Error {
  if (isCompression) return new CompressionError(message)
  return Object.assign(new Error(message), code === undefined ? {} : { code, syscall })
}
