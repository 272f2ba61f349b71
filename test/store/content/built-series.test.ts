import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { withOpen } from '#core/concurrency/with-open'
import { baseAt } from '#core/domain/series-levels'
import { buildToLastPoint } from '#core/store/charts/build-series'
import { pruneStore } from '#core/store/pruning/prune-store'
import { readBuiltSeries } from '#core/store/queries/series/built-series'
import type { Mutation } from '#core/store/queries-protocol'
import type { Upkeep } from '#core/store/store'
import { idOf } from '../../fixtures/events/event-stream.ts'
import { getJson } from '../../fixtures/requests/http.ts'
import { pruneBefore, serve, storeOf } from '../../fixtures/services/service.ts'
import { SAMPLE } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { dumpStore } from '../../fixtures/stores/dump-store.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  type LiveStore,
  periodEvent,
  timeOf,
} from '../../fixtures/stores/live-store.ts'
import { describeOn, openStore, readFrom, STORE_KINDS } from '../../fixtures/stores/stores.ts'

/*
 * When series are built: whichever buckets are built or stale, answers are those that follow from the points
 * (dumpStore compares the buckets with the points, series.test.ts the answers).
 */

const RUN = { market: 1n, source: 1n }

const point = (time: number, fields: { marketId?: string; seq?: bigint; price?: number } = {}) => ({
  kind: 'funding-period-data-point' as const,
  source: 1 as const,
  timestamp: timeOf(time),
  marketId: LIVE_MARKET,
  seq: 1n,
  ...fields,
  price: String(fields.price ?? time + 1_000),
  twap: String(time + 2_000),
})

/** Commits a point for each second of some, 5,000 a block. */
async function commitSeconds(live: LiveStore, from: number, to: number): Promise<void> {
  for (let second = from; second < to; second += 5_000) {
    const count = Math.min(5_000, to - second)
    await live.commit(
      live.height + 1,
      Array.from({ length: count }, (_, index) => point(second + index)),
      second + count,
    )
  }
}

const builtSeriesOf = (store: string) => readFrom(store, () => readBuiltSeries(RUN))

describeOn(STORE_KINDS, 'the series of a store', (kind) => {
  test('are built while points come, and to the end with the input', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    for (let second = 0; second < 18_000; second += 6_000) {
      await commitSeconds(live, second, second + 6_000)
      const { to, stale } = await builtSeriesOf(store)
      assert.ok(to > baseAt(timeOf(second + 6_000 - 4_500)), `${second}: built to ${to}`)
      assert.deepEqual(stale, [])
    }
    // A second of the past, in two blocks: too little to be built at once.
    for (const price of [1, 2]) await live.commit(live.height + 1, [point(9_000, { price })], 18_000 + price)
    assert.deepEqual((await builtSeriesOf(store)).stale, [
      { from: baseAt(timeOf(9_000)), to: baseAt(timeOf(9_000)) + 1n },
    ])
    await live.buildSeries()
    assert.deepEqual((await builtSeriesOf(store)).stale, [])
    await dumpStore(store)
    const ingested = await storeOf(t, kind, SAMPLE)
    const { to } = await builtSeriesOf(ingested)
    assert.ok(to > 56_550_000n)
  })

  test('have no more than 20,000 points of a series beside them before a block comes, wherever these are', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await commitSeconds(live, 60_000, 65_000)
    await live.buildSeries()
    // Newest first, and then all over the past.
    for (let second = 55_000; second >= 40_000; second -= 5_000)
      await commitSeconds(live, second, second + 5_000)
    for (let at = 0; at < 12; at++) {
      const late = Array.from({ length: 10 }, (_, index) =>
        point(40_000 + ((at * 7_919 + index * 2_421) % 25_000)),
      )
      await live.commit(live.height + 1, late)
      const { stale } = await builtSeriesOf(store)
      assert.ok(stale.length <= 20, `${stale.length} ranges`)
      assert.ok(stale.reduce((sum, { from, to }) => sum + Number(to - from) * 30, 0) <= 20_000)
    }
    await dumpStore(store)
  })

  test('are right when a late point makes another one of its time count no longer', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [point(50, { seq: 3n }), point(5_010, { seq: 2n })])
    await commitSeconds(live, 10_000, 10_010)
    await live.buildSeries()
    await live.commit(live.height + 1, [point(50, { seq: 2n })])
    await dumpStore(store)
    await live.buildSeries()
    await dumpStore(store)
  })

  test('are right when points are pruned while others are written and built', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await commitSeconds(live, 10_000, 20_000)
    let isPruning = true
    const pruning = pruneBefore(store, timeOf(18_000), 'time').finally(() => {
      isPruning = false
    })
    for (let second = 20_000; isPruning; second += 500) {
      await commitSeconds(live, second, second + 500)
      await live.commit(live.height + 1, [point(5_000 + (second % 9_000)), point(second - 700)], second)
      if (second % 1_000 === 0) await live.buildSeries()
      await sleep(1)
    }
    assert.equal((await pruning).fundingPeriodDataPoints! >= 8_000, true)
    await dumpStore(store)
    await assertSound(store)
    await live.buildSeries()
    await dumpStore(store)
  })

  test('are right when a point comes and is built while a prune has read what goes', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await commitSeconds(live, 10_000, 12_000)
    await live.buildSeries()
    const opened = openStore(store)
    let late = 9_500
    const openUpkeep = async () => {
      const upkeep = await opened.openUpkeep()
      const write: Upkeep['write'] = async (steps) => {
        await live.commit(live.height + 1, [point(late)], 12_000)
        await live.buildSeries()
        late -= 300
        return upkeep.write(steps)
      }
      const read: Upkeep['read'] = (statement) => upkeep.read(statement)
      return { read, write, close: () => upkeep.close() }
    }
    await pruneStore({ ...opened, openUpkeep }, { by: 'time', before: timeOf(11_900) })
    assert.ok(late <= 8_900)
    await assertSound(store)
    await dumpStore(store)
    await live.buildSeries()
    await dumpStore(store)
  })

  test('are left as they were by a fault at any step of building them', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await commitSeconds(live, 5_000, 10_000)
    await live.buildSeries()
    await commitSeconds(live, 10_000, 10_500)
    await live.commit(live.height + 1, [point(5_100, { price: 5 }), point(8_000, { price: 5 })])
    const before = await builtSeriesOf(store)
    assert.equal(before.stale.length, 2)
    let steps = 0
    const every = kind.name === 'sqlite' ? 1 : 5
    for (let isDone = false; !isDone; steps += every) {
      await withOpen(openStore(store).openUpkeep(), async (upkeep) => {
        const failing = upkeep.write(() => failingAfter(steps, buildToLastPoint(RUN)))
        isDone = await failing.then(
          () => true,
          (error: Error) => {
            assert.match(error.message, /^a fault on purpose$/)
            return false
          },
        )
      })
      if (isDone) break
      assert.deepEqual(await builtSeriesOf(store), before)
      await dumpStore(store)
    }
    assert.ok(steps > 20, `${steps} steps`)
    assert.deepEqual((await builtSeriesOf(store)).stale, [])
    await dumpStore(store)
  })

  test('are not stale when thousands of markets begin a period in one block', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const markets = Array.from({ length: kind.name === 'sqlite' ? 5_000 : 500 }, (_, index) =>
      idOf(`${index}`),
    )
    const all = (seq: bigint, time: number) => markets.map((marketId) => point(time, { marketId, seq }))
    const periods = (seq: bigint, start: number) =>
      markets.map((marketId) => periodEvent({ marketId, seq, start: timeOf(start) }))
    await live.commit(1, [...periods(1n, 0), ...all(1n, 0)])
    for (const [height, time] of [40, 80, 120].entries()) await live.commit(height + 2, all(1n, time), time)
    await live.buildSeries()
    // The last point of each is carried over.
    await live.commit(5, [...periods(2n, 200), ...all(2n, 120)], 200)
    const base = await serve(t, store)
    const [first] = markets
    const { series } = await getJson<{
      series: { sources: { buckets: { seq: string; count: string }[] }[] }
    }>(base, `/api/v2/series/funding-period-data-points/${first}?interval=1m`)
    assert.deepEqual(
      series.sources[0]!.buckets.map(({ seq, count }) => [seq, count]),
      [
        ['1', '1'],
        ['1', '2'],
        ['1', '1'],
      ],
    )
    for (let market = 1n; market <= BigInt(markets.length); market += 997n) {
      const { stale } = await readFrom(store, () => readBuiltSeries({ market, source: 1n }))
      assert.deepEqual(stale, [])
    }
    await live.buildSeries()
    await dumpStore(store)
  })
})

/** A mutation that ends with an error after so many. */
function* failingAfter(count: number, steps: Mutation<unknown>): Mutation<number> {
  let step = steps.next()
  for (let at = 0; !step.done; at++) {
    if (at === count) throw new Error('a fault on purpose')
    step = steps.next(yield step.value)
  }
  return 0
}
