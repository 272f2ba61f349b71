// Makes pages of one store, one after another; page-threads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { RESOURCES } from '../resources/resources.ts'
import { findStore } from '../store/open-store.ts'
import { asUnavailable, type Reader, StoreUnavailableError } from '../store/store.ts'
import { yieldToOthers } from '../yield-to-others.ts'
import { BufferPool } from './buffer-pool.ts'
import { type MadeCoverage, type MadePage, makeCoverage, makePage } from './make-page.ts'
import type {
  AskedCoverage,
  AskedPage,
  FromPageThread,
  PageThreadTask,
  ToPageThread,
} from './page-threads.ts'

const port = parentPort!
const { store: name, isLong } = workerData as PageThreadTask
// Pages that take long are waited for anyway; the others are not to wait for them.
if (isLong) yieldToOthers()
const store = findStore(name)
const buffers = new BufferPool()
let reader: Reader | null = null

async function openReader(): Promise<Reader> {
  try {
    return await store.openExisting({ rests: isLong })
  } catch (error) {
    throw asUnavailable(error)
  }
}

async function answer(asked: AskedPage | AskedCoverage): Promise<void> {
  const { id } = asked
  try {
    reader ??= await openReader()
    if ('coverage' in asked) return sayCoverage(id, await makeCoverage(reader, asked.coverage))
    const { resource, query, backward } = asked
    const page = await makePage(reader, { query: { ...query, resource: RESOURCES[resource] }, backward })
    if (page === null) say({ id, page: null })
    else sayPage(id, page)
  } catch (error) {
    const { message, stack } = error as Error
    say({ id, error: { message, stack, isUnavailable: error instanceof StoreUnavailableError } })
  }
}

function say(message: FromPageThread, bytes: ArrayBuffer[] = []): void {
  port.postMessage(message, bytes)
}

/** Hands the page's bytes over, in a block that comes back. */
function sayPage(id: number, { json, ...page }: MadePage): void {
  const block = buffers.take(json.length)
  json.copy(new Uint8Array(block))
  say({ id, page: { ...page, block, length: json.length } }, [block])
}

function sayCoverage(id: number, made: MadeCoverage | null): void {
  if (made === null) say({ id, coverage: null })
  else say({ id, coverage: { bytes: new Uint8Array(made.json), position: made.position } })
}

let last = Promise.resolve()
port.on('message', (message: ToPageThread) => {
  if (message !== 'stop') {
    if ('free' in message) for (const block of message.free) buffers.give(block)
    last = last.then(() => answer(message))
    return
  }
  void last
    .then(() => reader?.close())
    .finally(() => {
      // Nothing is left to wait for: the thread ends.
      port.close()
    })
})
