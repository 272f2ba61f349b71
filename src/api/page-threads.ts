import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import { moduleBeside } from '../module-beside.ts'
import type { ResourceName } from '../resources/resource.ts'
import { type HoldingsQuery, type PageQuery, type Position, StoreUnavailableError } from '../store/store.ts'
import type { MadePage, Pages } from './make-page.ts'
import { isLong, type PageRequest } from './page-request.ts'

/** What a thread is started with: the store's name, and whether it makes long pages. */
export type PageThreadTask = { store: string; isLong: boolean }

/** A page that a thread is asked for: a {@link PageRequest}, as it can be sent. */
export type AskedPage = {
  id: number
  resource: ResourceName
  query: Omit<PageQuery, 'resource'>
  backward: boolean
  /** Memory of pages that are done with. */
  free: ArrayBuffer[]
}

/** A part of the coverage that a thread is asked for. */
export type AskedCoverage = { id: number; coverage: HoldingsQuery }

/** A page in a block of memory that the thread wants back. */
type PageInBlock = Omit<MadePage, 'json' | 'release'> & { block: ArrayBuffer; length: number }

/** What a thread is told. */
export type ToPageThread = AskedPage | AskedCoverage | 'stop'

/** What it says: the page, or the coverage, null while the store holds no block, or why there is none. */
export type FromPageThread =
  | { id: number; page: PageInBlock | null }
  | { id: number; coverage: { bytes: Uint8Array; position: Position } | null }
  | { id: number; error: { message: string; stack: string | undefined; isUnavailable: boolean } }

/**
 * Makes the pages of a store that is embedded in threads beside the one that asks, so that nothing else waits for
 * them: one for pages of the usual size, and one for long ones, for which those would have to wait.
 *
 * @param here makes the pages of the usual size instead of a thread, where it is given; its owner closes it
 */
export function startPageThreads(store: string, log: FastifyBaseLogger, here: Pages | null = null): Pages {
  const thread = here === null ? startPageThread({ store, isLong: false }, log) : null
  const usual = here ?? thread!
  let long: Pages | null = null
  const longThread = () => {
    long ??= startPageThread({ store, isLong: true }, log)
    return long
  }
  return {
    make: (asked) => (isLong(asked) ? longThread() : usual).make(asked),
    coverage: (query) => longThread().coverage(query),
    close: async () => {
      await Promise.all([thread?.close(), long?.close()])
    },
  }
}

type Waiting = { resolve(message: Answer): void; reject(error: Error): void }

type Answer = Exclude<FromPageThread, { error: unknown }>

/** One thread, which is started again when it is next asked after it has failed. */
function startPageThread(task: PageThreadTask, log: FastifyBaseLogger): Pages {
  const waiting = new Map<number, Waiting>()
  /** Blocks that go back with the next question. */
  let free: ArrayBuffer[] = []
  let count = 0
  let worker: Worker | null = start()

  function start(): Worker {
    const started = new Worker(moduleBeside(import.meta.url, 'page-thread'), {
      workerData: task,
    })
    started.on('message', settle)
    started.on('error', (error: Error) => log.error(error, 'a thread that makes pages failed'))
    started.on('exit', () => {
      worker = null
      for (const { reject } of waiting.values())
        reject(new StoreUnavailableError('the thread that reads failed'))
      waiting.clear()
    })
    return started
  }

  function settle(message: FromPageThread): void {
    const { resolve, reject } = waiting.get(message.id)!
    waiting.delete(message.id)
    if ('error' in message) reject(errorOf(message.error))
    else resolve(message)
  }

  async function ask(
    toAsk: (id: number) => AskedPage | AskedCoverage,
    given: ArrayBuffer[] = [],
  ): Promise<Answer> {
    worker ??= start()
    const id = count++
    const asked = toAsk(id)
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      worker!.postMessage(asked, given)
    })
  }

  function pageIn({ block, length, ...page }: PageInBlock): MadePage {
    return { ...page, json: Buffer.from(block, 0, length), release: () => free.push(block) }
  }

  return {
    make: async ({ query, backward }) => {
      const { resource, ...rest } = query
      const given = free
      free = []
      const answer = await ask(
        (id) => ({ id, resource: resource.name, query: rest, backward, free: given }),
        given,
      )
      return 'page' in answer && answer.page !== null ? pageIn(answer.page) : null
    },
    coverage: async (query) => {
      const answer = await ask((id) => ({ id, coverage: query }))
      if (!('coverage' in answer) || answer.coverage === null) return null
      const { bytes, position } = answer.coverage
      return { json: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length), position }
    },
    close: async () => {
      if (worker === null) return
      const gone = once(worker, 'exit')
      worker.postMessage('stop' satisfies ToPageThread)
      await gone
    },
  }
}

function errorOf({
  message,
  stack,
  isUnavailable,
}: Extract<FromPageThread, { error: unknown }>['error']): Error {
  if (isUnavailable) return new StoreUnavailableError(message)
  const error = new Error(message)
  if (stack !== undefined) error.stack = stack
  return error
}
