// Makes answers from one store, one after another; making-threads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { findStore } from '#core/store/open-store'
import { asUnavailable, type Reader } from '#core/store/store'
import { yieldToOthers } from '#core/yield-to-others'
import { BufferPool } from './buffer-pool.ts'
import type { MadeInBlock, MakingThreadTask, ToMake } from './making-threads.ts'
import type { Made } from './questions/question.ts'
import { questionAt } from './questions/question-at.ts'
import { answerCalls, type ThreadAnswer } from './thread-calls.ts'

const { store: name, isLong, isReadOnly = false, speaksGrpc } = workerData as MakingThreadTask
// Answers that take long are waited for anyway; the others are not to wait for them.
if (isLong) yieldToOthers()
if (speaksGrpc) await import('./questions/page-message.ts')
const store = findStore(name)
const buffers = new BufferPool()
let reader: Reader | null = null

async function openReader(): Promise<Reader> {
  try {
    return await store.openReader({ pausesInLongPages: isLong, isReadOnly })
  } catch (error) {
    throw asUnavailable(error)
  }
}

async function answer({ path, asked, form, askedAt }: ToMake): Promise<ThreadAnswer<MadeInBlock | null>> {
  reader ??= await openReader()
  // The memory of a body goes to who asks: it is none of the pool's while it is written.
  const made = await questionAt(path).make(asked, { reader, form, buffers: null, askedAt })
  return made === null ? { answer: null } : inBlock(made)
}

/** Hands the bytes of an answer over, in a block that comes back. */
function inBlock({ body, release: _, ...others }: Made): ThreadAnswer<MadeInBlock> {
  const block = buffers.take(body.length)
  body.copy(new Uint8Array(block))
  return { answer: { ...others, block, length: body.length }, bytes: [block] }
}

let last: Promise<unknown> = Promise.resolve()
answerCalls(
  parentPort!,
  (asked: ToMake) => {
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
