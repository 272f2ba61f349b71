import assert from 'node:assert/strict'
import { once } from 'node:events'
import { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { type Renderer, rendererOf } from '#service/answers/renderer'
import { ClientGoneError, createQueue } from '#service/http/clients/queue'
import { auctionsQuestion } from '#service/questions/auctions'
import { Account } from '#service/quotas'
import { assertSays } from '../../fixtures/assert-says.ts'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { coverageOf } from '../../fixtures/requests/coverage.ts'
import { ask, openSocket, requestText } from '../../fixtures/requests/raw-http.ts'
import { capturedLog, NO_FILES, serve, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, openReader, STORE_KINDS, sqlite } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const forwarded = (address: string) => ({ 'X-Forwarded-For': address })

/** Sends a request and resolves with the head of the answer, and the connection. */
async function open(base: string, target: string, address: string) {
  const socket = openSocket(base)
  socket.write(requestText(`GET ${target}`, forwarded(address)))
  const [head] = (await once(socket, 'data')) as [Buffer]
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))![1])
  return { socket, status }
}

test('At the limit the address with the most places loses one to an address with fewer', () => {
  const alone: string[] = []
  const quota = new Account((address) => alone.push(address)).quota<{ name: string }>({ slots: 4 })
  const take = (address: string, name: string) => {
    const result = quota.take(address, { name })
    return result === null || result === 'refused' ? result : result.name
  }
  for (const name of ['a1', 'a2', 'a3', 'a4']) assert.equal(take('a', name), null)
  // A single address can take all places, and no more; that is reported once.
  assert.equal(take('a', 'a5'), 'refused')
  assert.equal(take('a', 'a5'), 'refused')
  assert.deepEqual(alone, ['a'])
  assert.equal(take('b', 'b1'), 'a1')
  assert.equal(take('a', 'a5'), 'refused')
  assert.equal(take('b', 'b2'), 'a2')
  // No place is taken from an address for one that would then have as many.
  assert.equal(take('b', 'b3'), 'refused')
  assert.equal(take('a', 'a5'), 'refused')
  assert.equal(take('c', 'c1'), 'a3')
  assert.equal(take('d', 'd1'), 'b1')
  assert.equal(take('e', 'e1'), 'refused')
  assert.deepEqual(alone, ['a'])
})

test('A flood of refusals is sent one in each round of the event loop', async (t) => {
  const base = await serve(t, sqlite.create(t), { inThreads: true })
  const sockets = Array.from({ length: 100 }, () => openSocket(base))
  const askAll = (path: string) =>
    Promise.all(
      sockets.map(async (socket) => {
        socket.write(requestText(`GET ${path}`, { Connection: 'keep-alive' }))
        await once(socket, 'data')
      }),
    )
  // Connections are taken on one by one.
  await askAll('/health')
  let [round, sent, most] = [0, 0, 0]
  const { writeHead } = ServerResponse.prototype
  t.mock.method(
    ServerResponse.prototype,
    'writeHead',
    function (this: ServerResponse, status: number, head: string[]) {
      if (round++ === 0) setImmediate(() => (round = 0))
      most = Math.max(most, round)
      sent += 1
      return writeHead.call(this, status, head)
    },
  )
  await askAll('/nothing')
  assert.equal(sent, 100)
  for (const socket of sockets) socket.destroy()
  // The immediate that ends a round of this test may run before that of the service.
  assert.ok(most <= 2, `${most} in one round`)
})

test('Reports only wait for reports, in turns of addresses', async (t) => {
  const store = await storeOf(t, sqlite, SAMPLE)
  const reader = await openReader(t, store)
  const renderer = rendererOf(reader)
  /** Reports in progress, by the end of their range, with the function that finishes them. */
  const inProgress: [end: bigint, finish: () => void][] = []
  const render: Renderer['render'] = async (question, asked, form, isAlone) => {
    if (question.path !== auctionsQuestion.path) return renderer.render(question, asked, form, isAlone)
    const { end } = asked as { end: bigint }
    await new Promise<void>((resolve) => inProgress.push([end, resolve]))
    return renderer.render(question, asked, form, isAlone)
  }
  const base = await serve(t, store, { reader, renderer: { ...renderer, render }, trustProxy: true })
  const auctions = (address: string, end: number) =>
    ask(base, `GET /api/v2/auctions/${MARKET}?dateRange.endTimestamp=${end}`, forwarded(address))
  const asked = Array.from({ length: 17 }, (_, index) => auctions('10.0.0.1', 100 + index))
  await until(() => inProgress.length === 2, 'two are in progress')
  for (const target of [`${CHECKPOINTS}?pagination.first=1`, `${CHECKPOINTS}?pagination.first=5000`]) {
    const { status, body } = await ask(base, `GET ${target}`, forwarded('10.0.0.2'))
    assert.equal(status, 200, `${target}: ${body}`)
  }
  assert.equal(inProgress.length, 2)
  asked.push(auctions('10.0.0.2', 200))
  await delay(50)
  for (let index = 0; index < asked.length; index++) {
    await until(() => inProgress.length > index, 'the next one is in progress')
    inProgress[index]![1]()
  }
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200)
  // The first waiting report of 10.0.0.1 had its turn before 10.0.0.2 sent a request.
  assert.ok(
    inProgress.slice(0, 4).some(([end]) => end === 200n),
    String(inProgress.map(([end]) => end)),
  )
})

test('An address is reported if its request has waited too long for its own ones, not for those of others', async () => {
  /** Runs two long requests and one that waits for them, each of an address. */
  const reportedOf = async (...[first, second, last]: [string, string, string]) => {
    const reported: string[] = []
    const queue = createQueue(new Account((address) => reported.push(address)), 2)
    const long = [first, second].map((address) => queue.run(() => delay(10_100), address))
    await assert.rejects(
      queue.run(async () => {}, last),
      { status: 503 },
    )
    await Promise.all(long)
    return reported
  }
  const cases = [
    reportedOf('10.0.0.1', '10.0.0.2', '10.0.0.3'),
    reportedOf('10.0.0.1', '10.0.0.3', '10.0.0.3'),
    reportedOf('10.0.0.3', '10.0.0.3', '10.0.0.3'),
  ]
  assert.deepEqual(await Promise.all(cases), [[], [], ['10.0.0.3']])
})

test('A request whose connection closes while it waits leaves the queue, and its work never runs', async () => {
  const queue = createQueue(new Account(), 8)
  const ends: (() => void)[] = []
  let begun = 0
  const ask = (connection: PassThrough) =>
    queue.run(
      async () => {
        begun++
        await new Promise<void>((resolve) => ends.push(resolve))
      },
      'a',
      connection,
    )
  const connections = Array.from({ length: 1_000 }, () => new PassThrough())
  const all = connections.map(ask)
  await delay(30)
  assert.equal(begun, 8)
  const gone = all.slice(8, 998).map((one) => assert.rejects(one, ClientGoneError))
  for (const connection of connections.slice(8, 998)) connection.destroy()
  await Promise.all(gone)
  assert.equal(begun, 8, 'nothing runs beyond the limit of the queue')
  const listened = () => connections.filter((connection) => connection.listenerCount('close') > 0)
  assert.deepEqual(listened(), connections.slice(998))
  for (const end of ends.splice(0)) end()
  await delay(30)
  assert.equal(begun, 10)
  for (const end of ends) end()
  await Promise.all([...all.slice(0, 8), ...all.slice(998)])
  assert.deepEqual(listened(), [])
})

test('A request whose connection has closed before does not run', async () => {
  const connection = new PassThrough()
  connection.destroy()
  await delay(10)
  const queue = createQueue(new Account(), 8)
  await assert.rejects(
    queue.run(async () => assert.fail('it ran'), 'a', connection),
    ClientGoneError,
  )
})

test('Once all connections are taken, the address with the most loses an idle one to another', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const { lines, logger } = capturedLog('info')
  const base = await serve(t, store, { inThreads: true, limits: { connections: 20 }, logger })
  const port = Number(new URL(base).port)
  const dial = async (localAddress: string): Promise<Socket> => {
    const socket = connect({ host: '127.0.0.1', port, localAddress }).on('error', () => {})
    t.after(() => socket.destroy())
    await once(socket, 'connect')
    return socket
  }
  const answers = async (socket: Socket, target = `${CHECKPOINTS}?pagination.first=1`) => {
    socket.write(requestText(`GET ${target}`, { Connection: 'keep-alive' }))
    const got = await Promise.race([once(socket, 'data'), once(socket, 'close').then(() => null)])
    return got === null ? null : Number(/^HTTP\/1\.1 (\d+)/.exec(String(got[0]))![1])
  }
  const hogs: Socket[] = []
  for (let index = 0; index < 20; index++) hogs.push(await dial('127.0.0.2'))
  // The oldest one follows a stream, so it is not idle.
  assert.equal(await answers(hogs[0]!, '/api/v2/stream/checkpoints'), 200)
  const extra = await dial('127.0.0.2')
  assert.equal(await answers(extra), null, 'one address has all connections, and gets no more')
  for (const address of ['127.0.0.3', '127.0.0.4']) {
    const other = await dial(address)
    assert.equal(await answers(other), 200, address)
  }
  await until(() => hogs[1]!.closed && hogs[2]!.closed, 'the two oldest idle ones are closed')
  assert.deepEqual(
    hogs.slice(0, 4).map(({ closed }) => closed),
    [false, true, true, false],
  )
  assert.equal(lines.filter((line) => line.includes('--trust-proxy')).length, 1)
})

for (const kind of ANY_STORE_KIND) {
  test(`The address with the most exports or selections loses one (${kind.name})`, async (t) => {
    const options = { blocks: 50_000, markets: 1, points: 1, parties: 0, events: 0 }
    const store = await storeOfGenerated(t, kind, options)
    const { lines, logger } = capturedLog('info')
    const places = { ...NO_FILES, exports: 2, serverExports: 2, streams: 6, selections: 3 }
    const limits = { ...places, exportPace: { bytesPerSecond: 1e6, seconds: 3 } }
    const base = await serve(t, store, { inThreads: true, trustProxy: true, limits, logger })
    const [market] = (await coverageOf(base)).fundingPeriodDataPoints
    const { marketId } = market!
    const target = `/api/v2/funding-periods/data-points/${marketId}?format=ndjson`
    const closedSoon = (socket: Socket) =>
      Promise.race([once(socket, 'close').then(() => true), delay(2_000, false, { ref: false })])

    await t.test('exports', async () => {
      const unread = async (address: string) => {
        const opened = await open(base, target, address)
        opened.socket.pause()
        t.after(() => opened.socket.destroy())
        return opened
      }
      assert.equal((await unread('10.0.0.1')).status, 200)
      const second = await unread('10.0.0.1')
      assert.equal(second.status, 200)
      assert.equal((await unread('10.0.0.1')).status, 503)
      assert.equal((await unread('10.0.0.2')).status, 200)
      second.socket.resume()
      assert.ok(await closedSoon(second.socket))
      assertSays(lines.join(''), 'an export to 10.0.0.1 was cut off: its client has the most')
      // Exports that are read too slowly end on their own.
      const slow = () => lines.filter((line) => line.includes('bytes per second over 3 seconds'))
      await until(() => slow().length === 2, 'both are cut off')
      assert.equal((await unread('10.0.0.3')).status, 200)
    })

    await t.test('selections and streams', async () => {
      const follow = (address: string, seq: number) =>
        open(base, `/api/v2/stream/funding-period-data-points?marketId=${marketId}&seq=${seq}`, address)
      const streams = []
      for (const seq of [1, 2, 3]) streams.push(await follow('10.0.0.1', seq))
      for (const { status } of streams) assert.equal(status, 200)
      assert.equal((await follow('10.0.0.1', 4)).status, 503)
      // A selection that is already followed takes no further place.
      assert.equal((await follow('10.0.0.2', 1)).status, 200)
      assert.equal((await follow('10.0.0.2', 4)).status, 200)
      streams[2]!.socket.resume()
      assert.ok(await closedSoon(streams[2]!.socket))
      assert.equal((await follow('10.0.0.2', 5)).status, 503)
      // Streams: 10.0.0.1 has two, 10.0.0.2 has two; two more fill the places.
      assert.equal((await follow('10.0.0.2', 1)).status, 200)
      assert.equal((await follow('10.0.0.2', 1)).status, 200)
      assert.equal((await follow('10.0.0.2', 1)).status, 503)
      assert.equal((await follow('10.0.0.3', 1)).status, 200)
    })
  })
}
