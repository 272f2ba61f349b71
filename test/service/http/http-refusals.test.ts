import assert from 'node:assert/strict'
import { test } from 'node:test'
import { grpcClient } from '../../fixtures/requests/grpc.ts'
import { send } from '../../fixtures/requests/http.ts'
import { TRADING_DATA } from '../../fixtures/requests/protos.ts'
import { ask, exchange, type RawAnswer, requestText } from '../../fixtures/requests/raw-http.ts'
import {
  assertRefusal,
  MALFORMED,
  NOT_ALLOWED,
  NOT_FOUND,
  type Refusal,
  TOO_LARGE,
  TOO_MANY,
  UNAVAILABLE,
} from '../../fixtures/requests/refusals.ts'
import { serve, serveBoth, serveFile, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, HEIGHT, MARKET, POINTS, PROVIDERS, SAMPLE, TIMESTAMP } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, openStore } from '../../fixtures/stores/stores.ts'

/** Requests that are refused: by their request line, and by all their bytes. */
const REFUSED: [expected: Refusal, lines: Record<string, string>, bytes: Record<string, string>][] = [
  [
    NOT_FOUND,
    {
      'an unknown path': 'GET /nope',
      'a trailing slash': `GET ${CHECKPOINTS}/`,
      'a trailing slash after a market': `GET ${POINTS}/`,
      'two slashes at the start': 'GET //api/v2/checkpoints',
      'two slashes within': 'GET /api/v2//checkpoints',
      'upper case': 'GET /api/v2/Checkpoints',
      'an escaped slash': 'GET /api/v2%2Fcheckpoints',
      dots: 'GET /api/v2/x/../checkpoints',
      'a semicolon': 'GET /api/v2/checkpoints;a=b',
      'an absolute target with an unknown path': 'GET http://lyra/nope',
      'GET *': 'GET *',
      CONNECT: 'CONNECT lyra:443',
    },
    { 'malformed JSON to an unknown path': requestText('POST /nope', jsonOf('{'), '{') },
  ],
  [
    NOT_ALLOWED,
    {
      'CONNECT to a known path': `CONNECT ${CHECKPOINTS}`,
      'an unknown method with a query': `BREW ${CHECKPOINTS}?a=b`,
      'an unknown method, escaped path': 'BREW /api/v2/%63heckpoints',
    },
    {
      'POST with a body': requestText(`POST ${POINTS}`, jsonOf('[]'), '[]'),
      'POST of a form': requestText(`POST ${CHECKPOINTS}`, { 'Content-Length': '3' }, 'a=b'),
      'POST with a large body and a closing connection': requestText(
        `POST ${CHECKPOINTS}`,
        { 'Content-Length': '3000000' },
        'x'.repeat(3_000_000),
      ),
    },
  ],
  [
    MALFORMED,
    {
      'a bad escape in the path': 'GET /api/v2/%zz',
      'bytes in the path that are no UTF-8': 'GET /api/v2/%ff',
      'half a surrogate pair': 'GET /nope?a=%ed%a0%80',
      'an invalid escape in the value of an unknown name': `GET ${CHECKPOINTS}?x=%g0`,
      'a bad escape in a name': `GET ${CHECKPOINTS}?%=x`,
      'a cut escape at the end': `GET ${CHECKPOINTS}?x=%a`,
      'bytes in the query that are no UTF-8': `GET ${CHECKPOINTS}?x=%c3%28`,
      'raw bytes in the target': `GET ${CHECKPOINTS}?x=\xff`,
      'a fragment after the path': `GET ${CHECKPOINTS}#x`,
      'a fragment after the query': `GET ${CHECKPOINTS}?a=b#x`,
      'a relative target': 'GET api/v2/checkpoints',
      'a space in the target': `GET ${CHECKPOINTS}?a= b`,
      'a control character in the target': `GET ${CHECKPOINTS}?a=\0`,
      'a header without a colon': `GET ${CHECKPOINTS}\r\nX`,
    },
    {
      'no request line': '\r\n\r\nhello there\r\n\r\n',
      'a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'HTTP/0.9': `GET ${CHECKPOINTS}\r\n\r\n`,
      'HTTP/1.2': `GET ${CHECKPOINTS} HTTP/1.2\r\nHost: lyra\r\n\r\n`,
      'HTTP/2.0 in text': `GET ${CHECKPOINTS} HTTP/2.0\r\nHost: lyra\r\nConnection: close\r\n\r\n`,
      'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'no Host': `GET ${CHECKPOINTS} HTTP/1.1\r\n\r\n`,
      'two Hosts': `GET ${CHECKPOINTS} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n`,
      'a space in the name of a header': requestText(`GET ${CHECKPOINTS}`, { 'A b': 'c' }),
      'a header with a line feed alone': `GET ${CHECKPOINTS} HTTP/1.1\nHost: lyra\n\n`,
      'a length below zero': requestText(`POST ${CHECKPOINTS}`, { 'Content-Length': '-1' }),
      'both a length and chunks': requestText(
        `POST ${CHECKPOINTS}`,
        { 'Content-Length': '3', 'Transfer-Encoding': 'chunked' },
        '0\r\n\r\n',
      ),
      'a chunk without a size, in an unused body': requestText(
        `GET ${CHECKPOINTS}`,
        { 'Transfer-Encoding': 'chunked' },
        'zz\r\nabc\r\n0\r\n\r\n',
      ),
    },
  ],
  [
    TOO_LARGE,
    {
      'a long path': `GET /${'a'.repeat(20_000)}`,
      'a long market id': `GET ${POINTS}${'a'.repeat(17_000)}`,
      'a long query': `GET ${CHECKPOINTS}?a=${'a'.repeat(20_000)}`,
      'a target of a megabyte': `GET ${CHECKPOINTS}?a=${'a'.repeat(1024 * 1024)}`,
      'many headers': `GET ${CHECKPOINTS}\r\n${'a: b\r\n'.repeat(4_000)}`,
    },
    { 'a long header': requestText(`GET ${CHECKPOINTS}`, { X: 'a'.repeat(20_000) }) },
  ],
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

const chain = (path: string, what: string, expected: Refusal, faulty: string): [string, Fault[]] => [
  path,
  [LONG, ESCAPE, METHOD, PARSE, [what, expected, atPath(faulty)], CURSORS, EMPTY],
]

const OF_MARKET = `${PROVIDERS}?marketId=${MARKET}`

/** Requests that are valid except for their faults, listed in the order of the table. */
const CHAINS: [path: string, faults: Fault[]][] = [
  [
    CHECKPOINTS,
    [LONG, ESCAPE, ['an unknown path', NOT_FOUND, atPath('/nope')], METHOD, PARSE, CURSORS, EMPTY],
  ],
  chain(OF_MARKET, 'no filter', invalid(10015), `${PROVIDERS}?`),
  chain(OF_MARKET, 'a bad party', invalid(10000), `${PROVIDERS}?partyId=x`),
  chain(POINTS, 'no market', invalid(10003), DATA_POINTS),
  chain(POINTS, 'a bad market', invalid(10000), `${DATA_POINTS}x`),
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

    const requests = REFUSED.flatMap(([expected, lines, bytes]) => [
      ...Object.entries(lines).map(([what, line]) => [what, requestText(line), expected] as const),
      ...Object.entries(bytes).map(([what, request]) => [what, request, expected] as const),
    ])
    for (const [what, request, expected] of requests) {
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
  // Other answers: in http.test.ts, and refusals in assertRefusal.
  test(`Answers in pieces forbid browsers to guess their type, too (${kind.name})`, async () => {
    const base = await serveFile(kind, SAMPLE)
    for (const target of ['/api/v2/stream/checkpoints', `${POINTS}?format=csv`]) {
      const { headers, body } = await fetch(`${base}${target}`)
      assert.equal(headers.get('x-content-type-options'), 'nosniff', target)
      await body!.cancel()
    }
  })
}
