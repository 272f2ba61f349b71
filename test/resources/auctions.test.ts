import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import type { MarketEvent } from '#core/events/event'
import { TRADING_IS_OVER } from '#core/events/market-enums'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { auctions } from '#core/resources/auctions/description'
import { decodeEvent } from '#core/resources/projections'
import { createLyraClient } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  beginOf,
  checkpoint,
  content,
  fileOf,
  perpetual,
  readRecording,
  recordsOf,
} from '../fixtures/events/event-stream.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, getPage, type Params, query, send, statusOf } from '../fixtures/requests/http.ts'
import { runWell } from '../fixtures/services/program.ts'
import { ingest, serve, serveFile, storeOfBytes } from '../fixtures/services/service.ts'
import { recordingPath } from '../fixtures/shared.ts'
import { checkWithFiles } from '../fixtures/stores/check.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import { StreamFollower } from '../fixtures/stores/follow-store.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  openLiveStore,
  periodEvent,
  perpetualMarket,
  pointAt,
  serveLive,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { describeOn, fileWith, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'

const SECOND = 1_000_000_000n

type Interval = { start: string; end?: string }
type Listed = Interval & { marketId: string; openingAuction: boolean }
type Auctions = { marketId: string; completeFrom: string; intervals: Interval[] }

async function auctionsOf(base: string, marketId: string, query = ''): Promise<Auctions> {
  return (await getJson<{ auctions: Auctions }>(base, `/api/v2/auctions/${marketId}?${query}`)).auctions
}

/** The auctions in the list, of one market or of all, oldest first. */
async function listedBy(base: string, params: Params): Promise<Listed[]> {
  const { edges } = await getPage(base, '/api/v2/auctions', [
    ...(params as [string, string][]),
    ['pagination.newestFirst', 'false'],
    ['pagination.first', '5000'],
  ])
  return edges.map(({ node }) => node as unknown as Listed)
}

/** The auctions of a market, of which the list and the market's own answer say the same. */
async function intervalsOf(base: string, marketId: string, params: Params = []): Promise<Interval[]> {
  const { intervals } = await auctionsOf(base, marketId, query(params).slice(1))
  const listed = await listedBy(base, [['marketId', marketId], ...(params as [string, string][])])
  assert.deepEqual(
    listed.map(({ marketId: _, openingAuction: __, ...interval }) => interval),
    intervals,
  )
  return intervals
}

/**
 * The auctions of a recording, by block times: events need not contain times. Those of the second kind begin with an opening
 * auction.
 */
function auctionsByBlocks(path: string): Map<string, Interval[]> & { opening: Set<Interval> } {
  const envelope = createEnvelope()
  const opening = new Set<Interval>()
  const found = Object.assign(new Map<string, Interval[]>(), { opening })
  let second = 0n
  for (const record of recordsOf(readRecording(path))) {
    if (record.kind === EVENT_KIND.beginBlock)
      second = beginOf(record).timestamp - (beginOf(record).timestamp % SECOND)
    readEnvelope(record.bytes, RECORD_HEADER_BYTES, record.bytes.length, envelope)
    const event = decodeEvent(envelope, () => {}) as MarketEvent | null
    if (event?.kind === 'market' && TRADING_IS_OVER.includes(event.state)) {
      const intervals = found.get(event.marketId) ?? []
      const last = intervals.at(-1)
      if (last?.start === second.toString()) intervals.pop()
      else if (last !== undefined) last.end ??= second.toString()
    }
    if (event?.kind !== 'auction') continue
    const intervals = found.get(event.marketId) ?? []
    found.set(event.marketId, intervals)
    const last = intervals.at(-1)
    const isOpen = last !== undefined && last.end === undefined
    if (!event.leave && isOpen) continue
    if (!event.leave && last?.end === second.toString()) delete last.end
    // An opening auction starts before its event.
    else if (!event.leave) {
      const start = event.openingAuction ? event.start - (event.start % SECOND) : second
      const interval = { start: start.toString() }
      intervals.push(interval)
      if (event.openingAuction) opening.add(interval)
    } else if (isOpen && last.start === second.toString()) intervals.pop()
    else if (isOpen) last.end = second.toString()
  }
  return found
}

const auction = (height: number, leave: boolean, start = timeOf(height)): MarketEvent => ({
  kind: 'auction',
  marketId: LIVE_MARKET,
  openingAuction: false,
  leave,
  start: leave ? 0n : start,
  end: leave ? timeOf(height) : timeOf(height + 60),
})

const at = (height: number) => timeOf(height).toString()

describeOn(STORE_KINDS, 'the auctions of a market', (kind) => {
  for (const name of ['smoke', 'perps-long', 'twap-auction', 'perps-long-named']) {
    test(`are those of ${name}, in full and by range`, async (t) => {
      const path = recordingPath(`${name}.evts.gz`)
      if (path === null) return t.skip('the recording is missing')
      const expected = auctionsByBlocks(path)
      assert.ok(expected.size > 0)
      const base = await serveFile(kind, path)
      const random = createRandom(name.length)
      for (const [marketId, intervals] of expected) {
        assert.deepEqual(await auctionsOf(base, marketId), { marketId, completeFrom: '0', intervals })
        const times = intervals.flatMap(({ start, end }) => [start, end ?? start].map(BigInt))
        const near = () => times[random.integer(times.length)]! + BigInt(random.integer(5) - 2)
        for (let turn = 0; turn < 20; turn++) {
          const [from, to] = [near(), near()]
          const overlapping = intervals.filter(
            ({ start, end }) => from < to && BigInt(start) < to && (end === undefined || BigInt(end) > from),
          )
          const query = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
          assert.deepEqual((await auctionsOf(base, marketId, query)).intervals, overlapping, query)
          const range: [string, string][] = [
            ['dateRange.startTimestamp', String(from)],
            ['dateRange.endTimestamp', String(to)],
          ]
          assert.deepEqual(await intervalsOf(base, marketId, range), overlapping, query)
        }
      }
      const listed = [...expected].flatMap(([marketId, intervals]) =>
        intervals.map((one) => ({ marketId, ...one, openingAuction: expected.opening.has(one) })),
      )
      assert.deepEqual(
        await listedBy(base, []),
        listed.sort((a, b) => (a.marketId < b.marketId ? -1 : a.marketId > b.marketId ? 1 : 0)),
      )
    })
  }

  test('are merged if adjacent, omitted if of zero length, and have no end while in progress', async (t) => {
    const { live, base } = await serveLive(t, kind, [pointAt(1), auction(1, false)])
    const intervals = () => intervalsOf(base, LIVE_MARKET.toUpperCase())
    assert.deepEqual(await intervals(), [{ start: at(1) }])
    // An extension has its own start, which is ignored.
    await live.commit(5, [auction(5, false, timeOf(4))])
    await live.commit(9, [auction(9, true)])
    assert.deepEqual(await intervals(), [{ start: at(1), end: at(9) }])
    await live.commit(20, [auction(20, false), auction(20, true)])
    assert.deepEqual(await intervals(), [{ start: at(1), end: at(9) }])
    await live.commit(30, [auction(30, false)])
    await live.commit(40, [auction(40, true), auction(40, false)])
    await live.commit(50, [auction(50, true), auction(50, true)])
    assert.deepEqual(await intervals(), [
      { start: at(1), end: at(9) },
      { start: at(30), end: at(50) },
    ])
    // Late blocks count at their own height.
    await live.commit(8, [auction(8, true)])
    await live.commit(12, [auction(12, false)])
    assert.deepEqual(await intervals(), [
      { start: at(1), end: at(8) },
      { start: at(12), end: at(20) },
      { start: at(30), end: at(50) },
    ])
  })

  test('end with their market in the first block whose state says so, in whatever order blocks arrive', async (t) => {
    const market = (state: number): MarketEvent => ({ ...perpetualMarket(LIVE_MARKET), state }) as MarketEvent
    const blocks: [height: number, events: MarketEvent[]][] = [
      [10, [auction(10, false)]],
      // A suspension, an end of trading, and then further states.
      [15, [market(6)]],
      [20, [market(8)]],
      [21, [market(7)]],
      [30, [market(9)]],
    ]
    for (const order of [blocks, blocks.toReversed()]) {
      const { live, base } = await serveLive(t, kind, [pointAt(1)])
      for (const [height, events] of order) await live.commit(height, events)
      const ended = [{ start: at(10), end: at(20) }]
      assert.deepEqual(await intervalsOf(base, LIVE_MARKET), ended)
      assert.deepEqual((await auctionsOf(base, OTHER_MARKET)).intervals, [])
    }
    const { live, base } = await serveLive(t, kind, [pointAt(1), market(7)])
    await live.commit(2, [market(9)])
    assert.deepEqual((await auctionsOf(base, LIVE_MARKET)).intervals, [])
  })

  test('of a market whose end an older version stored end with its last period, or by its latest data', async (t) => {
    const { store, live, base } = await serveLive(t, kind, [
      pointAt(1),
      auction(1, false),
      periodEvent({ start: timeOf(1) }),
    ])
    const ended = perpetualMarket(LIVE_MARKET) as MarketEvent & { kind: 'market' }
    const intervals = async () => (await auctionsOf(base, LIVE_MARKET)).intervals
    await live.commit(20, [periodEvent({ start: timeOf(1), end: timeOf(20) }), { ...ended, state: 8 }])
    await live.commit(21, [{ ...ended, state: 9 }])
    await runSql(store, 'delete from auctions where leave')
    assert.deepEqual(await intervals(), [{ start: at(1), end: at(20) }])
    await runSql(store, 'delete from funding_periods')
    assert.deepEqual(await intervals(), [{ start: at(1) }])
    await runSql(
      store,
      `insert into market_data select market_id, ${at(22)}, '1', '1', 9, 5, null, null, null, null, 1, 22, 2, 1 from instruments`,
    )
    assert.deepEqual(await intervals(), [{ start: at(1), end: at(22) }])
    await runSql(store, 'update instruments set state = 5')
    assert.deepEqual(await intervals(), [{ start: at(1) }])
  })

  test('are listed and streamed with each change, in whatever order blocks arrive', async (t) => {
    for (let seed = 1; seed <= 12; seed++) {
      const random = createRandom(seed)
      const heights = Array.from({ length: 16 }, (_, at) => at + 2).sort(() => random.integer(3) - 1)
      const { store, live, base } = await serveLive(t, kind, [pointAt(1)])
      const followers = [{}, { marketId: LIVE_MARKET }].map(
        (selection) => new StreamFollower(store, auctions, selection),
      )
      for (const height of heights) {
        const events = Array.from({ length: random.integer(3) }, () =>
          auction(height, random.integer(2) === 1),
        )
        await live.commit(height, events)
        for (const follower of followers) await follower.look()
      }
      await intervalsOf(base, LIVE_MARKET)
      for (const follower of followers) assert.deepEqual(await follower.missing(), [], `seed ${seed}`)
    }
  })

  test('are sent to followers when they begin, when they end, and when another one continues them', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const follower = new StreamFollower(store, auctions, {})
    for (const events of [
      [auction(1, false)],
      [],
      [auction(3, true), auction(3, false)],
      [auction(4, true)],
    ]) {
      await live.commit(live.height + 1, events)
      await follower.look()
    }
    const of = { marketId: LIVE_MARKET, start: at(1) }
    assert.deepEqual(
      [...follower.sent].map(([row, times]) => [JSON.parse(row), times]),
      [
        [{ ...of, openingAuction: false }, 2],
        [{ ...of, end: at(4), openingAuction: false }, 1],
      ],
    )
  })

  test('of a block that was incomplete are those of the complete one', async (t) => {
    const store = kind.create(t)
    const marketId = 'a'.repeat(64)
    const enter = content(EVENT_KIND.auction, { 1: marketId, 4: 5n * SECOND, 5: 9n * SECOND })
    const leave = content(EVENT_KIND.auction, { 1: marketId, 3: 1, 5: 7n * SECOND })
    const blocks = [
      { height: 5, events: [enter] },
      { height: 7, events: [checkpoint(), leave] },
      { height: 9 },
    ]
    await ingest(store, fileOf(blocks[0]!, { ...blocks[1]!, without: [3] }, blocks[2]!), {
      allowGap: true,
    })
    const base = await serve(t, store)
    const [start, end] = [5n * SECOND, 7n * SECOND].map(String) as [string, string]
    assert.deepEqual(await intervalsOf(base, marketId), [{ start }])
    await ingest(store, fileOf(...blocks))
    assert.deepEqual(await intervalsOf(base, marketId), [{ start, end }])
    assert.deepEqual((await checkWithFiles(store, fileWith(t, fileOf(...blocks)))).told, [])
  })

  test('of a store of an earlier version are computed by the upgrade', async (t) => {
    const store = await restoreOldStore(t, kind)
    await runWell(t, `migrate --store ${store}`)
    const base = await serve(t, store)
    const all = await listedBy(base, [])
    assert.ok(all.length > 0)
    for (const marketId of new Set(all.map((one) => one.marketId))) await intervalsOf(base, marketId)
    const { since, auction_intervals: rows } = await dumpStore(store)
    assert.equal(rows!.length, all.length)
    assert.ok(!since!.some((row) => row.includes('auctions')))
  })

  test('that end with their market are not missing in a store that an older version began', async (t) => {
    const events = fileOf({ height: 5, events: [perpetual({ state: 9 })] }, { height: 6 })
    const store = await storeOfBytes(t, kind, events)
    await runSql(store, 'delete from auctions')
    const { told } = await checkWithFiles(store, fileWith(t, events))
    assert.deepEqual(
      told.map(({ where }) => where.split(' ')[0]),
      ['auctions'],
    )
    await runSql(store, `insert into since values ('fundingPayments', 6, null)`)
    assert.deepEqual((await checkWithFiles(store, fileWith(t, events))).told, [])
  })

  test('of too many events are cut off before a time that the answer reports', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const blocks = Array.from({ length: 20_003 }, (_, index) => ({
      height: index + 1,
      events: [auction(index + 1, index % 2 === 1)],
    }))
    await live.commitAll(blocks)
    const base = await serve(t, store)
    const { completeFrom, intervals } = await auctionsOf(base, LIVE_MARKET)
    assert.equal(completeFrom, at(4))
    assert.deepEqual(intervals[0], { start: at(5), end: at(6) })
    assert.deepEqual(intervals.at(-1), { start: at(20_003) })
    assert.equal(intervals.length, 10_000)
  })

  test('are an empty list for a market without any, and a date is answered with its time', async (t) => {
    const store = kind.create(t)
    const base = await serve(t, store)
    assert.equal(await statusOf(base, `/api/v2/auctions/${LIVE_MARKET}`), 503)
    const live = await openLiveStore(t, store)
    await live.commit(1, [pointAt(1), auction(1, false)])
    assert.deepEqual(await auctionsOf(base, OTHER_MARKET), {
      marketId: OTHER_MARKET,
      completeFrom: '0',
      intervals: [],
    })
    const { status, text } = await send(
      base,
      `/api/v2/auctions/${LIVE_MARKET}?date_range.start_timestamp=2023-01-01`,
    )
    assert.equal(status, 400)
    assertSays(text, '1672531200000000000')
    const client = createLyraClient({ url: base })
    const from = new Date(Number(timeOf(1) / 1_000_000n) + 60_000)
    assert.deepEqual((await client.marketAuctions(LIVE_MARKET, { from })).intervals, [{ start: at(1) }])
    assert.deepEqual((await client.marketAuctions(LIVE_MARKET, { to: timeOf(1) })).intervals, [])
  })
})
