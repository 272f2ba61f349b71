import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marketSummaries } from '#core/resources/market-summaries'
import { readIntervals } from '#core/store/queries/auction-intervals'
import { readNamedSeqs } from '#core/store/queries/periods/named-seqs'
import { MarketSummaries } from '#core/store/queries/summaries/market-summaries'
import { idOf } from '../../fixtures/events/event-stream.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  timeOf,
} from '../../fixtures/stores/live-store.ts'
import { describeOn, openReader, STORE_KINDS } from '../../fixtures/stores/stores.ts'

describeOn(STORE_KINDS, 'queries', (kind) => {
  test('name the first and the last period of a market that any row names, stored or not', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const reader = await openReader(t, store)
    const named = () => reader.read(() => readNamedSeqs(LIVE_MARKET))
    const pointOf = (seq: bigint) => ({ ...pointAt(Number(seq)), seq })
    await live.commit(1, [])
    assert.equal(await named(), null)
    await live.commit(2, [pointOf(3n), pointOf(5n), pointOf(7n)])
    assert.deepEqual(await named(), { first: 3n, last: 7n, isLastStored: false })
    await live.commit(3, [periodEvent({ seq: 7n })])
    assert.deepEqual(await named(), { first: 3n, last: 7n, isLastStored: true })
    await live.commit(4, [periodEvent({ seq: 2n })])
    assert.deepEqual(await named(), { first: 2n, last: 7n, isLastStored: true })
  })

  test('give of two auctions that begin at the same time the later one', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const reader = await openReader(t, store)
    const event = (leave: boolean, second: number) => ({
      kind: 'auction' as const,
      marketId: LIVE_MARKET,
      openingAuction: false,
      leave,
      start: leave ? 0n : timeOf(second),
      end: leave ? timeOf(second) : 0n,
    })
    await live.commit(1, [event(false, 10), event(true, 12)])
    await live.commit(2, [event(false, 10), event(true, 15), event(false, 20)])
    const intervals = await reader.read(() => readIntervals(LIVE_MARKET))
    assert.deepEqual(
      intervals.map((interval) => [interval.start_timestamp, interval.end_timestamp]),
      [
        [timeOf(10), timeOf(15)],
        [timeOf(20), null],
      ],
    )
  })

  test('give the summaries of a page in descending order that nobody has read before', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const markets = ['1', '2', '3'].map(idOf)
    await live.commit(
      1,
      markets.flatMap((marketId) => [perpetualMarket(marketId), periodEvent({ marketId })]),
    )
    const reader = await openReader(t, store)
    const pageOf = (descending: boolean) => {
      const query = {
        resource: marketSummaries,
        selection: {},
        descending,
        cursor: null,
        limit: 10,
      }
      return reader.read(() => new MarketSummaries().read(query))
    }
    const [ascending, descending] = [await pageOf(false), await pageOf(true)]
    assert.deepEqual(descending.rows, ascending.rows.toReversed())
    assert.deepEqual(
      ascending.rows.map(([marketId]) => marketId),
      markets,
    )
  })

  test('give no changes of summaries from a replica that lags behind the last answer', async (t) => {
    const [newer, older] = [await createLiveStore(t, kind), await createLiveStore(t, kind)]
    await newer.live.commit(1, [perpetualMarket(LIVE_MARKET)])
    await newer.live.commit(2, [])
    await older.live.commit(1, [perpetualMarket(LIVE_MARKET)])
    const summaries = new MarketSummaries()
    const [newerReader, olderReader] = [await openReader(t, newer.store), await openReader(t, older.store)]
    const first = await newerReader.read(() => summaries.changed(null))
    assert.deepEqual([first?.rows.length, first?.height], [1, 2n])
    assert.equal(await olderReader.read(() => summaries.changed(first!.name)), null)
    await older.live.commit(2, [])
    assert.deepEqual((await olderReader.read(() => summaries.changed(first!.name)))?.rows, [])
  })
})
