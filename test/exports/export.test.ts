import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { gunzipSync } from 'node:zlib'
import { assertSays } from '../fixtures/assert-says.ts'
import { edgesOf, ndjsonRows, query, send, statusOf } from '../fixtures/requests/http.ts'
import { openSocket, requestText } from '../fixtures/requests/raw-http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { scaled } from '../fixtures/sampling.ts'
import { longReadsWith } from '../fixtures/services/long-reads.ts'
import { assertFails, MAIN, runWell, startProgram } from '../fixtures/services/program.ts'
import { capturedLog, NO_FILES, serve, serveFile, storeOf } from '../fixtures/services/service.ts'
import { CHECKPOINTS, MARKET, POINTS, SAMPLE } from '../fixtures/shared.ts'
import { createLiveStore, openLiveStore, pointAt } from '../fixtures/stores/live-store.ts'
import {
  describeOn,
  openReader,
  STORE_KINDS,
  type StoreKind,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const PEAK_MEMORY = join(import.meta.dirname, '../fixtures/programs/report-peak-memory.ts')
/** An idle program takes half of this. */
const MAX_MEMORY_BYTES = 400_000_000

/** Times as parameters over HTTP, and as arguments of the program; the last block is at 10:15:04. */
const SELECTIONS: [from: string, to: string, args: string][] = [
  ['1696500100000000000', '1696500700000000000', '--from 2023-10-05T10:01:40Z --to 1696500700000000000'],
  ['1696497304000000000', '1696550400000000000', '--from 1h --to 2023-10-06'],
]

/** Requests an export, of which nothing is read yet. */
const open = (base: string, target: string): Promise<IncomingMessage> =>
  new Promise((resolve) => {
    get(`${base}${target}`, { agent: false }, resolve)
  })

describeOn(STORE_KINDS, 'exports', (kind) => {
  test('of a range of times are the same over HTTP, zipped and by the program', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const base = await serve(t, store, { inThreads: true })
    for (const [from, to, args] of SELECTIONS) {
      const command = `export funding-period-data-points --market ${MARKET} --store ${store} ${args}`
      const params: [string, string][] = [
        ['dateRange.startTimestamp', from],
        ['dateRange.endTimestamp', to],
      ]
      const target = `${POINTS}${query([...params, ['format', 'ndjson']])}`
      const { text, headers } = await send(base, target)
      assert.equal(headers['content-type'], 'application/x-ndjson')
      assert.equal(headers['x-block-height'], '905')
      const paged = await edgesOf(base, POINTS, params)
      assert.ok(paged.length > 3)
      assert.deepEqual(ndjsonRows(text), paged)
      const zipped = await send(base, target, { headers: { 'accept-encoding': 'gzip' } })
      assert.equal(zipped.headers['content-encoding'], 'gzip')
      assert.equal(gunzipSync(zipped.body).toString(), text)
      assert.equal((await runWell(t, command)).stdout, text, args)
      const dated = await send(base, `${POINTS}${query([...params, ['format', 'csv'], ['times', 'iso']])}`)
      assert.match(dated.text, /,2023-10-05T10:\d\d:\d\d\.000000000Z,/)
      const { stdout } = await runWell(t, `${command} --format csv --times iso`)
      assert.equal(stdout, dated.text)
    }
  })

  test('are of one snapshot, whatever is committed meanwhile', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const commit = (height: number) =>
      live.commit(
        height,
        Array.from({ length: 100 }, (_, part) => ({
          ...pointAt(height),
          timestamp: BigInt(height * 1000 + part),
        })),
      )
    for (let height = 1; height <= 50; height++) await commit(height)
    const base = await serve(t, store)
    const path = `/api/v2/funding-periods/data-points/${pointAt(1).marketId}`
    const response = await open(base, `${path}?format=ndjson&pagination.newestFirst=false`)
    assert.equal(response.headers['x-block-height'], '50')
    await commit(51)
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk
    assert.equal(ndjsonRows(text).length, 5_000)
    assert.equal((await edgesOf(base, path)).length, 5_100)
  })

  test('take little memory, however many rows there are', async (t) => {
    const count = scaled(50_000, 5_000_000)
    const store = await storeOfPoints(t, kind, count)
    const base = await serve(t, store)
    const folder = temporaryFolder(t)
    const market = pointAt(1).marketId
    const command = `export funding-period-data-points --market ${market} --store ${store}`
    for (const format of ['ndjson', 'csv', 'parquet']) {
      const out = join(folder, `points.${format}`)
      const run = startProgram(t, process.execPath, [
        '--import',
        PEAK_MEMORY,
        MAIN,
        ...`${command} --format ${format} --out ${out} --log-level warn`.split(' '),
      ])
      const startedAt = performance.now()
      const { code, stderr } = await run.outcome
      assert.equal(code, 0, stderr)
      const bytes = Number(/^peak memory (\d+) kB$/m.exec(stderr)![1]) * 1024
      assert.ok(bytes < MAX_MEMORY_BYTES, `${format}: ${bytes} bytes of memory`)
      const seconds = (performance.now() - startedAt) / 1000
      t.diagnostic(
        `${format}: ${count} rows, ${Math.round(statSync(out).size / 1e6)} MB, ${seconds.toFixed(1)} s, ${Math.round(bytes / 1e6)} MB of memory`,
      )
    }
    await assertEqualsPages(base, market, join(folder, 'points.ndjson'), count)
  })
})

/** A new store of data points of one market, a second apart. */
async function storeOfPoints(t: TestContext, kind: StoreKind, count: number): Promise<string> {
  const { store, live } = await createLiveStore(t, kind)
  for (let start = 0; start < count; start += 20_000) {
    const points = Array.from({ length: Math.min(20_000, count - start) }, (_, index) => {
      const timestamp = 1_600_000_000_000_000_000n + BigInt(start + index) * 1_000_000_000n
      const seq = BigInt(Math.floor((start + index) / 28_800))
      return { ...pointAt(1), seq, timestamp, price: String(start + index) }
    })
    await live.commit(live.height + 1, points)
  }
  return store
}

/** Compares an export with pages, line by line. */
async function assertEqualsPages(base: string, market: string, file: string, count: number): Promise<void> {
  const path = `/api/v2/funding-periods/data-points/${market}`
  const rows = await edgesOf(base, path, [['pagination.first', '5000']])
  assert.equal(rows.length, count)
  let at = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { node, cursor } = rows[at++]!
    assert.equal(line, JSON.stringify({ ...node, cursor }))
  }
  assert.equal(at, count)
}

describe('an export', () => {
  const kind = STORE_KINDS[0]!

  test('is refused with a form of times that its format has not, and while the store is empty', async (t) => {
    const base = await serveFile(kind, SAMPLE)
    for (const form of ['parquet&times=iso', 'ndjson&times=micros', 'csv&times=local'])
      await assertMalformed(base, `${CHECKPOINTS}?format=${form}`)
    const empty = await serve(t, kind.create(t))
    assert.equal(await statusOf(empty, `${CHECKPOINTS}?format=csv`), 503)
    const head = await send(base, `${CHECKPOINTS}?format=csv`, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text], [200, ''])
    assertSays(head.headers['content-disposition']!, 'filename="checkpoints.csv"')
  })

  test('waits for a slow client, and only a few run at a time', async (t) => {
    const store = await storeOfPoints(t, kind, 60_000)
    const base = await serve(t, store, { limits: { exports: 4, ...NO_FILES } })
    const target = `/api/v2/funding-periods/data-points/${pointAt(1).marketId}?format=ndjson`
    const slow = await Promise.all([1, 2, 3, 4].map(() => open(base, target)))
    for (const { statusCode } of slow) assert.equal(statusCode, 200)
    const refused = await send(base, target)
    assert.equal(refused.status, 503)
    assert.ok(Number(refused.headers['retry-after']) >= 1)
    assert.equal(await statusOf(base, CHECKPOINTS), 200)
    for (const response of slow.slice(1)) response.destroy()
    let text = ''
    for await (const chunk of slow[0]!.setEncoding('utf8')) text += chunk
    assert.equal(ndjsonRows(text).length, 60_000)
    await until(async () => (await statusOf(base, `${target}&source=1`)) === 200, 'room of ended exports', 2)
  })

  test('whose client leaves after the last row gives its slot back at once', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    let first: ServerResponse | null = null
    const note = (message: unknown) => {
      first ??= (message as { response: ServerResponse }).response
    }
    subscribe('http.server.request.start', note)
    t.after(() => unsubscribe('http.server.request.start', note))
    let socket: Socket | null = null
    const longReads = longReadsWith(await openReader(t, store), async (next) => {
      const piece = await next()
      if (piece !== null || socket === null) return piece
      // The rows have been sent, and only their end is missing.
      await once(socket, 'data')
      await until(() => first!.writableLength === 0, 'that the rows have been accepted')
      socket.resetAndDestroy()
      socket = null
      // The service may notice only when it sends the end.
      await Promise.race([once(first!, 'close'), delay(200)])
      return null
    })
    const base = await serve(t, store, { limits: { exports: 1, ...NO_FILES }, longReads })
    const target = `${CHECKPOINTS}?format=ndjson`
    socket = openSocket(base)
    socket.write(requestText(`GET ${target}`))
    await until(() => socket === null, 'that the client leaves', 5)
    await until(async () => (await statusOf(base, target)) === 200, 'that the slot is free', 2)
  })

  test('leaves nothing in memory once it has ended, as a file or sent as it is read', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    for (const limits of [{}, NO_FILES]) {
      const base = await serve(t, store, { limits })
      const exportTimes = async (times: number) => {
        for (let time = 0; time < times; time++)
          assert.equal(await statusOf(base, `${CHECKPOINTS}?format=csv`), 200)
      }
      await exportTimes(5)
      const before = queryObjects(AbortSignal, { format: 'count' })
      await exportTimes(100)
      assert.ok(queryObjects(AbortSignal, { format: 'count' }) < before + 20, JSON.stringify(limits))
    }
  })

  test('is cut off after 15 minutes', async (t) => {
    const store = await storeOfPoints(t, kind, 60_000)
    const { lines, logger } = capturedLog('info')
    const base = await serve(t, store, { logger, limits: NO_FILES })
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const target = `/api/v2/funding-periods/data-points/${pointAt(1).marketId}?format=ndjson`
    const response = await open(base, target)
    t.mock.timers.tick(15 * 60_000 - 1)
    assert.equal(lines.length, 0)
    t.mock.timers.tick(1)
    t.mock.timers.reset()
    await until(() => lines.length > 0, 'that it is cut off', 5)
    assertSays(lines.join(''), 'was cut off: it has taken 15 minutes')
    response.destroy()
  })

  test('that fails breaks the connection, so that no client takes a part for the whole', async (t) => {
    const store = await storeOfPoints(t, kind, 60_000)
    const reader = await openReader(t, store)
    const base = await serve(t, store, {
      limits: NO_FILES,
      reader: {
        ...reader,
        openSnapshot: async () => {
          const snapshot = await reader.openSnapshot()
          let reads = 0
          const failing =
            <Asked, Answer>(read: (asked: Asked) => Promise<Answer>) =>
            async (asked: Asked) => {
              if (++reads === 5) throw new Error('the disk has failed')
              return read(asked)
            }
          const { page, lines } = snapshot
          return {
            ...snapshot,
            page: failing(page),
            ...(lines === undefined ? {} : { lines: failing(lines) }),
          }
        },
      },
    })
    const target = `/api/v2/funding-periods/data-points/${pointAt(1).marketId}?format=ndjson`
    await assert.rejects(send(base, target), { code: 'ECONNRESET' })
  })

  test('by the program selects a market or party by the start of its id', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const command = `export liquidity-providers --store ${store}`
    const written = async (args: string) => (await runWell(t, `${command} ${args}`)).stdout
    const ofMarket = await written(`--market ${MARKET}`)
    assert.ok(ofMarket.length > 100)
    assert.equal(await written(`--market ${MARKET.slice(0, 5).toUpperCase()}`), ofMarket)
    const { partyId } = JSON.parse(ofMarket.slice(0, ofMarket.indexOf('\n')))
    assert.equal(await written(`--party ${partyId.slice(0, 12)}`), await written(`--party ${partyId}`))
    for (const [what, hint] of [
      ['market', '; lyra status lists the markets'],
      ['party', ''],
    ] as const) {
      const none = new RegExp(`--${what} 0123456789: no ${what} id of .* starts with it${hint}\n$`)
      await assertFails(t, `${command} --${what} 0123456789`, none, 1)
    }
    const live = kind.create(t)
    const { commit } = await openLiveStore(t, live)
    await commit(
      3,
      ['ab', 'ac'].map((digits) => pointAt(3, { marketId: digits.padEnd(64, '0') })),
    )
    const several = /--market a is ambiguous: it matches ab0+ and ac0+; give more digits\n$/
    await assertFails(t, `export funding-period-data-points --store ${live} --market a`, several, 1)
  })

  test('by the program gets its name only when complete, and replaces a file only on request', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const folder = temporaryFolder(t)
    const out = join(folder, 'checkpoints.csv')
    const command = `export checkpoints --store ${store} --format csv --out ${out}`
    await runWell(t, command)
    assert.deepEqual(readdirSync(folder), ['checkpoints.csv'])
    assert.ok(readFileSync(out, 'utf8').startsWith('atBlock,hash,blockHash,cursor\r\n'))
    await assertFails(t, command, 'already exists', 1)
    await runWell(t, `${command} --force`)
    // What is no file stays, and receives the rows.
    const pipe = join(folder, 'pipe')
    assert.equal(spawnSync('mkfifo', [pipe]).status, 0)
    const reading = readFile(pipe, 'utf8')
    await runWell(t, `export checkpoints --store ${store} --format csv --out ${pipe}`)
    assert.equal(await reading, readFileSync(out, 'utf8'))
    assert.ok(statSync(pipe).isFIFO())
    for (const [wrong, message] of [
      ['nothing', 'It must be one of auctions, checkpoints, epochs'],
      ['liquidity-providers --market x', '--market x must be hex digits: an id, or its first digits'],
      ['funding-periods --after abc', '--after is not a valid cursor; use'],
      ['checkpoints --seq 1', 'cannot be filtered by seq'],
      ['checkpoints --market ab', 'cannot be filtered by market'],
      ['checkpoints --to 2026-01-31', 'cannot be filtered by to (--to)'],
      ['checkpoints --after abc', 'is not a valid cursor'],
    ] as const) {
      await assertFails(t, `export ${wrong} --store ${store}`, message, 2)
    }
    const nowhere = join(folder, 'none', 'a.csv')
    await assertFails(t, `export checkpoints --store ${store} --out ${nowhere}`, 'cannot be written', 1)
    assert.ok(!existsSync(nowhere))
  })
})
