import assert from 'node:assert/strict'
import { existsSync, renameSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { StoreUnavailableError } from '#core/store/errors'
import type { PageQuery } from '#core/store/pages/page'
import { ALL_CONTENTS, readStoreContents } from '#core/store/queries/contents/store-contents'
import { LoneClient } from '#service/answers/lone-client'
import { startRenderThreads } from '#service/answers/render-threads'
import { type Renderer, rendererOf } from '#service/answers/renderer'
import { SequentialRenderer } from '#service/answers/sequential-renderer'
import { ThreadCalls } from '#service/answers/thread-calls'
import type { BodyForm, RenderedBody, Workload } from '#service/questions/question'
import { questionAt } from '#service/questions/question-at'
import { assertSays } from '../../fixtures/assert-says.ts'
import { storeOfGenerated } from '../../fixtures/events/large-stream.ts'
import { send } from '../../fixtures/requests/http.ts'
import { openSocket, readAnswers, requestText } from '../../fixtures/requests/raw-http.ts'
import { capturedLog, SILENT, serve, storeOf } from '../../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../../fixtures/shared.ts'
import { openReader, SQLITE } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** Points for pages that are read in pieces. */
const POINTS = { blocks: 6_200, markets: 1, parties: 1, points: 1, events: 0 }

const options = { skip: SQLITE === undefined && 'for SQLite only' }

function points(limit: number, change: Partial<PageQuery> = {}): PageQuery {
  return {
    resource: fundingPeriodDataPoints,
    selection: { marketId: MARKET },
    descending: true,
    cursor: null,
    limit,
    edges: 'as read',
    ...change,
  }
}

/** Pages of a store made here and in threads, until the test ends. */
async function openRenderers(t: TestContext, store: string) {
  const reader = await openReader(t, store)
  const threads = startRenderThreads(store, SILENT)
  t.after(() => threads.close())
  return { reader, here: rendererOf(reader), threads }
}

function make(renderer: Renderer, { resource, ...asked }: PageQuery): Promise<RenderedBody | null> {
  return renderer.render(questionAt(resource.path), asked, 'json', false)
}

/** The content of a page. */
async function contentOf(
  renderer: Renderer,
  asked: PageQuery,
): Promise<Omit<RenderedBody, 'body'> & { text: string }> {
  const { body, ...content } = (await make(renderer, asked))!
  return { ...content, text: body.toString() }
}

test(
  'Pages generated in threads, many at a time, equal those generated without threads',
  options,
  async (t) => {
    const { here, threads } = await openRenderers(t, await storeOf(t, SQLITE!, SAMPLE))
    const asked = [
      points(1),
      points(50),
      points(50, { edges: 'reversed' }),
      points(5_000),
      points(3, { resource: checkpoints, selection: {} }),
      points(700, { resource: liquidityProviders }),
    ]
    const expected = await Promise.all(asked.map((each) => contentOf(here, each)))
    assert.ok(expected.every(({ text }) => text.length > 100))
    for (let round = 0; round < 3; round++) {
      assert.deepEqual(await Promise.all(asked.map((each) => contentOf(threads, each))), expected)
    }
  },
)

test('Long pages, which are read in pieces, equal those read at once', options, async (t) => {
  const { here, threads, reader } = await openRenderers(t, await storeOfGenerated(t, SQLITE!, POINTS))
  const { marketId, firstTimestamp, lastTimestamp, count } = (await reader.read(() =>
    readStoreContents(ALL_CONTENTS),
  ))!.fundingPeriodDataPoints[0]!
  assert.ok(Number(count) > 5_500)
  const middle = (BigInt(firstTimestamp) + BigInt(lastTimestamp)) / 2n
  const whole = { marketId }
  for (const selection of [
    whole,
    { marketId, source: 2n },
    { marketId, source: 1n },
    { marketId, from: middle },
    { marketId, seq: 3n },
  ]) {
    for (const cursor of selection === whole ? [null, [middle, 3n, 1n] as const] : [null]) {
      for (const limit of [999, 1_000, 1_001, 2_500, 5_000]) {
        for (const edges of ['as read', 'reversed'] as const) {
          for (const descending of [false, true]) {
            const asked = points(limit, { selection, cursor, descending, edges })
            const [expected, made] = [await contentOf(here, asked), await contentOf(threads, asked)]
            const name = JSON.stringify({ selection, cursor, limit, edges, descending }, (_, value) =>
              typeof value === 'bigint' ? String(value) : value,
            )
            assert.equal(made.text === expected.text, true, name)
            assert.deepEqual(made, expected, name)
          }
        }
      }
    }
  }
  const { text } = await contentOf(threads, points(5_000, { selection: whole }))
  assert.equal(JSON.parse(text).fundingPeriodDataPoints.edges.length, 5_000)
})

test(
  'A page that waits for its client is sent unchanged, whatever is generated meanwhile',
  options,
  async (t) => {
    const store = await storeOfGenerated(t, SQLITE!, POINTS)
    const base = await serve(t, store, { cacheBytes: 0, inThreads: true })
    const reader = await openReader(t, store)
    const { marketId } = (await reader.read(() => readStoreContents(ALL_CONTENTS)))!
      .fundingPeriodDataPoints[0]!
    const path = `/api/v2/funding-periods/data-points/${marketId}`
    const targetOf = (order: boolean, first: number) =>
      `${path}?pagination.first=${first}&pagination.newestFirst=${order}`
    const expected = new Map<string, string>()
    const targets = [true, false].flatMap((order) =>
      [5_000, 4_000, 400].map((first) => targetOf(order, first)),
    )
    for (const target of targets) expected.set(target, (await send(base, target)).text)
    assert.equal(new Set(expected.values()).size, targets.length)

    // More than the system buffers for a client that does not read: one of the answers waits half sent.
    const asked = Array.from({ length: 16 }, (_, index) => targets[index % 2]!)
    const slow = openSocket(base)
    t.after(() => slow.destroy())
    slow.pause()
    for (const target of asked) slow.write(requestText(`GET ${target}`, { Connection: 'keep-alive' }))
    for (let round = 0; round < 30; round++) {
      const target = targets[round % targets.length]!
      assert.equal((await send(base, target)).text === expected.get(target), true, target)
    }
    const chunks: Buffer[] = []
    slow.end()
    for await (const chunk of slow) chunks.push(chunk)
    const { answers } = readAnswers(Buffer.concat(chunks))
    assert.equal(answers.length, asked.length)
    for (const [index, { body }] of answers.entries()) {
      assert.equal(body === expected.get(asked[index]!), true, `answer ${index}`)
    }
  },
)

/** A page that a client asks for: 100 points, but for a change, as JSON but for another form. */
type Step = { change?: Partial<PageQuery>; limit?: number; form?: BodyForm; isAlone?: boolean }

/** Pages, and whether they are rendered here. */
const STEPS: Record<string, [Step, isHere: boolean]> = {
  'here, for a client that is alone': [{}, true],
  'in a thread, for one that is not': [{ isAlone: false }, false],
  'here, with up to 200 rows': [{ limit: 200 }, true],
  'in a thread, with more rows': [{ limit: 201 }, false],
  'in a thread, for gRPC': [{ form: 'grpc' }, false],
  'here, with a filter by which rows are in order': [
    { change: { selection: { marketId: MARKET, source: 1n } } },
    true,
  ],
  'in a thread, with a filter that excludes rows': [
    { change: { selection: { marketId: MARKET, seq: 1n } } },
    false,
  ],
  'in a thread, with rows of which a condition excludes some': [
    { change: { resource: liquidityProviders, selection: { marketId: MARKET } } },
    false,
  ],
}

/** The renderer of a service, which counts what it renders in this thread, and calls `onRendered` before. */
async function openSequential(t: TestContext, onRendered: () => void = () => {}) {
  const { here, threads } = await openRenderers(t, await storeOf(t, SQLITE!, SAMPLE))
  const counted = { here: 0 }
  const counting: Renderer = {
    ...here,
    render: (...asked) => {
      counted.here++
      onRendered()
      return here.render(...asked)
    },
  }
  const renderer = new SequentialRenderer(counting, threads)
  const ask = ({ change, limit = 100, form = 'json', isAlone = true }: Step) => {
    const { resource, ...query } = points(limit, change)
    return renderer.render(questionAt(resource.path), query, form, isAlone)
  }
  return { counted, ask }
}

/** Waits for another round of the event loop. */
const nextRound = () => new Promise((resolve) => setImmediate(resolve))

describe('A page is rendered', () => {
  for (const [where, [step, isHere]] of Object.entries(STEPS)) {
    test(where, options, async (t) => {
      const { counted, ask } = await openSequential(t)
      await ask(step)
      assert.equal(counted.here, isHere ? 1 : 0)
    })
  }

  test('in a thread, while a thread renders another one', options, async (t) => {
    const { counted, ask } = await openSequential(t)
    const long = ask({ limit: 5_000 })
    await ask({})
    assert.equal(counted.here, 0)
    await long
    await ask({})
    assert.equal(counted.here, 1)
  })

  test('here, but only one in a round of the event loop', options, async (t) => {
    const { counted, ask } = await openSequential(t)
    const bodies = await Promise.all([{}, {}, {}].map(ask))
    assert.equal(counted.here, 1)
    assert.equal(new Set(bodies.map((rendered) => rendered!.body.toString())).size, 1)
  })

  test('in a thread for a while, once one has blocked the event loop', options, async (t) => {
    let blocksMs = 20
    const { counted, ask } = await openSequential(t, () => {
      const end = performance.now() + blocksMs
      while (performance.now() < end);
    })
    await ask({})
    assert.equal(counted.here, 1)
    await nextRound()
    const second = ask({})
    assert.equal(counted.here, 1)
    await second
    blocksMs = 0
    await until(async () => {
      await nextRound()
      await ask({})
      return counted.here > 1
    }, 'one is rendered here again')
  })
})

describe('A client is alone', () => {
  const CASES: Record<string, [connections: string, isAlone: boolean]> = {
    'with its ninth request in a row': ['aaaaaaaaa', true],
    'not before': ['aaaaaaaa', false],
    'not after a request of another one': ['aaaaaaaaaaaaba', false],
    'not in turns with another one': ['abababababababababababab', false],
  }
  for (const [when, [connections, isAlone]] of Object.entries(CASES)) {
    test(when, () => {
      const byName = new Map([...'ab'].map((name) => [name, {}]))
      const client = new LoneClient()
      for (const name of connections) client.count(byName.get(name)!)
      assert.equal(client.is(byName.get('a')!), isAlone && connections.at(-1) === 'a')
      assert.equal(client.is({}), false)
    })
  }
})

test('An unreachable store is reported, and read again once it is back', options, async (t) => {
  const store = await storeOf(t, SQLITE!, SAMPLE)
  const { threads } = await openRenderers(t, store)
  const before = await contentOf(threads, points(5))
  renameSync(store, `${store}.away`)
  // The long page's thread starts while the store is missing: it must not create one.
  for (const asked of [points(5), points(5_000)]) {
    await assert.rejects(make(threads, asked), StoreUnavailableError)
  }
  assert.equal(existsSync(store), false)
  renameSync(`${store}.away`, store)
  assert.deepEqual(await contentOf(threads, points(5)), before)
  assert.deepEqual((await contentOf(threads, points(5_000))).storeHead, before.storeHead)
})

test('An internal error is reported as one', options, async (t) => {
  const store = await storeOf(t, SQLITE!, SAMPLE)
  const { threads } = await openRenderers(t, store)
  const workload = (): Workload => ({ queue: 'short', rows: 1, readsOnlyItsRows: true })
  const unknown = { ...questionAt(checkpoints.path), path: '/nothing', workload }
  await assert.rejects(threads.render(unknown, { query: { limit: 1 } }, 'json', false), (error: Error) => {
    assert.ok(!(error instanceof StoreUnavailableError))
    assert.match(error.stack!, /there is no question \/nothing[\s\S]*render-thread/)
    return true
  })
  assert.notEqual(await make(threads, points(3)), null)
})

test('A failed thread is reported, and started again', async () => {
  const { logger, lines } = capturedLog('error')
  const threads = startRenderThreads('', logger)
  await assert.rejects(make(threads, points(3)), StoreUnavailableError)
  assertSays(lines[0]!, 'a thread that renders answers failed')
  assertSays(lines[0]!, 'the store has no name')
  assert.equal(threads.isRunning(), false)
  await until(() => lines.length > 3, 'the three threads are started again')
  await threads.close()
})

test('A thread that goes on with a request when it is to end is ended after 5 s', async () => {
  const module = new URL('../../fixtures/programs/endless-thread.ts', import.meta.url)
  const thread = new ThreadCalls<null, null>({ module, task: null, logger: SILENT, what: 'a thread' })
  await until(() => thread.isRunning, 'the thread runs')
  const answer = assert.rejects(thread.ask(null), StoreUnavailableError)
  const isClosed = thread.close().then(() => true)
  assert.ok(await Promise.race([isClosed, sleep(20_000, false, { ref: false })]))
  await answer
})

test('A thread answers what it was asked before it closes what it reads', async () => {
  const module = new URL('../../fixtures/programs/slow-thread.ts', import.meta.url)
  const thread = new ThreadCalls<null, string>({ module, task: null, logger: SILENT, what: 'a thread' })
  const answers = [thread.ask(null), thread.ask(null)]
  await thread.close()
  assert.deepEqual(await Promise.all(answers), ['open', 'open'])
})
