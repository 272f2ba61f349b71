// Reads one store for streams and exports; long-reads.ts starts it and asks.
import { parentPort, workerData } from 'node:worker_threads'
import { resourceNamed } from '#core/resources/resources'
import { findStore } from '#core/store/open-store'
import { asUnavailable, type Reader } from '#core/store/store'
import { yieldToOthers } from '#core/yield-to-others'
import type { Follower } from '../../stream/follower.ts'
import { answerCalls, type ThreadAnswer } from '../thread-calls.ts'
import {
  type LongReadAnswer,
  type LongReadAsked,
  type LongReadNews,
  type LongReads,
  type LongReadTask,
  longReadsOf,
  type OpenExport,
} from './long-reads.ts'

/** A follower that is a client of the thread that asks. */
type Proxy = Follower & {
  /** Reports that the sent bytes have been read. */
  onDrained(): void
  /** Reports that the client is gone. */
  close(): void
  closed: Promise<void>
}

// Pages are not to wait for what takes long.
yieldToOthers()
const { store: storeName, isReadOnly } = workerData as LongReadTask
const store = findStore(storeName)
let opening: Promise<{ reader: Reader; reads: LongReads }> | null = null
const proxies = new Map<number, Proxy>()
const exports = new Map<number, OpenExport>()
/** Bytes that are sent to many, as far as they have been gathered. */
let gathered: { bytes: Buffer; ids: number[]; sharers: number } | null = null

/** If the store cannot be opened, the next request tries again. */
function open(): Promise<{ reader: Reader; reads: LongReads }> {
  opening ??= store.openReader({ isReadOnly }).then(
    (reader) => ({
      reader,
      // One at a time: the thread reads itself.
      reads: longReadsOf(reader, (message) => say({ type: 'notice', message }), storeName, 1),
    }),
    (error: unknown) => {
      opening = null
      throw asUnavailable(error)
    },
  )
  return opening
}

function createProxy(id: number): Proxy {
  let isClosed = false
  const { promise: closed, resolve: onClosed } = Promise.withResolvers<void>()
  let waiting: (() => void)[] = []
  const onDrained = () => {
    for (const resolve of waiting) resolve()
    waiting = []
  }
  return {
    send: (bytes, sharers) => gather(id, bytes, sharers),
    drained: () => {
      if (isClosed) return Promise.resolve()
      sendGathered()
      if (waiting.length === 0) say({ type: 'drain', id })
      return new Promise((resolve) => waiting.push(resolve))
    },
    get isClosed() {
      return isClosed
    },
    onDrained,
    close: () => {
      isClosed = true
      onDrained()
      onClosed()
    },
    closed,
  }
}

/** Sends what many are sent once, in the order in which it was sent. */
function gather(id: number, bytes: Buffer, sharers: number): void {
  if (gathered?.bytes !== bytes) {
    sendGathered()
    gathered = { bytes, ids: [], sharers }
    queueMicrotask(sendGathered)
  }
  gathered.ids.push(id)
}

function sendGathered(): void {
  if (gathered === null) return
  const { ids, sharers } = gathered
  const bytes = new Uint8Array(gathered.bytes)
  gathered = null
  say({ type: 'send', ids, bytes, sharers }, [bytes.buffer])
}

async function answer(asked: LongReadAsked): Promise<ThreadAnswer<LongReadAnswer>> {
  if (asked.type === 'shorten log') {
    const { reads } = await open()
    await reads.shortenLog()
    return { answer: null }
  }
  const { id } = asked
  switch (asked.type) {
    case 'follow': {
      const proxy = createProxy(id)
      proxies.set(id, proxy)
      const { reads } = await open()
      if (proxy.isClosed) return { answer: null }
      await reads.hub.follow(resourceNamed(asked.resource), asked.selection, proxy, asked.start)
      // Answered at the end: should the thread fail, every follower is notified.
      await proxy.closed
      return { answer: null }
    }
    case 'leave': {
      const proxy = proxies.get(id)
      proxies.delete(id)
      proxy?.close()
      if (proxy !== undefined && opening !== null) (await opening).reads.hub.leave(proxy)
      return { answer: null }
    }
    case 'drained':
      proxies.get(id)?.onDrained()
      return { answer: null }
    case 'export': {
      const { reads } = await open()
      const query = { ...asked.query, resource: resourceNamed(asked.query.resource) }
      const opened = await reads.openExport(query, asked.format)
      exports.set(id, opened)
      return { answer: opened.position }
    }
    case 'next': {
      const text = (await exports.get(id)?.next()) ?? null
      if (text === null) return { answer: null }
      // Memory that holds nothing else is handed over as it is.
      const bytes = text.byteLength === text.buffer.byteLength ? text : new Uint8Array(text)
      return { answer: bytes, bytes: [bytes.buffer as ArrayBuffer] }
    }
    case 'close': {
      const opened = exports.get(id)
      exports.delete(id)
      await opened?.close()
      return { answer: null }
    }
    default:
      return asked satisfies never
  }
}

const say = answerCalls<LongReadAsked, LongReadAnswer, LongReadNews>(parentPort!, answer, async () => {
  for (const proxy of proxies.values()) proxy.close()
  await Promise.all([...exports.values()].map((opened) => opened.close()))
  if (opening === null) return
  const { reader, reads } = await opening
  await reads.close()
  await reader.close()
})
