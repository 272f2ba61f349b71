// Reads one event file into the blocks of shared memory that its owner (read-ahead.ts) sends, in their order.
import { on } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { type ReadProgress, readEventFile } from './event-file.ts'
import { CompressionError } from './gunzip.ts'

/** How much of the file has been read, of which `length` bytes are in the next block, or how the reading has ended. */
export type ReadPiece = ReadProgress & { length: number; end?: 'whole' | ReadFailure }

/** Why a file could not be read to its end. `code` and `syscall` are those of a system error. */
export type ReadFailure = {
  message: string
  isCompression: boolean
  code: string | undefined
  syscall: string | undefined
}

const port = parentPort!
const blocks = on(port, 'message') as AsyncIterator<[SharedArrayBuffer]>
const progress: ReadProgress = { bytesRead: 0 }
/** The block that is being filled, and the number of bytes in it. */
let block: Buffer | null = null
let length = 0

function send(end?: ReadPiece['end']): void {
  port.postMessage({ ...progress, length, ...(end && { end }) } satisfies ReadPiece)
  block = null
  length = 0
}

async function read(): Promise<void> {
  for await (const chunk of readEventFile(workerData as string, progress)) {
    for (let from = 0; from < chunk.length; ) {
      block ??= Buffer.from((await blocks.next()).value[0])
      const copied = chunk.copy(block, length, from)
      from += copied
      length += copied
      if (length === block.length) send()
    }
  }
}

// The good bytes before a fault are sent with it.
await read().then(
  () => send('whole'),
  (error: NodeJS.ErrnoException) => {
    const { message, code, syscall } = error
    send({ message, isCompression: error instanceof CompressionError, code, syscall })
  },
)
