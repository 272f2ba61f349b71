import assert from 'node:assert/strict'
import { METHODS } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { StoreUnavailableError } from '#core/store/errors'
import type { Reader } from '#core/store/store'
import { newRequestId } from '#service/http/request-id'
import { assertSays } from '../../fixtures/assert-says.ts'
import { type Answer, metricsOf, send, statusOf } from '../../fixtures/requests/http.ts'
import { ask, type RawAnswer } from '../../fixtures/requests/raw-http.ts'
import {
  assertRefusal,
  NOT_ALLOWED,
  NOT_FOUND,
  TOO_MANY,
  UNAVAILABLE,
} from '../../fixtures/requests/refusals.ts'
import { ingest, serve, storeOf } from '../../fixtures/services/service.ts'
import { CHECKPOINTS, HEIGHT, MARKET, POINTS, PROVIDERS, SAMPLE, TIMESTAMP } from '../../fixtures/shared.ts'
import { ANY_STORE_KIND, openReader, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const PAGES = [
  `${CHECKPOINTS}?pagination.first=3`,
  `${POINTS}?pagination.first=3`,
  `${PROVIDERS}?marketId=${MARKET}`,
  // Other operations are answered in the same way.
  '/api/v2/coverage',
  '/api/v2/market-summaries',
  '/api/v2/vega/time',
]
/** Answered as pages are, but whatever the store. */
const INFO = '/api/v2/info'
const SERVICE_PATHS = ['/health', '/ready', '/metrics']
const KNOWN_PATHS = [...PAGES, ...SERVICE_PATHS, INFO, '/openapi.json', '/openapi-3.0.json']

const EXPOSED =
  'Accept-Ranges, Content-Range, ETag, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Block-Height, X-Block-Timestamp, X-Missing-Blocks, X-Request-Id, X-Since'

/** Asks with headers, over a kept connection. */
const get = (base: string, target: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(base, target, { headers, method })

/** The answer's headers without those that differ between equal requests. */
const OF_ONE_REQUEST = new Set(['x-request-id', 'date', 'connection', 'keep-alive'])

function lasting(answer: RawAnswer): [string, string[]][] {
  return [...answer.headers].filter(([name]) => !OF_ONE_REQUEST.has(name)).sort()
}

for (const kind of ANY_STORE_KIND) {
  test(`HTTP on ${kind.name}`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const base = await serve(t, store, { inThreads: true })

    await t.test('a page has exactly the expected headers, each once', async () => {
      // The second and third answers come from the cache.
      for (const target of [...PAGES, ...PAGES, ...PAGES, `${PAGES[0]}&pretty`, INFO]) {
        const answer = await ask(base, `GET ${target}`)
        assert.equal(answer.status, 200, target)
        const tag = answer.headers.get('etag')?.[0]
        assert.match(tag!, /^"[0-9a-z]+-[0-9a-z]+-[0-9a-z]+"$/)
        assert.deepEqual(
          lasting(answer),
          [
            ['access-control-allow-origin', ['*']],
            ['access-control-expose-headers', [EXPOSED]],
            ['cache-control', ['no-cache']],
            ['content-length', [String(Buffer.byteLength(answer.body))]],
            ['content-type', ['application/json']],
            ['etag', [tag]],
            ['vary', ['Accept-Encoding']],
            ['x-block-height', [HEIGHT]],
            ['x-block-timestamp', [TIMESTAMP]],
            ['x-content-type-options', ['nosniff']],
          ],
          target,
        )
      }
    })

    await t.test('HEAD answers like GET, without the body', async () => {
      const refused = ['/nope', `${CHECKPOINTS}?pagination.first=0`, `${CHECKPOINTS}?a=%zz`]
      for (const target of [...PAGES, INFO, '/health', '/ready', '/openapi.json', ...refused]) {
        for (const encoding of ['identity', 'gzip']) {
          const headers = { 'Accept-Encoding': encoding }
          const got = await ask(base, `GET ${target}`, headers)
          const head = await ask(base, `HEAD ${target}`, headers)
          assert.equal(head.status, got.status, target)
          assert.equal(head.body, '')
          assert.deepEqual(lasting(head), lasting(got), target)
        }
      }
    })

    await t.test('every other method gets 405 on a known path, and 404 on an unknown one', async () => {
      for (const method of [...METHODS, 'BREW', 'get']) {
        if (['GET', 'HEAD', 'OPTIONS'].includes(method)) continue
        for (const path of KNOWN_PATHS) {
          assertRefusal(await ask(base, `${method} ${path}`), NOT_ALLOWED, `${method} ${path}`)
        }
        assertRefusal(await ask(base, `${method} /nope`), NOT_FOUND, `${method} /nope`)
      }
    })

    await t.test('OPTIONS that is not a preflight names the methods of a known path', async () => {
      for (const path of [...KNOWN_PATHS, '*']) {
        for (const sent of [{}, { Origin: 'http://a' }, { 'Access-Control-Request-Method': 'GET' }]) {
          const { status, headers } = await ask(base, `OPTIONS ${path}`, sent)
          const names = ['allow', 'x-block-height', 'access-control-allow-methods']
          const found = names.map((name) => headers.get(name)?.join('; '))
          assert.deepEqual([status, ...found], [204, 'GET, HEAD, OPTIONS', HEIGHT, undefined], path)
        }
      }
      assertRefusal(await ask(base, 'OPTIONS /nope', { Origin: 'http://a' }), NOT_FOUND, 'OPTIONS /nope')
    })

    await t.test('a preflight is answered on every path', async () => {
      const preflight = { Origin: 'http://a.example', 'Access-Control-Request-Method': 'GET' }
      for (const path of [...KNOWN_PATHS, '/nope', `${CHECKPOINTS}?a=%zz`]) {
        const answer = await ask(base, `OPTIONS ${path}`, {
          ...preflight,
          'Access-Control-Request-Headers': 'x-a, x-b',
        })
        assert.equal(answer.status, 204, path)
        assert.deepEqual(lasting(answer), [
          ['access-control-allow-headers', ['x-a, x-b']],
          ['access-control-allow-methods', ['GET, HEAD, OPTIONS']],
          ['access-control-allow-origin', ['*']],
          ['access-control-expose-headers', [EXPOSED]],
          ['access-control-max-age', ['7200']],
          ['vary', ['Access-Control-Request-Method, Access-Control-Request-Headers']],
          ['x-content-type-options', ['nosniff']],
        ])
      }
      const answer = await ask(base, `OPTIONS ${CHECKPOINTS}`, preflight)
      assert.deepEqual(answer.headers.get('access-control-allow-headers'), ['*'])
    })

    await t.test('only scripts of listed origins may read answers', async (t) => {
      const allowed = ['http://a.example', 'http://b.example:8080']
      const listed = await serve(t, store, { corsOrigins: allowed })
      const others = ['http://b.example', 'http://A.example', 'https://a.example', 'null', '']
      for (const origin of [...allowed, ...others]) {
        const isAllowed = allowed.includes(origin)
        for (const [line, headers, vary] of [
          [`GET ${PAGES[0]}`, {}, 'Origin, Accept-Encoding'],
          ['GET /nope', {}, 'Origin, Accept-Encoding'],
          [`OPTIONS ${CHECKPOINTS}`, {}, 'Origin'],
          [
            'OPTIONS /nope',
            { 'Access-Control-Request-Method': 'GET' },
            'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
          ],
        ] as const) {
          const answer = await ask(listed, line, { ...headers, Origin: origin })
          const where = `${line} from ${origin}`
          const readable = answer.headers.get('access-control-allow-origin')
          assert.deepEqual(readable, isAllowed ? [origin] : undefined, where)
          assert.equal(answer.headers.has('access-control-expose-headers'), isAllowed, where)
          assert.deepEqual(answer.headers.get('vary'), [vary], where)
        }
      }
      // Bytes that are not HTTP name no origin.
      const refusal = await ask(listed, `GET ${CHECKPOINTS}`, { 'A b': 'c', Origin: 'http://a.example' })
      assert.equal(refusal.status, 400)
      assert.equal(refusal.headers.has('access-control-allow-origin'), false)
    })

    await t.test('Accept-Encoding decides on gzip; q=0 excludes it', async () => {
      const plain = await get(base, PAGES[1]!)
      const zipped = [
        'deflate, gzip;q=1.0, *;q=0.5',
        'gzip ; q=0.3',
        'identity;q=0, *',
        'br, gzip',
        'gzip, identity',
        'identity;q=0.5, gzip;q=1.0',
        ...'gzip GZIP gzip;q=0.001 *'.split(' '),
      ]
      const whole = [
        'identity, gzip',
        'gzip;q=0.5, identity;q=1',
        'gzip;q=0, *',
        'gzip;q=0, identity;q=0',
        '',
        ...'gzip;q=0 gzip;q=0.000 gzip;Q=0 gzip;q=x *;q=0 identity;q=0 identity br gzipped ,;,'.split(' '),
      ]
      for (const accepted of [...zipped, ...whole]) {
        const gzipped = zipped.includes(accepted)
        const answer = await get(base, PAGES[1]!, { 'Accept-Encoding': accepted })
        const { 'content-encoding': encoding, vary, 'content-length': length } = answer.headers
        assert.deepEqual(
          [answer.status, encoding, vary, length],
          [200, gzipped ? 'gzip' : undefined, 'Accept-Encoding', String(answer.body.length)],
          accepted,
        )
        assert.deepEqual(gzipped ? gunzipSync(answer.body) : answer.body, plain.body, accepted)
        assert.equal(answer.headers.etag === plain.headers.etag, !gzipped, 'each encoding has its own tag')
      }
    })

    await t.test('an unchanged answer is not sent again', async () => {
      for (const target of [...PAGES, INFO, '/openapi.json', '/openapi-3.0.json']) {
        for (const encoding of ['identity', 'gzip']) {
          const headers = { 'Accept-Encoding': encoding }
          const { headers: first } = await get(base, target, headers)
          const tag = first.etag!
          const same = [tag, `W/${tag}`, `"x", ${tag}`, `"x",${tag},"y"`, '*']
          for (const given of [...same, '"x"', tag.slice(1, -1), tag.toUpperCase(), '']) {
            const held = same.includes(given)
            for (const method of ['GET', 'HEAD']) {
              const answer = await get(base, target, { ...headers, 'If-None-Match': given }, method)
              assert.equal(answer.status, held ? 304 : 200, `${target} ${given}`)
              for (const name of 'etag vary cache-control x-block-height access-control-allow-origin'.split(
                ' ',
              ))
                assert.equal(answer.headers[name], first[name], name)
              if (!held) continue
              assert.equal(answer.text, '')
              for (const name of ['content-type', 'content-encoding', 'content-length'])
                assert.equal(answer.headers[name], undefined, name)
            }
          }
        }
      }
      const { etag } = (await get(base, PAGES[1]!)).headers
      assert.equal((await get(base, PAGES[0]!, { 'If-None-Match': etag! })).status, 200)
    })

    await t.test('a request keeps its id if that is printable and short', async () => {
      const idOf = async (line: string, headers: Record<string, string> = {}) =>
        (await ask(base, line, headers)).headers.get('x-request-id')!
      const accepted = ['a', 'request 7 of {client}: "x"', '~'.repeat(64)]
      for (const given of [...accepted, 'x'.repeat(65), '', 'caf\xe9', 'tab\there']) {
        for (const line of [`GET ${PAGES[0]}`, 'GET /nope', `GET ${CHECKPOINTS}?a=%zz`, 'GET /health']) {
          const [id, ...more] = await idOf(line, { 'X-Request-Id': given })
          assert.deepEqual(more, [])
          if (accepted.includes(given)) assert.equal(id, given)
          else assert.match(id!, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, given)
        }
      }
      const ids = new Set(Array.from({ length: 70_000 }, newRequestId))
      assert.equal(ids.size, 70_000)
      for (const line of ['GET /nope', `GET ${PAGES[0]}`, 'GET /nope']) {
        const [id] = await idOf(line)
        assert.ok(!ids.has(id!))
        ids.add(id!)
      }
    })

    await t.test('?pretty indents every body, with any value, and changes nothing else', async () => {
      const refused = ['pagination.first=x', 'pagination.after=x', 'a=%zz'].map(
        (query) => `${CHECKPOINTS}?${query}`,
      )
      for (const target of [...PAGES, '/nope', '/openapi.json', ...refused]) {
        const withOne = (parameter: string) =>
          get(base, `${target}${target.includes('?') ? '&' : '?'}${parameter}`)
        const compact = await get(base, target)
        assert.equal(compact.text, JSON.stringify(JSON.parse(compact.text)), target)
        for (const pretty of ['pretty', 'pretty=', 'pretty=false', '%70retty=0', 'pretty&pretty=1']) {
          const answer = await withOne(pretty)
          assert.equal(answer.status, compact.status, pretty)
          assert.equal(answer.text, JSON.stringify(JSON.parse(compact.text), null, 2), `${target} ${pretty}`)
          assert.equal(answer.headers['content-type'], 'application/json')
        }
        // A parameter unknown to a list of ours is an error.
        if (PAGES.slice(3).includes(target)) continue
        for (const other of ['Pretty', 'prettyfy', 'x=pretty']) {
          assert.equal((await withOne(other)).text, compact.text, other)
        }
      }
    })

    await t.test('a target may be escaped, or absolute', async () => {
      const expected = (await get(base, PAGES[1]!)).text
      for (const target of [
        PAGES[1]!.replace('data-points', '%64ata-points'),
        PAGES[1]!.replace(MARKET, MARKET.toUpperCase()),
        PAGES[1]!.replace(MARKET, MARKET.replace('a', '%61')),
        `http://lyra${PAGES[1]}`,
        `http://elsewhere:1${PAGES[1]}`,
        `${PAGES[1]}&&`,
        `${PAGES[1]}&unknown=%F0%9F%98%80&=`,
      ]) {
        assert.equal((await ask(base, `GET ${target}`)).body, expected, target)
      }
    })

    await t.test('other request headers change nothing', async () => {
      const expected = (await get(base, PAGES[0]!)).text
      for (const header of [
        'Accept: text/html',
        'Accept: application/json+pretty',
        'Accept: ',
        'Accept-Version: 2.x',
        'X-HTTP-Method-Override: DELETE',
        'Range: bytes=0-1',
        'If-Modified-Since: Sat, 01 Jan 2050 00:00:00 GMT',
        'Expect: wonders',
        'Upgrade: websocket',
      ]) {
        const [name, value] = header.split(': ') as [string, string]
        const { status, body } = await ask(base, `GET ${PAGES[0]}`, { [name]: value })
        assert.deepEqual([status, body], [200, expected], header)
      }
    })

    await t.test('the service paths answer', async () => {
      const answers = await Promise.all(SERVICE_PATHS.map((path) => get(base, path)))
      const [health, ready, metrics] = answers as [Answer, Answer, Answer]
      for (const { status, headers } of answers)
        assert.deepEqual([status, headers['cache-control']], [200, 'no-store'])
      assert.equal(health.text, '{"status":"ok"}')
      assert.equal(ready.text, '{"status":"ready"}')
      assert.match(metrics.headers['content-type']!, /^text\/plain; version=/)
      assert.match(metrics.text, /^lyra_block_height 905$/m)
      assert.doesNotMatch(metrics.text, /^lyra_unready\{.*\} [^0]/m)
      assert.match(metrics.text, /^lyra_http_request_duration_seconds_count\{.*status="200"\} \d+$/m)
    })
  })
}

async function assertUnavailable(base: string): Promise<void> {
  for (const target of PAGES) {
    const answer = await ask(base, `GET ${target}`)
    assertRefusal(answer, UNAVAILABLE, target)
    assert.equal(answer.headers.has('x-block-height'), false)
    assert.doesNotMatch(answer.body, /SELECT/)
  }
}

for (const kind of STORE_KINDS) {
  test(`An empty store gets 503, after errors of the request (${kind.name})`, async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    await assertUnavailable(base)
    assertRefusal(await ask(base, `GET ${CHECKPOINTS}?pagination.first=0`), PAGINATION, 'first=0')
    assert.equal(await statusOf(base, '/health'), 200)
    const ready = await ask(base, 'GET /ready')
    assert.equal(ready.status, 503)
    const [only, ...others] = JSON.parse(ready.body).reasons
    assert.deepEqual([only.reason, others], ['empty store', []])
    const metrics = await metricsOf(base)
    assert.match(metrics, /^lyra_block_height 0$/m)
    assert.match(metrics, /^lyra_unready\{reason="empty store"\} 1$/m)
    assert.match(metrics, /^lyra_missing_blocks 0$/m)

    await ingest(store, SAMPLE)
    const page = await ask(base, `GET ${PAGES[0]}`)
    assert.deepEqual([page.status, page.headers.get('x-block-height')], [200, [HEIGHT]])
    assert.equal(await statusOf(base, '/ready'), 200)
  })

  test(`An unreadable store gets 503, an internal error 500 (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const reader = await openReader(t, store)
    let fault: Error | null = null
    const failing = async <T>(read: () => Promise<T>): Promise<T> => {
      if (fault !== null) throw fault
      return read()
    }
    const broken: Reader = {
      ...reader,
      page: (query) => failing(() => reader.page(query)),
      read: (reading) => failing(() => reader.read(reading)),
      freshness: (since) => failing(() => reader.freshness(since)),
    }
    const base = await serve(t, store, { reader: broken })

    fault = new StoreUnavailableError('SELECT secret: the database is gone')
    await assertUnavailable(base)
    for (const line of ['GET /nope', `OPTIONS ${CHECKPOINTS}`, 'GET /health', 'GET /openapi.json']) {
      assert.ok((await ask(base, line)).status < 500, line)
    }
    const ready = await ask(base, 'GET /ready')
    assert.equal(ready.status, 503)
    assertSays(ready.body, '"reason":"store unreachable"')
    assert.doesNotMatch(ready.body, /SELECT/)
    assert.equal(await statusOf(base, '/metrics'), 200)

    fault = new TypeError('SELECT secret: cannot read properties of undefined')
    for (const target of PAGES) {
      const answer = await ask(base, `GET ${target}`, { 'X-Request-Id': 'mine-7' })
      assertRefusal(answer, { status: 500, code: 13, message: 'Internal error', detail: 10000 }, target)
      const [{ message, inner }] = JSON.parse(answer.body).details
      assert.deepEqual([message, inner], ['internal error', 'mine-7'])
      assert.doesNotMatch(answer.body, /SELECT|TypeError/)
    }

    fault = null
    assert.equal(await statusOf(base, PAGES[0]!), 200)
  })

  test(`Headers and rows are of one snapshot, and change with each commit (${kind.name})`, async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    const ingestion = ingest(store, SAMPLE)
    let ended = false
    void ingestion.finally(() => {
      ended = true
    })
    // Every 25th block has a checkpoint, so the newest one gives the height of its snapshot to within 24.
    const heights = new Set<number>()
    for (let after = 0; after < 2; after += ended ? 1 : 0) {
      const answer = await get(base, `${CHECKPOINTS}?pagination.first=1`)
      if (answer.status === 503) continue
      const height = Number(answer.headers['x-block-height'])
      const { checkpoints } = JSON.parse(answer.text)
      const newest = Number(checkpoints.edges[0]?.node.atBlock ?? 0)
      assert.ok(newest <= height && height < newest + 25 + 1, `checkpoint ${newest} at height ${height}`)
      heights.add(height)
    }
    await ingestion
    assert.ok(heights.has(Number(HEIGHT)))
  })
}

const PAGINATION = { status: 400, code: 3, detail: 10028 }

test('A rate limit counts each address, reports its state, and allows bursts', async (t) => {
  const store = await storeOf(t, STORE_KINDS[0]!, SAMPLE)
  const limit = 20
  const base = await serve(t, store, { rateLimit: limit, trustProxy: true })
  const from = (address: string, line = `GET ${PAGES[0]}`, headers = {}) =>
    ask(base, line, { ...headers, 'X-Forwarded-For': address })

  let last: RawAnswer | null = null
  let allowed = 0
  for (let sent = 0; sent < 1_000; sent++) {
    const answer = await from('10.0.0.1', sent % 2 === 0 ? `GET ${PAGES[0]}` : 'GET /nope')
    assert.deepEqual(answer.headers.get('ratelimit-limit'), [String(limit)])
    const [remaining, reset] = ['remaining', 'reset'].map((name) =>
      Number(answer.headers.get(`ratelimit-${name}`)?.[0]),
    ) as [number, number]
    assert.ok(reset >= 0 && reset <= 5, `reset ${reset}`)
    if (answer.status === 429) {
      last = answer
      break
    }
    allowed += 1
    assert.ok(remaining <= limit * 5 - 1 && remaining >= 0, `remaining ${remaining}`)
  }
  assert.ok(allowed >= limit * 5, `${allowed} requests of a burst`)
  assertRefusal(last!, TOO_MANY, 'the request after a burst')
  assert.deepEqual(last!.headers.get('retry-after'), ['1'])
  assert.deepEqual(last!.headers.get('ratelimit-remaining'), ['0'])
  assert.deepEqual(last!.headers.get('x-block-height'), [HEIGHT])

  // Another address, the service's own paths and preflights are not limited.
  assert.equal((await from('10.0.0.2')).status, 200)
  for (const path of SERVICE_PATHS) assert.equal((await from('10.0.0.1', `GET ${path}`)).status, 200)
  const preflight = { Origin: 'http://a', 'Access-Control-Request-Method': 'GET' }
  assert.equal((await from('10.0.0.1', `OPTIONS ${CHECKPOINTS}`, preflight)).status, 204)
  // A forged address precedes the one that the proxy added.
  const made = await from('10.9.9.9, 10.0.0.1')
  assert.ok(Number(made.headers.get('ratelimit-remaining')![0]) < limit * 4)
  // A second later, a second's worth of requests is allowed.
  await sleep(1_100)
  assert.equal((await from('10.0.0.1')).status, 200)
})
