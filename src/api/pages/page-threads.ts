import type { FastifyBaseLogger } from 'fastify'
import { moduleBeside } from '../../module-beside.ts'
import type { ResourceName } from '../../resources/resource.ts'
import type { PageQuery } from '../../store/page.ts'
import type { MadePage, MadeReport, PageForm, Pages, ReportRequest } from './make-page.ts'
import { isLong, type PageRequest } from './page-request.ts'
import { startThread } from './thread-calls.ts'

/** Blocks that wait to go back to a thread; what many clients leave at once is not kept. */
const MAX_FREE_BLOCKS = 8

/** What a thread is started with: the store's name, and whether it makes long pages. */
export type PageThreadTask = { store: string; isLong: boolean }

/** A page that a thread is asked for: a {@link PageRequest}, as it can be sent. */
export type AskedPage = {
  resource: ResourceName
  query: Omit<PageQuery, 'resource'>
  backward: boolean
  form: PageForm | undefined
  /** Memory of pages that are done with. */
  free: ArrayBuffer[]
}

/** A report that a thread is asked for. */
export type AskedReport = { report: ReportRequest; free: ArrayBuffer[] }

/** An answer whose bytes are in a block of memory that the thread wants back. */
export type InBlock<Made> = Omit<Made, 'body' | 'release'> & { block: ArrayBuffer; length: number }

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
    make: (asked, form) => (isLong(asked) ? longThread() : usual).make(asked, form),
    report: (asked) => longThread().report(asked),
    close: async () => {
      await Promise.all([thread?.close(), long?.close()])
    },
  }
}

function startPageThread(task: PageThreadTask, log: FastifyBaseLogger): Pages {
  /** Blocks that go back with the next question. */
  let free: ArrayBuffer[] = []
  const thread = startThread<AskedPage | AskedReport, InBlock<MadePage> | InBlock<MadeReport> | null>({
    module: moduleBeside(import.meta.url, 'page-thread'),
    task,
    log,
    what: 'a thread that makes pages',
  })

  function giveBack(block: ArrayBuffer): void {
    if (free.length < MAX_FREE_BLOCKS) free.push(block)
  }

  function madeOf<Made>({ block, length, ...others }: InBlock<Made>) {
    return { ...others, body: Buffer.from(block, 0, length), release: () => giveBack(block) }
  }

  /** Asks with the blocks that go back. */
  async function ask<Made>(asked: AskedPage | AskedReport): Promise<InBlock<Made> | null> {
    return (await thread.ask(asked, asked.free)) as InBlock<Made> | null
  }

  function takeFree(): ArrayBuffer[] {
    const blocks = free
    free = []
    return blocks
  }

  return {
    make: async ({ query: { resource, ...query }, backward }, form) => {
      const timed = { ...query, askedAt: process.hrtime.bigint() }
      const asked = { resource: resource.name, query: timed, backward, form, free: takeFree() }
      const page = await ask<MadePage>(asked)
      return page === null ? null : (madeOf(page) as MadePage)
    },
    report: async (report) => {
      const made = await ask<MadeReport>({ report, free: takeFree() })
      return made === null ? null : (madeOf(made) as MadeReport)
    },
    close: thread.close,
  }
}
