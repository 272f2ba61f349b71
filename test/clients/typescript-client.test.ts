import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { PROGRAM_VERSION } from '#service/version'
import { createEventStreamReader, type ServerEvent } from '../../client/src/event-stream.ts'
import {
  createLyraClient,
  LyraApiError,
  type LyraClient,
  LyraConnectionError,
} from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { documentedPages } from '../fixtures/documentation.ts'
import { HOSTILE, LONGEST_BYTES, serveHostile } from '../fixtures/faults/hostile-server.ts'
import { nodesOf } from '../fixtures/requests/http.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { freePort, serveWith } from '../fixtures/services/port.ts'
import { ended, startProgram } from '../fixtures/services/program.ts'
import { serve, serveFile } from '../fixtures/services/service.ts'
import { HEIGHT, MARKET, POINTS, SAMPLE, TIMESTAMP } from '../fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const ROOT = join(import.meta.dirname, '../..')
const kind = STORE_KINDS[0]!

const sampleService = () => serveFile(kind, SAMPLE)

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

describe('the TypeScript client', () => {
  test('walks all pages of a resource, in either order and from a cursor on', async () => {
    const base = await sampleService()
    const lyra = createLyraClient({ url: `${base}/` })
    assert.deepEqual(
      await all(lyra.fundingPeriodDataPoints({ marketId: MARKET }, { pageSize: 100, newestFirst: false })),
      await nodesOf(base, POINTS, [['pagination.newestFirst', 'false']]),
    )
    const filters = {
      marketId: MARKET,
      source: 'SOURCE_EXTERNAL',
      from: new Date('2023-10-05T10:01:40Z'),
      to: 1696500700000000000n,
    } as const
    const expected = await nodesOf(base, POINTS, [
      ['source', 'SOURCE_EXTERNAL'],
      ['dateRange.startTimestamp', '1696500100000000000'],
      ['dateRange.endTimestamp', '1696500700000000000'],
    ])
    assert.ok(expected.length > 0)
    assert.deepEqual(await all(lyra.fundingPeriodDataPoints(filters)), expected)
    const page = await lyra.fundingPeriodDataPointsPage({ marketId: MARKET, seq: 3n }, { first: 5 })
    assert.deepEqual([page.rows.length, page.blockHeight, page.blockTimestamp], [5, HEIGHT, TIMESTAMP])
    const { cursor } = page.rows[1]!
    assert.deepEqual(
      await all(lyra.fundingPeriodDataPoints({ marketId: MARKET, seq: '3' }, { after: cursor })),
      (await nodesOf(base, POINTS, [['seq', '3']])).slice(2),
    )
    const answer = await fetch(lyra.url('fundingPeriodDataPoints', filters, { first: 2, newestFirst: true }))
    assert.equal(answer.status, 200)
    const lines = await (await fetch(lyra.url('checkpoints', {}, { format: 'csv' }))).text()
    assert.ok(lines.startsWith('atBlock,'))
  })

  test('reports the state of the service, also when it is not ready', async (t) => {
    const lyra = createLyraClient({ url: await sampleService() })
    assert.equal((await lyra.coverage()).chainId, 'core-scenarios')
    assert.deepEqual(await lyra.health(), { status: 'ok' })
    assert.deepEqual(await lyra.ready(), { status: 'ready' })
    const empty = createLyraClient({ url: await serve(t, kind.create(t)), retries: 0 })
    const unready = await empty.ready()
    assert.equal(unready.status === 'not ready' && unready.reasons[0]?.reason, 'empty store')
    await assert.rejects(empty.coverage(), { name: 'LyraApiError', status: 503, code: 14, retryAfter: 1 })
  })

  test("throws errors with the service's message, and does not retry these", async () => {
    const base = await sampleService()
    let asked = 0
    const counting: typeof fetch = (...args) => {
      asked++
      return fetch(...args)
    }
    const lyra = createLyraClient({ url: base, fetch: counting })
    const error = await lyra.liquidityProvidersPage({}).catch((thrown: unknown) => thrown)
    assert.ok(error instanceof LyraApiError)
    assert.deepEqual([error.status, error.code, error.details[0]!.code], [400, 3, 10015])
    assertSays(error.message, 'marketId or partyId or both must be provided')
    assert.match(error.requestId!, /^[0-9a-f-]{36}$/)
    await assert.rejects(all(lyra.streamLiquidityProviders({})), { name: 'LyraApiError', status: 400 })
    assert.equal(asked, 2)
  })

  test('retries temporary errors after the requested delay, up to the allowed number of times', async (t) => {
    const times: number[] = []
    const answers = [503, 429, 200]
    const base = await serveWith(t, (request, response) => {
      times.push(performance.now())
      const status = answers[times.length - 1] ?? 503
      if (request.url === '/health' && times.length > 3) request.socket.destroy()
      response.writeHead(status, { 'Retry-After': '1', 'Content-Type': 'application/json' })
      response.end('{"status":"ok"}')
    })
    const lyra = createLyraClient({ url: base, retries: 2 })
    assert.deepEqual(await lyra.health(), { status: 'ok' })
    assert.equal(times.length, 3)
    assert.ok(times[1]! - times[0]! >= 990 && times[2]! - times[1]! >= 990)
    await assert.rejects(createLyraClient({ url: base, retries: 1 }).health(), (error) => {
      return error instanceof LyraConnectionError && error.message.includes('/health')
    })
    assert.equal(times.length, 5)
    const gone = `http://127.0.0.1:${await freePort()}`
    await assert.rejects(createLyraClient({ url: gone, retries: 0 }).health(), {
      message: `${gone}/health: fetch failed (connect ECONNREFUSED ${gone.slice('http://'.length)})`,
    })
    // A proxy that has no service behind it sends no delay.
    const proxied = [502, 504, 200]
    const proxy = await serveWith(t, (_, response) => {
      response.writeHead(proxied.shift()!).end('{"status":"ok"}')
    })
    assert.deepEqual(await createLyraClient({ url: proxy, longestWaitMs: 10 }).health(), { status: 'ok' })
    // If no address of a name accepts a connection, the error has only a code.
    const cause = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
    const refused = () => Promise.reject(new TypeError('fetch failed', { cause }))
    await assert.rejects(createLyraClient({ url: base, fetch: refused, retries: 0 }).health(), {
      message: `${base}/health: fetch failed (ECONNREFUSED)`,
    })
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('enough')), 100)
    await assert.rejects(lyra.coverage({ signal: stop.signal }), /enough/)
  })

  test('waits for a lost service as long as is asked for, 2 s if nothing is', async (t) => {
    let waits: number[] = []
    const { setTimeout: later } = globalThis
    const hurried = (call: () => void, ms = 0) => {
      waits.push(ms)
      return later(call, 0)
    }
    t.mock.method(globalThis, 'setTimeout', hurried as typeof setTimeout)
    const refused = () => Promise.reject(new TypeError('fetch failed'))
    const longest = async (options: { longestWaitMs?: number }) => {
      const lyra = createLyraClient({ url: 'http://127.0.0.1:9', fetch: refused, retries: 12, ...options })
      waits = []
      await assert.rejects(lyra.health(), LyraConnectionError)
      const ofRequest = Math.max(...waits)
      const stop = new AbortController()
      waits = []
      const following = all(lyra.streamCheckpoints({}, { signal: stop.signal }))
      while (waits.length < 24) await new Promise((resolve) => later(resolve, 1))
      stop.abort()
      await following
      // Without those for a connection that falls silent.
      return [ofRequest, Math.max(...waits.filter((ms) => ms !== 45_000))]
    }
    for (const [options, ms] of [
      [{}, 2_000],
      [{ longestWaitMs: 10 }, 10],
      [{ longestWaitMs: 10_000 }, 10_000],
    ] as const) {
      for (const found of await longest(options))
        assert.ok(found >= ms / 2 && found <= ms, `${found} of ${ms}`)
    }
  })

  test('resumes a stream that ends or breaks with the last id received, with or without a row', async (t) => {
    const row = (id: number) => `id: ${id}\nevent: checkpoints\ndata: {"atBlock":"${id}"}\n\n`
    const position = (id: number) => `id: ${id}\nevent: position\ndata: []\n\n`
    const answers = [
      `retry: 1\n${position(1)}`,
      `${row(2)}event: others\ndata: {"atBlock":"0"}\n\n`,
      `${row(3)}${position(4)}`,
      // As market summaries have it.
      'id: 5\n\n',
      `${position(6)}${row(7)}${row(8)}`,
    ]
    const asked: string[] = []
    const base = await serveWith(t, (request, response) => {
      asked.push(request.url!)
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(answers[asked.length - 1] ?? 'retry: 1\n\n', () =>
        asked.length === 3 ? response.destroy() : response.end(),
      )
    })
    const heights: string[] = []
    for await (const { row, cursor } of createLyraClient({ url: base }).streamCheckpoints()) {
      assert.equal(cursor, row.atBlock)
      heights.push(cursor)
      if (heights.length === 4) break
    }
    assert.deepEqual(heights, ['2', '3', '7', '8'])
    const path = '/api/v2/stream/checkpoints'
    assert.deepEqual(asked, [path, ...[1, 2, 4, 5].map((id) => `${path}?after=${id}`)])
  })

  test('ends a stream at its signal, also where fetch goes on reading', { timeout: 10_000 }, async () => {
    const isCancelled = Promise.withResolvers<void>()
    const body = new ReadableStream({ cancel: () => isCancelled.resolve() })
    const headers = { 'Content-Type': 'text/event-stream' }
    const lyra = createLyraClient({
      url: 'http://127.0.0.1:1',
      fetch: async () => new Response(body, { headers }),
    })
    for await (const row of lyra.streamCheckpoints({}, { signal: AbortSignal.timeout(50) }))
      assert.fail(`no row comes: ${row}`)
    await isCancelled.promise
  })

  test('reads the rows of an export, of all markets or selected ones, in either order and from a cursor on', async () => {
    const base = await sampleService()
    const lyra = createLyraClient({ url: base })
    const rows = await all(lyra.exportRows('checkpoints'))
    const page = await lyra.checkpointsPage({}, { newestFirst: false })
    assert.deepEqual(rows, page.rows)
    const { cursor } = rows[2]!
    assert.deepEqual(await all(lyra.exportRows('checkpoints', {}, { after: cursor })), rows.slice(3))
    assert.deepEqual(await all(lyra.exportRows('checkpoints', {}, { newestFirst: true })), rows.toReversed())
    const points = await all(lyra.exportRows('fundingPeriodDataPoints', { marketId: MARKET, seq: '3' }))
    assert.deepEqual(
      points.map(({ node }) => node),
      await nodesOf(base, POINTS, [
        ['seq', '3'],
        ['pagination.newestFirst', 'false'],
      ]),
    )
    const markets = new Set((await all(lyra.exportRows('fundingPeriods'))).map(({ node }) => node.marketId))
    assert.equal(markets.size, 3)
    await assert.rejects(all(lyra.exportRows('fundingPeriods', { marketId: 'no id' })), { status: 400 })
  })

  test('gives the rows of a broken export, then an error, after which the caller can go on', async (t) => {
    const line = (id: number) => `{"atBlock":"${id}","cursor":"c${id}"}\n`
    const asked: string[] = []
    const base = await serveWith(t, (request, response) => {
      asked.push(request.url!)
      if (asked.length === 1) return response.writeHead(503).end()
      if (asked.length === 2)
        return response.write(`${line(1)}${line(2)}{"atBlock":`, () => response.destroy())
      if (asked.length === 3) return response.end(line(3))
      if (asked.length === 4) return response.end('{"atBlock":"4","curs')
      return response.end(asked.length === 5 ? 'garbage\n' : 'x'.repeat(100_000))
    })
    const lyra = createLyraClient({ url: base, longestWaitMs: 10, maxBytes: 50_000 })
    const cursors: string[] = []
    const read = async () => {
      for await (const { node, cursor } of lyra.exportRows('checkpoints', {}, { after: cursors.at(-1) })) {
        assert.deepEqual(node, { atBlock: cursor.slice(1) })
        cursors.push(cursor)
      }
    }
    await assert.rejects(read(), LyraConnectionError)
    assert.deepEqual(cursors, ['c1', 'c2'])
    await read()
    assert.deepEqual(cursors, ['c1', 'c2', 'c3'])
    for (const [name, message] of [
      ['LyraConnectionError', /cut off/],
      ['LyraAnswerError', /no row: garbage/],
      ['LyraAnswerError', /more than 50000 bytes/],
    ] as const)
      await assert.rejects(read(), { name, message })
    const path = '/api/v2/export/checkpoints?'
    const rest = `${path}pagination.after=c3&format=ndjson`
    assert.deepEqual(asked, [
      `${path}format=ndjson`,
      `${path}format=ndjson`,
      `${path}pagination.after=c2&format=ndjson`,
      rest,
      rest,
      rest,
    ])
  })

  test('gives up an export and a stream in which nothing arrives for too long', async (t) => {
    const base = await serveWith(t, (request, response) => {
      const isStream = request.url!.includes('stream')
      response.writeHead(200, isStream ? { 'Content-Type': 'text/event-stream' } : {})
      response.write(isStream ? ': \n' : '{"atBlock":"1","cursor":"c1"}\n')
    })
    const lyra = createLyraClient({ url: base, timeoutMs: 100 })
    await assert.rejects(all(lyra.exportRows('checkpoints')), /nothing came for too long/)
    const { setTimeout: later } = globalThis
    const hurried = (call: () => void, ms = 0) => later(call, ms === 45_000 ? 50 : ms)
    t.mock.method(globalThis, 'setTimeout', hurried as typeof setTimeout)
    let asked = 0
    const counting: typeof fetch = (...args) => {
      asked++
      return fetch(...args)
    }
    const following = createLyraClient({ url: base, fetch: counting, longestWaitMs: 10 })
    const stop = new AbortController()
    const ended = all(following.streamCheckpoints({}, { signal: stop.signal }))
    await until(() => asked >= 3, 'a third connection')
    stop.abort()
    assert.deepEqual(await ended, [])
  })

  test('reads an export no faster than its rows are taken, and ends it at the signal', async (t) => {
    const text = '{"atBlock":"1","cursor":"c1"}\n'.repeat(10_000)
    let sent = 0
    const isClosed = Promise.withResolvers<void>()
    const base = await serveWith(t, (_, response) => {
      response.on('close', () => isClosed.resolve())
      const send = (): void => {
        if (response.closed) return
        sent += text.length
        if (response.write(text)) setImmediate(send)
        else response.once('drain', send)
      }
      send()
    })
    const lyra = createLyraClient({ url: base })
    const stop = new AbortController()
    let rows = 0
    const reading = (async () => {
      for await (const _ of lyra.exportRows('checkpoints', {}, { signal: stop.signal })) {
        if (++rows < 5) continue
        assert.equal(rows, 5)
        await sleep(500)
        stop.abort(new Error('enough'))
      }
    })()
    await assert.rejects(reading, /enough/)
    await isClosed.promise
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes`)
    for await (const _ of lyra.exportRows('checkpoints')) break
  })

  test('follows several resources over a connection each, and resumes each after its own cursor', async () => {
    const lyra = createLyraClient({ url: await sampleService() })
    const streams = { checkpoints: {}, fundingPeriods: { marketId: MARKET }, marketSummaries: {} }
    const after: { checkpoints?: string; fundingPeriods?: string } = {}
    const heights: string[] = []
    const seqs: string[] = []
    const markets = new Set<string>()
    /** Follows until there are so many rows of the first two, and some of the third. */
    const follow = async (rows: number) => {
      for await (const { resource, row, cursor } of lyra.streamAll(streams, { after, afterBlock: '0' })) {
        if (resource === 'checkpoints') heights.push(row.atBlock)
        else if (resource === 'fundingPeriods') seqs.push(row.seq)
        else markets.add(row.marketId)
        if (resource !== 'marketSummaries') after[resource] = cursor
        if (heights.length + seqs.length >= rows && markets.size > 0) break
      }
    }
    const storedHeights = (await all(lyra.checkpoints({}, { newestFirst: false }))).map(
      ({ atBlock }) => atBlock,
    )
    const storedSeqs = (await all(lyra.fundingPeriods({ marketId: MARKET })))
      .map(({ seq }) => seq)
      .toReversed()
    await follow(5)
    await follow(storedHeights.length + storedSeqs.length)
    assert.deepEqual([heights, seqs], [storedHeights, storedSeqs])
  })

  test('ends all of several streams if one is refused, the caller leaves, or the signal is aborted', async (t) => {
    const open = new Set<string>()
    let isRefused = true
    const base = await serveWith(t, (request, response) => {
      const path = request.url!
      if (path.includes('epochs') && isRefused) {
        setTimeout(() => response.writeHead(400).end('no'), 100)
        return
      }
      open.add(path)
      response.on('close', () => open.delete(path))
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`id: 1\nevent: ${path.includes('epochs') ? 'epochs' : 'checkpoints'}\ndata: {}\n\n`)
    })
    const lyra = createLyraClient({ url: base })
    const streams = { checkpoints: {}, epochs: {} }
    const followed: string[] = []
    const follow = async (signal?: AbortSignal) => {
      for await (const { resource, cursor } of lyra.streamAll(streams, { signal }))
        followed.push(resource + cursor)
    }
    const allClosed = () => until(() => open.size === 0, 'connections to be closed')
    await assert.rejects(follow(), { name: 'LyraApiError', status: 400 })
    assert.deepEqual(followed, ['checkpoints1'])
    await allClosed()
    isRefused = false
    await follow(AbortSignal.timeout(300))
    assert.deepEqual(followed.slice(1).sort(), ['checkpoints1', 'epochs1'])
    await allClosed()
    for await (const _ of lyra.streamAll(streams)) break
    await allClosed()
    assert.throws(
      () => lyra.streamAll({ epochs: { marketId: MARKET } as never }),
      /streamEpochs\(filters\): unknown filter 'marketId'; allowed: none/,
    )
    assert.throws(
      () => lyra.streamAll({ rows: {} } as never),
      /streamAll\(streams, options\): unknown resource 'rows'/,
    )
  })

  test('ends with a clear error, and little memory, whatever a server sends', async (t) => {
    const base = await serveHostile(t)
    const requests: Record<string, (lyra: LyraClient) => Promise<unknown>> = {
      page: (lyra) => lyra.checkpointsPage(),
      walk: (lyra) => all(lyra.checkpoints()),
      report: (lyra) => lyra.coverage(),
      stream: (lyra) => all(lyra.streamCheckpoints()),
      rows: (lyra) => all(lyra.exportRows('checkpoints')),
    }
    const before = process.memoryUsage().rss
    for (const [path, { expected }] of Object.entries(HOSTILE)) {
      const options = { retries: 1, longestWaitMs: 10, timeoutMs: 2_000, maxBytes: LONGEST_BYTES }
      const lyra = createLyraClient({ url: `${base}/${path}`, ...options })
      const error = await requests[path.split('/')[0]!]!(lyra).catch((thrown: unknown) => thrown)
      assert.ok(error instanceof Error, `${path}: ${error}`)
      assert.match(`${error.name}: ${error.message}`, expected, path)
    }
    const taken = (process.memoryUsage().rss - before) / 2 ** 20
    t.diagnostic(`${taken.toFixed(0)} MiB`)
    assert.ok(taken < 200, `${taken} MiB`)
  })

  test('waits until the date of a Retry-After, and no longer than a minute whatever a service asks for', async (t) => {
    const asked = new Date('2026-11-30T10:00:00.250Z')
    t.mock.timers.enable({ apis: ['Date'], now: asked })
    const waits: number[] = []
    const { setTimeout: later } = globalThis
    t.mock.method(globalThis, 'setTimeout', ((call: () => void, ms = 0) => {
      waits.push(ms)
      return later(call, 0)
    }) as typeof setTimeout)
    const answers = [
      'Mon, 30 Nov 2026 10:00:07 GMT',
      'Mon, 30 Nov 2026 11:00:00 GMT',
      'yesterday',
      '99999999999',
    ]
    const headers = () => ({ 'Retry-After': answers.shift()! })
    const busy = async () => new Response('', { status: 429, headers: headers() })
    const options = { url: 'http://127.0.0.1:1', longestWaitMs: 2, retries: 3 }
    await assert.rejects(createLyraClient({ ...options, fetch: busy }).health(), {
      retryAfter: 99_999_999_999,
    })
    assert.deepEqual(
      waits.map((ms) => Math.round(ms / 10) * 10),
      [6_750, 60_000, 0],
    )
    waits.length = 0
    const stream = async () =>
      new Response('retry: 99999999999\n\n', { headers: { 'Content-Type': 'text/event-stream' } })
    const stop = new AbortController()
    const following = all(
      createLyraClient({ ...options, fetch: stream }).streamCheckpoints({}, { signal: stop.signal }),
    )
    while (waits.length < 6) await new Promise((resolve) => later(resolve, 1))
    stop.abort()
    await following
    // The others are for connections that fall silent.
    assert.deepEqual(new Set(waits), new Set([45_000, 60_000]))
  })

  test('reads a stream of events cut into pieces anywhere', () => {
    const text =
      '\ufeff: comment\r\nretry: 5\r\rid: 1\nevent: a\ndata: {"x":\ndata:  1}\n\ndata\n\nid: 2\n\nevent: b\ndata:y\r\n\r\ndata: lost'
    const expected: ServerEvent[] = [
      { event: 'a', data: '{"x":\n 1}', id: '1' },
      { event: 'message', data: '', id: '1' },
      { event: 'message', data: '', id: '2' },
      { event: 'b', data: 'y', id: '2' },
    ]
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 20 }), (cuts) => {
        const events: ServerEvent[] = []
        const waits: number[] = []
        const read = createEventStreamReader(100, {
          onEvent: (event) => events.push(event),
          onRetry: (ms) => waits.push(ms),
        })
        const ends = [...cuts.sort((a, b) => a - b), text.length]
        for (const [index, end] of ends.entries()) read(text.slice(ends[index - 1] ?? 0, end))
        assert.deepEqual([events, waits], [expected, [5]])
      }),
      { numRuns: runsOf('call'), seed: 1 },
    )
  })
})

/** The user's own Node, which may be older than that of the checkout. */
const OWN_NODE = process.env
  .PATH!.split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .map((folder) => join(folder, 'node'))
  .find((path) => existsSync(path))

/** The lines of the client's README that install it, with the names that they have here. */
function installLines(kind: 'folder' | 'file', names: Record<string, string>): string {
  const page = documentedPages().find(({ path }) => path === 'client/README.md')!
  const blocks = page.blocks.filter(
    ({ language, reason }) => language === 'sh' && /registry/.test(reason ?? ''),
  )
  const { text } = blocks.find(({ text }) => text.includes('npm pack') === (kind === 'file'))!
  return Object.entries(names).reduce((lines, [from, to]) => lines.replaceAll(from, to), text)
}

describe('the package of the client', () => {
  for (const kind of ['folder', 'file'] as const) {
    test(`is installed from a checkout, as a ${kind}, and its examples run on every Node`, async (t) => {
      const folder = temporaryFolder(t)
      writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
      // The checkout is already installed.
      const lines = installLines(kind, { '~/lyra': ROOT, '~/my-bot': folder }).replace(' && npm ci', '')
      const env = { ...process.env, npm_config_offline: 'true' }
      // Sources may have changed since the last build.
      spawnSync('npm', ['run', '--silent', 'build', '--workspace', 'client'], { cwd: ROOT })
      const built = statSync(join(ROOT, 'client/dist/connection.js')).mtimeMs
      await ended(startProgram(t, 'bash', ['-euo', 'pipefail', '-c', lines], { cwd: folder, env }))
      t.after(() => rmSync(join(ROOT, `lyra-client-${PROGRAM_VERSION}.tgz`), { force: true }))
      const installed = join(folder, 'node_modules/lyra-client')
      assert.deepEqual(readdirSync(installed).includes('src'), kind === 'folder')
      const again = statSync(join(ROOT, 'client/dist/connection.js')).mtimeMs
      assert.equal(again, built, 'programs may be loading it')

      const base = await sampleService()
      const nodes = [...new Set([process.execPath, OWN_NODE!])]
      const { engines } = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))
      assert.equal(engines.node, '>=20.3')
      for (const node of nodes) {
        const version = spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout
        t.diagnostic(`Node ${version.trim()}`)
        const example = join('node_modules/lyra-client/examples/check-providers.js')
        const run = await ended(startProgram(t, node, [example, base, MARKET], { cwd: folder }))
        assert.match(run.stdout, PROVIDERS_SHOWN)
      }

      // Types, without the sources and without settings of the checkout.
      const program = `import { annualised, createLyraClient, type FundingPeriod } from 'lyra-client'
        const lyra = createLyraClient({ url: '' })
        export const of = async (marketId: string): Promise<string[]> => {
          const found: string[] = []
          for await (const period of lyra.fundingPeriods({ marketId }))
            if (period.fundingRate !== undefined) found.push(annualised(period.fundingRate, period))
          return found
        }
        // @ts-expect-error: it is a text.
        export const seq: FundingPeriod['seq'] = 1\n`
      writeFileSync(join(folder, 'bot.ts'), program)
      const options = '--noEmit --strict --module nodenext --lib es2023,dom --types'.split(' ')
      await ended(
        startProgram(t, join(ROOT, 'node_modules/.bin/tsc'), [...options, '', 'bot.ts'], { cwd: folder }),
      )
    })
  }
})

const PROVIDERS_SHOWN = /at block 905:\n([0-9a-f]{64}: share [\d.]+, on book [\d.]+\n){4}$/

describe('the examples of the client', () => {
  /** Runs an example as described in its first lines. */
  async function run(t: TestContext, name: string, ...args: string[]): Promise<string> {
    const path = join(ROOT, 'client/examples', name)
    const command = ['--conditions=source', path, ...args]
    return (await ended(startProgram(t, process.execPath, command, { cwd: ROOT }))).stdout
  }

  test('walk-funding-points', async (t) => {
    const stdout = await run(t, 'walk-funding-points.js', await sampleService(), MARKET)
    assert.match(
      stdout,
      /^SOURCE_EXTERNAL: \d+ points, TWAP \d+ at first, \d+ at last\nSOURCE_INTERNAL: \d+ points, .*\n$/,
    )
  })

  test('follow-funding-points continues after its last row', async (t) => {
    const base = await sampleService()
    const file = join(temporaryFolder(t), 'cursor.txt')
    const first = await run(t, 'follow-funding-points.js', base, MARKET, file, '5')
    const second = await run(t, 'follow-funding-points.js', base, MARKET, file, '5')
    const both = await run(t, 'follow-funding-points.js', base, MARKET, `${file}2`, '10')
    assert.equal(`${first}${second}`, both)
    assert.equal(both.trim().split('\n').length, 10)
  })
})
