import { once } from 'node:events'
import { linkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { flushFolder, makeFolder } from '#core/concurrency/flush'
import { moduleBeside } from '#core/concurrency/module-beside'
import { type BufferFollower, bufferPath, fileNumbers, PRIVATE_FOLDER } from '../event-buffer.ts'
import type { PendingUpgrade } from '../protocol-upgrade.ts'
import {
  type ForwardSettings,
  type ForwardState,
  type FromForwarder,
  noForwardState,
  type ToForwarder,
} from './forward-state.ts'

/** A forwarding to another receiver, in a separate thread: nothing that goes wrong with it reaches the ingestion. */
export type Forwarding = {
  follower: BufferFollower
  state(): ForwardState
  /** Calls when the receiver is ready for a protocol upgrade after the block of a height, with its answer. */
  onReady(take: (height: bigint, answer: Buffer) => void): void
  /** The protocol upgrade that the core is in; the receiver gets its announcement until it is answered. */
  upgrade(pending: PendingUpgrade | null): void
  /** Begins, once the buffer has named the files that an earlier process has left. */
  start(): void
  stop(): Promise<void>
}

/**
 * Forwards the events of a buffer. Each of its files gets a hard link in the buffer's folder `forward`, so it remains
 * when the buffer deletes it, without being written twice.
 */
export function startForwarding(
  settings: ForwardSettings,
  { buffer, logLevel, log }: { buffer: string; logLevel: string; log: Logger },
): Forwarding {
  const folder = join(buffer, 'forward')
  makeFolder(folder, PRIVATE_FOLDER)
  const earlier = fileNumbers(folder)
  const inBuffer = new Set(fileNumbers(buffer))
  let state = noForwardState()
  let isRunning = true
  /** Why a file is not kept, or the thread has ended: nothing that comes later makes it good. */
  let failure: string | null = null

  const worker = new Worker(moduleBeside(import.meta.url, 'forward-thread'), {
    workerData: { ...settings, folder, logLevel },
  })
  const ended = once(worker, 'exit').catch(() => {})
  const post = (message: ToForwarder) => worker.postMessage(message)
  const sizeOf = (number: number) =>
    statSync(bufferPath(folder, number), { throwIfNoEntry: false })?.size ?? 0
  /** No file up to this one is kept any more, even if the buffer has yet to flush it. */
  let droppedUpTo = 0
  const drop = (number: number, reason: string) => {
    const bytes = sizeOf(number)
    rmSync(bufferPath(folder, number), { force: true })
    droppedUpTo = Math.max(droppedUpTo, number)
    post({ type: 'dropped', number, bytes, reason })
  }
  const fail = (reason: string, error: Error) => {
    if (failure === null) log.error(`forwarding: ${reason}: ${error.message}`)
    failure = `${reason}; see the log`
  }
  let take: (height: bigint, answer: Buffer) => void = () => {}
  worker.on('message', (message: FromForwarder) => {
    if (message.type === 'state') state = message.state
    else take(message.height, Buffer.from(message.answer))
  })
  worker.on('error', (error) => fail('stopped', error as Error))
  worker.on('exit', () => {
    isRunning = false
    state = { ...state, connected: false }
  })
  for (const number of earlier) {
    if (!inBuffer.has(number)) post({ type: 'grown', number, safeBytes: sizeOf(number) })
  }

  return {
    follower: {
      lastNumber: earlier.at(-1) ?? 0,
      opened: (number, path) => {
        // It would never be deleted.
        if (!isRunning) return
        try {
          // The thread may be far behind: the limit must not wait for it.
          let bytes = 0
          for (const some of fileNumbers(folder).reverse()) {
            bytes += sizeOf(some)
            if (bytes > settings.limitBytes) drop(some, 'the buffer for it is full (--forward-mb)')
          }
          linkOnce(path, bufferPath(folder, number))
          // The buffer's own name of the file goes once its blocks are committed.
          flushFolder(folder)
        } catch (error) {
          fail('a buffer file cannot be kept for the receiver', error as Error)
        }
      },
      grown: (number, safeBytes) => {
        if (number > droppedUpTo) post({ type: 'grown', number, safeBytes })
      },
      makeRoom: (heldByBuffer) => {
        try {
          const number = fileNumbers(folder).find((some) => !heldByBuffer.has(some))
          if (number === undefined) return false
          drop(number, 'the disk is full')
          return true
        } catch {
          return false
        }
      },
    },
    state: () => (failure === null ? state : { ...state, failure }),
    onReady: (taking) => {
      take = taking
    },
    upgrade: (pending) =>
      post({
        type: 'upgrade',
        upgrade: pending?.answer === null ? { height: pending.height, event: pending.event } : null,
      }),
    start: () => post({ type: 'start' }),
    stop: async () => {
      post({ type: 'stop' })
      await ended
    },
  }
}

/** An earlier process may have linked the file already. */
function linkOnce(path: string, link: string): void {
  try {
    linkSync(path, link)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
