import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { StoreUnavailableError } from '#core/store/errors'
import { type Follower, MAX_PIECE_BYTES } from '#service/streams/follower'
import { longReadsOf } from '#service/streams/long-reads/long-reads'
import { SummaryFeed } from '#service/streams/summary-feed'
import type { ServerEvent } from '../../client/src/event-stream.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { idOf } from '../fixtures/events/event-stream.ts'
import { createRandom } from '../fixtures/random.ts'
import { getPage, metricsOf, send, statusOf } from '../fixtures/requests/http.ts'
import { type Listener, listen } from '../fixtures/requests/listen.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { serve } from '../fixtures/services/service.ts'
import {
  createActivity,
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  serveLive,
} from '../fixtures/stores/live-store.ts'
import { describeOn, openReader, STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const STREAM = '/api/v2/stream/market-summaries'
const LIST = '/api/v2/market-summaries'

type Summary = Record<string, unknown> & { marketId: string }

const changesOf = ({ events }: Pick<Listener, 'events'>) =>
  events.filter(({ event }) => event !== 'complete').map(({ data }) => JSON.parse(data) as Summary)

const isComplete = ({ events }: Pick<Listener, 'events'>) => events.some(({ event }) => event === 'complete')

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
    const listener = await listen(base, STREAM)
    await until(() => isComplete(listener), 'the state')
    assert.deepEqual(stateOf(listener), await pagedState(base))
    assert.deepEqual(
      listener.events.map(({ event, data, id }) => [event, event === 'complete' ? data : '', id]),
      [
        ['marketSummaries', '', ''],
        ['complete', '{}', ''],
      ],
    )

    await live.commit(2, [pointAt(2)])
    await until(() => listener.events.length === 3, 'the changed part')
    assert.deepEqual(Object.keys(changesOf(listener)[1]!), ['marketId', 'lastInternalPoint'])
    await live.commit(3, [pointAt(3, { marketId: OTHER_MARKET }), periodEvent({ marketId: OTHER_MARKET })])
    await untilEqual(listener, base, 'the other market')
    // A period that ends: one part becomes null, another one is there.
    await live.commit(4, [
      periodEvent({ marketId: OTHER_MARKET, end: 5n, fundingPayment: '1', fundingRate: '0.1' }),
    ])
    await untilEqual(listener, base, 'the ended period')
    const { runningPeriod, lastPaidPeriod } = changesOf(listener).at(-1) as Record<string, unknown>
    assert.equal(runningPeriod, null)
    assert.notEqual(lastPaidPeriod, null)
    assert.ok(listener.events.every(({ id }) => id === ''))
  })

  test('takes no parameters, and ignores the id of a client that returns', async (t) => {
    const { base } = await serveLive(t, kind, [pointAt(1)])
    for (const parameter of [
      'every=1',
      `marketId=${LIVE_MARKET}`,
      'lastEventId=',
      'after=x',
      'afterBlock=1',
    ]) {
      const { status, text } = await send(base, `${STREAM}?${parameter}`)
      assert.equal(status, 400, parameter)
      assertSays(text, parameter.split('=')[0]!)
    }
    const listener = await listen(base, STREAM, 's6a_p4-1f-2kq0w8z1x')
    await until(() => isComplete(listener), 'the state')
    assert.deepEqual(stateOf(listener), await pagedState(base))
  })

  test('leads to the state of the page, wherever it is cut and whatever comes in between', async (t) => {
    const { live, base } = await serveLive(t, kind, [perpetualMarket(LIVE_MARKET), pointAt(1)])
    const activity = createActivity(live, 11)
    const random = createRandom(12)
    const stays = await listen(base, STREAM)
    const had: ServerEvent[] = []
    let listener = await listen(base, STREAM)
    for (let cut = 0; cut < runsOf('store'); cut++) {
      for (let blocks = random.integer(8); blocks > 0; blocks--) await activity.step()
      await sleep(random.integer(1_500))
      listener.cut()
      await listener.ended
      had.push(...listener.events)
      if (random.integer(2) === 0) await activity.step()
      listener = await listen(base, STREAM)
    }
    await activity.step()
    await untilEqual(stays, base, 'the state of one that stays')
    const paged = await pagedState(base)
    const received = () => stateOf({ events: [...had, ...listener.events] })
    await until(() => isDeepStrictEqual(received(), paged), 'the state of one that was cut')
  })

  test('reads the store once for all followers, and sends all the same bytes', async (t) => {
    const { markets, feed, change, reads } = await openFeed(t, kind, 600)
    const followers = Array.from({ length: 20 }, createReceiver)
    await Promise.all(followers.map((receiver) => feed.join(receiver)))
    assert.equal(reads.length, 1)
    const [first] = followers
    assert.ok(first!.pieces.length > 1 && first!.pieces.every(({ length }) => length < 2 * MAX_PIECE_BYTES))
    const areShared = () =>
      followers.every(({ pieces }) => pieces.every((piece, index) => piece === first!.pieces[index]))
    assert.ok(areShared())
    assert.equal(first!.sharers, 20)

    for (const receiver of followers) receiver.pieces.length = 0
    await change(2, markets.slice(0, 500))
    await feed.update()
    assert.equal(reads.length, 2)
    assert.ok(areShared())
    assert.equal(textOf(first!).split('\nevent: ').length - 1, 500)
    // A later one has the whole state at once, as it is now.
    const late = createReceiver()
    await feed.join(late)
    assert.equal(reads.length, 2)
    assert.deepEqual(Object.keys(stateOfText(textOf(late))).length, 600)
    // Without followers nothing is read.
    for (const receiver of [...followers, late]) feed.leave(receiver)
    await feed.update()
    assert.equal(reads.length, 2)
  })

  test('reads again for one that comes after nobody followed', async (t) => {
    const { markets, feed, change } = await openFeed(t, kind, 2)
    const [gone, back] = [createReceiver(), createReceiver()]
    await feed.join(gone)
    feed.leave(gone)
    await change(2, markets.slice(0, 1))
    await feed.join(back)
    assertSays(textOf(back), '"price":"1000002"')
  })

  test('has one that joins while others are sent changes end up with the same', async (t) => {
    const { markets, feed, change } = await openFeed(t, kind, 300)
    const [steady, late] = [createReceiver(), createReceiver()]
    await feed.join(steady)
    const gate = Promise.withResolvers<void>()
    late.drained = () => gate.promise
    const joined = feed.join(late)
    for (let height = 2; height <= 3; height++) {
      await change(height, markets.slice(100 * height - 100, 100 * height - 95))
      await feed.update()
    }
    gate.resolve()
    await joined
    await change(4, markets.slice(0, 1))
    await feed.update()
    const [ofSteady, ofLate] = [steady, late].map((receiver) => stateOfText(textOf(receiver)))
    assert.deepEqual(ofLate, ofSteady)
    assert.equal(Object.keys(ofLate!).length, 300)
    assert.equal(textOf(late).split('event: complete\n').length, 2)
  })

  test('sends changes at most once in its pace, and the first one at once', async (t) => {
    const { markets, feed, change } = await openFeed(t, kind, 1, 1_000)
    const receiver = createReceiver()
    await feed.join(receiver)
    const sentAt: number[] = []
    receiver.send = () => void sentAt.push(performance.now())
    const startedAt = performance.now()
    for (let height = 2; height < 5; height++) {
      await change(height, markets)
      await feed.update()
    }
    const [first, ...later] = sentAt
    assert.ok(first! - startedAt < 900, `${first! - startedAt} ms`)
    assert.equal(later.length, 2)
    for (const [index, at] of later.entries()) assert.ok(at - sentAt[index]! >= 995)
  })

  test('continues when its store cannot be read for a while, or an answer is lost', async (t) => {
    const { markets, feed, change, faults, lost } = await openFeed(t, kind, 3)
    const receiver = createReceiver()
    await feed.join(receiver)
    await change(2, markets.slice(0, 1))
    faults.push(new StoreUnavailableError('it is unreachable'))
    await assert.rejects(feed.update(), StoreUnavailableError)
    await feed.update()
    assertSays(textOf(receiver), '"price":"1000002"')
    await change(3, markets.slice(1, 2))
    lost.push(new StoreUnavailableError('the thread ends'))
    await assert.rejects(feed.update(), StoreUnavailableError)
    receiver.pieces.length = 0
    await feed.update()
    assertSays(textOf(receiver), '"price":"1000003"')
    // Of all summaries, which it is given then, it sends those that differ.
    assert.equal(textOf(receiver).split('\nevent: ').length - 1, 1)
  })
})

/** The feed of a store of so many markets, what it has read, and faults of the next reads before and after they are done. */
async function openFeed(t: TestContext, kind: StoreKind, count: number, paceMs = 0) {
  const markets = Array.from({ length: count }, (_, index) => idOf(`${index}`))
  const { store, live } = await createLiveStore(t, kind)
  const points = (height: number, changed: string[]) =>
    changed.map((marketId) => pointAt(height, { marketId }))
  await live.commit(1, [...markets.map(perpetualMarket), ...points(1, markets)])
  const longReads = longReadsOf(await openReader(t, store), 1)
  const reads: (string | null)[] = []
  const faults: Error[] = []
  const lost: Error[] = []
  const feed = new SummaryFeed(async (known) => {
    const fault = faults.pop()
    if (fault !== undefined) throw fault
    const answer = await longReads.readSummaries(known)
    const isLost = lost.pop()
    if (isLost !== undefined) throw isLost
    reads.push(known)
    return answer
  }, paceMs)
  /** Commits points of markets. */
  const change = (height: number, changed: string[]) => live.commit(height, points(height, changed))
  return { markets, reads, faults, lost, feed, change }
}

describe('A feed of market summaries', () => {
  const row = (price: string) => [LIVE_MARKET, ...Array(9).fill(null).with(4, `"${price}"`)]

  test('waits for a replica that lags behind, as long as anyone follows', async () => {
    const answers = [null, { rows: [row('1')], height: 1n, name: 'a' }]
    const feed = new SummaryFeed(async () => answers.shift()!, 0)
    const receiver = createReceiver()
    await feed.join(receiver)
    assertSays(textOf(receiver), 'event: complete\ndata: {}\n\n')
    assert.deepEqual(answers, [])
  })

  test('says which height it has read, not which one it was to read', async () => {
    let height = 99n
    const feed = new SummaryFeed(async () => ({ rows: [], height, name: 'a' }), 0)
    await feed.join(createReceiver())
    assert.equal(await feed.update(), 99n)
    height = 100n
    assert.equal(await feed.update(), 100n)
  })

  test('tells a store without markets that it is complete, and sends silent followers a comment', async () => {
    const feed = new SummaryFeed(async () => ({ rows: [], height: 1n, name: 'a' }), 0)
    const [silent, other] = [createReceiver(), createReceiver()]
    await feed.join(silent)
    await feed.join(other)
    assert.equal(textOf(silent), '\nevent: complete\ndata: {}\n\n')
    feed.keepAlive([silent])
    assert.equal(textOf(silent), '\nevent: complete\ndata: {}\n\n: \n')
    assert.equal(textOf(other), '\nevent: complete\ndata: {}\n\n')
  })

  test('leaves out a follower that goes before it has the state', async () => {
    const gate = Promise.withResolvers<void>()
    const feed = new SummaryFeed(async () => {
      await gate.promise
      return { rows: [row('1')], height: 1n, name: 'a' }
    }, 0)
    const receiver = createReceiver()
    const joined = feed.join(receiver)
    Object.assign(receiver, { isClosed: true })
    gate.resolve()
    await joined
    assert.deepEqual(receiver.pieces, [])
    await feed.update()
    assert.deepEqual(receiver.pieces, [])
  })

  test('is not read on for a follower that leaves before there is anything to read', async () => {
    let reads = 0
    const feed = new SummaryFeed(async () => {
      reads++
      return null
    }, 0)
    const receiver = createReceiver()
    const joined = feed.join(receiver)
    Object.assign(receiver, { isClosed: true })
    feed.leave(receiver)
    await Promise.race([joined, sleep(1_500)])
    assert.equal(reads, 1)
    assert.deepEqual(receiver.pieces, [])
  })
})

test('a stream of market summaries is refused if it cannot be followed, and counted', async (t) => {
  const [kind] = STORE_KINDS as [StoreKind]
  const { store, live } = await createLiveStore(t, kind)
  const base = await serve(t, store, { inThreads: true })
  assert.equal(await statusOf(base, STREAM), 503)
  await live.commit(1, [pointAt(1)])
  const head = await send(base, STREAM, { method: 'HEAD' })
  assert.deepEqual([head.status, head.headers['content-type'], head.text], [200, 'text/event-stream', ''])
  const listener = await listen(base, STREAM)
  await until(() => isComplete(listener), 'the state')
  assert.deepEqual(stateOf(listener), await pagedState(base))
  assertSays(await metricsOf(base), 'lyra_streams{resource="marketSummaries"} 1')
})

/** A follower that keeps the pieces it is sent; `sharers` is of the last one. */
type Receiver = Follower & { pieces: Buffer[]; sharers: number }

function createReceiver(): Receiver {
  const pieces: Buffer[] = []
  const receiver: Receiver = {
    pieces,
    sharers: 0,
    send: (bytes, sharers) => {
      pieces.push(bytes)
      receiver.sharers = sharers
    },
    isSilent: false,
    drained: async () => {},
    isClosed: false,
  }
  return receiver
}

const textOf = ({ pieces }: Receiver) => `\n${Buffer.concat(pieces)}`

function stateOfText(text: string): Record<string, Summary> {
  const events = [...text.matchAll(/^event: (.*)\ndata: (.*)$/gm)].map(
    ([, event, data]) => ({ event, data }) as ServerEvent,
  )
  return stateOf({ events })
}
