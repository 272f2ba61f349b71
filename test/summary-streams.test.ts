import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { SummariesQuery } from '#core/store/readings/market-summaries'
import { StoreUnavailableError } from '#core/store/store'
import { longReadsOf } from '#service/api/streams/long-reads'
import { type Follower, MAX_PIECE_BYTES } from '#service/stream/follower'
import { createSummaryFeed } from '#service/stream/summary-feed'
import type { ServerEvent } from '../client/src/event-stream.ts'
import { assertSays } from './fixtures/assert-says.ts'
import { idOf } from './fixtures/event-stream.ts'
import { getPage, metricsOf, send, statusOf } from './fixtures/http.ts'
import { type Listener, listen } from './fixtures/listen.ts'
import {
  createActivity,
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  serveLive,
} from './fixtures/live-store.ts'
import { createRandom } from './fixtures/random.ts'
import { assertMalformed } from './fixtures/refusals.ts'
import { runsOf } from './fixtures/sampling.ts'
import { serve } from './fixtures/service.ts'
import { describeOn, openReader, STORE_KINDS, type StoreKind } from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

const STREAM = '/api/v2/stream/market-summaries'
const LIST = '/api/v2/market-summaries'

type Summary = Record<string, unknown> & { marketId: string }

const changesOf = ({ events }: Pick<Listener, 'events'>) =>
  events.map(({ data }) => JSON.parse(data) as Summary)

/** The state that follows from the events sent to a listener. */
function stateOf(listener: Pick<Listener, 'events'>): Record<string, Summary> {
  const markets: Record<string, Summary> = {}
  for (const change of changesOf(listener))
    markets[change.marketId] = { ...markets[change.marketId], ...change }
  return markets
}

/** The state as pages give it. */
async function pagedState(base: string): Promise<Record<string, Summary>> {
  const { edges } = await getPage(base, LIST)
  return Object.fromEntries(edges.map(({ node }) => [(node as Summary).marketId, node as Summary]))
}

async function untilEqual(listener: Listener, base: string, what: string): Promise<void> {
  const paged = await pagedState(base)
  await until(() => isDeepStrictEqual(stateOf(listener), paged), what)
}

describeOn(STORE_KINDS, 'the stream of market summaries', (kind) => {
  test('sends every summary whole, then the parts that change, and ends up as the page', async (t) => {
    const { live, base } = await serveLive(t, kind, [perpetualMarket(LIVE_MARKET), pointAt(1)])
    const all = await listen(base, `${STREAM}?every=1`)
    const one = await listen(base, `${STREAM}?marketId=${LIVE_MARKET.toUpperCase()}`)
    const other = await listen(base, `${STREAM}?marketId=${OTHER_MARKET}`)
    await until(() => all.events.length === 1 && one.events.length === 1, 'the first summaries')
    assert.deepEqual(stateOf(all), await pagedState(base))
    assert.deepEqual(stateOf(one), stateOf(all))
    assert.ok(all.events.every(({ event }) => event === 'marketSummaries'))
    for (const { id } of [all, one, other]) assert.match(id, /^[A-Za-z0-9_-]+$/)
    assert.deepEqual(other.events, [])

    await live.commit(2, [pointAt(2)])
    await until(() => all.events.length === 2 && one.events.length === 2, 'the changed part')
    assert.deepEqual(Object.keys(changesOf(all)[1]!), ['marketId', 'lastInternalPoint'])
    assert.deepEqual(changesOf(all), changesOf(one))
    await live.commit(3, [pointAt(3, { marketId: OTHER_MARKET }), periodEvent({ marketId: OTHER_MARKET })])
    await untilEqual(all, base, 'the other market')
    await until(() => other.events.length === 1, 'its own stream')
    assert.deepEqual(changesOf(other), [(await pagedState(base))[OTHER_MARKET]])
    // A period that ends: one part becomes null, another one is there.
    await live.commit(4, [
      periodEvent({ marketId: OTHER_MARKET, end: 5n, fundingPayment: '1', fundingRate: '0.1' }),
    ])
    await untilEqual(all, base, 'the ended period')
    const { runningPeriod, lastPaidPeriod } = changesOf(all).at(-1) as Record<string, unknown>
    assert.equal(runningPeriod, null)
    assert.notEqual(lastPaidPeriod, null)
    assert.equal(one.events.length, 2)
  })

  test('sends a market at most once in the time that is asked for, with all that has changed by then', async (t) => {
    const { live, base } = await serveLive(t, kind, [pointAt(1)])
    const slow = await listen(base, `${STREAM}?every=2`)
    const fast = await listen(base, `${STREAM}?marketId=${LIVE_MARKET}`)
    const startedAt = performance.now()
    for (let height = 2; performance.now() - startedAt < 4_500; height++) {
      await live.commit(height, [pointAt(height)])
      await sleep(100)
    }
    await sleep(2_500)
    const most = (seconds: number) => 2 + Math.ceil((performance.now() - startedAt) / 1_000 / seconds)
    assert.ok(slow.events.length >= 3 && slow.events.length <= most(2), `${slow.events.length} of 2 s`)
    assert.ok(fast.events.length >= 5 && fast.events.length <= most(1), `${fast.events.length} of 1 s`)
    await untilEqual(slow, base, 'the last state')
    await untilEqual(fast, base, 'the last state of one')
  })

  test('sends one that returns the markets that have changed, or all if it does not know the id', async (t) => {
    const markets = Array.from({ length: 5 }, (_, index) => idOf(`${index}`))
    const { live, base } = await serveLive(
      t,
      kind,
      markets.map((marketId) => pointAt(1, { marketId })),
    )
    const stays = await listen(base, `${STREAM}?every=1`)
    const leaves = await listen(base, STREAM)
    await until(() => leaves.events.length === 5, 'all')
    leaves.cut()
    await live.commit(2, [pointAt(2, { marketId: markets[3]! })])
    await until(() => stays.events.length === 6, 'the change')
    const returns = await listen(base, `${STREAM}?every=1`, leaves.id)
    await until(() => returns.events.length === 1, 'the one that has changed')
    assert.deepEqual(changesOf(returns), [(await pagedState(base))[markets[3]!]])
    for (const name of ['after', 'lastEventId']) {
      const nothing = await listen(base, `${STREAM}?every=1&${name}=${returns.id}`)
      assert.deepEqual(nothing.events, [])
    }
    const ofOne = await listen(base, `${STREAM}?marketId=${markets[0]}`)
    // Another service over the same store has not given that id.
    const { base: elsewhere } = await serveLive(t, kind, [pointAt(1)])
    const all = await listen(elsewhere, `${STREAM}?every=1`, leaves.id)
    await until(() => all.events.length === 1, 'all of the other store')
    assert.equal(all.events[0]!.data, JSON.stringify((await pagedState(elsewhere))[LIVE_MARKET]))
    for (const [target, headers] of [
      [`${STREAM}?after=${ofOne.id}`],
      [`${STREAM}?marketId=${markets[0]}&after=${leaves.id}`],
      [`${STREAM}?marketId=${markets[1]}&after=${ofOne.id}`],
      [STREAM, { 'last-event-id': 'abc' }],
      [`${STREAM}?lastEventId=abc`],
    ] as [string, Record<string, string>?][])
      await assertMalformed(base, target, 10028, headers)
  })

  test('leads to the state of the page, wherever it is cut and whatever comes in between', async (t) => {
    const { live, base } = await serveLive(t, kind, [perpetualMarket(LIVE_MARKET), pointAt(1)])
    const activity = createActivity(live, 11)
    const random = createRandom(12)
    const stays = await listen(base, `${STREAM}?every=1`)
    const had: ServerEvent[] = []
    let listener = await listen(base, `${STREAM}?every=1`)
    for (let cut = 0; cut < runsOf('store'); cut++) {
      for (let blocks = random.integer(8); blocks > 0; blocks--) await activity.step()
      await sleep(random.integer(1_500))
      listener.cut()
      await listener.ended
      had.push(...listener.events)
      if (random.integer(2) === 0) await activity.step()
      listener = await listen(base, `${STREAM}?every=1`, listener.id)
    }
    await activity.step()
    await untilEqual(stays, base, 'the state of one that stays')
    const paged = await pagedState(base)
    const received = () => stateOf({ events: [...had, ...listener.events] })
    await until(() => isDeepStrictEqual(received(), paged), 'the state of one that was cut')
  })

  test('reads the store once for all followers, and writes once for followers of the same markets', async (t) => {
    const { markets, asked, feed, change } = await openFeed(t, kind, 600)
    const ofAll = Array.from({ length: 20 }, createReceiver)
    const ofOne = markets.map(createReceiver)
    await Promise.all(ofAll.map((receiver) => feed.join(receiver, OF_ALL, null)))
    await Promise.all(
      ofOne.map((receiver, at) => feed.join(receiver, { ...OF_ALL, marketId: markets[at]! }, null)),
    )
    assert.ok(asked.length <= 3, `${asked.length} reads for the first summaries`)
    const [first] = ofAll
    assert.ok(first!.pieces.length > 1 && first!.pieces.every(({ length }) => length < 2 * MAX_PIECE_BYTES))
    const areShared = () =>
      ofAll.every(({ pieces }) => pieces.every((piece, index) => piece === first!.pieces[index]))
    assert.ok(areShared())

    for (const receiver of [...ofAll, ...ofOne]) receiver.pieces.length = 0
    asked.length = 0
    await change(2, markets.slice(0, 500))
    await feed.pull()
    assert.equal(asked.length, 1)
    assert.ok(areShared())
    assert.equal(textOf(first!).split('\nevent: ').length - 1, 500)
    assert.equal(ofOne.filter(({ pieces }) => pieces.length > 0).length, 500)
    // Without followers of all markets, only the followed markets are read.
    for (const receiver of [...ofAll, ...ofOne.slice(3)]) feed.leave(receiver)
    asked.length = 0
    await change(3, markets.slice(0, 500))
    await feed.pull()
    assert.deepEqual(
      asked.map(({ markets }) => markets),
      [markets.slice(0, 3)],
    )
  })

  test('names no moment of which a follower has only a part', async (t) => {
    const { markets, feed, change } = await openFeed(t, kind, 1_500)
    const slow = createReceiver()
    await feed.join(slow, OF_ALL, null)
    await change(2, markets)
    const begun = textOf(slow).length
    const drained = Promise.withResolvers<void>()
    slow.drained = () => drained.promise
    const pulled = feed.pull()
    await until(() => textOf(slow).length > begun, 'a part of the changes')
    feed.keepAlive([slow])
    assert.doesNotMatch(textOf(slow).slice(begun), /^id: /m)
    drained.resolve()
    await pulled
    feed.keepAlive([slow])
    const ids = textOf(slow)
      .slice(begun)
      .match(/^id: .*$/gm)
    assert.deepEqual(ids, [ids![0], ids![0]])
  })

  test('has one that joins while others are sent changes end up with the same', async (t) => {
    const { markets, feed, change } = await openFeed(t, kind, 300)
    const [steady, late] = [createReceiver(), createReceiver()]
    await feed.join(steady, OF_ALL, null)
    const gate = Promise.withResolvers<void>()
    late.drained = () => gate.promise
    const joined = feed.join(late, OF_ALL, null)
    for (let height = 2; height <= 3; height++) {
      await change(height, markets.slice(100 * height - 100, 100 * height - 95))
      await feed.pull()
    }
    gate.resolve()
    await joined
    await change(4, markets.slice(0, 1))
    await feed.pull()
    const [ofSteady, ofLate] = [steady, late].map((receiver) => stateOfText(textOf(receiver)))
    assert.deepEqual(ofLate, ofSteady)
    assert.equal(Object.keys(ofLate!).length, 300)
  })

  test('sends one that returns its market, although a reading of other markets has ended meanwhile', async (t) => {
    const { markets, feed, gates } = await openFeed(t, kind, 2)
    const [ofFirst, ofSecond] = markets.map((marketId) => ({ ...OF_ALL, marketId }))
    const ofAll = createReceiver()
    await feed.join(ofAll, OF_ALL, null)
    feed.leave(ofAll)
    const gate = Promise.withResolvers<void>()
    gates.push(gate.promise)
    const second = feed.join(createReceiver(), ofSecond!, null)
    const first = createReceiver()
    await feed.join(first, ofFirst!, null)
    gate.resolve()
    await second
    const back = createReceiver()
    const [, reading] = /^id: .*_(.*)$/m.exec(textOf(first))!
    await feed.join(back, ofFirst!, reading!)
    assert.deepEqual(stateOfText(textOf(back)), stateOfText(textOf(first)))
  })

  test('continues when its store cannot be read for a while', async (t) => {
    const { markets, feed, change, faults } = await openFeed(t, kind, 1)
    const receiver = createReceiver()
    await feed.join(receiver, OF_ALL, null)
    await change(2, markets)
    faults.push(new StoreUnavailableError('it is unreachable'))
    await assert.rejects(feed.pull(), StoreUnavailableError)
    await until(async () => {
      await feed.pull()
      return /"lastInternalPoint":\{[^}]*"price":"1000002"/.test(textOf(receiver))
    }, 'the change')
  })
})

/** A follower of all markets, at any pace. */
const OF_ALL = { marketId: null, everyMs: 1 }

/** The feed of a store of so many markets, the reads it has asked for, and faults of the next ones or what they wait for. */
async function openFeed(t: TestContext, kind: StoreKind, count: number) {
  const markets = Array.from({ length: count }, (_, index) => idOf(`${index}`))
  const { store, live } = await createLiveStore(t, kind)
  const points = (height: number, changed: string[]) =>
    changed.map((marketId) => pointAt(height, { marketId }))
  await live.commit(1, [...markets.map(perpetualMarket), ...points(1, markets)])
  const reads = longReadsOf(await openReader(t, store), 1)
  const asked: SummariesQuery[] = []
  const faults: Error[] = []
  const gates: Promise<void>[] = []
  const feed = createSummaryFeed(async (query) => {
    const fault = faults.pop()
    if (fault !== undefined) throw fault
    await gates.pop()
    asked.push(query)
    return await reads.readSummaries(query)
  })
  /** Commits points of markets, and waits until their followers may be sent them. */
  const change = async (height: number, changed: string[]) => {
    await live.commit(height, points(height, changed))
    await sleep(1_000)
  }
  return { markets, asked, faults, gates, feed, change }
}

test('a stream of market summaries is refused if it cannot be followed, and counted', async (t) => {
  const [kind] = STORE_KINDS as [StoreKind]
  const { store, live } = await createLiveStore(t, kind)
  const base = await serve(t, store, { inThreads: true })
  assert.equal(await statusOf(base, STREAM), 503)
  await live.commit(1, [pointAt(1)])
  const head = await send(base, STREAM, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/event-stream', ''])
  const listener = await listen(base, STREAM)
  assert.deepEqual(stateOf(listener), await pagedState(base))
  assertSays(await metricsOf(base), 'lyra_streams{resource="marketSummaries"} 1')
})

/** A follower that keeps the pieces it is sent. */
type Receiver = Follower & { pieces: Buffer[] }

function createReceiver(): Receiver {
  const pieces: Buffer[] = []
  return {
    pieces,
    send: (bytes) => void pieces.push(bytes),
    isSilent: false,
    drained: async () => {},
    isClosed: false,
  }
}

const textOf = ({ pieces }: Receiver) => `\n${Buffer.concat(pieces)}`

function stateOfText(text: string): Record<string, Summary> {
  const events = [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => ({ data }) as ServerEvent)
  return stateOf({ events })
}
