import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type AnswerRequest, Answers, type SentAnswer } from '#service/answers/answers'
import { type Renderer, rendererOf } from '#service/answers/renderer'
import { framed } from '#service/grpc/framing'
import { createQueue } from '#service/http/clients/queue'
import { createMetrics } from '#service/metrics'
import type { Question, RenderedBody } from '#service/questions/question'
import { Account } from '#service/quotas'
import { methodsOf, TRADING_DATA } from '../../fixtures/requests/protos.ts'
import { serveBoth, storeOf } from '../../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../../fixtures/shared.ts'
import { openReader, sqlite } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const BYTES = 100_000

/** Memory that is no one else's, as a database or a thread hands it over. */
const bodyOf = (bytes: number) => Buffer.from(new ArrayBuffer(bytes))

/** Answers one question with a body; `send` says what is sent of it. */
async function answer(
  body: Buffer,
  response: EventEmitter | null,
  send: (made: RenderedBody) => SentAnswer | null,
): Promise<void> {
  const question = {
    workload: () => ({ queue: 'short', rows: 1, readsOnlyItsRows: true }),
    sourceOf: () => null,
  } as unknown as Question<null>
  const queue = createQueue(new Account(), 1)
  const answers = new Answers({
    renderer: {
      render: async () => ({
        body,
        checkSum: null,
        storeHead: { height: '1', timestamp: '1' },
        version: null,
      }),
      isSerial: false,
      isRunning: () => true,
      close: async () => {},
    },
    queues: { short: queue, long: queue, report: queue },
    cache: null,
    metrics: createMetrics(),
  })
  const asking: AnswerRequest<null> = {
    key: 'key',
    form: 'json',
    check: () => null,
    address: '127.0.0.1',
    connection: Object.assign(new EventEmitter(), { destroyed: false }),
    onceSent: (free) => response?.once('close', free),
    sendCached: () => {},
    sendRendered: async (made) => send(made),
  }
  await answers.answer(question, asking)
}

const asSent = ({ body }: RenderedBody): SentAnswer => ({ body, tag: '"tag"', headers: {} })

describe('The memory of a page', () => {
  test('is given back once the response that sends it has closed, and not before', async () => {
    const [body, response] = [bodyOf(BYTES), new EventEmitter()]
    await answer(body, response, asSent)
    assert.equal(body.length, BYTES)
    response.emit('close')
    assert.equal(body.length, 0)
  })

  test('is given back at once if something else is sent, or nothing', async () => {
    for (const send of [() => null, () => asSent({ body: bodyOf(10) } as RenderedBody)]) {
      const [body, response] = [bodyOf(BYTES), new EventEmitter()]
      await answer(body, response, send)
      assert.equal(body.length, 0)
      response.emit('close')
    }
  })

  test('is left to the garbage collector if it is not said when the answer is sent', async () => {
    const body = bodyOf(BYTES)
    await answer(body, null, asSent)
    assert.equal(body.length, BYTES)
  })

  test('is given back at once if a copy of it is sent over such a connection', async () => {
    const body = bodyOf(BYTES)
    await answer(body, null, (rendered) => asSent({ ...rendered, body: Buffer.from(rendered.body) }))
    assert.equal(body.length, 0)
  })

  test('stays if others may share it', async () => {
    const [body, response] = [Buffer.allocUnsafe(100), new EventEmitter()]
    const { byteLength } = body.buffer
    await answer(body, response, asSent)
    response.emit('close')
    assert.equal(body.buffer.byteLength, byteLength)
  })

  test('over gRPC is given back once its bytes are sent, which slow clients read unchanged', async (t) => {
    const store = await storeOf(t, sqlite, SAMPLE)
    const reader = await openReader(t, store)
    const here = rendererOf(reader)
    const bodies: { body: Buffer; sent: Buffer }[] = []
    const renderer: Renderer = {
      ...here,
      render: async (...of) => {
        const rendered = await here.render(...of)
        if (rendered !== null) bodies.push({ body: rendered.body, sent: Buffer.from(rendered.body) })
        return rendered
      },
    }
    const { grpc } = await serveBoth(t, store, { reader, renderer })
    // A window of an eighth of the bodies.
    const session = connectHttp2(`http://${grpc}`, { settings: { initialWindowSize: 16 * 1024 } })
    t.after(() => session.destroy())
    const { path, requestSerialize } = methodsOf(TRADING_DATA).ListFundingPeriodDataPoints!
    const call = async (first: number) => {
      const stream = session.request({
        ':method': 'POST',
        ':path': path,
        'content-type': 'application/grpc',
        te: 'trailers',
      })
      stream.end(framed(requestSerialize({ marketId: MARKET, pagination: { first } })))
      const received: Buffer[] = []
      for await (const chunk of stream) {
        received.push(chunk)
        await sleep(2)
        if (first % 3 === 0) break
      }
      return Buffer.concat(received)
    }
    const calls = Array.from({ length: 12 }, (_, index) => 900 + index)
    const received = await Promise.all(calls.map(call))
    assert.equal(bodies.length, calls.length)
    const sent = bodies.map((one) => one.sent)
    const whole = received.filter((_, index) => calls[index]! % 3 > 0)
    for (const bytes of whole) {
      assert.ok(bytes.length > 100_000, `${bytes.length} bytes`)
      assert.ok(sent.some((one) => one.equals(bytes)))
    }
    await until(() => bodies.filter(({ body }) => body.length === 0).length >= whole.length, 'the memory')
  })
})
