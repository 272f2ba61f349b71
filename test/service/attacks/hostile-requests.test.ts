import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { UnsentBytes } from '#service/http/clients/unsent-bytes'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { hostileBytes } from '../../fixtures/faults/hostile-requests.ts'
import { createRandom } from '../../fixtures/random.ts'
import { getPage, metricsOf, send, statusOf } from '../../fixtures/requests/http.ts'
import { exchange, openReceiving, openSocket, requestText } from '../../fixtures/requests/raw-http.ts'
import { LONG, scaled, seedsOf } from '../../fixtures/sampling.ts'
import { untilReady } from '../../fixtures/services/live.ts'
import { startService } from '../../fixtures/services/program.ts'
import { storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, POINTS, PROVIDERS, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND } from '../../fixtures/stores/stores.ts'

const MB = 1024 * 1024

/** The memory limit of a service, whatever its clients do: its own 120 MB, 64 MB for clients, and slack. */
const MAX_RESIDENT_MB = 512

/** The detail codes of each status in the table of errors; null for no details. */
const ROWS: Record<number, { code: number; details: (number | null)[] }> = {
  400: { code: 3, details: [null, 10000, 10003, 10015, 10028] },
  404: { code: 5, details: [null] },
  405: { code: 12, details: [null] },
  431: { code: 3, details: [null] },
}

type HostileAnswer = { status: number; type: string | null; body: Buffer }

/** Splits answers by their own headers, because the requests may be garbage. */
function readHostileAnswers(bytes: Buffer): HostileAnswer[] {
  const text = bytes.toString('latin1')
  const answers: HostileAnswer[] = []
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\r\n\r\n', at)
    assert.notEqual(end, -1, `incomplete answer: ${JSON.stringify(text.slice(at, at + 200))}`)
    const head = text.slice(at, end)
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1])
    assert.ok(status >= 100, `no answer: ${JSON.stringify(head.slice(0, 200))}`)
    const gzipped = /\r\ncontent-encoding: gzip/i.test(head)
    if (status >= 200) assert.match(head, /\r\nx-content-type-options: nosniff/i, head)
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0)
    at = end + 4
    // HEAD is answered without a body.
    const bodiless = at === text.length || text.startsWith('HTTP/1.1 ', at)
    const body = bodiless ? Buffer.alloc(0) : bytes.subarray(at, at + length)
    assert.equal(body.length, bodiless ? 0 : length, 'incomplete body')
    at += body.length
    const type = /\r\ncontent-type: ([^\r]*)/i.exec(head)?.[1] ?? null
    if (status >= 200) answers.push({ status, type, body: gzipped && !bodiless ? gunzipSync(body) : body })
  }
  return answers
}

/** Checks that an answer is a page, one of the service paths, or a row of the table of errors. */
function assertLawful({ status, type, body }: HostileAnswer, where: string) {
  const shown = `${status} ${body.toString().slice(0, 300)} to ${where}`
  if (status === 200) {
    if (type === 'application/json' && body.length > 0) JSON.parse(body.toString())
    return
  }
  if (status === 204 || status === 304) return assert.equal(body.length, 0, shown)
  const row = ROWS[status]
  assert.ok(row !== undefined, shown)
  assert.equal(type, 'application/json', shown)
  if (body.length === 0) return
  const error = JSON.parse(body.toString()) as { code: number; message: string; details: { code: number }[] }
  assert.deepEqual(Object.keys(error), ['code', 'message', 'details'], shown)
  assert.equal(error.code, row.code, shown)
  assert.ok(error.details.length <= 1 && row.details.includes(error.details[0]?.code ?? null), shown)
  assert.ok(error.message.length > 0 && error.message.length < 1_000, shown)
  assert.doesNotMatch(body.toString(), /node_modules|\.ts:\d|select /i, shown)
}

/** A service in its own process. */
type Served = {
  base: string
  /** Memory of the process in megabytes. */
  residentMb(): Promise<number>
}

async function serveApart(t: TestContext, store: string): Promise<Served> {
  const { service, base } = await startService(t, `--store ${store} --log-level info`)
  void service.outcome.then(({ code, stderr }) => assert.equal(code, null, stderr))
  // The same request gets the same answer from then on.
  await untilReady({ base })
  return {
    base,
    residentMb: async () =>
      Number(/^process_resident_memory_bytes (\d+)/m.exec(await metricsOf(base))![1]) / MB,
  }
}

test('Over the memory limit, only the address with the most unread bytes loses its oldest answer', () => {
  const unsentBytes = new UnsentBytes(100)
  const closed: string[] = []
  const hold = (address: string, name: string, bytes: number) =>
    unsentBytes.count(address, { destroy: () => closed.push(name) }, bytes)
  const release = hold('honest', 'h1', 30)
  release()
  hold('honest', 'h2', 30)
  // A second call has no effect.
  release()
  const taken = hold('hoarder', 'a1', 30)
  taken()
  hold('hoarder', 'a2', 20)
  hold('hoarder', 'a3', 20)
  hold('other', 'o1', 30)
  assert.deepEqual(closed, [])
  hold('hoarder', 'a4', 1)
  assert.deepEqual(closed, ['a2'])
  // A new address gets its bytes, however many.
  hold('new', 'n1', 60)
  assert.deepEqual(closed, ['a2', 'h2', 'o1'])
  hold('new', 'n2', 20)
  assert.deepEqual(closed, ['a2', 'h2', 'o1', 'n1'])
  hold('last', 'l1', 1_000)
  assert.deepEqual(closed, ['a2', 'h2', 'o1', 'n1', 'a3', 'n2', 'a4'])
})

for (const kind of ANY_STORE_KIND) {
  test(`Corrupted requests get an answer of the table or a closed connection (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { base, residentMb } = await serveApart(t, store)
    const cursors: Record<string, string> = {}
    for (const path of [CHECKPOINTS, POINTS, PROVIDERS]) {
      const params = path === PROVIDERS ? `marketId=${MARKET}` : ''
      cursors[path] = (await getPage(base, path, params)).pageInfo.startCursor
    }
    const page = await getPage(base, POINTS, 'pagination.first=10')

    const statuses = new Map<number, number>()
    const told: string[] = []
    const one = async (seed: number): Promise<string> => {
      const bytes = hostileBytes(createRandom(seed), cursors)
      const where = `seed ${seed}: ${JSON.stringify(bytes.toString('latin1').slice(0, 300))}`
      const received = await exchange(base, bytes, { half: true, timeoutMs: 20_000 })
      assert.ok(received.closed, `no end: ${where}`)
      const answers = readHostileAnswers(received.bytes)
      for (const answer of answers) {
        assertLawful(answer, where)
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      }
      return answers.map(({ status, body }) => `${status} ${body}`).join('\n')
    }
    const round = async (from: number, to: number) => {
      let next = from
      const worker = async () => {
        while (next < to) {
          const seed = next++
          told[seed] = await one(seed)
        }
      }
      await Promise.all(Array.from({ length: 8 }, worker))
      return residentMb()
    }
    const count = scaled(500, 10_000)
    const warm = await round(0, count / 2)
    const end = await round(count / 2, count)
    t.diagnostic(`${count} connections; ${JSON.stringify([...statuses].sort())}`)
    t.diagnostic(`${Math.round(warm)} MB after half the requests, ${Math.round(end)} MB after all`)
    assert.ok(end < warm + 100, `${warm} MB, then ${end} MB`)
    for (const status of [200, 400, 404, 405, 431]) assert.ok(statuses.has(status), `none got ${status}`)
    assert.deepEqual(await getPage(base, POINTS, 'pagination.first=10'), page)
    // The same requests get the same answers, except for the service's own metrics. Node ends a connection whose client has
    // ended its side, so the last answers may be missing: then they are asked for again.
    for (const seed of seedsOf('request')) {
      const before = told[seed]!
      if (/process_cpu/.test(before)) continue
      let now = await one(seed)
      for (let tries = 0; tries < 5 && !now.startsWith(before); tries++) {
        assert.equal(now, before.slice(0, now.length), `seed ${seed}`)
        now = await one(seed)
      }
      assert.ok(now.startsWith(before), `seed ${seed}: ${now}`)
    }
  })
}

for (const kind of ANY_STORE_KIND) {
  test(`Slow clients are cut off after a while, and delay nobody else (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { base } = await serveApart(t, store)
    const page = await getPage(base, POINTS, 'pagination.first=10')
    const target = `${POINTS}?pagination.first=10`

    /** Sends a byte a second; resolves with the answer, and the seconds until the connection was closed. */
    const dribble = async (bytes: string, start: number) => {
      const { socket, received, ended } = openReceiving(base)
      const openedAt = performance.now()
      socket.write(bytes.slice(0, start))
      let at = start
      const timer = setInterval(() => socket.write(bytes.charAt(at++)), 1_000)
      await ended
      clearInterval(timer)
      return { text: `${received()}`, seconds: (performance.now() - openedAt) / 1000 }
    }
    const head = `GET ${target} HTTP/1.1\r\nHost: lyra\r\nX: ${'x'.repeat(1_000)}`
    const body = requestText(`GET ${target}`, { 'Content-Length': '1000' }, 'x'.repeat(1_000))
    const dribbleOften = (bytes: string, start: number) =>
      Array.from({ length: 40 }, () => dribble(bytes, start))
    // The last connections send nothing.
    const slow = [...dribbleOften(head, 0), ...dribbleOften(head, 100), ...dribbleOften('', 0)]
    const slower = LONG ? dribbleOften(body, body.length - 999) : []

    const waits: number[] = []
    let ended = false
    const others = (async () => {
      while (!ended) {
        const since = performance.now()
        assert.deepEqual(await getPage(base, POINTS, 'pagination.first=10'), page)
        waits.push(performance.now() - since)
        await delay(20)
      }
    })()
    for (const [dribbles, least, most] of [
      [slow, 10, 25],
      [slower, 25, 45],
    ] as const) {
      for (const { text, seconds } of await Promise.all(dribbles)) {
        assert.equal(text, '')
        assert.ok(seconds > least && seconds < most, `closed after ${seconds} s`)
      }
    }
    ended = true
    await others
    assert.ok(waits.length > 100, `${waits.length} answers meanwhile`)
    const slowest = Math.max(...waits)
    assert.ok(slowest < 2_000, `${slowest} ms`)
  })

  test(`Clients that read nothing take limited memory (${kind.name})`, async (t) => {
    const options = { blocks: 7_000, markets: 1, points: 1, parties: 0, events: 0 }
    const store = await storeOfGenerated(t, kind, options)
    const { base, residentMb } = await serveApart(t, store)
    const { edges } = await getPage(base, '/api/v2/market-summaries')
    const target = `/api/v2/funding-periods/data-points/${edges[0]!.node.marketId}?pagination.first=5000`
    const page = await send(base, target)
    assert.equal(page.status, 200)
    assert.ok(page.body.length > MB, 'a large page')
    const idleMb = await residentMb()

    const sockets: Socket[] = []
    const mute = (bytes: string) => {
      const socket = openSocket(base)
      socket.pause()
      socket.write(bytes)
      sockets.push(socket)
    }
    let mostMb = 0
    let slowestMs = 0
    const watch = async (seconds: number) => {
      for (const end = performance.now() + seconds * 1_000; performance.now() < end; ) {
        const since = performance.now()
        assert.equal(await statusOf(base, '/health'), 200)
        slowestMs = Math.max(slowestMs, performance.now() - since)
        mostMb = Math.max(mostMb, await residentMb())
        await delay(100)
      }
    }
    // Whole unread pages, several requested on each connection.
    for (let count = 0; count < scaled(150, 1_000); count++) {
      const headers = count % 3 === 0 ? { 'Accept-Encoding': 'gzip' } : {}
      mute(requestText(`GET ${target}`, { Connection: 'keep-alive', ...headers }).repeat(8))
    }
    // Others read a byte a second.
    const sipping = setInterval(() => {
      for (const socket of sockets.slice(0, 20)) socket.read(1)
    }, 1_000)
    t.after(() => clearInterval(sipping))
    await watch(scaled(8, 60))
    // Requests that do not end.
    for (let count = 0; count < scaled(300, 2_500); count++) {
      mute(`GET ${target} HTTP/1.1\r\nHost: lyra\r\nX: ${'x'.repeat(15_000)}`)
    }
    await watch(scaled(2, 10))
    t.diagnostic(`${Math.round(idleMb)} MB idle, then at most ${Math.round(mostMb)} MB; ${slowestMs} ms`)
    assert.ok(mostMb < MAX_RESIDENT_MB, `${mostMb} MB`)
    assert.ok(slowestMs < 3_000, `${slowestMs} ms`)

    clearInterval(sipping)
    for (const socket of sockets) socket.destroy()
    assert.deepEqual((await send(base, target)).body, page.body)
  })
}
