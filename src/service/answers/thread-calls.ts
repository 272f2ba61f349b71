import { type MessagePort, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { StoreUnavailableError } from '#core/store/errors'

/** Young generation of a thread's heap in MiB: a larger one would only retain garbage longer. */
const MAX_YOUNG_MB = 8

/** How long after its end a thread is started again, unless a question comes earlier, in milliseconds. */
const RESTART_MS = 1_000

/** A thread that answers questions. */
type ThreadCalls<Asked, Answer> = {
  /** Rejects with the thread's error, or with {@link StoreUnavailableError} if the thread ends; it is then started again. */
  ask(asked: Asked): Promise<Answer>
  /** Whether the thread has loaded its code and has not ended. */
  isRunning(): boolean
  /** Ends the thread once it has answered everything. */
  close(): Promise<void>
}

type ThreadOptions = {
  module: URL
  task: unknown
  log: Logger
  /** Name of the thread in the log: `a thread that renders answers`. */
  what: string
  /** Whether the thread is started by the first question: a process with very many services needs few of their threads. */
  isLate?: boolean
}

/** An error as it is sent between threads. */
type SentError = {
  name: string
  message: string
  stack: string | undefined
  isUnavailable: boolean
  isDamaged: boolean
}

type ToThread<Asked> = { id: number; asked: Asked } | 'stop'

type FromThread<Answer> =
  | { type: 'running' }
  | { type: 'answer'; id: number; answer: Answer }
  | { type: 'error'; id: number; error: SentError }

type WaitingCall<Answer> = { resolve(answer: Answer): void; reject(error: Error): void }

/** Starts a thread, and again after it has failed. Its module calls {@link answerCalls}. */
export function startThread<Asked, Answer>({
  module,
  task,
  log,
  what,
  isLate = false,
}: ThreadOptions): ThreadCalls<Asked, Answer> {
  const waiting = new Map<number, WaitingCall<Answer>>()
  let count = 0
  let isClosed = false
  let isRunning = false
  let worker: Worker | null = isLate ? null : start()

  function start(): Worker {
    const started = new Worker(module, {
      workerData: task,
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    })
    started.on('message', settle)
    started.on('error', (error: Error) => log.error(error, `${what} failed`))
    started.on('exit', () => {
      worker = null
      isRunning = false
      setTimeout(restart, RESTART_MS).unref()
      for (const { reject } of waiting.values())
        reject(new StoreUnavailableError('the thread that reads failed'))
      waiting.clear()
    })
    return started
  }

  function restart(): void {
    if (!isClosed) worker ??= start()
  }

  function settle(message: FromThread<Answer>): void {
    if (message.type === 'running') {
      isRunning = true
      return
    }
    const { resolve, reject } = waiting.get(message.id)!
    waiting.delete(message.id)
    if (message.type === 'error') reject(errorOf(message.error))
    else resolve(message.answer)
  }

  return {
    ask: (asked) => {
      if (isClosed) return Promise.reject(new StoreUnavailableError('the service stops'))
      restart()
      const id = count++
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject })
        worker!.postMessage({ id, asked } satisfies ToThread<Asked>)
      })
    },
    isRunning: () => isRunning,
    close: async () => {
      isClosed = true
      if (worker === null) return
      const { promise: gone, resolve } = Promise.withResolvers<unknown>()
      worker.once('exit', resolve)
      worker.postMessage('stop' satisfies ToThread<Asked>)
      await gone
    },
  }
}

/** An answer, and the memory that is transferred with it. */
export type ThreadAnswer<Answer> = { answer: Answer; bytes?: ArrayBuffer[] }

/** Answers a thread's questions, and lets it end on request. */
export function answerCalls<Asked, Answer>(
  port: MessagePort,
  answer: (asked: Asked) => Promise<ThreadAnswer<Answer>>,
  onStop: () => Promise<void>,
): void {
  const say = (message: FromThread<Answer>, bytes: ArrayBuffer[] = []) => port.postMessage(message, bytes)
  port.on('message', (message: ToThread<Asked>) => {
    if (message === 'stop') {
      // The thread then has nothing left to wait for, and ends.
      void onStop().finally(() => port.close())
      return
    }
    const { id, asked } = message
    answer(asked).then(
      (rendered) => say({ type: 'answer', id, answer: rendered.answer }, rendered.bytes),
      (error: Error) => {
        const { name, message: text, stack } = error
        const isUnavailable = error instanceof StoreUnavailableError
        const isDamaged = error instanceof StoreUnavailableError && error.isDamaged
        say({ type: 'error', id, error: { name, message: text, stack, isUnavailable, isDamaged } })
      },
    )
  })
  say({ type: 'running' })
}

function errorOf({ name, message, stack, isUnavailable, isDamaged }: SentError): Error {
  if (isUnavailable) return new StoreUnavailableError(message, { isDamaged })
  const error = Object.assign(new Error(message), { name })
  if (stack !== undefined) error.stack = stack
  return error
}
