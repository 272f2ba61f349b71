import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MarketEvent } from '#core/events/event'
import type { MarketSummary, PositionFunding } from '../../client/src/index.ts'
import { inUnits } from '../fixtures/events/made-rates.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson } from '../fixtures/requests/http.ts'
import { runsOf } from '../fixtures/sampling.ts'
import { serve } from '../fixtures/services/service.ts'
import { createLiveStore, LIVE_MARKET, periodEvent, pointAt, timeOf } from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

const HOUR = 3_600
const WINDOWS = { '24h': 24 * HOUR, '7d': 7 * 24 * HOUR, '30d': 30 * 24 * HOUR }

/** A block each day. */
const secondOf = (height: number) => 24 * HOUR * height

type Block = { height: number; events: MarketEvent[] }

const pointOf = (seq: number, height: number, source: 1 | 2): MarketEvent => ({
  ...pointAt(height, { source }),
  seq: BigInt(seq),
})

/** Market data that name a period, with or without an estimate; 0 is that of data of no period, null none at all. */
const dataOf = (seq: number | null, hasEstimate: boolean): MarketEvent => {
  const text = hasEstimate ? '1' : null
  return {
    kind: 'market-data',
    marketId: LIVE_MARKET,
    feeShares: [],
    slas: [],
    figures: {
      timestamp: 1n,
      markPrice: '1',
      openInterest: 0n,
      state: 5,
      tradingMode: 1,
      isMalformed: false,
      perpetual:
        seq === null
          ? null
          : {
              fundingPayment: text,
              fundingRate: text,
              internalTwap: text,
              externalTwap: text,
              seq: BigInt(seq),
              start: 0n,
            },
    },
  }
}

/** The blocks of a market whose periods last some blocks, and end at last. */
function blocksOf(random: ReturnType<typeof createRandom>, count: number): Block[] {
  let [seq, start] = [0, 0]
  const blocks: Block[] = []
  const endsAt = Math.floor(count * 0.8)
  for (let height = 1; height <= count; height++) {
    const events: MarketEvent[] = []
    const now = secondOf(height)
    const isOver = height > endsAt
    const open = () => {
      seq++
      start = now
      events.push(periodEvent({ seq: BigInt(seq), start: timeOf(now) }))
    }
    const close = () => {
      const rate = `${seq % 2 === 0 ? '-' : ''}0.000${seq}`
      const paid = start < now ? { fundingPayment: `${seq}`, fundingRate: rate } : {}
      events.push(periodEvent({ seq: BigInt(seq), start: timeOf(start), end: timeOf(now), ...paid }))
    }
    if (seq === 0) open()
    else if (!isOver && random.integer(8) === 0) {
      close()
      open()
      if (random.integer(4) === 0) {
        close()
        open()
      }
    }
    if (height === endsAt) close()
    if (!isOver && random.integer(2) === 0) events.push(pointOf(seq, height, random.integer(2) === 0 ? 1 : 2))
    if (!isOver && random.integer(2) === 0) events.push(dataOf(seq, random.integer(2) === 0))
    // Data of the same market without a product, as of a market that is suspended.
    else if (height % 5 === 0) events.push(dataOf(null, false))
    blocks.push({ height, events })
  }
  return blocks
}

/** A sum divided by a number of parts, rounded half away from zero. */
function roundedShare(sum: bigint, parts: bigint): bigint {
  const magnitude = ((sum < 0n ? -sum : sum) * 2n + parts) / (2n * parts)
  return sum < 0n ? -magnitude : magnitude
}

type Stored = { seq: number; start: bigint; startHeight: number; end: bigint | null; rate: string | null }

/** What API.md says of a market, calculated from the events of the blocks that are stored. */
function expectedOf(blocks: readonly Block[], from: bigint | null, to: bigint | null) {
  const ordered = blocks.toSorted((a, b) => a.height - b.height)
  const periods = new Map<number, Stored>()
  const named: number[] = []
  const namedByData: number[] = []
  for (const { height, events } of ordered) {
    for (const event of events) {
      if (event.kind === 'funding-period-data-point') named.push(Number(event.seq))
      if (event.kind === 'market-data') {
        const { perpetual } = event.figures!
        if (perpetual !== null) namedByData.push(Number(perpetual.seq))
      }
      if (event.kind !== 'funding-period') continue
      const seq = Number(event.seq)
      const before = periods.get(seq)
      periods.set(seq, {
        seq,
        start: before?.start ?? event.start,
        startHeight: before?.startHeight ?? height,
        end: event.end,
        rate: event.fundingRate,
      })
    }
  }
  if (namedByData.length > 0) named.push(Math.max(...namedByData))
  const all = [...periods.values()].sort((a, b) => a.seq - b.seq)
  const known = [...named, ...periods.keys()]
  const lastKnown = Math.max(...known)
  const latest = all.at(-1)
  const isLatest = latest !== undefined && lastKnown === latest.seq
  const top = ordered.at(-1)!.height
  const held = new Set(ordered.map(({ height }) => height))
  const isGapAfter = (height: number) =>
    Array.from({ length: top - height }, (_, index) => height + 1 + index).some((other) => !held.has(other))
  let chain = all.length - 1
  while (chain > 0 && all[chain - 1]!.seq === all[chain]!.seq - 1 && all[chain - 1]!.end !== null) chain--
  const at = timeOf(secondOf(top))
  const averages = Object.fromEntries(
    Object.entries(WINDOWS).map(([name, length]) => {
      const since = at - BigInt(length) * 1_000_000_000n
      const paid = all.filter(({ end, rate }) => end !== null && rate !== null && end > since && end <= at)
      const isHeld = isLatest && !isGapAfter(latest.startHeight) && all[chain]!.start <= since
      const sum = paid.reduce((total, { rate }) => total + inUnits(rate!, 16), 0n)
      return [name, isHeld && paid.length > 0 ? roundedShare(sum, BigInt(length / (8 * HOUR))) : null]
    }),
  )

  const ended = all.filter(({ end }) => end !== null)
  const within = ended.filter(({ end }) => (from === null || end! >= from) && (to === null || end! < to))
  const missing = new Set<number>()
  const isEmpty = from !== null && to !== null && from >= to
  const addBetween = (first: number, last: number) => {
    for (let seq = first; seq <= last; seq++) if (!periods.get(seq)?.end) missing.add(seq)
  }
  if (within.length > 0) addBetween(within[0]!.seq, within.at(-1)!.seq)
  const lastEnded = ended.at(-1)
  if (isEmpty) missing.clear()
  else if (to === null || lastEnded === undefined || to > lastEnded.end!)
    addBetween(lastEnded === undefined ? Math.min(...known) : lastEnded.seq + 1, lastKnown)
  return {
    averages,
    running: isLatest && latest.end === null ? String(latest.seq) : null,
    completeFrom: isLatest ? String(all[chain]!.start) : null,
    missing: [...missing].sort((a, b) => a - b).map(String),
    count: within.filter(({ rate }) => rate !== null).length,
  }
}

describeOn(STORE_KINDS, 'periods that only later events name', (kind) => {
  test('make averages and the running period unknown, and are missing payments', async (t) => {
    const found = { '24h': 0, '7d': 0, '30d': 0, none: 0, running: 0, missing: 0 }
    for (let run = 0; run < runsOf('service', kind); run++) {
      const random = createRandom(run)
      const { store, live } = await createLiveStore(t, kind)
      const base = await serve(t, store)
      const stored: Block[] = []
      const later: Block[] = []
      const commit = async (block: Block) => {
        stored.push(block)
        await live.commit(block.height, block.events, secondOf(block.height))
      }
      for (const block of blocksOf(random, 60)) {
        if (block.height > 1 && block.height < 60 && random.integer(12) === 0) later.push(block)
        else await commit(block)
        if (later.length > 0 && random.integer(12) === 0) await commit(later.shift()!)
        if (stored.length < 2) continue
        const [from, to] = [0, 1].map(() =>
          random.integer(3) === 0 ? timeOf(secondOf(random.integer(block.height + 2))) : null,
        ) as [bigint | null, bigint | null]
        const where = `run ${run}, block ${block.height}, from ${from} to ${to}`
        const expected = expectedOf(stored, from, to)
        const { averages, runningPeriod } = await summaryOf(base)
        for (const [name, value] of Object.entries(expected.averages)) {
          const average = averages[name as keyof typeof WINDOWS]
          assert.equal(average === null ? null : inUnits(average, 16), value, `${where}: ${name}`)
          found[value === null ? 'none' : (name as keyof typeof WINDOWS)]++
        }
        assert.equal(runningPeriod?.seq ?? null, expected.running, where)
        if (expected.running !== null) found.running++
        const range = [
          ...(from === null ? [] : [`dateRange.startTimestamp=${from}`]),
          ...(to === null ? [] : [`dateRange.endTimestamp=${to}`]),
        ].join('&')
        const { count, completeFrom, missing } = await paymentsOf(base, range)
        if (missing!.length > 0) found.missing++
        assert.deepEqual(
          { count, completeFrom, missing },
          { count: expected.count, completeFrom: expected.completeFrom, missing: expected.missing },
          where,
        )
      }
    }
    for (const [name, count] of Object.entries(found)) assert.ok(count >= 10, `${name}: ${count}`)
  })

  test('are those of data points and market data; data of no period name none', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const base = await serve(t, store)
    await live.commit(1, [dataOf(0, false)])
    assert.deepEqual((await paymentsOf(base, '')).missing, [])
    await live.commit(2, [dataOf(0, true)])
    assert.deepEqual((await paymentsOf(base, '')).missing, ['0'])
    await live.commit(3, [pointOf(4, 3, 1)])
    const { missing, completeFrom } = await paymentsOf(base, '')
    assert.deepEqual([missing, completeFrom], [['0', '1', '2', '3', '4'], null])
  })

  test('stay those of market data that later ones do not name, whenever the data arrive', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const base = await serve(t, store)
    const ended = { start: timeOf(1), end: timeOf(2), fundingPayment: '1', fundingRate: '0.1' }
    const known = async () => {
      const { missing, completeFrom } = await paymentsOf(base, '')
      return { missing, completeFrom, running: (await summaryOf(base)).runningPeriod?.seq ?? null }
    }
    await live.commit(1, [dataOf(5, true), periodEvent({ seq: 4n, ...ended })])
    const later = { missing: ['5'], completeFrom: null, running: null }
    assert.deepEqual(await known(), later)
    // Data of another product, and of an earlier period.
    await live.commit(2, [dataOf(null, false)])
    assert.deepEqual(await known(), later)
    await live.commit(3, [dataOf(2, true)])
    assert.deepEqual(await known(), later)
    await live.commit(5, [dataOf(4, true), dataOf(null, false)])
    assert.deepEqual(await known(), later)
    // A block of a gap that names a later one than the blocks after it.
    await live.commit(4, [dataOf(7, false), dataOf(6, false)])
    assert.deepEqual(await known(), { ...later, missing: ['5', '6', '7'] })
    await live.commit(6, [periodEvent({ seq: 7n, start: timeOf(6) })])
    const { completeFrom, running } = await known()
    assert.deepEqual([completeFrom, running], [timeOf(6).toString(), '7'])
    const empty = `dateRange.startTimestamp=${timeOf(9)}&dateRange.endTimestamp=${timeOf(9)}`
    assert.deepEqual((await paymentsOf(base, empty)).missing, [])
  })
})

async function summaryOf(base: string): Promise<MarketSummary> {
  const { marketSummaries } = await getJson<{ marketSummaries: { edges: { node: MarketSummary }[] } }>(
    base,
    '/api/v2/market-summaries',
  )
  return marketSummaries.edges[0]!.node
}

async function paymentsOf(base: string, range: string): Promise<PositionFunding> {
  const path = `/api/v2/position-funding/${LIVE_MARKET}?${range}`
  return (await getJson<{ positionFunding: PositionFunding }>(base, path)).positionFunding
}
