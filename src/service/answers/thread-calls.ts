import { type MessagePort, Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import { StoreUnavailableError } from '#core/store/errors'

/** Young generation of a thread's heap in MiB: a larger one would only retain garbage longer. */
const MAX_YOUNG_MB = 8

/** How long after its end a thread is started again, unless a request comes earlier, in milliseconds. */
const RESTART_MS = 1_000

/** How long a thread may go on with its requests once it is to end, in milliseconds: nobody waits for their answers any more. */
const END_MS = 5_000

type ThreadOptions = {
  module: URL
  task: unknown
  logger: Logger
  /** Name of the thread in the log: `a thread that renders answers`. */
  what: string
  /** Whether the thread is started by the first request: a process with very many services needs few of their threads. */
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

type ToThread<Request> = { id: number; request: Request } | 'stop'

type FromThread<Answer> =
  | { type: 'running' }
  | { type: 'answer'; id: number; answer: Answer }
  | { type: 'error'; id: number; error: SentError }

type WaitingCall<Answer> = { resolve(answer: Answer): void; reject(error: Error): void }

/** A thread that answers requests. After it has failed it is started again. Its module calls {@link answerCalls}. */
export class ThreadCalls<Request, Answer> {
  readonly #options: ThreadOptions
  /** The requests that are not answered yet, by their ids. */
  readonly #waiting = new Map<number, WaitingCall<Answer>>()
  #count = 0
  #isClosed = false
  #isRunning = false
  /** Null while no thread has been started, and after it has ended. */
  #worker: Worker | null = null

  constructor(options: ThreadOptions) {
    this.#options = options
    if (options.isLate !== true) this.#startIfEnded()
  }

  /** Whether the thread has loaded its code and has not ended. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Rejects with the thread's error, or with {@link StoreUnavailableError} if the thread ends; it is then started again. */
  ask(request: Request): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailableError('the service stops'))
    const worker = this.#startIfEnded()
    const id = this.#count++
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.postMessage({ id, request } satisfies ToThread<Request>)
    })
  }

  /** Ends the thread once it has answered everything, or after 5 s; requests that are not answered then are rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    const worker = this.#worker
    if (worker === null) return
    const { promise: gone, resolve } = Promise.withResolvers<unknown>()
    worker.once('exit', resolve)
    worker.postMessage('stop' satisfies ToThread<Request>)
    const timer = setTimeout(() => void worker.terminate(), END_MS)
    await gone
    clearTimeout(timer)
  }

  #startIfEnded(): Worker {
    this.#worker ??= this.#start()
    return this.#worker
  }

  #start(): Worker {
    const { module, task, logger, what } = this.#options
    const worker = new Worker(module, {
      workerData: task,
      resourceLimits: { maxYoungGenerationSizeMb: MAX_YOUNG_MB },
    })
    worker.on('message', (message: FromThread<Answer>) => this.#onMessage(message))
    worker.on('error', (error: Error) => logger.error(error, `${what} failed`))
    worker.on('exit', () => this.#onExit())
    return worker
  }

  #onExit(): void {
    this.#worker = null
    this.#isRunning = false
    setTimeout(() => {
      if (!this.#isClosed) this.#startIfEnded()
    }, RESTART_MS).unref()
    for (const { reject } of this.#waiting.values())
      reject(new StoreUnavailableError('the thread that reads failed'))
    this.#waiting.clear()
  }

  #onMessage(message: FromThread<Answer>): void {
    if (message.type === 'running') {
      this.#isRunning = true
      return
    }
    const { resolve, reject } = this.#waiting.get(message.id)!
    this.#waiting.delete(message.id)
    if (message.type === 'error') reject(errorOf(message.error))
    else resolve(message.answer)
  }
}

/** An answer, and the memory that is transferred with it. */
export type ThreadAnswer<Answer> = { answer: Answer; bytes?: ArrayBuffer[] }

/**
 * Answers the requests to this thread. Once it is told to stop, and has answered everything, lets it end.
 *
 * @param onStop closes what the thread has opened
 */
export function answerCalls<Request, Answer>(
  port: MessagePort,
  answer: (request: Request) => Promise<ThreadAnswer<Answer>>,
  onStop: () => Promise<void>,
): void {
  const say = (message: FromThread<Answer>, bytes: ArrayBuffer[] = []) => port.postMessage(message, bytes)
  const pending = new Set<Promise<void>>()
  port.on('message', (message: ToThread<Request>) => {
    if (message === 'stop') {
      // The thread then has nothing left to wait for, and ends.
      void Promise.all(pending)
        .then(onStop)
        .finally(() => port.close())
      return
    }
    const { id, request } = message
    const answered = answer(request).then(
      (rendered) => say({ type: 'answer', id, answer: rendered.answer }, rendered.bytes),
      (error: Error) => {
        const { name, message: text, stack } = error
        const isUnavailable = error instanceof StoreUnavailableError
        const isDamaged = error instanceof StoreUnavailableError && error.isDamaged
        say({ type: 'error', id, error: { name, message: text, stack, isUnavailable, isDamaged } })
      },
    )
    pending.add(answered)
    void answered.then(() => pending.delete(answered))
  })
  say({ type: 'running' })
}

function errorOf({ name, message, stack, isUnavailable, isDamaged }: SentError): Error {
  if (isUnavailable) return new StoreUnavailableError(message, { isDamaged })
  const error = Object.assign(new Error(message), { name })
  if (stack !== undefined) error.stack = stack
  return error
}
