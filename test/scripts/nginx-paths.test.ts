import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import { get as getByTls } from 'node:https'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { EXPORT_FORMATS } from '#service/formats/export-bytes'
import { openApiDocument } from '#service/openapi/openapi'
import { send } from '../fixtures/requests/http.ts'
import { startNginx } from '../fixtures/services/nginx.ts'
import { openServer } from '../fixtures/services/port.ts'

/** A server that answers every request with its name, and accepts every WebSocket; returns its address. */
async function standIn(t: TestContext, name: string): Promise<string> {
  const server = createServer((_, response) => response.end(name))
  server.on('upgrade', (_, socket) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n')
  })
  return openServer(t, server)
}

test('the example for nginx lets clients of streams come back while Lyra is away, and serves many of them over one connection', async (t) => {
  const open = new Set<ServerResponse>()
  const upstream = createServer(({ url }, response) => {
    if (url!.includes('refused')) response.writeHead(400).end('no')
    else if (url!.includes('empty')) response.writeHead(503).end('no')
    else {
      open.add(response.on('close', () => open.delete(response)))
      response.writeHead(200).write('retry: 1000\n')
    }
  })
  const address = await openServer(t, upstream)
  const ports = await startNginx(t, 'lyra.conf', {
    own: ['127.0.0.1:8080', '443'],
    servers: { '127.0.0.1:3108': address, '127.0.0.1:3008': address },
  })
  if (ports === null) return
  const base = `http://127.0.0.1:${ports[0]}`
  const session = connect(`https://127.0.0.1:${ports[1]}`, { rejectUnauthorized: false })
  t.after(() => session.destroy())
  const streams = Array.from({ length: 8 }, () => session.request({ ':path': '/api/v2/stream/checkpoints' }))
  await Promise.all(streams.map((stream) => once(stream, 'response')))
  assert.equal(open.size, 8)
  session.destroy()

  assert.equal((await fetch(`${base}/api/v2/stream/checkpoints?refused`)).status, 400)
  const assertComesBack = async (target: string) => {
    const { status, headers, text } = await send(base, `/api/v2/stream/${target}`)
    assert.deepEqual([status, text], [200, 'retry: 2000\n\n'], target)
    for (const [name, value] of [
      ['content-type', 'text/event-stream'],
      ['cache-control', 'no-store'],
      ['access-control-allow-origin', '*'],
    ] as const)
      assert.equal(headers[name], value)
  }
  await assertComesBack('checkpoints?empty')
  upstream.closeAllConnections()
  await once(upstream.close(), 'close')
  for (const name of ['checkpoints', 'funding-payments', 'market-summaries'])
    await assertComesBack(`${name}?lastEventId=x`)
  for (const path of ['/coverage', '/export/checkpoints', '/checkpoints'])
    assert.equal((await fetch(`${base}/api/v2${path}`)).status, 502, path)
})

test('the example for nginx gives Lyra every path of its own, and all others, with their WebSockets, to the data node', async (t) => {
  const ports = await startNginx(t, 'lyra.conf', {
    own: ['127.0.0.1:8080', '443'],
    servers: { '127.0.0.1:3108': await standIn(t, 'lyra'), '127.0.0.1:3008': await standIn(t, 'data node') },
  })
  if (ports === null) return
  const [port, tlsPort] = ports
  const answerTo = async (path: string) => {
    const [response] = (await once(get({ port, path, host: '127.0.0.1', agent: false }), 'response')) as [
      IncomingMessage,
    ]
    return response.statusCode === 200 ? await text(response) : response.statusCode
  }
  const { paths } = openApiDocument('0') as { paths: Record<string, object> }
  const described = Object.keys(paths).filter((path) => !path.startsWith('/metrics'))
  const files = described
    .filter((path) => path.startsWith('/api/v2/export/'))
    .flatMap((path) => EXPORT_FORMATS.map((format) => `${path}.${format}`))
  const ours = [...described, ...files]
  assert.ok(ours.length > 25)
  for (const path of [...ours, '/', '/?view=node', '/docs', '/assets/x.js', '/openapi.json']) {
    const answer = await answerTo(path.replaceAll(/\{\w+\}/g, 'f'.repeat(64)))
    assert.equal(answer, 'lyra', `deploy/nginx/lyra.conf does not give Lyra ${path}`)
  }
  const streams = ['/api/v2/stream/orders', '/api/v2/stream/markets/data', '/api/v2/stream/event/bus']
  const others = [
    '/api/v2/markets',
    '/api/v2/liquidity/provisions',
    '/graphql',
    '/statistics',
    '/transaction',
  ]
  for (const path of [...others, ...streams]) assert.equal(await answerTo(path), 'data node', path)
  for (const path of ['/metrics', '/metrics/markets']) assert.equal(await answerTo(path), 403, path)
  const byTls = { port: tlsPort, path: '/health', host: '127.0.0.1', rejectUnauthorized: false, agent: false }
  const [safely] = (await once(getByTls(byTls), 'response')) as [IncomingMessage]
  assert.equal(await text(safely), 'lyra')
  for (const path of ['/graphql', '/api/v2/stream/orders']) {
    const headers = { connection: 'Upgrade', upgrade: 'websocket' }
    const asking = request({ port, path, host: '127.0.0.1', headers, agent: false }).end()
    const [response] = (await once(asking, 'upgrade')) as [IncomingMessage]
    assert.equal(response.headers.upgrade, 'websocket', path)
  }
})
