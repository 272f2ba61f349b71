import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, renameSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import type { Change } from '#core/store/changes'
import type { Freshness } from '#core/store/pages/page'
import type { Reader } from '#core/store/store'
import { AnswerCache, type CachedAnswer } from '#service/answers/answer-cache'
import type { AnswerSource } from '#service/questions/question'
import { assertSays } from '../../fixtures/assert-says.ts'
import { idOf } from '../../fixtures/events/event-stream.ts'
import { metricsOf, send } from '../../fixtures/requests/http.ts'
import { openSocket, readAnswers, requestText } from '../../fixtures/requests/raw-http.ts'
import { pruneBefore, serve, storeOf } from '../../fixtures/services/service.ts'
import { MARKET, recorded, SAMPLE } from '../../fixtures/shared.ts'
import {
  checkpointAt,
  createLiveStore,
  LIVE_MARKET,
  pointAt,
  serveLive,
  timeOf,
} from '../../fixtures/stores/live-store.ts'
import { describeOn, openReader, runSql, SQLITE, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const TARGETS = [
  '/api/v2/checkpoints?pagination.first=5',
  `/api/v2/funding-periods/data-points/${MARKET}`,
  `/api/v2/funding-periods/data-points/${MARKET}?pagination.last=3`,
  `/api/v2/funding-periods/data-points/${MARKET}?source=1&seq=3`,
  `/api/v2/liquidity/providers?marketId=${MARKET}`,
]

describeOn(STORE_KINDS, 'cached pages', (kind) => {
  test('are generated once when many clients ask for one at the same time, as after a block', async (t) => {
    const points = Array.from({ length: 1_000 }, (_, n) => ({
      ...pointAt(1),
      timestamp: timeOf(1) + BigInt(n),
    }))
    const { live, base } = await serveLive(t, kind, points, { inThreads: true })
    const target = `/api/v2/funding-periods/data-points/${LIVE_MARKET}?pagination.first=5000`
    const fromMemory = async () =>
      Number(/^lyra_pages_from_memory_total (\d+)/m.exec(await metricsOf(base))![1])
    for (let time = 0; time < 3; time++) await send(base, target)
    await live.commit(2, [pointAt(2)])
    const before = await fromMemory()
    const sockets = Array.from({ length: 100 }, () => openSocket(base))
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    const answers = sockets.map(async (socket) => readAnswers(await buffer(socket)).answers)
    for (const socket of sockets) socket.write(requestText(`GET ${target}`))
    for (const [answer] of await Promise.all(answers)) {
      assert.deepEqual([answer!.status, answer!.headers.get('x-block-height')], [200, ['2']])
      assert.ok(answer!.body.includes(`"price":"${pointAt(2).price}"`))
    }
    const made = sockets.length - ((await fromMemory()) - before)
    // A few are generated at a time.
    assert.ok(made <= 16, `made ${made} times`)
  })

  test('are left by a commit that changes another resource, in however many markets', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [checkpointAt(1)])
    const reader = await openReader(t, store)
    const { version } = await reader.freshness(null)
    const markets = Array.from({ length: 300 }, (_, index) => idOf(`${index}`))
    await live.commit(
      2,
      markets.map((marketId) => pointAt(2, { marketId })),
    )
    const { changed } = await reader.freshness(version)
    assert.deepEqual(changed, [{ resource: 'fundingPeriodDataPoints', scope: null }])
  })

  test('are dropped when rows are pruned', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const [base, plain] = [await serve(t, store), await serve(t, store, { cacheBytes: 0 })]
    const before = await Promise.all(TARGETS.map(async (target) => (await send(base, target)).text))
    const [from] = /"timestamp":"\d+/.exec(before[1]!)!
    await pruneBefore(store, BigInt(from.slice(13)), 'time')
    for (const [index, target] of TARGETS.entries()) {
      assert.equal((await send(base, target)).text, (await send(plain, target)).text, target)
      if (index === 2) assert.notEqual((await send(base, target)).text, before[index], target)
    }
  })
})

describe('cached pages of a SQLite file', () => {
  test('are dropped when another process writes to the file', async (t) => {
    if (SQLITE === undefined) return
    const store = await storeOf(t, SQLITE, SAMPLE)
    const base = await serve(t, store)
    const target = TARGETS[1]!
    for (let time = 0; time < 2; time++) await send(base, target)
    await runSql(store, `update funding_period_data_points set price = '4711'`)
    assertSays((await send(base, target)).text, '"price":"4711"')
  })

  test('are dropped when the file is replaced', async (t) => {
    if (SQLITE === undefined) return
    const store = await storeOf(t, SQLITE, SAMPLE)
    const second = await storeOf(t, SQLITE, recorded('perps-long'))
    copyFileSync(store, `${store}.first`)
    const base = await serve(t, store)
    const target = TARGETS[0]!
    const first = (await send(base, target)).text
    await send(base, target)
    renameSync(second, store)
    const expected = (await send(await serve(t, store, { cacheBytes: 0 }), target)).text
    assert.notEqual(expected, first)
    assert.equal((await send(base, target)).text, expected)
    renameSync(`${store}.first`, store)
    assert.equal((await send(base, target)).text, first)
  })
})

describe('a cache of pages', () => {
  const MARKET_A = 'a'.repeat(64)
  const MARKET_B = 'b'.repeat(64)

  /** A cache over a reader that reports one commit after another. */
  function createCached(maxBytes = 1_000_000) {
    let version = 1n
    let pending: Change[] | null = []
    const reader = {
      freshness: async (): Promise<Freshness> => {
        const changed = pending
        pending = []
        return {
          version: { version, mark: String(version) },
          storeHead: { height: '1', timestamp: '1' },
          changed,
        }
      },
    } as unknown as Reader
    return {
      cache: new AnswerCache(reader, maxBytes),
      commit: (changes: Change[] | null) => {
        version++
        pending = changes
      },
      current: () => ({ version, mark: String(version) }),
      /** As a replica that lags behind the one that was asked before. */
      goBack: () => {
        version--
      },
    }
  }

  const points = (scope: string): Change => ({ resource: 'fundingPeriodDataPoints', scope })
  const providers = (scope: string | null): Change => ({ resource: 'liquidityProviders', scope })
  const checkpoints: Change = { resource: 'checkpoints', scope: null }
  const pageOf = (source: AnswerSource, version: CachedAnswer['version'], bytes = 10): CachedAnswer => ({
    body: Buffer.alloc(bytes),
    tag: '"tag"',
    headers: {},
    source,
    version,
  })

  const cases: [what: string, page: AnswerSource, changes: Change[] | null, stays: boolean][] = [
    ['rows of another market', points(MARKET_A), [points(MARKET_B)], true],
    ['rows of its market', points(MARKET_A), [points(MARKET_A)], false],
    ['rows of its market among others', points(MARKET_A), [points(MARKET_B), points(MARKET_A)], false],
    ['rows of any market', points(MARKET_A), [{ resource: 'fundingPeriodDataPoints', scope: null }], false],
    ['anything', points(MARKET_A), null, false],
    ['nothing', points(MARKET_A), [], true],
    ['the providers of its market', providers(MARKET_A), [providers(MARKET_A)], false],
    ['the providers of any market', providers(null), [providers(MARKET_A)], false],
    ['the providers of another market', providers(MARKET_A), [providers(MARKET_B)], true],
    ['another resource', points(MARKET_A), [checkpoints], true],
    ['another resource of its market', points(MARKET_A), [providers(MARKET_A)], true],
    ['rows of a resource without a scope', checkpoints, [checkpoints], false],
    ['nothing, if the page belongs to a single commit', 'the next commit', [], false],
  ]
  for (const [what, list, changes, stays] of cases) {
    test(`a commit of ${what} ${stays ? 'leaves a page' : 'drops a page'}`, async () => {
      const { cache, commit, current } = createCached()
      await cache.put('key', pageOf(list, current()))
      assert.notEqual(await cache.find('key'), null)
      commit(changes)
      assert.equal((await cache.find('key')) !== null, stays)
    })
  }

  test('the store is looked at only for a page that is cached', async () => {
    let looks = 0
    const state: Freshness = { version: { version: 1n, mark: '1' }, storeHead: null, changed: [] }
    const cache = new AnswerCache(
      {
        freshness: async () => state,
        unchangedFreshness: () => {
          looks++
          return state
        },
      } as unknown as Reader,
      1_000_000,
    )
    await cache.put('key', pageOf(checkpoints, state.version))
    cache.findAtOnce('another key')
    assert.equal(looks, 0)
    cache.findAtOnce('key')
    assert.equal(looks, 1)
  })

  test('a page from before the last known commit is not cached', async () => {
    const { cache, commit, current } = createCached()
    const before = current()
    commit([])
    await cache.put('key', pageOf(points(MARKET_A), before))
    assert.equal(cache.has('key'), false)
  })

  test('a page of a later commit than the store has now is not given', async () => {
    const { cache, commit, current, goBack } = createCached()
    commit([])
    await cache.put('key', pageOf(points(MARKET_A), current()))
    assert.notEqual(await cache.find('key'), null)
    goBack()
    assert.equal(await cache.find('key'), null)
    commit([])
    assert.notEqual(await cache.find('key'), null)
  })

  test('keeps to its limit, and evicts the least recently used page', async () => {
    const { cache, current } = createCached(20_000)
    const list = points(MARKET_A)
    const putTwice = async (key: string, bytes: number) => {
      for (let time = 1; time <= 2; time++) await cache.put(key, pageOf(list, current(), bytes))
    }
    for (const key of ['one', 'two', 'three']) await putTwice(key, 5_000)
    await cache.find('one')
    await putTwice('four', 5_000)
    assert.deepEqual(
      ['one', 'two', 'three', 'four'].map((key) => cache.has(key)),
      [true, false, true, true],
    )
    await putTwice('five', 30_000)
    assert.equal(cache.has('five'), false)
  })

  test('keeps a large page from its second request on, a small one from its first', async () => {
    const { cache, current } = createCached(100_000)
    const list = points(MARKET_A)
    await cache.put('small', pageOf(list, current(), 4_096))
    await cache.put('large', pageOf(list, current(), 4_097))
    assert.deepEqual([cache.has('small'), cache.has('large')], [true, false])
    await cache.put('large', pageOf(list, current(), 4_097))
    assert.equal(cache.has('large'), true)
  })

  test('limits the characters of request targets that it remembers', async () => {
    const { cache, current } = createCached()
    const put = (key: string) => cache.put(key, pageOf(points(MARKET_A), current(), 5_000))
    await put('first')
    for (let count = 0; count < 70; count++) await put(`${count} `.padEnd(16_000, 'x'))
    await put('first')
    assert.equal(cache.has('first'), false)
    await put('first')
    assert.equal(cache.has('first'), true)
  })

  test('keeps its own copy of a page', async () => {
    const { cache, current } = createCached(100_000)
    for (const bytes of [256, 8_192]) {
      const expected = Buffer.from(Array.from({ length: bytes }, (_, at) => at % 256))
      for (let time = 1; time <= 2; time++) {
        const body = Buffer.from(expected)
        const put = cache.put('key', { ...pageOf(points(MARKET_A), current()), body })
        body.fill(0)
        await put
      }
      const cached = (await cache.find('key'))!.answer.body
      assert.deepEqual(Buffer.from(cached as string, 'latin1'), expected)
    }
  })
})
