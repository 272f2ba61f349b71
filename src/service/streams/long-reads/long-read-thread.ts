// Reads one store for streams and exports. start-long-reads.ts starts this thread and sends it requests.
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToOthers } from '#core/concurrency/yield-to-others'
import { resourceNamed } from '#core/resources/resources'
import { asUnavailable, StoreUnavailableError } from '#core/store/errors'
import { findStore } from '#core/store/open-store'
import type { Reader } from '#core/store/store'
import { answerCalls, type ThreadAnswer } from '../../answers/thread-calls.ts'
import type { LongReadAnswer, LongReadRequest, LongReadTask } from './long-read-messages.ts'
import { type LongReads, longReadsOf, type OpenExport } from './long-reads.ts'

// Pages must not wait for long reads.
yieldToOthers()
const { store: storeName, isReadOnly } = workerData as LongReadTask
const store = await findStore(storeName)
let opening: Promise<{ reader: Reader; reads: LongReads }> | null = null
const exports = new Map<number, OpenExport>()

/** Opens the store with the first request. If that fails, the next request tries again. */
function open(): Promise<{ reader: Reader; reads: LongReads }> {
  opening ??= store.openReader({ isReadOnly }).then(
    // One at a time: the thread reads itself.
    (reader) => ({ reader, reads: longReadsOf(reader, 1) }),
    (error: unknown) => {
      opening = null
      throw asUnavailable(error)
    },
  )
  return opening
}

async function readInThread(request: LongReadRequest): Promise<ThreadAnswer<LongReadAnswer>> {
  switch (request.type) {
    case 'shorten WAL': {
      const { reads } = await open()
      await reads.shortenWal()
      return { answer: null }
    }
    case 'chunk': {
      const { reads } = await open()
      const query = { ...request.query, resource: resourceNamed(request.query.resource) }
      const chunk = await reads.readChunk(query, request.readClass)
      if (chunk === null) return { answer: null }
      const bytes = new Uint8Array(chunk.bytes)
      return { answer: { ...chunk, bytes }, bytes: [bytes.buffer] }
    }
    case 'summaries': {
      const { reads } = await open()
      return { answer: await reads.readSummaries(request.lastAnswer) }
    }
    case 'export': {
      const { reads } = await open()
      const query = { ...request.query, resource: resourceNamed(request.query.resource) }
      const opened = await reads.openExport(query, request.format)
      exports.set(request.id, opened)
      return { answer: opened.storeHead }
    }
    case 'next': {
      const opened = exports.get(request.id)
      // Null would mean the end of the rows.
      if (opened === undefined) throw new StoreUnavailableError('the thread that read this export has ended')
      const next = await opened.next()
      if (next === null) return { answer: null }
      // Memory that contains nothing else is transferred as it is.
      const bytes = next.byteLength === next.buffer.byteLength ? next : new Uint8Array(next)
      return { answer: bytes, bytes: [bytes.buffer as ArrayBuffer] }
    }
    case 'close': {
      const opened = exports.get(request.id)
      exports.delete(request.id)
      await opened?.close()
      return { answer: null }
    }
    default:
      return request satisfies never
  }
}

answerCalls<LongReadRequest, LongReadAnswer>(parentPort!, readInThread, async () => {
  await Promise.all([...exports.values()].map((opened) => opened.close()))
  if (opening === null) return
  const { reader } = await opening
  await reader.close()
})
