import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { get, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { StoreUnavailableError } from '#core/store/errors'
import type { Reader } from '#core/store/store'
import { type LongReads, longReadsOf } from '#service/streams/long-reads/long-reads'
import type { ServerEvent } from '../../client/src/event-stream.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { idOf } from '../fixtures/events/event-stream.ts'
import { getPage, metricsOf, query, send, statusOf } from '../fixtures/requests/http.ts'
import { type Listener, listen, rowsOf } from '../fixtures/requests/listen.ts'
import { openReceiving, openSocket, requestText } from '../fixtures/requests/raw-http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { startService } from '../fixtures/services/program.ts'
import { serve, serveApp } from '../fixtures/services/service.ts'
import {
  checkpointAt,
  createActivity,
  createLiveStore,
  LIVE_MARKET,
  marketData,
  OTHER_MARKET,
  openLiveStore,
  periodEvent,
  pointAt,
  providedBy,
  provision,
  serveLive,
} from '../fixtures/stores/live-store.ts'
import { describeOn, openReader, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** The events of the first block. */
const FIRST = [checkpointAt(1), pointAt(1)]

const POINT_STREAM = '/api/v2/stream/funding-period-data-points'
const PERIOD_STREAM = '/api/v2/stream/funding-periods'
const CHECKPOINT_STREAM = '/api/v2/stream/checkpoints'
const PROVIDER_STREAM = '/api/v2/stream/liquidity-providers'

const pointsPath = (marketId: string) => `/api/v2/funding-periods/data-points/${marketId}`
const dataOf = (events: readonly ServerEvent[]) => events.map(({ data }) => data)
const nodesOf = ({ events }: Listener) => events.map(({ data }) => JSON.parse(data))

/** Waits for rows of a stream. */
async function assertReceives(listener: Listener, rows: readonly string[]): Promise<void> {
  await until(() => listener.events.length >= rows.length, `${rows.length} rows`)
  assert.deepEqual(dataOf(listener.events), rows)
}

/** Fails unless both contain the same rows, each once. */
function assertSameRows(streamed: readonly string[], paged: readonly string[], where: string): void {
  const [ours, theirs] = [[...streamed].sort(), [...paged].sort()]
  const differing = ours.findIndex((row, index) => row !== theirs[index])
  assert.equal(ours[differing], theirs[differing], where)
  assert.equal(ours.length, theirs.length, where)
}

describeOn(STORE_KINDS, 'streams', (kind) => {
  test('send the rows of blocks below the first once, to followers and to clients that reconnect', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const commit = (height: number) => live.commit(height, [checkpointAt(height)])
    await commit(20)
    const base = await serve(t, store)
    const heightsOf = (listener: Listener) => nodesOf(listener).map(({ atBlock }) => atBlock)
    const away = await listen(base, `${CHECKPOINT_STREAM}?afterBlock=0`)
    away.cut()
    const stays = await listen(base, CHECKPOINT_STREAM, away.id)
    for (const height of [5, 21, 7, 6, 3]) {
      await commit(height)
      await until(() => heightsOf(stays).at(-1) === `${height}`, `block ${height}`)
    }
    const back = await listen(base, CHECKPOINT_STREAM, away.id)
    assert.deepEqual(heightsOf(back).toSorted(), ['21', '3', '5', '6', '7'])
    await commit(2)
    await until(() => heightsOf(back)[5] === '2' && heightsOf(stays)[5] === '2', 'the new row')
    for (const listener of [stays, back]) listener.cut()
    await until(async () => !/^lyra_streams\{.*\} [1-9]/m.test(await metricsOf(base)), 'all gone')
  })

  test('start after a block, after a row of a page, or after an event of another stream', async (t) => {
    const { live, base } = await serveLive(t, kind, FIRST)
    for (let height = 2; height <= 300; height++) await live.commit(height, [pointAt(height)])
    const target = `${POINT_STREAM}?marketId=${LIVE_MARKET}`
    const everything = await listen(base, `${target}&afterBlock=0`)
    await assertReceives(everything, (await rowsOf(base, pointsPath(LIVE_MARKET))).reverse())
    assert.equal(everything.events.length, 300)
    const page = await getPage(base, pointsPath(LIVE_MARKET), 'pagination.first=100')
    for (const [start, expected] of [
      [`afterBlock=200`, 100],
      [`after=${everything.events[199]!.id}`, 100],
      [`after=${page.pageInfo.endCursor}`, 99],
    ] as const) {
      const listener = await listen(base, `${target}&${start}`)
      await assertReceives(listener, dataOf(everything.events.slice(-expected)))
    }
  })

  test('start after the header Last-Event-ID, else lastEventId, else after, else afterBlock; an empty one does not count', async (t) => {
    const { live, base } = await serveLive(t, kind, [checkpointAt(1)])
    for (let height = 2; height <= 6; height++) await live.commit(height, [checkpointAt(height)])
    const { events } = await listen(base, `${CHECKPOINT_STREAM}?afterBlock=0`)
    await until(() => events.length === 6, 'all rows')
    const [, second, third, fourth, fifth] = events.map(({ id }) => id)
    for (const [query, header, first] of [
      [`lastEventId=${fifth}`, undefined, 6],
      [`last_event_id=${fifth}`, '', 6],
      [`lastEventId=${fourth}&afterBlock=1`, fifth, 6],
      [`lastEventId=${fourth}&after=${third}`, undefined, 5],
      [`lastEventId=rubbish&after=${third}`, fourth, 5],
      [`lastEventId=&after=${third}`, '', 4],
      [`lastEventId=${second}&afterBlock=4`, '', 3],
      ['lastEventId=&after=&afterBlock=1', undefined, 2],
      [`after=${second}&afterBlock=`, undefined, 3],
    ] as const) {
      const listener = await listen(base, `${CHECKPOINT_STREAM}?${query}`, header)
      await assertReceives(listener, dataOf(events.slice(first - 1)))
      listener.cut()
    }
    const isNone = 'lastEventId=&after=&afterBlock='
    const fresh = await listen(base, `${CHECKPOINT_STREAM}?${isNone}`, '')
    await live.commit(7, [checkpointAt(7)])
    await until(() => fresh.events.length > 0, 'a new row')
    assert.equal(nodesOf(fresh)[0].atBlock, '7')
    for (const [query, headers] of [
      ['lastEventId=rubbish', {}],
      [`lastEventId=rubbish&after=${third}`, {}],
      [`lastEventId=${third}`, { 'last-event-id': 'rubbish' }],
      ['', { 'last-event-id': [third!, fourth!] }],
      [`lastEventId=${third}&after=${third}&afterBlock=1`, {}],
    ] as const)
      await assertMalformed(base, `${CHECKPOINT_STREAM}?${query}`, 10028, headers as OutgoingHttpHeaders)
    await assertMalformed(base, `${CHECKPOINT_STREAM}?lastEventId=${third}&lastEventId=${fourth}`)
  })

  test('lose and repeat nothing when the service is killed and restarted', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [pointAt(1)])
    const activity = createActivity(live, 7)
    let stopped = false
    const writing = (async () => {
      while (!stopped) {
        await activity.step()
        await sleep(5)
      }
    })()
    const events: ServerEvent[] = []
    let id: string | undefined
    const kills = runsOf('process', kind)
    for (let kill = 0; kill <= kills; kill++) {
      const { service, base } = await startService(t, `--store ${store}`)
      const target = `${POINT_STREAM}?marketId=${LIVE_MARKET}${id === undefined ? '&afterBlock=0' : ''}`
      const listener: Listener = await listen(base, target, id)
      if (kill < kills) await sleep(20 * (kill % 12))
      else {
        stopped = true
        await writing
        const paged = await rowsOf(base, pointsPath(LIVE_MARKET))
        await until(() => events.length + listener.events.length >= paged.length, 'the last rows')
        await sleep(1_500)
        assertSameRows([...dataOf(events), ...dataOf(listener.events)], paged, 'after the kills')
      }
      service.child.kill('SIGKILL')
      await listener.ended
      events.push(...listener.events)
      id = listener.id
    }
    t.diagnostic(`${kills} kills, ${events.length} rows, up to block ${live.height}`)
  })

  test('send the rows of all markets if no market is named, and resume after any of them', async (t) => {
    const { live, base } = await serveLive(t, kind, FIRST)
    const points = await listen(base, `${POINT_STREAM}?afterBlock=0`)
    const external = await listen(base, `${POINT_STREAM}?source=SOURCE_EXTERNAL`)
    const periods = await listen(base, PERIOD_STREAM)
    const markets = Array.from({ length: 70 }, (_, index) => idOf(`${index}`))
    const expected: string[] = [LIVE_MARKET]
    for (let height = 2; height <= 20; height++) {
      const source = height === 9 ? 1 : 2
      await live.commit(height, [
        ...markets.map((marketId) => pointAt(height, { marketId, source })),
        ...markets.map((marketId) => periodEvent({ marketId, seq: BigInt(height) })),
      ])
      expected.push(...markets)
    }
    const marketsOf = (listener: Listener) => nodesOf(listener).map(({ marketId }) => marketId)
    await until(() => points.events.length >= expected.length, 'the points')
    assert.deepEqual(marketsOf(points), expected)
    await until(() => periods.events.length >= 19 * 70, 'the periods')
    assert.deepEqual(marketsOf(periods), expected.slice(1))
    assert.deepEqual(marketsOf(external), markets)
    const paged = await rowsOf(base, pointsPath(markets[3]!))
    assert.deepEqual(
      dataOf(points.events).filter((_, index) => expected[index] === markets[3]),
      paged.reverse(),
    )
    for (const [target, { events }] of [
      [POINT_STREAM, points],
      [PERIOD_STREAM, periods],
    ] as const) {
      for (const at of [0, 700, events.length - 2]) {
        const rest = await listen(base, target, events[at]!.id)
        await assertReceives(rest, dataOf(events.slice(at + 1)))
      }
    }
    // A row of an export of all markets is a beginning, too.
    const { text } = await send(base, '/api/v2/export/funding-period-data-points?format=ndjson')
    const line = text.split('\n').findLast((one) => one.includes(markets[0]!))!
    const { cursor, ...node } = JSON.parse(line)
    const after = await listen(base, `${POINT_STREAM}?after=${cursor}`)
    const from = points.events.findIndex(
      ({ data }) => data.includes(markets[0]!) && data.includes(node.timestamp),
    )
    assert.ok(from >= 0)
    await assertReceives(after, dataOf(points.events.slice(from + 1)))
  })

  test('send a provider only when its figures change, also after a restart of the service', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [
      ...['b', 'c', 'e'].map((party) => provision(LIVE_MARKET, party)),
      marketData(LIVE_MARKET, { b: '0.5', c: '0.5' }),
    ])
    const target = `${PROVIDER_STREAM}?marketId=${LIVE_MARKET}`
    const ofParty = (party: string) => [['partyId', party.repeat(64)]] as [string, string][]
    const partiesOf = (listener: Listener) =>
      nodesOf(listener).map(({ partyId, feeShare }) => `${partyId[0]} ${feeShare.equityLikeShare}`)
    const first = await serve(t, store)
    const listener = await listen(first, target)
    const one = await listen(first, `${PROVIDER_STREAM}${query(ofParty('c'))}`)
    await live.commit(2, [marketData(LIVE_MARKET, { b: '0.6', c: '0.5' })])
    await live.commit(3, [marketData(LIVE_MARKET, { b: '0.6', c: '0.3', e: '0.1' })])
    await until(() => listener.events.length >= 3, 'three changes')
    assert.deepEqual(partiesOf(listener).sort(), ['b 0.6', 'c 0.3', 'e 0.1'])
    await assertReceives(one, await rowsOf(first, '/api/v2/liquidity/providers', ofParty('c')))
    assert.deepEqual(partiesOf(one), ['c 0.3'])
    listener.cut()
    await live.commit(4, [marketData(LIVE_MARKET, { b: '0.7', c: '0.3', e: '0.1' })])
    // Like another process: this service has had no stream yet.
    const second = await serve(t, store)
    const again = await listen(second, target, listener.id)
    assert.deepEqual(partiesOf(again), ['b 0.7'])
  })

  test('send the whole of a list that needs several reads, wherever the client was cut', async (t) => {
    const parties = Array.from({ length: 1_100 }, (_, index) => index.toString(16).padStart(64, '0'))
    const { base } = await serveLive(t, kind, providedBy(LIVE_MARKET, parties))
    const target = `${PROVIDER_STREAM}?marketId=${LIVE_MARKET}`
    const all = await listen(base, `${target}&afterBlock=0`)
    await until(() => all.events.length >= parties.length, 'the whole list')
    all.cut()
    assert.equal(new Set(dataOf(all.events)).size, parties.length)
    const rows = dataOf(all.events)
    for (const at of [0, 499, 700, parties.length - 2]) {
      const rest = await listen(base, target, all.events[at]!.id)
      await until(() => dataOf(rest.events).includes(rows.at(-1)!), `the rows after row ${at}`)
      rest.cut()
      // No more rows come again than are read at a time, and after the last of these none.
      const found = dataOf(rest.events)
      const repeated = found.length - (rows.length - at - 1)
      assert.deepEqual(found, rows.slice(-found.length))
      assert.ok(repeated >= 0 && repeated < (at === 499 ? 1 : 500), `${at}: ${repeated}`)
    }
    assert.deepEqual((await listen(base, target, all.events.at(-1)!.id)).events, [])
  })
})

/** Opens the stream of checkpoints; returns its blocks until now, in a line each, without the content of ids. */
async function openText(t: TestContext, base: string, query: string): Promise<() => string[]> {
  const request = get(`${base}${CHECKPOINT_STREAM}${query}`, { agent: false })
  t.after(() => request.destroy())
  request.on('error', () => {})
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  const short = (block: string) =>
    block
      .replace(/^id: s\S+$/m, 'id: s')
      .replace(
        /\nevent: (\w+)\ndata: (.*)$/,
        (_, event, data) => ` ${event} ${JSON.parse(data).atBlock ?? data}`,
      )
      .replaceAll('\n', ' ')
  return () => text.split('\n\n').slice(0, -1).map(short)
}

describe('a stream', () => {
  const kind = STORE_KINDS[0]!

  test('has each id in an event with data, the first position at once and others after 4 s without rows', async (t) => {
    const { live, base } = await serveLive(t, kind, [checkpointAt(1)])
    await live.commit(2, [checkpointAt(2)])
    const [fresh, back] = await Promise.all(['', '?afterBlock=0'].map((query) => openText(t, base, query)))
    await until(() => fresh!().length === 1 && back!().length === 3, 'the first events')
    await live.commit(3, [checkpointAt(3)])
    await until(() => fresh!().length === 2 && back!().length === 4, 'the new row')
    const sentAt = performance.now()
    await until(() => fresh!().length === 3 && back!().length === 5, 'a position')
    const seconds = (performance.now() - sentAt) / 1_000
    assert.ok(seconds > 3.5 && seconds < 5, `${seconds} s`)
    const position = 'id: s position []'
    const row = (height: number) => `id: s checkpoints ${height}`
    assert.deepEqual(fresh!(), [`retry: 1000 ${position}`, row(3), position])
    assert.deepEqual(back!(), [`retry: 1000 ${row(1)}`, row(2), position, row(3), position])
  })

  test('ends with a clear event if its client does not read, while others continue', async (t) => {
    const { live, base } = await serveLive(t, kind, [checkpointAt(1)])
    const attentive = await listen(base, CHECKPOINT_STREAM)
    const slow = openSocket(base)
    t.after(() => slow.destroy())
    slow.write(requestText(`GET ${CHECKPOINT_STREAM}`))
    await once(slow, 'readable')
    slow.pause()
    await until(async () => /\{resource="checkpoints"\} 2/.test(await metricsOf(base)), 'both')
    const large = 'x'.repeat(100_000)
    let height = 1
    const dropped = async () => /lyra_streams_dropped_total 1/.test(await metricsOf(base))
    while (!(await dropped())) {
      assert.ok(height < 400, 'it is dropped in the end')
      height++
      const events = [1, 2, 3].map((part) => ({ ...checkpointAt(height), hash: `${part}`, blockHash: large }))
      await live.commit(height, events)
      await until(() => attentive.events.length >= 3 * (height - 1), 'the attentive one')
    }
    let text = ''
    slow.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk
    })
    slow.resume()
    await until(() => text.includes('event: dropped'), 'the last event')
    assert.match(text, /event: dropped\ndata: \{"code":8,"message":"[^"]*client[^"]*[^\n]*\}\n\n/)
    await live.commit(height + 1, [checkpointAt(height + 1)])
    await until(() => attentive.events.length > 3 * (height - 1), 'the attentive one continues')
  })

  test('is refused if it cannot be followed, by the table of errors', async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    assert.equal(await statusOf(base, CHECKPOINT_STREAM), 503)
    const live = await openLiveStore(t, store)
    await live.commit(1, [checkpointAt(1), pointAt(1), pointAt(1, { marketId: OTHER_MARKET })])
    const page = await getPage(base, pointsPath(OTHER_MARKET))
    const ofOther = await listen(base, `${POINT_STREAM}?marketId=${OTHER_MARKET}`)
    const market = `marketId=${LIVE_MARKET}`
    const ofAll = await listen(base, POINT_STREAM)
    for (const [target, headers] of [
      [`${POINT_STREAM}?after=${ofOther.id}`],
      [`${POINT_STREAM}?after=${page.pageInfo.endCursor}`],
      [`${PERIOD_STREAM}?after=${ofAll.id}`],
      [`${POINT_STREAM}?${market}&after=${ofAll.id}`],
      [`${POINT_STREAM}?${market}&after=${page.pageInfo.endCursor}`],
      [`${POINT_STREAM}?${market}&after=${ofOther.id}`],
      [`${POINT_STREAM}?${market}`, { 'last-event-id': 'abc' }],
      [`${CHECKPOINT_STREAM}?after=${ofOther.id}`],
    ] as [string, Record<string, string>?][]) {
      const answer = await assertMalformed(base, target, 10028, headers)
      assert.equal(answer.headers['x-block-height'], '1', target)
    }
    const head = await send(base, CHECKPOINT_STREAM, { method: 'HEAD' })
    assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/event-stream', ''])
    assert.equal(await statusOf(base, CHECKPOINT_STREAM, { method: 'POST' }), 405)
  })

  test('ends in an orderly way if the service stops before its request has been read', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, FIRST)
    const reader = await openReader(t, store)
    const asked = Promise.withResolvers<void>()
    const stops = Promise.withResolvers<void>()
    const slow: Reader = {
      ...reader,
      freshness: async (since) => {
        asked.resolve()
        await stops.promise
        return reader.freshness(since)
      },
    }
    const { base, app } = await serveApp(t, store, { reader: slow })
    const { socket, received, ended } = openReceiving(base)
    t.after(() => socket.destroy())
    socket.write(requestText(`GET ${CHECKPOINT_STREAM}`))
    await asked.promise
    const stopped = app.close()
    stops.resolve()
    await until(() => received().length > 0, 'an answer')
    await Promise.all([ended, stopped])
    // The head, when to come back, and the last chunk.
    assertSays(received().toString('latin1'), 'HTTP/1.1 200 OK')
    assert.match(received().toString('latin1'), /retry: 1000\n\r\n0\r\n\r\n$/)
  })

  test('leaves nothing behind on its connection, which brings further requests', async (t) => {
    const sockets = new Set<Socket>()
    const note = (message: unknown) => sockets.add((message as { socket: Socket }).socket)
    subscribe('http.server.request.start', note)
    t.after(() => unsubscribe('http.server.request.start', note))
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, FIRST)
    const reader = await openReader(t, store)
    const longReads: LongReads = {
      ...longReadsOf(reader),
      readChunk: async () => {
        throw new StoreUnavailableError('the disk is full')
      },
    }
    const base = await serve(t, store, { longReads })
    const { socket, received } = openReceiving(base)
    t.after(() => socket.destroy())
    const ends = () => received().toString('latin1').split('\r\n0\r\n\r\n').length - 1
    const counts: number[] = []
    for (const streams of [1, 2, 3, 4]) {
      socket.write(requestText(`GET ${CHECKPOINT_STREAM}`, { Connection: 'keep-alive' }))
      await until(() => ends() === streams, 'the end of a stream')
      counts.push([...sockets][0]!.listenerCount('end'))
    }
    assert.equal(sockets.size, 1)
    assert.deepEqual(counts, Array(4).fill(counts[0]))
  })
})
