// Renders answers from one store, one after another; render-threads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToOthers } from '#core/concurrency/yield-to-others'
import { asUnavailable } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import type { Reader } from '#core/store/store'
import { questionAt } from '../questions/question-at.ts'
import type { RenderThreadTask, ToRender, TransferredAnswer } from './render-threads.ts'
import { answerCalls, type ThreadAnswer } from './thread-calls.ts'

const { store: name, isLong, isReadOnly = false, speaksGrpc } = workerData as RenderThreadTask
// Clients of long answers wait anyway; those of short ones must not wait for them.
if (isLong) yieldToOthers()
if (speaksGrpc) await import('../questions/page-message.ts')
const store = await findStore(name)
let reader: Reader | null = null

async function openReader(): Promise<Reader> {
  try {
    return await store.openReader({ pausesInLongPages: isLong, isReadOnly })
  } catch (error) {
    throw asUnavailable(error)
  }
}

async function renderInThread({
  path,
  checked,
  form,
  requestedAt,
}: ToRender): Promise<ThreadAnswer<TransferredAnswer | null>> {
  reader ??= await openReader()
  const rendered = await questionAt(path).render(checked, { reader, form, requestedAt })
  if (rendered === null) return { answer: null }
  // A short buffer may share its memory with others.
  const body =
    rendered.body.length < Buffer.poolSize
      ? new Uint8Array(rendered.body)
      : new Uint8Array(rendered.body.buffer as ArrayBuffer, rendered.body.byteOffset, rendered.body.length)
  return { answer: { ...rendered, body }, bytes: [body.buffer] }
}

let last: Promise<unknown> = Promise.resolve()
answerCalls(
  parentPort!,
  (request: ToRender) => {
    const answered = last.then(() => renderInThread(request))
    last = answered.catch(() => {})
    return answered
  },
  async () => reader?.close(),
)
