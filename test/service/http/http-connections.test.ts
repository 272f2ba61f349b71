import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { getPage } from '../../fixtures/requests/http.ts'
import { listen } from '../../fixtures/requests/listen.ts'
import {
  ask,
  exchange,
  openReceiving,
  type RawAnswer,
  readAnswers,
  requestText,
} from '../../fixtures/requests/raw-http.ts'
import { assertRefusal, MALFORMED, NOT_ALLOWED, NOT_FOUND } from '../../fixtures/requests/refusals.ts'
import { LONG, scaled } from '../../fixtures/sampling.ts'
import { startService } from '../../fixtures/services/program.ts'
import { serveFile, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, POINTS, SAMPLE } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** A generated stream: its pages of points and its export are more than a system buffers for a client that does not read. */
const MANY_POINTS = { blocks: 6_200, markets: 5, points: 5, parties: 1, events: 0 }

const KEEP = { Connection: 'keep-alive' }
const PAGE = `${POINTS}?pagination.first=2`

/** A request that leaves its connection open. */
const request = (line: string, headers: Record<string, string> = {}, body = '') =>
  requestText(line, { ...KEEP, ...headers }, body)

const statusesOf = (answers: readonly RawAnswer[]) => answers.map(({ status }) => status)
const bodiesOf = (answers: readonly RawAnswer[]) => answers.map(({ body }) => body)

for (const kind of ANY_STORE_KIND) {
  test(`Connections on ${kind.name}`, async (t) => {
    const base = await serveFile(kind, SAMPLE)
    const page = (await ask(base, `GET ${PAGE}`)).body
    /** Sends bytes and the end of the stream; returns the answers. */
    const askAndEnd = async (bytes: string) => {
      const { answers, closed } = await exchange(base, bytes, { half: true })
      assert.ok(closed)
      return answers
    }

    await t.test('pipelined requests are answered in order', async () => {
      const lines = [
        `GET ${PAGE}`,
        'GET /nope',
        `HEAD ${PAGE}`,
        'GET /health',
        `DELETE ${PAGE}`,
        `GET ${PAGE}`,
      ]
      const { answers, rest } = await exchange(base, lines.map((line) => request(line)).join(''), {
        methods: lines.map((line) => line.slice(0, line.indexOf(' '))),
        until: lines.length,
      })
      assert.equal(rest, '')
      assert.deepEqual(statusesOf(answers), [200, 404, 200, 200, 405, 200])
      assert.deepEqual(
        [0, 2, 5].map((index) => answers[index]!.body),
        [page, '', page],
      )
    })

    await t.test('sixteen requests may be pipelined; more close the connection', async () => {
      const some = await exchange(base, request(`GET ${PAGE}`).repeat(17), { until: 17 })
      assert.deepEqual(bodiesOf(some.answers), Array(17).fill(page))
      const many = await exchange(base, request(`GET ${PAGE}`).repeat(200))
      assert.ok(many.closed)
      assert.ok(many.answers.length < 200)
      for (const { status } of many.answers) assert.equal(status, 200)
    })

    for (const [what, bytes, expected] of [
      ['bytes that are no HTTP', '\x00\x01\x02 garbage\r\n\r\n', MALFORMED],
      ['an unknown method', request(`BREW ${PAGE}`), NOT_ALLOWED],
      [
        'a chunk without a size',
        request(`GET ${PAGE}`, { 'Transfer-Encoding': 'chunked' }, 'zz\r\n'),
        MALFORMED,
      ],
      ['no Host', `GET ${PAGE} HTTP/1.1\r\n\r\n`, MALFORMED],
    ] as const) {
      await t.test(
        `${what} after valid requests is answered after them, and closes the connection`,
        async () => {
          const { answers, rest, closed } = await exchange(base, request(`GET ${PAGE}`).repeat(3) + bytes)
          assert.equal(rest, '')
          const [refused] = answers.splice(3)
          assert.deepEqual(bodiesOf(answers), [page, page, page])
          assertRefusal(refused!, expected, what)
          assert.deepEqual(refused!.headers.get('connection'), ['close'])
          assert.ok(closed)
        },
      )
    }

    await t.test('CONNECT is answered after answered requests, and closes the connection', async () => {
      const { socket, received, ended } = openReceiving(base)
      socket.write(request(`GET ${PAGE}`))
      await until(() => readAnswers(received()).answers.length === 1, 'the answer')
      socket.write(request('CONNECT lyra:1'))
      await ended
      const { answers, rest } = readAnswers(received())
      assert.equal(rest, '')
      assert.equal(answers[0]!.body, page)
      assertRefusal(answers[1]!, NOT_FOUND, 'CONNECT')
      assert.deepEqual(answers[1]!.headers.get('connection'), ['close'])
    })

    await t.test('CONNECT after a request that is not answered closes the connection', async () => {
      const { socket, received, ended } = openReceiving(base)
      socket.write(request('GET /api/v2/stream/checkpoints'))
      await until(() => received().includes('event: position'), 'the stream')
      socket.write(request('CONNECT lyra:1'))
      const closes = await Promise.race([ended.then(() => true), delay(5_000, false, { ref: false })])
      socket.destroy()
      assert.ok(closes)
    })

    for (const [what, headers, body] of [
      ['a body', { 'Content-Length': '3' }, 'abc'],
      ['a body of an unknown type', { 'Content-Length': '3', 'Content-Type': 'x/y' }, 'abc'],
      ['a body that is not JSON', { 'Content-Length': '3', 'Content-Type': 'application/json' }, '{a}'],
      ['a body in chunks', { 'Transfer-Encoding': 'chunked' }, '3\r\nabc\r\n0\r\n\r\n'],
      ['a body of two megabytes', { 'Content-Length': '2000000' }, 'x'.repeat(2_000_000)],
      ['a length of 0', { 'Content-Length': '0' }, ''],
    ] as [string, Record<string, string>, string][]) {
      await t.test(`${what} is discarded, whatever the request, and the next request is read`, async () => {
        const lines = [`GET ${PAGE}`, `POST ${PAGE}`, 'PUT /nope', 'GET /health', `QUERY ${CHECKPOINTS}`]
        const bytes = lines.map((line) => request(line, headers, body)).join('') + request(`GET ${PAGE}`)
        const { answers } = await exchange(base, bytes, { until: 6 })
        assert.deepEqual(statusesOf(answers), [200, 405, 404, 200, 405, 200])
        assert.equal(answers[0]!.body, page)
        assert.equal(answers[5]!.body, page)
      })
    }

    await t.test('a client that expects 100 Continue gets it', async () => {
      const { socket, received, ended } = openReceiving(base)
      socket.write(request(`POST ${PAGE}`, { Expect: '100-continue', 'Content-Length': '3' }))
      while (received().length === 0) await delay(5)
      assert.equal(`${received()}`, 'HTTP/1.1 100 Continue\r\n\r\n')
      socket.write(`abc${requestText(`GET ${PAGE}`)}`)
      await ended
      const { answers } = readAnswers(received())
      assertRefusal(answers[0]!, NOT_ALLOWED, 'POST')
      assert.equal(answers[1]!.body, page)
    })

    await t.test('a client that closed its side is answered', async () => {
      assert.deepEqual(bodiesOf(await askAndEnd(request(`GET ${PAGE}`).repeat(2))), [page, page])
    })

    for (const [what, bytes] of [
      ['its request line', 'GET /api/v2/check'],
      ['its headers', `GET ${PAGE} HTTP/1.1\r\nHost: ly`],
      ['its body', request(`GET ${PAGE}`, { 'Content-Length': '9' }, 'abc')],
    ] as const) {
      await t.test(`a client that closes its side within ${what} is refused`, async () => {
        const [refused, ...others] = await askAndEnd(bytes)
        assertRefusal(refused!, MALFORMED, what)
        assert.deepEqual(others, [])
      })
    }

    await t.test('HTTP/1.0 is answered, and closes the connection without keep-alive', async () => {
      const once = await exchange(base, `GET ${PAGE} HTTP/1.0\r\n\r\n`)
      assert.equal(once.answers[0]!.body, page)
      assert.ok(once.closed)
      const onceMore = `GET ${PAGE} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n`
      const twice = await exchange(base, onceMore + onceMore, { until: 2 })
      assert.deepEqual(bodiesOf(twice.answers), [page, page])
      assert.deepEqual(twice.answers[0]!.headers.get('connection'), ['keep-alive'])
    })

    await t.test('a request to upgrade the protocol is ignored', async () => {
      const headers = { Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABk' }
      const { answers } = await exchange(base, request(`GET ${PAGE}`, headers), { until: 1 })
      assert.equal(answers[0]!.body, page)
    })
  })

  test(`A service that stops answers requests in progress, and ends streams (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { service, base } = await startService(t, `--store ${store}`)
    const page = (await ask(base, `GET ${PAGE}`)).body

    const open = (bytes: string) => {
      const { received, ...opened } = openReceiving(base)
      opened.socket.write(bytes)
      return { ...opened, answers: () => readAnswers(received()).answers }
    }
    const idle = open(request(`GET ${PAGE}`))
    const incomplete = request(`GET ${PAGE}`, { 'Content-Length': '3' }, 'ab')
    const inFlight = open(incomplete)
    const stuck = LONG ? open(incomplete) : null
    while (idle.answers().length === 0) await delay(5)
    await delay(50)
    const stream = await listen(base, '/api/v2/stream/checkpoints')

    const stoppedAt = performance.now()
    service.child.kill('SIGTERM')
    await Promise.all([idle.ended, stream.ended])
    await assert.rejects(ask(base, 'GET /health'), 'no new connection is accepted')
    assert.equal(inFlight.answers().length, 0)
    // The end of the request, followed by another one.
    inFlight.socket.write(`c${request(`GET ${PAGE}`)}`)
    await inFlight.ended
    assert.equal(inFlight.answers()[0]!.body, page)
    for (const { status } of inFlight.answers()) assert.equal(status, 200)

    const { code, stderr } = await service.outcome
    assert.equal(code, 0, stderr)
    const seconds = (performance.now() - stoppedAt) / 1000
    assert.ok(seconds < scaled(3, 12), `${seconds} s`)
    if (stuck !== null) assert.ok(seconds > 9, `${seconds} s`)
  })

  test(`A service that stops sends the answers it has begun, whole, and does not wait for idle connections (${kind.name})`, async (t) => {
    const store = await storeOfGenerated(t, kind, MANY_POINTS)
    const { service, base } = await startService(t, `--store ${store}`)
    const { edges } = await getPage(base, '/api/v2/instruments')
    const { marketId } = edges[0]!.node as { marketId: string }
    const points = `/api/v2/funding-periods/data-points/${marketId}?pagination.first=5000`
    const askAndPause = (target: string, times: number) => {
      const opened = openReceiving(base)
      opened.socket.pause()
      opened.socket.write(request(`GET ${target}`).repeat(times))
      return opened
    }
    const pages = askAndPause(points, 16)
    const rows = askAndPause(`/api/v2/export/funding-period-data-points?format=ndjson`, 1)
    const unused = openReceiving(base)
    await delay(1_000)

    const stoppedAt = performance.now()
    service.child.kill('SIGTERM')
    await delay(200)
    for (const { socket } of [pages, rows]) socket.resume()
    await Promise.all([pages, rows, unused].map(({ ended }) => ended))
    const { code, stderr } = await service.outcome
    assert.equal(code, 0, stderr)
    const seconds = (performance.now() - stoppedAt) / 1000
    assert.ok(seconds < 6, `${seconds} s`)

    const { answers, rest } = readAnswers(pages.received())
    assert.equal(rest, '', 'a page is cut off')
    assert.ok(answers.length > 0)
    for (const { body } of answers) assert.equal(JSON.parse(body).fundingPeriodDataPoints.edges.length, 5_000)
    assert.match(rows.received().toString('latin1').slice(-100), /\}\n(\r\n0\r\n\r\n)?$/)
  })
}
