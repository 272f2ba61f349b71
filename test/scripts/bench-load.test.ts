import assert from 'node:assert/strict'
import { createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setImmediate as nextRound } from 'node:timers/promises'
import { figuresIn } from '../../bench/against.ts'
import { figure, formatFigures } from '../../bench/figures.ts'
import { measureLoad } from '../../bench/load.ts'
import { coldTargets } from '../../bench/parts/peer.ts'
import { seriesTargets } from '../../bench/parts/series.ts'
import { metricsOf, send } from '../fixtures/requests/http.ts'
import { openServer } from '../fixtures/services/port.ts'
import { serve, storeOf } from '../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../fixtures/shared.ts'
import { sqlite } from '../fixtures/stores/stores.ts'

const CHUNKED = [
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n',
  // A body that contains the bytes that end a chunked body.
  '5\r\n0\r\n\r\n\r\n',
  '1A;name=value\r\nabcdefghijklmnopqrstuvwxyz\r\n',
  '0\r\nTrailer: value\r\n\r\n',
].join('')

const COUNTED = 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n\r\n\r\n'

/** A server that answers every request with these bytes, in pieces of a given length. */
async function answering(t: TestContext, answer: string, pieceBytes: number) {
  const requests: string[] = []
  const server = createServer((socket) => {
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', (request: Buffer) => {
      requests.push(request.toString('latin1'))
      void writeInPieces(socket, Buffer.from(answer), pieceBytes)
    })
  })
  return { base: `http://${await openServer(t, server)}`, requests }
}

async function writeInPieces(socket: Socket, bytes: Buffer, pieceBytes: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    socket.write(bytes.subarray(at, at + pieceBytes))
    await nextRound()
  }
}

for (const [name, answer] of [
  ['in chunks', CHUNKED],
  ['with a Content-Length', COUNTED],
] as const) {
  for (const pieceBytes of [1, 7, answer.length]) {
    test(`the load reads an answer ${name} to its end, in pieces of ${pieceBytes} bytes`, async (t) => {
      const { base, requests } = await answering(t, answer, pieceBytes)
      const load = await measureLoad(base, { connections: 2, seconds: 0.2, nextTarget: () => '/' })
      assert.ok(load.requests >= 2)
      assert.equal(load.requests, requests.length)
      assert.equal(load.bytes, answer.length)
      for (const request of requests) assert.match(request, /^GET \/ HTTP\/1\.1\r\n/)
    })
  }
}

test('the load ends with an answer that is no page', async (t) => {
  const { base } = await answering(t, 'HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n', 100)
  const load = measureLoad(base, { connections: 1, seconds: 0.1, nextTarget: () => '/lost' })
  await assert.rejects(load, /\/lost: an answer of 503/)
})

test('the load refuses an answer without a length', async (t) => {
  const { base } = await answering(t, 'HTTP/1.1 200 OK\r\n\r\nabc', 100)
  const load = measureLoad(base, { connections: 1, seconds: 0.1, nextTarget: () => '/' })
  await assert.rejects(load, /an answer with neither Content-Length nor chunks/)
})

for (const [path, first] of [
  ['/api/v2/checkpoints', 3],
  [`/api/v2/funding-periods/data-points/${MARKET}`, 100],
] as const) {
  test(`cold pages of ${path} are complete, and never requested twice`, async (t) => {
    const base = await serve(t, await storeOf(t, sqlite, SAMPLE))
    const next = await coldTargets(base, `${path}?pagination.first=${first}`)
    const targets = Array.from({ length: 50 }, () => next!())
    assert.equal(new Set(targets).size, targets.length)
    for (const target of targets) {
      const [list] = Object.values(JSON.parse((await send(base, target)).text)) as { edges: unknown[] }[]
      assert.equal(list!.edges.length, first, target)
    }
    assert.match(await metricsOf(base), /^lyra_pages_from_memory_total 0$/m)
    assert.equal(await coldTargets(base, `${path}?pagination.first=5000`), null)
  })
}

test('series of a benchmark have the same number of buckets and points, and none are the same', () => {
  const targets = seriesTargets(1_000n, 100_000n, 20)
  assert.equal(targets.length, 20)
  const ranges = targets.map((target) => {
    const { searchParams } = new URL(target, 'http://bench.test')
    const [start, end] = ['start', 'end'].map((name) =>
      BigInt(searchParams.get(`dateRange.${name}Timestamp`)!),
    )
    return {
      start: start! / 1_000_000_000n,
      end: end! / 1_000_000_000n,
      buckets: searchParams.get('buckets'),
    }
  })
  // 100,000 seconds in at most 500 buckets: five minutes each.
  assert.deepEqual(
    ranges,
    Array.from({ length: 20 }, (_, turn) => {
      const start = 1_000n + 300n * BigInt(turn)
      return { start, end: start + 100_000n, buckets: '500' }
    }),
  )
})

test("figures are read from a benchmark's last table, as ratios if they have a limit", () => {
  const limit = { name: 'from memory', value: 28_000 }
  const all = [
    figure('cold pages, first=1', 7_000, 'requests/s', { limit, target: { least: 0.2 } }),
    figure('start, 10,000 points', 0.61, 's', { target: { most: 0.6 } }),
    figure('points a second', 340_000, 'events/s'),
  ]
  const text = `${formatFigures(all.slice(0, 1))}\nleft out\n\n${formatFigures(all)}\n\n3 figures, 1 short of their target\n`
  assert.deepEqual(figuresIn(text), [
    { name: 'cold pages, first=1', value: '0.25' },
    { name: 'start, 10,000 points', value: '0.61 s' },
    { name: 'points a second', value: '340,000 events/s' },
  ])
})
