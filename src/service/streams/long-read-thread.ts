// Reads one store for streams and exports; long-reads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { yieldToOthers } from '#core/concurrency/yield-to-others'
import { resourceNamed } from '#core/resources/resources'
import { findStore } from '#core/store/open-store'
import { asUnavailable, type Reader, StoreUnavailableError } from '#core/store/store'
import { answerCalls, type ThreadAnswer } from '../answers/thread-calls.ts'
import {
  type LongReadAnswer,
  type LongReadAsked,
  type LongReads,
  type LongReadTask,
  longReadsOf,
  type OpenExport,
} from './long-reads.ts'

// Pages are not to wait for what takes long.
yieldToOthers()
const { store: storeName, isReadOnly } = workerData as LongReadTask
const store = findStore(storeName)
let opening: Promise<{ reader: Reader; reads: LongReads }> | null = null
const exports = new Map<number, OpenExport>()

/** If the store cannot be opened, the next request tries again. */
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

async function readInThread(asked: LongReadAsked): Promise<ThreadAnswer<LongReadAnswer>> {
  switch (asked.type) {
    case 'shorten WAL': {
      const { reads } = await open()
      await reads.shortenWal()
      return { answer: null }
    }
    case 'chunk': {
      const { reads } = await open()
      const query = { ...asked.query, resource: resourceNamed(asked.query.resource) }
      const chunk = await reads.readChunk(query, asked.readClass)
      if (chunk === null) return { answer: null }
      const bytes = new Uint8Array(chunk.bytes)
      return { answer: { ...chunk, bytes }, bytes: [bytes.buffer] }
    }
    case 'summaries': {
      const { reads } = await open()
      return { answer: await reads.readSummaries(asked.known) }
    }
    case 'export': {
      const { reads } = await open()
      const query = { ...asked.query, resource: resourceNamed(asked.query.resource) }
      const opened = await reads.openExport(query, asked.format)
      exports.set(asked.id, opened)
      return { answer: opened.storeHead }
    }
    case 'next': {
      const opened = exports.get(asked.id)
      // Null would be taken for the end of the rows.
      if (opened === undefined) throw new StoreUnavailableError('the thread that read this export has ended')
      const next = await opened.next()
      if (next === null) return { answer: null }
      // Memory that holds nothing else is handed over as it is.
      const bytes = next.byteLength === next.buffer.byteLength ? next : new Uint8Array(next)
      return { answer: bytes, bytes: [bytes.buffer as ArrayBuffer] }
    }
    case 'close': {
      const opened = exports.get(asked.id)
      exports.delete(asked.id)
      await opened?.close()
      return { answer: null }
    }
    default:
      return asked satisfies never
  }
}

answerCalls<LongReadAsked, LongReadAnswer>(parentPort!, readInThread, async () => {
  await Promise.all([...exports.values()].map((opened) => opened.close()))
  if (opening === null) return
  const { reader } = await opening
  await reader.close()
})
