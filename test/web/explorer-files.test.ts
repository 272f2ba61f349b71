import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { readStaticFiles } from '#service/http/responses/static-files'
import { assertSays } from '../fixtures/assert-says.ts'
import { type Answer, send, statusOf } from '../fixtures/requests/http.ts'
import { FILE, serve } from '../fixtures/services/service.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

/** The limit for all scripts of the explorer together, gzipped. */
const MAX_SCRIPT_BYTES = 130_000

/** The paths of the files that a page loads. */
function assetsOf(page: Answer): string[] {
  return [...page.text.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, path]) => path!)
}

/** Sizes of all scripts that the explorer loads, at once or with one of its views, gzipped, by path. */
async function explorerScripts(base: string): Promise<Map<string, number>> {
  const sizes = new Map<string, number>()
  const waiting = assetsOf(await send(base, '/')).filter((path) => path.endsWith('.js'))
  for (const path of waiting) {
    if (sizes.has(path)) continue
    const answer = await send(base, path, { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(answer.status, 200, path)
    sizes.set(path, answer.body.length)
    const text = gunzipSync(answer.body).toString()
    waiting.push(
      ...[...text.matchAll(/["'`](?:\.\/|assets\/)([\w-]+\.js)["'`]/g)].map(([, name]) => `/assets/${name}`),
    )
  }
  return sizes
}

describe('the pages that the service serves', () => {
  const served = serve(FILE, STORE_KINDS[0]!.create(FILE))

  test('have at most 130 KB of scripts for the explorer, a file for each view, and name no other host', async (t) => {
    const base = await served
    const page = await send(base, '/')
    assert.equal(page.status, 200)
    assert.ok(assetsOf(page).some((path) => path.endsWith('.css')))
    assert.doesNotMatch(page.text, /https?:\/\//)
    const scripts = await explorerScripts(base)
    for (const view of ['markets', 'funding', 'providers', 'checkpoints', 'node']) {
      const path = [...scripts.keys()].find((name) => name.startsWith(`/assets/${view}-view-`))
      assert.ok(path !== undefined && !page.text.includes(path), view)
    }
    const bytes = [...scripts.values()].reduce((sum, size) => sum + size, 0)
    t.diagnostic(`the explorer has ${bytes} bytes of scripts`)
    assert.ok(bytes <= MAX_SCRIPT_BYTES, `${bytes} bytes`)
  })

  test('are compressed as the client accepts, and requested only once', async () => {
    const base = await served
    const [script] = assetsOf(await send(base, '/')).filter((path) => path.endsWith('.js'))
    const plain = await send(base, script!)
    const unpack = { br: brotliDecompressSync, gzip: gunzipSync, none: (body: Buffer) => body }
    for (const [accepted, encoding] of [
      ['br', 'br'],
      ['gzip', 'gzip'],
      ['gzip, deflate, br, zstd', 'br'],
      ['br;q=0, gzip', 'gzip'],
      ['*;q=0', 'none'],
      ['identity', 'none'],
    ] as const) {
      const headers = { 'accept-encoding': accepted }
      const answer = await send(base, script!, { headers })
      assert.equal(answer.headers['content-encoding'] ?? 'none', encoding, accepted)
      assert.equal(answer.headers.vary, 'Accept-Encoding')
      assert.equal(answer.headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.equal(answer.headers['content-type'], 'text/javascript; charset=utf-8')
      assert.ok(unpack[encoding](answer.body).equals(plain.body), accepted)
      const again = { ...headers, 'if-none-match': answer.headers.etag }
      const known = await send(base, script!, { headers: again })
      assert.deepEqual([known.status, known.body.length], [304, 0], accepted)
      const head = await send(base, script!, { method: 'HEAD', headers })
      assert.deepEqual([head.headers['content-length'], head.body.length], [String(answer.body.length), 0])
    }
  })

  test("may run and request only the service's own files", async () => {
    const base = await served
    for (const path of ['/', '/?view=node', '/docs']) {
      const { status, headers } = await send(base, path)
      assert.equal(status, 200, path)
      assert.equal(headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(headers['cache-control'], 'no-cache')
      assert.equal(headers['x-content-type-options'], 'nosniff')
      const policy = headers['content-security-policy'] as string
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /)
      assert.doesNotMatch(policy, /unsafe|\*|https?:/)
    }
  })

  test('refuse other methods and unknown names like the API', async () => {
    const base = await served
    const [asset] = assetsOf(await send(base, '/'))
    for (const path of ['/', '/docs', asset!]) {
      assert.equal(await statusOf(base, path, { method: 'POST' }), 405, path)
      const options = await send(base, path, { method: 'OPTIONS' })
      assert.deepEqual([options.status, options.headers.allow], [204, 'GET, HEAD, OPTIONS'], path)
    }
    const unknown = [
      '/assets/',
      '/assets/nope.js',
      `${asset}.br`,
      '/assets/..%2findex.html',
      '/index.html',
      '/docs/',
    ]
    for (const path of unknown) {
      for (const method of ['GET', 'POST']) {
        const answer = await send(base, path, { method })
        assert.equal(answer.status, 404, `${method} ${path}`)
        const { code, message, details } = JSON.parse(answer.text)
        assert.deepEqual([code, details], [5, []])
        assertSays(message, 'Not Found: this is Lyra')
      }
    }
  })

  test('answer whatever the rate of requests and the store', async (t) => {
    const base = await serve(t, STORE_KINDS[0]!.create(t), { rateLimit: 1 })
    for (let asked = 0; asked < 12; asked++) assert.equal(await statusOf(base, '/'), 200)
  })

  test('do not exist if they are not built', (t) => {
    assert.equal(readStaticFiles(`${temporaryFolder(t)}/nothing`).size, 0)
  })
})
