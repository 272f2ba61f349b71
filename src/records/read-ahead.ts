import { statSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { moduleBeside } from '../module-beside.ts'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'
import type { FromReadingThread, ReadFailure, ReadingTask, ToReadingThread } from './reading-thread.ts'

/** Smaller files are read sooner than a thread has started. */
const MIN_BYTES = 4 * 1024 * 1024

/** Blocks that both threads share, each in the hands of one: what is read ahead at most. */
const BLOCKS = 4
const BLOCK_BYTES = 1024 * 1024

/** What the thread leaves to its garbage collector is chunks of bytes, the sooner collected the better. */
const MAX_YOUNG_MB = 4

/**
 * As {@link readEventFile}; but a large file is read, and inflated, by a separate thread, while the one that asks
 * works on what came before. A chunk is good until the next one is asked for.
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
