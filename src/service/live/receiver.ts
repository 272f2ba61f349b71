import { Worker } from 'node:worker_threads'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { PinnedChain } from '#core/log/event-check'
import type { BufferPosition, SafeFile } from './event-buffer.ts'
import type { ForwardSettings, ForwardState } from './forward/forward-state.ts'
import type { IntakeState } from './intake.ts'
import type { UpgradeState } from './protocol-upgrade.ts'

export type ReceiverTask = {
  host: string
  port: number
  /** Addresses and networks that may connect; none: all may. */
  from: readonly string[]
  /** Folder of the buffer. */
  buffer: string
  /** Folder for committed buffer files; null: they are deleted. */
  archive: string | null
  /** Receiver of forwarded events; null: none. */
  forward: ForwardSettings | null
  /** The required chain of events; null: that of the first complete block. */
  chain: PinnedChain | null
  logLevel: string
}

export type ReceiverState = Omit<IntakeState, 'failure'> & {
  /** Faults of the buffer's disk and of the core's events. */
  failures: string[]
  /** Bytes in the buffer that are not committed. */
  bufferedBytes: number
  /** While the buffer cannot be written, seconds until the core's queue is full (core-queue.ts); otherwise null. */
  queueSeconds: number | null
  /** State of the forwarding; null without it. */
  forward: ForwardState | null
  /** The protocol upgrade that the core is in; null without one. */
  upgrade: UpgradeState | null
}

export type FromReceiver =
  | { type: 'listening'; port: number }
  | { type: 'file'; file: SafeFile }
  | { type: 'state'; state: ReceiverState }

export type ToReceiver =
  /** The store was opened, and has blocks up to a height. */
  | { type: 'opened'; chainId: string; height: bigint }
  | { type: 'committed'; chainId: string; height: bigint }
  /** Everything before a position is committed. */
  | { type: 'release'; before: BufferPosition }
  /** Ends, when all that the core had sent is safe. */
  | { type: 'stop'; committedUpTo: BufferPosition | null }

export type ReceiverListener = {
  onFile(file: SafeFile): void
  onState(state: ReceiverState): void
}

/** The thread that receives and buffers events, and does nothing else: it never waits for a commit. */
export type Receiver = {
  port: number
  post(message: ToReceiver): void
  stop(committedUpTo: BufferPosition | null): Promise<void>
}

/**
 * Starts receiving.
 *
 * @throws the error of listening (EADDRINUSE, ...).
 */
export async function startReceiver(
  task: ReceiverTask,
  { onFile, onState }: ReceiverListener,
): Promise<Receiver> {
  const worker = new Worker(moduleBeside(import.meta.url, 'receiver-thread'), { workerData: task })
  // Not `once` of node:events, which rejects with the error that ends the thread.
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  const listening = Promise.withResolvers<number>()
  let isListening = false
  worker.on('message', (message: FromReceiver) => {
    if (message.type === 'file') onFile(message.file)
    else if (message.type === 'state') onState(message.state)
    else {
      isListening = true
      listening.resolve(message.port)
    }
  })
  worker.on('error', (error) => {
    listening.reject(error as Error)
    // Nothing can repair this later: the thread that commits ends, too.
    if (isListening) throw error
  })
  const post = (message: ToReceiver) => worker.postMessage(message)
  return {
    port: await listening.promise,
    post,
    stop: async (committedUpTo) => {
      post({ type: 'stop', committedUpTo })
      await ended
    },
  }
}
