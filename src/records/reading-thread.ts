// Reads one event file into blocks of bytes that it shares with its reader (read-ahead.ts), which says when one is free.
import { parentPort, workerData } from 'node:worker_threads'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'

/** Start data of a reading thread. */
export type ReadingTask = { path: string; blocks: readonly SharedArrayBuffer[] }

/** Messages to this thread; `block` is the number of one of the blocks. */
export type ToReadingThread = { type: 'free'; block: number } | { type: 'stop' }

/** Why a file could not be read to its end. */
export type ReadFailure = {
  message: string
  isCompression?: boolean
  /** Of an error of the system. */
  code?: string | undefined
  syscall?: string | undefined
}

/** Messages of the thread. `bytesRead` counts the bytes of the file as stored. */
export type FromReadingThread =
  | { type: 'read'; block: number; length: number; bytesRead: number }
  | { type: 'ended'; bytesRead: number; isCutShort: boolean }
  | { type: 'failed'; failure: ReadFailure }

const port = parentPort!
const { path, blocks } = workerData as ReadingTask
const free = [...blocks.keys()]
const stopped = new AbortController()
let wake = () => {}

port.on('message', (message: ToReadingThread) => {
  if (message.type === 'free') free.push(message.block)
  else stopped.abort()
  wake()
})

const say = (message: FromReadingThread) => port.postMessage(message)

/** The number of a block to be written to; null once none is wanted any more. */
async function nextBlock(): Promise<number | null> {
  while (free.length === 0 && !stopped.signal.aborted) {
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  return stopped.signal.aborted ? null : free.pop()!
}

async function read(): Promise<void> {
  const progress: ReadProgress = { bytesRead: 0 }
  let block: number | null = null
  let length = 0
  const sayRead = () => {
    say({ type: 'read', block: block!, length, bytesRead: progress.bytesRead })
    block = null
    length = 0
  }
  try {
    for await (const chunk of readEventFile(path, progress, stopped.signal)) {
      let from = 0
      while (from < chunk.length) {
        block ??= await nextBlock()
        if (block === null) return
        const bytes = Buffer.from(blocks[block]!)
        const copied = chunk.copy(bytes, length, from)
        from += copied
        length += copied
        if (length === bytes.length) sayRead()
      }
    }
  } finally {
    // The good bytes before the fault are sent first.
    if (length > 0) sayRead()
  }
  say({ type: 'ended', bytesRead: progress.bytesRead, isCutShort: progress.isCutShort ?? false })
}

function failureOf(error: unknown): ReadFailure {
  const { message, code, syscall } = error as NodeJS.ErrnoException
  return { message, isCompression: error instanceof CompressionError, code, syscall }
}

try {
  await read()
} catch (error) {
  say({ type: 'failed', failure: failureOf(error) })
} finally {
  // Nothing is left to wait for: the thread ends.
  port.close()
}
