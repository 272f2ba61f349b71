// Makes pages of one store, one after another; page-threads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { resourceNamed } from '../../resources/resources.ts'
import { findStore } from '../../store/open-store.ts'
import { asUnavailable, type Reader } from '../../store/store.ts'
import { yieldToOthers } from '../../yield-to-others.ts'
import { BufferPool } from './buffer-pool.ts'
import { createReports, type MadePage, type MadeReport, makePage } from './make-page.ts'
import type { AskedPage, AskedReport, InBlock, PageThreadTask } from './page-threads.ts'
import { answerCalls, type ThreadAnswer } from './thread-calls.ts'

const { store: name, isLong } = workerData as PageThreadTask
// Pages that take long are waited for anyway; the others are not to wait for them.
if (isLong) yieldToOthers()
const store = findStore(name)
const buffers = new BufferPool()
let reader: Reader | null = null
let report: ReturnType<typeof createReports> | null = null

async function openReader(): Promise<Reader> {
  try {
    return await store.openReader({ rests: isLong })
  } catch (error) {
    throw asUnavailable(error)
  }
}

async function answer(
  asked: AskedPage | AskedReport,
): Promise<ThreadAnswer<InBlock<MadePage> | InBlock<MadeReport> | null>> {
  reader ??= await openReader()
  if ('report' in asked) {
    report ??= createReports(reader)
    const made = await report(asked.report)
    return made === null ? { answer: null } : inBlock(made)
  }
  const { resource, query, backward, form } = asked
  const request = { query: { ...query, resource: resourceNamed(resource) }, backward }
  const page = await makePage(reader, request, form)
  return page === null ? { answer: null } : inBlock(page)
}

/** Hands the bytes of an answer over, in a block that comes back. */
function inBlock<Made extends { body: Buffer; release?: () => void }>(
  made: Made,
): ThreadAnswer<InBlock<Made>> {
  const { body, release: _, ...others } = made
  const block = buffers.take(body.length)
  body.copy(new Uint8Array(block))
  return { answer: { ...others, block, length: body.length }, bytes: [block] }
}

let last: Promise<unknown> = Promise.resolve()
answerCalls(
  parentPort!,
  (asked: AskedPage | AskedReport) => {
    for (const block of asked.free) buffers.give(block)
    const answered = last.then(() => answer(asked))
    last = answered.catch(() => {})
    return answered
  },
  async () => {
    await last
    await reader?.close()
  },
)
