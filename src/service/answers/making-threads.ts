import type { Logger } from 'pino'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { AskedPage } from '../questions/page-request.ts'
import type { BodyForm, Made, Question } from '../questions/question.ts'
import type { Maker } from './maker.ts'
import { startThread } from './thread-calls.ts'

/** Threads for pages of the usual size. One of 1,000 rows takes the thread that sends it a quarter of the time. */
const USUAL_THREADS = 2

/** Rows given to one thread before another one is woken. For few rows, waking another gains nothing. */
const ROWS_AHEAD = 1_000

/** Start data of a thread: the store's name, and whether it generates long answers. */
export type MakingThreadTask = ThreadsOptions & { store: string; isLong: boolean }

export type ThreadsOptions = {
  /** Whether the store is opened by a service that writes nothing. */
  isReadOnly?: boolean
  /** Whether answers are made for gRPC too, the code of which is then loaded at the start. */
  speaksGrpc?: boolean
  /** As in {@link startThread}. */
  isLate?: boolean
}

/** A question to answer: its path, and the checked request. */
export type ToMake = {
  path: string
  asked: unknown
  form: BodyForm
  askedAt: bigint
}

/** An answer as it is sent between threads. */
export type TransferredAnswer = Omit<Made, 'body'> & { body: Uint8Array<ArrayBuffer> }

/** Makes in a thread. */
type MakingThread = Pick<Maker, 'make' | 'isRunning' | 'close'>

/**
 * Makes the answers of a store that is embedded in threads beside the one that asks, so that nothing else waits for
 * them: {@link USUAL_THREADS} for pages of the usual size, and one for all else, for which those would have to wait.
 */
export function startMakingThreads(store: string, log: Logger, options: ThreadsOptions = {}): Maker {
  const usualThreads = Array.from({ length: USUAL_THREADS }, () =>
    startMakingThread({ ...options, store, isLong: false }, log),
  )
  const usual = sharedAmong(usualThreads)
  const long = startMakingThread({ ...options, store, isLong: true }, log)
  return {
    make: (question, asked, form) =>
      (question.lane(asked) === 'usual' ? usual : long).make(question, asked, form),
    isSerial: true,
    isRunning: () => [...usualThreads, long].every((thread) => thread.isRunning()),
    close: async () => {
      await Promise.all([...usualThreads, long].map((thread) => thread.close()))
    },
  }
}

/** Has each page made by the first of the threads that have few rows to read, or else by the one that has the fewest. */
function sharedAmong(threads: readonly MakingThread[]): Pick<Maker, 'make'> {
  const shares = threads.map((thread) => ({ thread, rows: 0 }))
  return {
    make: async (question, asked, form) => {
      const { limit } = asked as AskedPage
      const share =
        shares.find(({ rows }) => rows + limit <= ROWS_AHEAD) ??
        shares.reduce((least, other) => (other.rows < least.rows ? other : least))
      share.rows += limit
      try {
        return await share.thread.make(question, asked, form)
      } finally {
        share.rows -= limit
      }
    },
  }
}

function startMakingThread(task: MakingThreadTask, log: Logger): MakingThread {
  const thread = startThread<ToMake, TransferredAnswer | null>({
    module: moduleBeside(import.meta.url, 'making-thread'),
    task,
    log,
    what: 'a thread that makes answers',
    isLate: task.isLate ?? false,
  })

  return {
    make: async ({ path }: Pick<Question, 'path'>, asked, form) => {
      const made = await thread.ask({ path, asked, form, askedAt: process.hrtime.bigint() })
      if (made === null) return null
      const { buffer, byteOffset, length } = made.body
      return { ...made, body: Buffer.from(buffer, byteOffset, length) }
    },
    isRunning: thread.isRunning,
    close: thread.close,
  }
}
