import type { FastifyBaseLogger } from 'fastify'
import { moduleBeside } from '../../module-beside.ts'
import type { ResourceName } from '../../resources/resource.ts'
import type { PageQuery } from '../../store/page.ts'
import type { MadePage, MadeReport, PageForm, Pages, ReportRequest } from './make-page.ts'
import { isLong, type PageRequest } from './page-request.ts'
import { startThread } from './thread-calls.ts'

/** Threads for pages of the usual size. One of 1,000 rows takes the thread that sends it a quarter of the time. */
const USUAL_THREADS = 2

/** Rows that one of them is asked for before another one is. Of few rows, waking another costs what it gains. */
const ROWS_AHEAD = 1_000

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
 * them: {@link USUAL_THREADS} for pages of the usual size, and one for long ones, for which those would have to wait. The
 * first is started at once, the others when they are needed.
 *
 * @param here makes the pages of the usual size instead of a thread, where it is given; its owner closes it
 */
export function startPageThreads(store: string, log: FastifyBaseLogger, here: Pages | null = null): Pages {
  const usualThreads =
    here === null
      ? Array.from({ length: USUAL_THREADS }, (_, index) =>
          startPageThread({ store, isLong: false }, log, { isLate: index > 0 }),
        )
      : []
  const usual = here ?? sharedAmong(usualThreads)
  const long = startPageThread({ store, isLong: true }, log, { isLate: true })
  return {
    make: (asked, form) => (isLong(asked) ? long : usual).make(asked, form),
    report: (asked) => long.report(asked),
    isSerial: true,
    close: async () => {
      await Promise.all([...usualThreads, long].map((thread) => thread.close()))
    },
  }
}

/** Has each page made by the first of those who have few rows to read, or else by one of those who have the fewest. */
function sharedAmong(makers: readonly Pages[]): Pick<Pages, 'make'> {
  const shares = makers.map((maker) => ({ maker, rows: 0 }))
  return {
    make: async (asked, form) => {
      const { limit } = asked.query
      const share =
        shares.find(({ rows }) => rows + limit <= ROWS_AHEAD) ??
        shares.reduce((least, other) => (other.rows < least.rows ? other : least))
      share.rows += limit
      try {
        return await share.maker.make(asked, form)
      } finally {
        share.rows -= limit
      }
    },
  }
}

function startPageThread(
  task: PageThreadTask,
  log: FastifyBaseLogger,
  { isLate }: { isLate: boolean },
): Pages {
  /** Blocks that go back with the next question. */
  let free: ArrayBuffer[] = []
  const thread = startThread<AskedPage | AskedReport, InBlock<MadePage> | InBlock<MadeReport> | null>({
    module: moduleBeside(import.meta.url, 'page-thread'),
    task,
    log,
    what: 'a thread that makes pages',
    isLate,
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
    isSerial: true,
    close: thread.close,
  }
}
