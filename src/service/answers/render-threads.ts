import type { Logger } from 'pino'
import { moduleBeside } from '#core/concurrency/module-beside'
import type { BodyForm, Question, RenderedBody } from '../questions/question.ts'
import type { Renderer } from './renderer.ts'
import { ThreadCalls } from './thread-calls.ts'

/** Threads for short pages. Sending a page of 1,000 rows takes the main thread a quarter of the time of rendering it. */
const SHORT_THREADS = 2

/** Rows given to one thread before another one is woken. For few rows, it is not worth waking another thread. */
const ROWS_AHEAD = 1_000

/** Start data of a thread: the store's name, and whether it generates long answers. */
export type RenderThreadTask = ThreadsOptions & { store: string; isLong: boolean }

export type ThreadsOptions = {
  /** Whether the store is opened by a service that writes nothing. */
  isReadOnly?: boolean
  /** Whether answers are rendered for gRPC too, the code of which is then loaded at the start. */
  speaksGrpc?: boolean
  /** As in `ThreadOptions` (thread-calls.ts). */
  isLate?: boolean
}

/** A question to answer: its path, and the checked request. */
export type ToRender = {
  path: string
  checked: unknown
  form: BodyForm
  requestedAt: bigint
}

/** An answer as it is sent between threads. */
export type TransferredAnswer = Omit<RenderedBody, 'body'> & { body: Uint8Array<ArrayBuffer> }

/** Renders in a thread. */
type RenderThread = Pick<Renderer, 'render' | 'isRunning' | 'close'>

/**
 * Renders the answers of an embedded store in threads of their own, so that nothing else waits for them:
 * {@link SHORT_THREADS} for short pages, and one for everything that takes longer.
 */
export function startRenderThreads(store: string, logger: Logger, options: ThreadsOptions = {}): Renderer {
  const shortThreads = Array.from({ length: SHORT_THREADS }, () =>
    startRenderThread({ ...options, store, isLong: false }, logger),
  )
  const short = sharedAmong(shortThreads)
  const long = startRenderThread({ ...options, store, isLong: true }, logger)
  return {
    render: (question, checked, form, isAlone) => {
      const workload = question.workload(checked)
      return workload.queue === 'short'
        ? short.run(workload.rows, (thread) => thread.render(question, checked, form, isAlone))
        : long.render(question, checked, form, isAlone)
    },
    isSerial: true,
    isRunning: () => [...shortThreads, long].every((thread) => thread.isRunning()),
    close: async () => {
      await Promise.all([...shortThreads, long].map((thread) => thread.close()))
    },
  }
}

/** Gives each page to the first thread that has few rows to read, or else to the one that has the fewest. */
function sharedAmong(threads: readonly RenderThread[]): {
  run<T>(rows: number, work: (thread: RenderThread) => Promise<T>): Promise<T>
} {
  const shares = threads.map((thread) => ({ thread, rows: 0 }))
  return {
    run: async (rows, work) => {
      const share =
        shares.find((one) => one.rows + rows <= ROWS_AHEAD) ??
        shares.reduce((least, other) => (other.rows < least.rows ? other : least))
      share.rows += rows
      try {
        return await work(share.thread)
      } finally {
        share.rows -= rows
      }
    },
  }
}

function startRenderThread(task: RenderThreadTask, logger: Logger): RenderThread {
  const thread = new ThreadCalls<ToRender, TransferredAnswer | null>({
    module: moduleBeside(import.meta.url, 'render-thread'),
    task,
    logger,
    what: 'a thread that renders answers',
    isLate: task.isLate ?? false,
  })

  return {
    render: async ({ path }: Pick<Question, 'path'>, checked, form) => {
      const rendered = await thread.ask({ path, checked, form, requestedAt: process.hrtime.bigint() })
      if (rendered === null) return null
      const { buffer, byteOffset, length } = rendered.body
      return { ...rendered, body: Buffer.from(buffer, byteOffset, length) }
    },
    isRunning: () => thread.isRunning,
    close: () => thread.close(),
  }
}
