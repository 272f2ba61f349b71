import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  type OutgoingHttpHeaders,
  performServerHandshake,
  type Settings,
} from 'node:http2'
import { connect, type Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { queryObjects } from 'node:v8'
import { status } from '@grpc/grpc-js'
import { trailersOf } from '#service/grpc/grpc-errors'
import { ApiError } from '#service/http/errors'
import { SAMPLE_MARKET } from '../../../scripts/sample.ts'
import { grpcClient } from '../../fixtures/requests/grpc.ts'
import { statusOf } from '../../fixtures/requests/http.ts'
import { TRADING_DATA } from '../../fixtures/requests/protos.ts'
import { requestText } from '../../fixtures/requests/raw-http.ts'
import {
  callFrames,
  callHeaders,
  FLAG,
  FRAME,
  frame,
  fromTable,
  grpcMessage,
  literal,
  OPENING,
  PREFACE,
} from '../../fixtures/requests/raw-http2.ts'
import { serveBoth, storeOf } from '../../fixtures/services/service.ts'
import { BTC, MONTH, SAMPLE } from '../../fixtures/shared.ts'
import { sqlite } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const LIST = `/${TRADING_DATA}/ListCheckpoints`
const POINTS = `/${TRADING_DATA}/ListFundingPeriodDataPoints`
const PING = `/${TRADING_DATA}/Ping`
const CHECK = '/grpc.health.v1.Health/Check'
const WATCH = '/grpc.health.v1.Health/Watch'
const REFLECT = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'

/** The outcome of a call: its status and message, or the HTTP status of a refusal, and the stream's reset code. */
type Ended = {
  status: string | undefined
  message: string | undefined
  /** Calls a second, of its address. */
  limit: string | undefined
  http: number
  reset: number
}

async function serveSample(t: TestContext, options = {}, recording = SAMPLE) {
  return serveBoth(t, await storeOf(t, sqlite, recording), options)
}

/** Opens a connection; its bytes are read by its listeners. */
function dial(t: TestContext, address: string, localAddress = '127.0.0.1'): Socket {
  const [host, port] = address.split(':') as [string, string]
  const socket = connect({ host, port: Number(port), localAddress })
  t.after(() => socket.destroy())
  return socket.on('error', () => {})
}

function openSession(
  t: TestContext,
  address: string,
  localAddress = '127.0.0.1',
  settings: Settings = {},
): ClientHttp2Session {
  const session = connectHttp2(`http://${address}`, {
    settings,
    createConnection: () => dial(t, address, localAddress),
  })
  session.on('error', () => {})
  t.after(() => session.destroy())
  return session
}

/** Begins a call; `body` is its whole body, null leaves it open. */
function begin(
  session: ClientHttp2Session,
  path: string,
  body: Buffer | null,
  headers: OutgoingHttpHeaders = {},
) {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  })
  stream.on('error', () => {})
  if (body !== null) stream.end(body)
  const ended = new Promise<Ended>((resolve) => {
    const all: Record<string, string> = {}
    for (const event of ['response', 'trailers'])
      stream.on(event, (given: object) => Object.assign(all, given))
    stream.once('close', () =>
      resolve({
        status: all['grpc-status'],
        message: all['grpc-message'],
        limit: all['ratelimit-limit'],
        http: Number(all[':status']),
        reset: stream.rstCode ?? 0,
      }),
    )
  })
  stream.resume()
  return { stream, ended }
}

const EMPTY = Buffer.alloc(5)
const call = (session: ClientHttp2Session, path: string, body: Buffer | null = EMPTY, headers = {}) =>
  begin(session, path, body, headers).ended

test('Invalid gRPC calls get the status that gRPC specifies', async (t) => {
  const session = openSession(t, (await serveSample(t)).grpc)
  const cases: [
    name: string,
    path: string,
    body: string | null,
    headers: OutgoingHttpHeaders,
    code: status,
  ][] = [
    ['a whole call', PING, '0000000000', {}, status.OK],
    [
      'a content type with its encoding',
      PING,
      '0000000000',
      { 'content-type': 'application/grpc+proto' },
      status.OK,
    ],
    ['an encoding', PING, '0000000000', { 'grpc-encoding': 'gzip' }, status.UNIMPLEMENTED],
    ['a message that says it is compressed', PING, '0100000000', {}, status.INTERNAL],
    ['a message that is too long', PING, '0000004001', {}, status.RESOURCE_EXHAUSTED],
    ['no message', PING, '', {}, status.INTERNAL],
    ['half a message', LIST, '000000000901', {}, status.INTERNAL],
    ['two messages', PING, '00000000000000000000', {}, status.INTERNAL],
    ['bytes that are no request', LIST, '0000000001ff', {}, status.INVALID_ARGUMENT],
    ['the same bytes to reflection', REFLECT, '0000000001ff', {}, status.INVALID_ARGUMENT],
    ['a deadline that passes', PING, null, { 'grpc-timeout': '50m' }, status.DEADLINE_EXCEEDED],
  ]
  for (const [name, path, body, headers, expected] of cases) {
    const ended = await call(session, path, body === null ? null : Buffer.from(body, 'hex'), headers)
    assert.equal(ended.status, String(expected), `${name}: ${JSON.stringify(ended)}`)
    assert.equal(ended.reset, 0, name)
  }
  for (let count = 0; count < 150; count++) {
    const { status: code } = await call(session, `/${TRADING_DATA}/ListMarkets`)
    assert.equal(code, String(status.UNIMPLEMENTED))
  }
  assert.equal((await call(session, PING, EMPTY, { 'content-type': 'application/json' })).http, 415)
  assert.equal((await call(session, PING, EMPTY, { ':method': 'PUT' })).http, 415)
  assert.equal(
    (await call(session, '/100%')).message,
    'there is no method "/100%25": this is Lyra, whose lists are ListCheckpoints, ListFundingPayments, ListFundingPeriodDataPoints, ListFundingPeriods, ListLiquidityProviders; a data node has the rest',
  )
  const { 'grpc-message': message } = trailersOf(
    new ApiError(400, status.INVALID_ARGUMENT, 'Straße\t~ 1\ud800'),
  )
  assert.equal(message, 'Stra%C3%9Fe%09~ 1%EF%BF%BD')
})

test('A request that does not arrive is refused after a few seconds, and its call ends', async (t) => {
  const session = openSession(t, (await serveSample(t)).grpc)
  const since = performance.now()
  const calls = [LIST, CHECK, WATCH, REFLECT].map((path) => call(session, path, null))
  for (const ended of await Promise.all(calls)) {
    assert.equal(ended.status, String(status.DEADLINE_EXCEEDED), JSON.stringify(ended))
  }
  assert.ok(performance.now() - since < 10_000)
})

test('Metadata that is too large, also through the HPACK table, is not stored', async (t) => {
  const { grpc } = await serveSample(t)
  const session = openSession(t, grpc)
  await once(session, 'remoteSettings')
  const fields = Object.fromEntries(Array.from({ length: 80 }, (_, index) => [`x-${index}`, 'x']))
  for (const metadata of [fields, { 'x-large': 'x'.repeat(17_000) }]) {
    assert.equal((await call(session, PING, EMPTY, metadata)).status, undefined)
  }
  assert.equal((await call(session, PING)).status, '0')
  // From a client that has acknowledged the settings: 14 times 4,000 bytes, sent in few bytes.
  const socket = dial(t, grpc)
  const more = Array.from({ length: 13 }, () => fromTable())
  socket.write(Buffer.concat([OPENING, frame(FRAME.settings, FLAG.ack, 0)]))
  socket.write(callFrames(1, callHeaders(PING, literal('x-a', 'x'.repeat(4_000), true), ...more)))
  let received = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
  })
  // ENHANCE_YOUR_CALM
  const reset = frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, 11]))
  await until(() => received.includes(reset), 'the call is reset')
  // One that has not is disconnected, before its calls take places.
  const eager = dial(t, grpc).resume()
  const headers = callHeaders(PING, literal('x-a', 'x'.repeat(4_000), true), ...more)
  eager.write(Buffer.concat([OPENING, callFrames(1, headers, null)]))
  await until(() => eager.closed, 'the connection is closed', 2)
})

test('A connection may ask at once for many times what is kept for all clients', async (t) => {
  const { grpc } = await serveSample(t, {}, MONTH)
  const list = grpcClient(t, grpc, TRADING_DATA)
  const request = { marketId: SAMPLE_MARKET, pagination: { first: 5_000 } }
  const answers = await Promise.all(
    Array.from({ length: 100 }, () => list('ListFundingPeriodDataPoints', request)),
  )
  assert.deepEqual(new Set(answers.map(({ error }) => error?.message)), new Set([undefined]))
})

test('Every call counts for the rate limit of its address, whatever it requests, together with REST', async (t) => {
  const { base, grpc } = await serveSample(t, { rateLimit: 1, trustProxy: true })
  const session = openSession(t, grpc)
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const own = from('192.0.2.1')
  for (const path of [CHECK, REFLECT, `/${TRADING_DATA}/ListMarkets`]) await call(session, path, EMPTY, own)
  begin(session, WATCH, EMPTY, own)
  assert.equal((await call(session, LIST, EMPTY, own)).limit, '1')
  for (const path of [CHECK, PING, REFLECT, WATCH, `/${TRADING_DATA}/ListMarkets`]) {
    assert.equal((await call(session, path, EMPTY, own)).status, String(status.RESOURCE_EXHAUSTED), path)
  }
  assert.equal(await statusOf(base, '/api/v2/checkpoints', { headers: own }), 429)
  assert.equal((await call(session, LIST, EMPTY, from('192.0.2.2'))).status, '0')
})

/** A request to reflection of `fields` empty hosts. */
const reflection = (fields: number) => grpcMessage(Buffer.alloc(2 * fields, Buffer.from([0x0a, 0])))

test('Reflection refuses requests of many fields, and counts each message for the rate limit', async (t) => {
  const session = openSession(t, (await serveSample(t, { rateLimit: 20 })).grpc)
  assert.equal((await call(session, REFLECT, reflection(16))).status, '0')
  assert.equal((await call(session, REFLECT, reflection(17))).status, String(status.INVALID_ARGUMENT))
  const many = Buffer.concat(Array.from({ length: 1_000 }, () => reflection(1)))
  assert.equal((await call(session, REFLECT, many)).status, String(status.RESOURCE_EXHAUSTED))
})

test('Other calls are answered between the messages of a call', async (t) => {
  const { grpc } = await serveSample(t)
  const [attacker, honest] = [openSession(t, grpc), openSession(t, grpc, '127.0.0.2')]
  assert.equal((await call(honest, PING)).status, '0')
  const { stream } = begin(attacker, REFLECT, Buffer.concat(Array(2_000).fill(reflection(1))))
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
  })
  const [first] = (await once(stream, 'data')) as [Buffer]
  assert.equal((await call(honest, PING)).status, '0')
  // All answers are as long as the first one.
  const answered = bytes / (5 + first.readUInt32BE(1))
  assert.ok(answered < 1_000, `${answered} messages were answered before another call`)
})

test('Bytes that are no gRPC, and clients that do not read, lose their connection', async (t) => {
  const { grpc } = await serveSample(t)
  for (const bytes of [requestText('GET /'), '\0'.repeat(1000), PREFACE]) {
    const socket = dial(t, grpc).resume()
    socket.end(bytes)
    await once(socket, 'close')
  }
  // With windows of 0 answers stay in the service until they are too many: eight for each connection. Pages
  // have the usual size: the thread of low priority that reads long ones could refuse them before that.
  const request = grpcMessage(Buffer.from(`\x0a\x40${BTC}\x2a\x03\x08\xe8\x07`, 'latin1'))
  const settings = { initialWindowSize: 0 }
  const sessions = Array.from({ length: 36 }, () => openSession(t, grpc, '127.0.0.1', settings))
  const oneClosed = Promise.race(sessions.map((session) => once(session, 'close')))
  for (const session of sessions) {
    for (let count = 0; count < 20; count++) begin(session, POINTS, request)
  }
  await oneClosed
  assert.equal((await call(openSession(t, grpc, '127.0.0.2'), LIST)).status, '0')
})

test('A stream whose answers nobody reads is read no further', async (t) => {
  const { grpc } = await serveSample(t)
  const session = openSession(t, grpc, '127.0.0.1', { initialWindowSize: 0 })
  const { stream } = begin(session, REFLECT, null)
  // list_services: "*"
  const request = grpcMessage(Buffer.from([0x3a, 1, 0x2a]))
  for (let count = 0; count < 20_000; count++) stream.write(request)
  await sleep(3_000)
  const left = stream.writableLength
  assert.ok(left > 50_000, `${left} bytes were not sent`)
})

test('A request in more than 64 frames ends its connection', async (t) => {
  const { grpc } = await serveSample(t)
  for (const path of [CHECK, REFLECT]) {
    for (const [frames, expected] of [
      [64, status.OK],
      [65, null],
    ] as const) {
      const session = openSession(t, grpc)
      const closed = once(session, 'close')
      // Before the connection is there, frames are joined.
      await call(session, CHECK)
      // A field that no request has (99) fills the message.
      const length = frames - 8
      const body = Buffer.from([0, 0, 0, 0, length + 3, 0x9a, 0x06, length, ...Array(length).fill(0x78)])
      const { stream, ended } = begin(session, path, null)
      for (const byte of body) {
        stream.write(Buffer.from([byte]))
        await new Promise((resolve) => setImmediate(resolve))
      }
      stream.end()
      if (expected === null) await closed
      else assert.equal((await ended).status, String(expected), `${path}, ${body.length} frames`)
    }
  }
})

test('One client with a thousand watches leaves calls for others', async (t) => {
  const { grpc } = await serveSample(t)
  const honest = openSession(t, grpc, '127.0.0.2')
  const watch = begin(honest, WATCH, EMPTY).stream
  await once(watch, 'data')
  let ended = 0
  const codes = new Set<string | number | undefined>()
  const sessions = Array.from({ length: 11 }, () => openSession(t, grpc))
  for (const session of sessions) {
    for (let index = 0; index < 100; index++) {
      void call(session, WATCH).then(({ status: code, reset }) => {
        ended++
        codes.add(code ?? reset)
      })
    }
  }
  // One of 1,024 belongs to another client.
  await until(() => ended === 77, 'calls over the limit are refused')
  assert.deepEqual([...codes], [7])
  assert.equal((await call(honest, LIST)).status, '0')
  assert.equal((await call(openSession(t, grpc, '127.0.0.3'), LIST)).status, '0')
  await until(() => ended > 77, 'another one was ended')
  assert.deepEqual([...codes], [7, String(status.UNAVAILABLE)])
  assert.equal(watch.closed, false)
})

/** What costs the service more than its client, for a stream. */
const COSTLY: Record<string, (stream: number) => Buffer[]> = {
  'resets calls': (stream) => [
    callFrames(stream, callHeaders(LIST)),
    frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, 8])),
  ],
  'sends compressed requests that do not end': (stream) => [
    callFrames(stream, callHeaders(LIST), null),
    frame(FRAME.data, 0, stream, Buffer.from([1, 0, 0, 0, 0])),
  ],
}

for (const [what, framesOf] of Object.entries(COSTLY)) {
  test(`A client that ${what} is disconnected and blocked for a while; others are not`, async (t) => {
    const { grpc } = await serveSample(t)
    const calls = Array.from({ length: 60 }, (_, index) => framesOf(2 * index + 1)).flat()
    const bytes = Buffer.concat([OPENING, ...calls])
    const [first, second] = [dial(t, grpc).resume(), dial(t, grpc).resume()]
    first.write(bytes)
    second.write(bytes)
    await Promise.race([once(first, 'close'), once(second, 'close')])
    // A place comes back every 50 ms.
    for (let isClosed = false; !isClosed; ) {
      isClosed = await Promise.race([
        once(dial(t, grpc).resume(), 'close').then(() => true),
        sleep(20, false),
      ])
    }
    assert.equal((await call(openSession(t, grpc, '127.0.0.2'), LIST)).status, '0')
  })
}

test('A gRPC connection that has ended leaves nothing in memory', async (t) => {
  const { grpc } = await serveSample(t)
  const another = performServerHandshake(new PassThrough())
  another.destroy()
  const inMemory = () => queryObjects(another.constructor, { format: 'count' })
  const before = inMemory()
  for (let count = 0; count < 20; count++) {
    const session = openSession(t, grpc)
    assert.equal((await call(session, PING)).status, '0')
    if (count % 2 === 0) session.destroy()
    else session.close()
  }
  await until(() => inMemory() <= before, 'memory of the connections')
})

test('An idle gRPC connection is pinged, and closed if it does not answer', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { grpc } = await serveSample(t)
  const answering = openSession(t, grpc)
  await call(answering, PING)
  const silent = dial(t, grpc)
  let pings = 0
  silent.on('data', (bytes: Buffer) => {
    if (bytes.length === 17 && bytes[3] === FRAME.ping) pings++
  })
  silent.write(OPENING)
  await sleep(100)
  const pass = async () => {
    t.mock.timers.tick(5 * 60_000)
    // Real time in which a ping is answered, on a busy machine, too.
    await sleep(400)
  }
  await pass()
  assert.equal(pings, 0, 'after it has sent something')
  await pass()
  assert.equal(pings, 1)
  assert.equal(silent.closed, false)
  await pass()
  assert.equal(silent.closed, true)
  for (let count = 0; count < 4; count++) await pass()
  assert.equal((await call(answering, PING)).status, '0')
})
