import assert from 'node:assert/strict'
import { test } from 'node:test'
import { send } from './fixtures/http.ts'
import { exchange, requestText } from './fixtures/raw-http.ts'
import { CHECKPOINTS, POINTS } from './fixtures/sample.ts'
import { serveFile } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { ANY_STORE_KIND } from './fixtures/stores.ts'

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
