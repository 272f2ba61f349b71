import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TRADING_DATA } from '#service/api/protos'
import { grpcClient } from './fixtures/grpc.ts'
import { send } from './fixtures/http.ts'
import { ask, exchange, type RawAnswer, requestText } from './fixtures/raw-http.ts'
import {
  assertRefusal,
  MALFORMED,
  NOT_ALLOWED,
  NOT_FOUND,
  type Refusal,
  TOO_LARGE,
  TOO_MANY,
  UNAVAILABLE,
} from './fixtures/refusals.ts'
import { CHECKPOINTS, HEIGHT, MARKET, POINTS, PROVIDERS, TIMESTAMP } from './fixtures/sample.ts'
import { serve, serveBoth, serveFile, storeOf } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { ANY_STORE_KIND, openStore } from './fixtures/stores.ts'

/** Requests that are refused, by their fault. */
const REFUSED: [what: string, request: string, expected: Refusal][] = [
  ['an unknown path', requestText('GET /nope'), NOT_FOUND],
  ['a trailing slash', requestText(`GET ${CHECKPOINTS}/`), NOT_FOUND],
  ['a trailing slash after a market', requestText(`GET ${POINTS}/`), NOT_FOUND],
  ['two slashes at the start', requestText('GET //api/v2/checkpoints'), NOT_FOUND],
  ['two slashes within', requestText('GET /api/v2//checkpoints'), NOT_FOUND],
  ['upper case', requestText('GET /api/v2/Checkpoints'), NOT_FOUND],
  ['an escaped slash', requestText('GET /api/v2%2Fcheckpoints'), NOT_FOUND],
  ['dots', requestText('GET /api/v2/x/../checkpoints'), NOT_FOUND],
  ['a semicolon', requestText('GET /api/v2/checkpoints;a=b'), NOT_FOUND],
  ['an absolute target with an unknown path', requestText('GET http://lyra/nope'), NOT_FOUND],
  ['GET *', requestText('GET *'), NOT_FOUND],
  ['OPTIONS of an unknown path', requestText('OPTIONS /nope'), NOT_FOUND],
  ['another method on an unknown path', requestText('DELETE /nope'), NOT_FOUND],
  ['an unknown method on an unknown path', requestText('BREW /nope'), NOT_FOUND],
  ['malformed JSON to an unknown path', requestText('POST /nope', jsonOf('{'), '{'), NOT_FOUND],
  ['CONNECT', requestText('CONNECT lyra:443'), NOT_FOUND],
  ['CONNECT to a known path', requestText(`CONNECT ${CHECKPOINTS}`), NOT_ALLOWED],
  ['an unknown method', requestText(`BREW ${CHECKPOINTS}?a=b`), NOT_ALLOWED],
  ['an unknown method, escaped path', requestText('BREW /api/v2/%63heckpoints'), NOT_ALLOWED],
  ['POST with a body', requestText(`POST ${POINTS}`, jsonOf('[]'), '[]'), NOT_ALLOWED],
  ['POST of a form', requestText(`POST ${CHECKPOINTS}`, { 'Content-Length': '3' }, 'a=b'), NOT_ALLOWED],
  [
    'POST with a large body and a closing connection',
    requestText(`POST ${CHECKPOINTS}`, { 'Content-Length': '3000000' }, 'x'.repeat(3_000_000)),
    NOT_ALLOWED,
  ],
  ['a bad escape in the path', requestText('GET /api/v2/%zz'), MALFORMED],
  ['bytes in the path that are no UTF-8', requestText('GET /api/v2/%ff'), MALFORMED],
  ['half a surrogate pair', requestText('GET /nope?a=%ed%a0%80'), MALFORMED],
  ['an invalid escape in the value of an unknown name', requestText(`GET ${CHECKPOINTS}?x=%g0`), MALFORMED],
  ['a bad escape in a name', requestText(`GET ${CHECKPOINTS}?%=x`), MALFORMED],
  ['a cut escape at the end', requestText(`GET ${CHECKPOINTS}?x=%a`), MALFORMED],
  ['bytes in the query that are no UTF-8', requestText(`GET ${CHECKPOINTS}?x=%c3%28`), MALFORMED],
  ['raw bytes in the target', requestText(`GET ${CHECKPOINTS}?x=\xff`), MALFORMED],
  ['a fragment after the path', requestText(`GET ${CHECKPOINTS}#x`), MALFORMED],
  ['a fragment after the query', requestText(`GET ${CHECKPOINTS}?a=b#x`), MALFORMED],
  ['a relative target', requestText('GET api/v2/checkpoints'), MALFORMED],
  ['a space in the target', requestText(`GET ${CHECKPOINTS}?a= b`), MALFORMED],
  ['a control character in the target', requestText(`GET ${CHECKPOINTS}?a=\0`), MALFORMED],
  ['no request line', '\r\n\r\nhello there\r\n\r\n', MALFORMED],
  ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', MALFORMED],
  ['HTTP/0.9', `GET ${CHECKPOINTS}\r\n\r\n`, MALFORMED],
  ['HTTP/1.2', `GET ${CHECKPOINTS} HTTP/1.2\r\nHost: lyra\r\n\r\n`, MALFORMED],
  ['HTTP/2.0 in text', `GET ${CHECKPOINTS} HTTP/2.0\r\nHost: lyra\r\nConnection: close\r\n\r\n`, MALFORMED],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', MALFORMED],
  ['no Host', `GET ${CHECKPOINTS} HTTP/1.1\r\n\r\n`, MALFORMED],
  ['two Hosts', `GET ${CHECKPOINTS} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`, MALFORMED],
  ['a header without a colon', requestText(`GET ${CHECKPOINTS}\r\nX`), MALFORMED],
  ['a space in the name of a header', requestText(`GET ${CHECKPOINTS}`, { 'A b': 'c' }), MALFORMED],
  ['a header with a line feed alone', `GET ${CHECKPOINTS} HTTP/1.1\nHost: lyra\n\n`, MALFORMED],
  ['a length below zero', requestText(`POST ${CHECKPOINTS}`, { 'Content-Length': '-1' }), MALFORMED],
  [
    'both a length and chunks',
    requestText(
      `POST ${CHECKPOINTS}`,
      { 'Content-Length': '3', 'Transfer-Encoding': 'chunked' },
      '0\r\n\r\n',
    ),
    MALFORMED,
  ],
  [
    'a chunk without a size, in an unused body',
    requestText(`GET ${CHECKPOINTS}`, { 'Transfer-Encoding': 'chunked' }, 'zz\r\nabc\r\n0\r\n\r\n'),
    MALFORMED,
  ],
  ['a long path', requestText(`GET /${'a'.repeat(20_000)}`), TOO_LARGE],
  ['a long market id', requestText(`GET ${POINTS}${'a'.repeat(17_000)}`), TOO_LARGE],
  ['a long query', requestText(`GET ${CHECKPOINTS}?a=${'a'.repeat(20_000)}`), TOO_LARGE],
  ['a target of a megabyte', requestText(`GET ${CHECKPOINTS}?a=${'a'.repeat(1024 * 1024)}`), TOO_LARGE],
  ['a long header', requestText(`GET ${CHECKPOINTS}`, { X: 'a'.repeat(20_000) }), TOO_LARGE],
  ['many headers', requestText(`GET ${CHECKPOINTS}\r\n${'a: b\r\n'.repeat(4_000)}`), TOO_LARGE],
]

function jsonOf(text: string): Record<string, string> {
  return { 'Content-Type': 'application/json', 'Content-Length': String(text.length) }
}

const UNPARSED: Refusal = { status: 400, code: 3, message: /^parsing field "first": / }
const invalid = (detail: number): Refusal => ({ status: 400, code: 3, detail })

type FaultyRequest = { method: string; path: string; params: string[]; headers: Record<string, string> }

/** A fault, its answer, and how to add it to a request. */
type Fault = [what: string, expected: Refusal, add: (request: FaultyRequest) => void]

const atPath = (path: string) => (request: FaultyRequest) => {
  request.path = path
}

const LONG: Fault = ['headers too large', TOO_LARGE, ({ headers }) => (headers.X = 'x'.repeat(20_000))]
const ESCAPE: Fault = ['a bad escape', MALFORMED, ({ params }) => params.push('a=%zz')]
const METHOD: Fault = ['another method', NOT_ALLOWED, (request) => (request.method = 'PUT')]
const PARSE: Fault = ['an unparsable parameter', UNPARSED, ({ params }) => params.push('pagination.first=x')]
const CURSORS: Fault = [
  'both cursors',
  invalid(10028),
  ({ params }) => params.push('pagination.after=', 'pagination.before='),
]
/** Needs no change of the request: the test's store is empty. */
const EMPTY: Fault = ['an empty store', UNAVAILABLE, () => undefined]

const DATA_POINTS = '/api/v2/funding-periods/data-points/'

/** Requests that are valid except for their faults, listed in the order of the table. */
const CHAINS: [path: string, faults: Fault[]][] = [
  [
    CHECKPOINTS,
    [LONG, ESCAPE, ['an unknown path', NOT_FOUND, atPath('/nope')], METHOD, PARSE, CURSORS, EMPTY],
  ],
  [
    `${PROVIDERS}?marketId=${MARKET}`,
    [LONG, ESCAPE, METHOD, PARSE, ['no filter', invalid(10015), atPath(`${PROVIDERS}?`)], CURSORS, EMPTY],
  ],
  [
    `${PROVIDERS}?marketId=${MARKET}`,
    [
      LONG,
      ESCAPE,
      METHOD,
      PARSE,
      ['a bad party', invalid(10000), atPath(`${PROVIDERS}?partyId=x`)],
      CURSORS,
      EMPTY,
    ],
  ],
  [POINTS, [LONG, ESCAPE, METHOD, PARSE, ['no market', invalid(10003), atPath(DATA_POINTS)], CURSORS, EMPTY]],
  [
    POINTS,
    [
      LONG,
      ESCAPE,
      METHOD,
      PARSE,
      ['a bad market', invalid(10000), atPath(`${DATA_POINTS}x`)],
      CURSORS,
      EMPTY,
    ],
  ],
]

function faultyRequest(path: string, faults: Fault[]): string {
  const request: FaultyRequest = { method: 'GET', path, params: [], headers: {} }
  for (const [, , add] of faults) add(request)
  const query = request.params.join('&')
  const joined = `${request.path}${request.path.includes('?') ? '&' : '?'}${query}`
  return requestText(`${request.method} ${query === '' ? request.path : joined}`, request.headers)
}

for (const kind of ANY_STORE_KIND) {
  test(`Refusals on ${kind.name}`, async (t) => {
    const base = await serveFile(kind, SAMPLE)
    assert.equal((await send(base, '/api/v2/checkpoints')).status, 200)

    for (const [what, request, expected] of REFUSED) {
      await t.test(`${what} gets ${expected.status}`, async () => {
        const { answers, rest } = await exchange(base, request, { until: 1, timeoutMs: 3_000 })
        assert.equal(answers.length, 1, JSON.stringify(rest.slice(0, 200)))
        const { headers } = answers[0]!
        assertRefusal(answers[0]!, expected, what)
        assert.deepEqual(headers.get('x-block-height'), [HEIGHT])
        assert.deepEqual(headers.get('x-block-timestamp'), [TIMESTAMP])
        assert.match(headers.get('x-request-id')![0]!, /^[0-9a-f-]{36}$/)
        assert.deepEqual(headers.get('access-control-allow-origin'), ['*'])
        assert.match(headers.get('access-control-expose-headers')![0]!, /\bX-Block-Height\b/)
        assert.equal(headers.get('date')?.length, 1)
      })
    }
  })

  test(`Refusals read nothing: they show the last position that an answer has shown, on ${kind.name}`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const reader = await openStore(store).openReader()
    t.after(() => reader.close())
    let reads = 0
    const counted = new Proxy(reader, {
      get: (target, name: keyof typeof reader) => {
        if (['page', 'read', 'freshness'].includes(name)) reads++
        return target[name]
      },
    })
    const { base, grpc } = await serveBoth(t, store, { reader: counted })
    const call = grpcClient(t, grpc, TRADING_DATA)
    const refusals = async () => {
      const answers = [
        await send(base, '/nothing'),
        await send(base, '/api/v2/liquidity/providers'),
        await send(base, '/api/v2/checkpoints', { method: 'OPTIONS' }),
        await call('ListCheckpoints', { pagination: { first: 0 } }),
      ]
      return answers.map(({ headers }) => headers['x-block-height'])
    }
    assert.deepEqual(await refusals(), Array(4).fill(undefined))
    assert.equal(reads, 0)
    assert.equal((await send(base, '/api/v2/checkpoints')).status, 200)
    reads = 0
    assert.deepEqual(await refusals(), Array(4).fill(HEIGHT))
    assert.equal(reads, 0)
  })

  test(`Of several faults the first of the table is reported, on ${kind.name}`, async (t) => {
    const base = await serve(t, kind.create(t))
    for (const [path, faults] of CHAINS) {
      for (const [index, [what, expected]] of faults.entries()) {
        await t.test(`${what} before ${faults.length - index - 1} others: ${path.slice(0, 40)}`, async () => {
          for (let time = 0; time < 2; time++) {
            const { answers } = await exchange(base, faultyRequest(path, faults.slice(index)), { until: 1 })
            assertRefusal(answers[0]!, expected, what)
          }
        })
      }
    }
  })

  test(`The rate limit is reported before every other fault, on ${kind.name}`, async (t) => {
    const base = await serve(t, kind.create(t), { rateLimit: 1 })
    for (const [path, faults] of CHAINS) {
      for (const [index, [what]] of faults.entries()) {
        let answers: RawAnswer[] = []
        // The next second may just have begun, which allows one more.
        for (let time = 0; time < 3 && answers[0]?.status !== 429; time++) {
          while ((await ask(base, 'GET /nope')).status !== 429);
          answers = (await exchange(base, faultyRequest(path, faults.slice(index)), { until: 1 })).answers
        }
        assertRefusal(answers[0]!, TOO_MANY, `${path}: ${what}`)
        assert.deepEqual(answers[0]!.headers.get('ratelimit-remaining'), ['0'])
      }
    }
  })
}

for (const kind of ANY_STORE_KIND) {
  test(`Every answer forbids browsers to guess its type (${kind.name})`, async () => {
    const base = await serveFile(kind, SAMPLE)
    const page = `${CHECKPOINTS}?pagination.first=1`
    const { headers } = await send(base, page)
    const preflight = { Origin: 'http://a.example', 'Access-Control-Request-Method': 'GET' }
    for (const [what, bytes] of [
      ['a page', requestText(`GET ${page}`)],
      // The second and third answers come from the cache.
      [
        'a cached page',
        requestText(`GET ${page}`, { Connection: 'keep-alive' }).repeat(2) + requestText(`GET ${page}`),
      ],
      ['an unmodified page', requestText(`GET ${page}`, { 'If-None-Match': headers.etag as string })],
      ['a preflight', requestText(`OPTIONS ${page}`, preflight)],
      ['options', requestText('OPTIONS *')],
      ['coverage', requestText('GET /api/v2/coverage')],
      ['an export', requestText(`GET ${POINTS}?format=csv`)],
      ['the head of an export', requestText(`HEAD ${POINTS}?format=csv`)],
      ['a stream', requestText('GET /api/v2/stream/checkpoints')],
      ['a refused stream', requestText('GET /api/v2/stream/checkpoints?after=x')],
      ['health', requestText('GET /health')],
      ['readiness', requestText('GET /ready')],
      ['metrics', requestText('GET /metrics')],
      ['the document', requestText('GET /openapi.json')],
      ['the explorer', requestText('GET /')],
      ['the reference', requestText('GET /docs')],
      ['no asset', requestText('GET /assets/none.js')],
      ['an unknown path', requestText('GET /nope')],
      ['another method', requestText(`DELETE ${page}`)],
      ['a bad parameter', requestText(`GET ${CHECKPOINTS}?pagination.first=x`)],
      ['bad escapes', requestText('GET /%zz')],
      ['no HTTP', 'garbage\r\n\r\n'],
      ['an unknown method', requestText(`BREW ${page}`)],
      ['CONNECT', requestText('CONNECT lyra:1')],
      ['no Host', `GET ${page} HTTP/1.1\r\n\r\n`],
      ['headers too large', requestText(`GET ${page}`, { X: 'x'.repeat(20_000) })],
      ['a bad body', requestText(`GET ${page}`, { 'Transfer-Encoding': 'chunked' }, 'zz\r\n')],
    ] as const) {
      // A stream has no end.
      const until = what === 'a stream' ? { until: 'head' as const } : {}
      const { answers, rest } = await exchange(base, bytes, {
        ...until,
        timeoutMs: 30_000,
        methods: ['HEAD'],
      })
      // Answers without a length are in the rest.
      const heads = answers.map((answer) => answer.headers.get('x-content-type-options'))
      if (/^HTTP\/1\.1 /.test(rest))
        heads.push([/\r\nx-content-type-options: (\w+)\r\n/i.exec(rest)?.[1] ?? ''])
      assert.ok(heads.length > 0, what)
      for (const values of heads) assert.deepEqual(values, ['nosniff'], what)
    }
  })
}
