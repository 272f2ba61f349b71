// Reads one event file into blocks of bytes that it is given back when they are done with; read-ahead.ts starts it.
import { parentPort, workerData } from 'node:worker_threads'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'

/** What a reading thread is started with. */
export type ReadingTask = { path: string; blocks: number; blockBytes: number }

/** Messages to this thread. */
export type ToReadingThread = { type: 'free'; block: ArrayBuffer } | { type: 'stop' }

/** Why a file could not be read to its end. */
export type ReadFailure = {
  message: string
  isCompression?: boolean
  /** Of an error of the system. */
  code?: string | undefined
  syscall?: string | undefined
}

/** What it says. `bytesRead` counts the bytes of the file as stored. */
export type FromReadingThread =
  | { type: 'read'; block: ArrayBuffer; length: number; bytesRead: number }
  | { type: 'ended'; bytesRead: number; isCutShort: boolean }
  | { type: 'failed'; failure: ReadFailure }

const port = parentPort!
const { path, blocks, blockBytes } = workerData as ReadingTask
const free: ArrayBuffer[] = Array.from({ length: blocks }, () => new ArrayBuffer(blockBytes))
const stopped = new AbortController()
let wake = () => {}

port.on('message', (message: ToReadingThread) => {
  if (message.type === 'free') free.push(message.block)
  else stopped.abort()
  wake()
})

const say = (message: FromReadingThread, bytes: ArrayBuffer[] = []) => port.postMessage(message, bytes)

/** A block to be written to; null once none is wanted any more. */
async function nextBlock(): Promise<Buffer | null> {
  while (free.length === 0 && !stopped.signal.aborted) {
    await new Promise<void>((resolve) => {
      wake = resolve
    })
  }
  return stopped.signal.aborted ? null : Buffer.from(free.pop()!)
}

async function read(): Promise<void> {
  const progress: ReadProgress = { bytesRead: 0 }
  let block: Buffer | null = null
  let length = 0
  const sayRead = () => {
    const { buffer } = block!
    block = null
    say({ type: 'read', block: buffer as ArrayBuffer, length, bytesRead: progress.bytesRead }, [
      buffer as ArrayBuffer,
    ])
    length = 0
  }
  try {
    for await (const chunk of readEventFile(path, progress, stopped.signal)) {
      let from = 0
      while (from < chunk.length) {
        block ??= await nextBlock()
        if (block === null) return
        const copied = chunk.copy(block, length, from)
        from += copied
        length += copied
        if (length === block.length) sayRead()
      }
    }
  } finally {
    // The good bytes before what is wrong come first.
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
