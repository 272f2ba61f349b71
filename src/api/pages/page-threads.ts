import type { FastifyBaseLogger } from 'fastify'
import { moduleBeside } from '../../module-beside.ts'
import type { ResourceName } from '../../resources/resource.ts'
import type { PageQuery } from '../../store/page.ts'
import type { MadePage, MadeReport, Pages, ReportRequest } from './make-page.ts'
import { isLong, type PageRequest } from './page-request.ts'
import { startThread } from './thread-calls.ts'

/** Blocks that wait to go back to a thread; what many clients leave at once is not kept. */
const MAX_FREE_BLOCKS = 16

/** What a thread is started with: the store's name, and whether it makes long pages. */
export type PageThreadTask = { store: string; isLong: boolean }

/** A page that a thread is asked for: a {@link PageRequest}, as it can be sent. */
export type AskedPage = {
  resource: ResourceName
  query: Omit<PageQuery, 'resource'>
  backward: boolean
  /** Memory of pages that are done with. */
  free: ArrayBuffer[]
}

/** A report as it is sent between threads. */
export type SentReport = Omit<MadeReport, 'json'> & { bytes: Uint8Array }

/** A page in a block of memory that the thread wants back. */
export type PageInBlock = Omit<MadePage, 'json' | 'release'> & { block: ArrayBuffer; length: number }

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
    report: (asked) => longThread().report(asked),
    close: async () => {
      await Promise.all([thread?.close(), long?.close()])
    },
  }
}

function startPageThread(task: PageThreadTask, log: FastifyBaseLogger): Pages {
  /** Blocks that go back with the next question. */
  let free: ArrayBuffer[] = []
  const thread = startThread<AskedPage | ReportRequest, PageInBlock | SentReport | null>({
    module: moduleBeside(import.meta.url, 'page-thread'),
    task,
    log,
    what: 'a thread that makes pages',
  })

  function giveBack(block: ArrayBuffer): void {
    if (free.length < MAX_FREE_BLOCKS) free.push(block)
  }

  function pageIn({ block, length, ...page }: PageInBlock): MadePage {
    return { ...page, json: Buffer.from(block, 0, length), release: () => giveBack(block) }
  }

  return {
    make: async ({ query: { resource, ...query }, backward }) => {
      const blocks = free
      free = []
      const page = await thread.ask({ resource: resource.name, query, backward, free: blocks }, blocks)
      return page === null ? null : pageIn(page as PageInBlock)
    },
    report: async (asked) => {
      const answer = await thread.ask(asked)
      if (answer === null) return null
      const { bytes, ...others } = answer as SentReport
      return { ...others, json: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength) }
    },
    close: thread.close,
  }
}
