import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Resource, Selection } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { StoreUnavailableError } from '#core/store/errors'
import type { Reader } from '#core/store/store'
import type { ExportQuery } from '#service/formats/export-rows'
import type { UnsentBytes } from '#service/http/clients/unsent-bytes'
import type { Follower, Start } from '#service/streams/follower'
import { Hub } from '#service/streams/hub'
import type { ReadChunk } from '#service/streams/long-reads/chunk'
import { longReadsOf } from '#service/streams/long-reads/long-reads'
import { type ReadClass, ReadQueue } from '#service/streams/long-reads/read-queue'
import { startLongReads } from '#service/streams/long-reads/start-long-reads'
import { RowFeed } from '#service/streams/row-feed'
import { ResponseFollower } from '#service/streams/stream-route-follower'
import { selectionKey } from '#service/streams/stream-slots'
import { send } from '../fixtures/requests/http.ts'
import { listen } from '../fixtures/requests/listen.ts'
import { openSocket, requestText } from '../fixtures/requests/raw-http.ts'
import { serveWith } from '../fixtures/services/port.ts'
import { startService } from '../fixtures/services/program.ts'
import { SILENT, serve } from '../fixtures/services/service.ts'
import { checkpointAt, createLiveStore, LIVE_MARKET, pointAt } from '../fixtures/stores/live-store.ts'
import { ANY_STORE_KIND, describeOn, openReader, SQLITE, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const MB = 1024 * 1024
const CHECKPOINT_STREAM = '/api/v2/stream/checkpoints'
const POINT_STREAM = `/api/v2/stream/funding-period-data-points?marketId=${LIVE_MARKET}`

/** A follower that accepts everything at once. */
const createListener = (): Follower & { text: string; isClosed: boolean; isSilent: boolean } => ({
  text: '',
  send(bytes) {
    this.text += bytes.toString()
  },
  isSilent: false,
  drained: async () => {},
  isClosed: false,
})

/** A hub, and a function that follows the rows of a selection. */
function openHub(t: TestContext, reader: Reader, readChunk: ReadChunk = longReadsOf(reader, 1).readChunk) {
  const hub = new Hub({ reader, onNotice: () => {} })
  t.after(() => hub.close())
  const follow = (resource: Resource, selection: Selection, follower: Follower, start: Start) =>
    hub.follow(
      {
        key: selectionKey(resource, selection),
        createFeed: () => new RowFeed(resource, selection, readChunk),
        start,
      },
      follower,
    )
  return { hub, follow }
}

const rowsIn = (text: string) => text.match(/^event: (?!position$)/gm)?.length ?? 0

describeOn(ANY_STORE_KIND, 'reading for streams', (kind) => {
  test('reads the store once for all followers that are up to date, not for each', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [pointAt(1)])
    const reader = await openReader(t, store)
    let reads = 0
    const counting: Reader = {
      ...reader,
      read: (reading) => {
        reads++
        return reader.read(reading)
      },
    }
    const { hub, follow } = openHub(t, counting)
    const selection = { marketId: LIVE_MARKET }
    const listeners = Array.from({ length: 500 }, createListener)
    const joined = listeners.map((listener, index) => {
      const height = index === 0 ? 3n : 999_999_999_999n + BigInt(index)
      const start = { after: { height: height + 1n, index: 0 } }
      return follow(fundingPeriodDataPoints, selection, listener, start)
    })
    await sleep(1_200)
    for (let height = 2; height <= 6; height++) {
      await live.commit(height, [pointAt(height)])
      await sleep(150)
    }
    await until(() => rowsIn(listeners[0]!.text) === 3, 'the rows after block 3')
    assert.ok(listeners.slice(1).every(({ text }) => text === ''))
    assert.ok(reads < 30, `${reads} reads for 500 followers and 5 blocks`)
    for (const listener of listeners) {
      listener.isClosed = true
      hub.leave(listener)
    }
    await Promise.all(joined)
  })

  test('sends a block committed during a read, without waiting for another commit', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [pointAt(1)])
    const opened = await openReader(t, store)
    const first = Promise.withResolvers<void>()
    const committed = Promise.withResolvers<void>()
    const reader: Reader = {
      ...opened,
      read: async (reading) => {
        const found = await opened.read(reading)
        first.resolve()
        await committed.promise
        return found
      },
    }
    const { follow } = openHub(t, reader)
    const listener = createListener()
    const joined = follow(fundingPeriodDataPoints, { marketId: LIVE_MARKET }, listener, 'now')
    await first.promise
    await live.commit(2, [pointAt(2)])
    await sleep(300)
    committed.resolve()
    await joined
    await until(() => rowsIn(listener.text) === 1, 'the row of block 2')
  })

  test('reads when the writer reports a commit, and seldom otherwise', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [pointAt(1)])
    const opened = await openReader(t, store)
    let looks = 0
    const reader: Reader = {
      ...opened,
      freshness: (since) => {
        looks++
        return opened.freshness(since)
      },
    }
    const { hub, follow } = openHub(t, reader)
    const listener = createListener()
    await follow(fundingPeriodDataPoints, { marketId: LIVE_MARKET }, listener, 'now')
    hub.committed()
    await sleep(1_500)
    assert.ok(looks <= 4, `${looks} reads in 1.5 s`)
    for (let height = 2; height <= 30; height++) {
      await live.commit(height, [pointAt(height)])
      const before = looks
      hub.committed()
      await until(() => looks > before, 'a look')
      await until(() => rowsIn(listener.text) === height - 1, `the row of block ${height}`)
    }
    // One read a second would take half a minute.
    assert.ok(looks <= 75, `${looks} reads for 29 commits`)
  })

  test('sends the whole history in pieces, which have fewer rows if rows are long', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const blockHash = 'x'.repeat(20_000)
    const rows = 150
    for (let height = 1; height <= rows; height++) {
      await live.commit(height, [{ ...checkpointAt(height), blockHash }])
    }
    const reader = await openReader(t, store)
    const { follow } = openHub(t, reader)
    const listener = createListener()
    const pieces: number[] = []
    const take = listener.send.bind(listener)
    listener.send = (bytes, sharers) => {
      pieces.push(bytes.length)
      take(bytes, sharers)
    }
    const start = { after: { height: 0n, index: 0 } }
    await follow(checkpoints, {}, listener, start)
    assert.equal(rowsIn(listener.text), rows)
    assert.ok(Math.max(...pieces) <= MB / 4, `${Math.max(...pieces)} bytes at a time`)
    assert.ok(pieces.length > 3)
  })
})

describe('the reader for streams and exports', () => {
  const never = () => {
    throw new Error('read by the thread that answers')
  }

  test('is a separate thread from the one that answers, for a SQLite file', {
    skip: SQLITE === undefined && 'for SQLite only',
  }, async (t) => {
    const { store, live } = await createLiveStore(t, SQLITE!)
    for (let height = 1; height <= 10; height++) {
      await live.commit(height, [pointAt(height), checkpointAt(height)])
    }
    const opened = await openReader(t, store)
    const reader: Reader = {
      ...opened,
      read: never,
      openSnapshot: never,
    }
    const longReads = startLongReads(store, SILENT)
    const base = await serve(t, store, { reader, longReads })
    t.after(() => longReads.close())
    const heard = await listen(base, `${POINT_STREAM}&afterBlock=0`)
    await until(() => heard.events.length === 10, 'the stored rows')
    await live.commit(11, [pointAt(11)])
    await until(() => heard.events.length === 11, 'the new row')
    const exported = await send(base, '/api/v2/checkpoints?format=ndjson')
    assert.equal(exported.text.trimEnd().split('\n').length, 10)
  })

  test('lets followers that wait for it hear that the stream is alive', async (t) => {
    const { hub, follow } = openHub(
      t,
      { freshness: async () => ({ position: null }) } as never,
      () => new Promise(() => {}),
    )
    const waiting = createListener()
    void follow(checkpoints, {}, waiting, 'now')
    waiting.isSilent = true
    // Without a blank line: some clients report a block without data as an empty event.
    await until(() => /^(: \n)+$/.test(waiting.text), 'a comment')
    hub.close()
  })

  test('refuses followers while it cannot read', async (t) => {
    const longReads = startLongReads('', SILENT)
    const { readChunk } = longReads
    const { follow } = openHub(t, { freshness: never } as never, readChunk)
    await assert.rejects(follow(checkpoints, {}, createListener(), 'now'), StoreUnavailableError)
    await longReads.close()
  })

  test('takes turns: new rows first, then lagging followers and exports alternately', async () => {
    const queue = new ReadQueue(1)
    const order: string[] = []
    const run = (readClass: ReadClass, name: string) =>
      queue.run(readClass, async () => {
        order.push(name)
        await nextTurn()
      })
    const all = [run('catching up', 'first')]
    for (let n = 1; n <= 4; n++) all.push(run('catching up', `catching up ${n}`))
    for (let n = 1; n <= 2; n++) all.push(run('export', `export ${n}`))
    for (let n = 1; n <= 10; n++) all.push(run('live', `live ${n}`))
    await Promise.all(all)
    const lives = Array.from({ length: 10 }, (_, n) => `live ${n + 1}`)
    assert.deepEqual(order, [
      'first',
      ...lives.slice(0, 8),
      'export 1',
      ...lives.slice(8),
      'catching up 1',
      'export 2',
      'catching up 2',
      'catching up 3',
      'catching up 4',
    ])
  })
})

describe('the unsent bytes of streams', () => {
  /** Opens an answer whose client does not read; returns both. */
  async function openUnread(t: TestContext) {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>()
    const client = openSocket(await serveWith(t, (_, response) => resolve(response)))
    t.after(() => client.destroy())
    client.pause()
    client.write(requestText('GET /', {}))
    const response = await promise
    response.writeHead(200)
    return { response, client }
  }

  test('count towards the common limit until they are read or the client is gone', async (t) => {
    const { response, client } = await openUnread(t)
    let unsent = 0
    let holder: { destroy(): unknown } | null = null
    const unsentBytes: Pick<UnsentBytes, 'count'> = {
      count: (_, by, bytes) => {
        holder = by
        unsent += bytes
        return () => {
          unsent -= bytes
        }
      },
    }
    const follower = new ResponseFollower(response, unsentBytes, '192.0.2.1', () => {})
    const piece = Buffer.alloc(MB / 4, 'x')
    let sent = 0
    while (unsent < 2 * piece.length) {
      assert.ok(sent < 100, "the system's buffers are full")
      follower.send(piece, 1)
      sent++
      await sleep(5)
    }
    assert.ok(unsent <= MB + piece.length)
    const before = unsent
    follower.send(piece, 1_000)
    await sleep(20)
    assert.ok(
      unsent > before && unsent - before < 1_000,
      'bytes sent to a thousand followers are in memory once',
    )
    client.resume()
    await until(() => unsent === 0, 'all is read')
    const now = performance.now()
    const clock = t.mock.method(performance, 'now', () => now)
    follower.send(Buffer.from('x'), 1)
    await until(() => response.writableLength === 0, 'it is sent')
    assert.equal(follower.isSilent, false)
    clock.mock.mockImplementation(() => now + 5_000)
    assert.equal(follower.isSilent, true)
    client.pause()
    for (let n = 0; unsent === 0 && n < 100; n++) {
      follower.send(piece, 1)
      await sleep(5)
    }
    assert.ok(unsent > 0)
    // Then it is idle: it is sent no sign of life.
    clock.mock.mockImplementation(() => now + 60_000)
    assert.equal(follower.isSilent, false)
    holder!.destroy()
    await until(() => unsent === 0 && response.destroyed, 'nothing is kept for a disconnected client')
  })

  test('take little memory, however many clients request all checkpoints and read nothing', async (t) => {
    const kind = STORE_KINDS[0]!
    const { store, live } = await createLiveStore(t, kind)
    const rows = 800
    const blockHash = 'x'.repeat(20_000)
    for (let height = 1; height <= rows; height++) {
      await live.commit(height, [{ ...checkpointAt(height), blockHash }])
    }
    const { base } = await startService(t, `--store ${store}`)
    const unread = Array.from({ length: 20 }, () => openSocket(base))
    for (const socket of unread) {
      socket.pause()
      socket.write(requestText(`GET ${CHECKPOINT_STREAM}?afterBlock=0`, {}))
    }
    t.after(() => {
      for (const socket of unread) socket.destroy()
    })
    // All take turns: once one that reads has everything, the others have had their share.
    const heard = await listen(base, `${CHECKPOINT_STREAM}?afterBlock=0`)
    // The thread that reads for streams has a lower priority than other processes.
    let most = 0
    const isWhole = async () => {
      const { text } = await send(base, '/metrics')
      most = Math.max(most, Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)![1]))
      return heard.events.length === rows
    }
    await until(isWhole, 'the reading client has everything', 180)
    assert.ok(heard.events.every(({ data }) => data.includes(blockHash)))
    t.diagnostic(`${Math.round(most / 1e6)} MB at most`)
    assert.ok(most < 400e6, `${most} bytes`)
  })
})

test('an export whose thread has ended is not taken for complete', async (t) => {
  const { store, live } = await createLiveStore(t, SQLITE)
  await live.commitAll(Array.from({ length: 3_000 }, (_, n) => ({ height: n + 1, events: [pointAt(n + 1)] })))
  const threads: Worker[] = []
  const onThread = (worker: Worker) => threads.push(worker)
  process.on('worker', onThread)
  t.after(() => process.off('worker', onThread))
  const longReads = startLongReads(store, SILENT)
  t.after(() => longReads.close())
  const query: ExportQuery = {
    resource: fundingPeriodDataPoints,
    selection: { marketId: LIVE_MARKET },
    descending: false,
    cursor: null,
  }
  const opened = await longReads.openExport(query, 'ndjson')
  assert.ok((await opened.next())!.length > 0)
  // Nobody waits for a piece meanwhile, as while one is sent to a slow client.
  await threads.at(-1)!.terminate()
  await assert.rejects(opened.next(), StoreUnavailableError)
})
