import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, test } from 'node:test'
import { type AnswerRequest, Answers, type SentAnswer } from '#service/answers/answers'
import { createQueue } from '#service/http/clients/queue'
import { createMetrics } from '#service/metrics'
import type { Question, RenderedBody } from '#service/questions/question'
import { Account } from '#service/quotas'

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
    response,
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

  test('stays where a connection may read it after the response has closed', async () => {
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
})
