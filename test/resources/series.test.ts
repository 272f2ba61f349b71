import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareNumbers } from '#core/domain/compare-numbers'
import { INTERVALS } from '#core/domain/intervals'
import { SOURCES } from '#core/resources/funding-period-data-points/description'
import { copyStore } from '#core/store/admin/copy-store'
import { pruneStore } from '#core/store/pruning/prune-store'
import { createLyraClient } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { countedBy, ofLatestPeriod } from '../fixtures/models/series-model.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, nodesOf, send } from '../fixtures/requests/http.ts'
import { assertMalformed } from '../fixtures/requests/refusals.ts'
import { runsOf, scaled, seedsOf } from '../fixtures/sampling.ts'
import { pruneBefore, serve, serveFile } from '../fixtures/services/service.ts'
import { MARKET, SAMPLE } from '../fixtures/shared.ts'
import { assertSound } from '../fixtures/stores/check.ts'
import { dumpStore } from '../fixtures/stores/dump-store.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { describeOn, openStore, STORE_KINDS, type StoreKind } from '../fixtures/stores/stores.ts'

const path = (marketId: string, query = '') =>
  `/api/v2/series/funding-period-data-points/${marketId}${query === '' ? '' : `?${query}`}`

type Node = Record<'price' | 'timestamp' | 'seq' | 'twap' | 'dataPointType', string>
type Summary = Record<'first' | 'last' | 'minimum' | 'maximum', string>
type Series = Record<'marketId' | 'from' | 'to' | 'interval' | 'bucketNanoseconds', string> & {
  sources: {
    dataPointType: string
    buckets: { start: string; seq: string; count: string; price: Summary; twap: Summary }[]
  }[]
}

async function marketOf(base: string, marketId: string): Promise<Node[]> {
  const nodes = await nodesOf(base, `/api/v2/funding-periods/data-points/${marketId}`, [
    ['pagination.newestFirst', 'false'],
    ['pagination.first', '5000'],
  ])
  return nodes as Node[]
}

const floor = (time: bigint, length: bigint) => time - (((time % length) + length) % length)

const nothingOf = (marketId: string): Series => ({
  marketId,
  from: '0',
  to: '0',
  interval: '',
  bucketNanoseconds: '0',
  sources: [],
})

type Asked = Partial<Record<'start' | 'end', bigint | undefined>> &
  Partial<Record<'source' | 'buckets', number | undefined>> & { interval?: string | undefined }

/** The expected series, calculated from all points of a market, one by one. */
function seriesFrom(marketId: string, nodes: readonly Node[], asked: Asked): Series {
  const nothing = nothingOf(marketId)
  const counted = SOURCES.filter((_, index) => (asked.source ?? index) === index).map((source) => {
    const own = nodes.filter(({ dataPointType }) => dataPointType === source)
    const typed = own.map((node) => ({ ...node, timestamp: BigInt(node.timestamp), seq: BigInt(node.seq) }))
    return { source, points: countedBy(typed) }
  })
  const times = counted.flatMap(({ points }) => points.map(({ timestamp }) => timestamp))
  if (times.length === 0) return nothing
  times.sort((a, b) => (a < b ? -1 : 1))
  const { start = times[0]!, end = times.at(-1)! + 1n } = asked
  if (start >= end) return nothing
  const interval =
    asked.interval === undefined
      ? (INTERVALS.find(({ nanoseconds }) => end - start <= nanoseconds * BigInt(asked.buckets ?? 500)) ??
        INTERVALS.at(-1)!)
      : INTERVALS.find(({ name }) => name === asked.interval)!
  const length = interval.nanoseconds
  const from = floor(start, length)
  const to = floor(end - 1n, length) + length
  const sources = counted.flatMap(({ source: dataPointType, points }) => {
    const shown = points.filter(({ timestamp }) => timestamp >= from && timestamp < to)
    const buckets = Map.groupBy(shown, ({ timestamp }) => floor(timestamp, length))
    if (buckets.size === 0) return []
    const summary = (held: readonly Pick<Node, 'price' | 'twap'>[], of: 'price' | 'twap'): Summary => {
      const texts = held.map((node) => node[of])
      // Sorting is stable.
      const sorted = texts.toSorted(compareNumbers)
      const maximum = texts.find((text) => compareNumbers(text, sorted.at(-1)!) === 0)!
      return { first: texts[0]!, last: texts.at(-1)!, minimum: sorted[0]!, maximum }
    }
    return [
      {
        dataPointType,
        buckets: [...buckets].map(([key, held]) => ({
          start: key.toString(),
          seq: ofLatestPeriod(held)[0]!.seq.toString(),
          count: String(held.length),
          price: summary(held, 'price'),
          twap: summary(ofLatestPeriod(held), 'twap'),
        })),
      },
    ]
  })
  if (sources.length === 0) return nothing
  const bucketNanoseconds = String(length)
  return { marketId, from: String(from), to: String(to), interval: interval.name, bucketNanoseconds, sources }
}

async function seriesOf(base: string, marketId: string, query: string): Promise<Series> {
  return (await getJson<{ series: Series }>(base, path(marketId, query))).series
}

/** Compares series of many ranges with the points of a market. */
async function compareSeries(base: string, marketId: string, seed: number, runs: number): Promise<number> {
  const market = await marketOf(base, marketId)
  const times = market.map(({ timestamp }) => BigInt(timestamp))
  const random = createRandom(seed)
  let compared = 0
  for (let run = 0; run < runs; run++) {
    const pick = () => times[random.integer(times.length)]! + BigInt(random.integer(3) - 1) * 7_000_000_000n
    const [a, b] = [pick(), pick()]
    const open = random.integer(4)
    const start = open % 2 === 0 ? (a < b ? a : b) : undefined
    const end = open < 2 ? (a < b ? b : a) : undefined
    const source = random.integer(3) === 0 ? 1 + random.integer(2) : undefined
    const [buckets, interval] =
      run % 2 === 0
        ? [[1, 7, 40, 500, 2_000][random.integer(5)]!, undefined]
        : [undefined, INTERVALS[random.integer(INTERVALS.length)]!.name]
    const query = Object.entries({
      'dateRange.startTimestamp': start,
      'dateRange.endTimestamp': end,
      source,
      buckets,
      interval,
    })
      .filter(([, value]) => value !== undefined)
      .map((pair) => pair.join('='))
      .join('&')
    const { status, text } = await send(base, path(marketId, query))
    if (interval !== undefined && status === 400) {
      assert.match(
        text,
        /too short for this range: at most 2001 buckets are allowed; use \d+[smhd] or longer/,
        query,
      )
      continue
    }
    const { series } = JSON.parse(text) as { series: Series }
    const expected = seriesFrom(marketId, market, { start, end, source, buckets, interval })
    assert.deepEqual(series, expected, query)
    compared += series.sources.reduce((sum, found) => sum + found.buckets.length, 0)
  }
  return compared
}

/** A point with random numbers, a few in forms that the core does not use. */
function oddPoint(height: number, random: ReturnType<typeof createRandom>, time: bigint, seq: bigint) {
  const number = () => {
    const digits = String(random.integer(random.integer(2) === 0 ? 2_000 : 12) - 6)
    return [digits, `${digits}.0`, `${digits}e2`, `${digits}e-301`, '0', '1e999999999', '-0.5'][
      Math.max(0, random.integer(14) - 7)
    ]!
  }
  return {
    kind: 'funding-period-data-point' as const,
    marketId: height % 7 === 0 ? OTHER_MARKET : LIVE_MARKET,
    seq,
    timestamp: time,
    source: (1 + random.integer(2)) as 1 | 2,
    price: number(),
    twap: number(),
  }
}

const periodOf = (seq: bigint, start: bigint) => periodEvent({ seq, start })

/** The start of a period: with a few seeds at a time that does not fit its points, or those of its neighbours. */
function oddPeriod(marketId: string, seq: bigint, random: ReturnType<typeof createRandom>) {
  const shift = [0, 0, 0, 0, 7, -40, 900][random.integer(7)]!
  const start = timeOf(Number(seq - 1n) * 60 * 11 + shift)
  return { ...periodOf(seq, start), marketId }
}

/** Commits blocks in any order, with early, late, repeated and carried over points, and some periods. */
async function fill(kind: StoreKind, t: Parameters<StoreKind['create']>[0], seed: number): Promise<string> {
  const { store, live } = await createLiveStore(t, kind)
  const base = await serve(t, store)
  const random = createRandom(seed)
  const heights = Array.from({ length: scaled(100, 600) }, (_, index) => 1_000 + index)
  for (let swaps = 0; swaps < heights.length / 4; swaps++) {
    const [a, b] = [random.integer(heights.length), random.integer(heights.length)]
    ;[heights[a], heights[b]] = [heights[b]!, heights[a]!]
  }
  const known: { time: bigint; seq: bigint }[] = []
  for (const height of heights) {
    const events = Array.from({ length: random.integer(6) }, () => {
      const before = known[random.integer(Math.max(1, known.length))]
      const kindOf = random.integer(5)
      const isOld = before !== undefined && kindOf < 2
      const time = isOld
        ? before.time
        : timeOf(height * 11) + BigInt(random.integer(40) - 20) * 1_000_000_000n
      const seq = isOld ? before.seq + BigInt(kindOf) : BigInt(1 + Math.floor(height / 60))
      known.push({ time, seq })
      return oddPoint(height, random, time, seq)
    })
    // The same key twice within a block: the later event counts.
    for (const event of events.slice(0, 2)) events.push({ ...event, price: event.twap, twap: event.price })
    const periods = events.filter(() => random.integer(6) === 0)
    await live.commit(height, [
      ...periods.map(({ marketId, seq }) => oddPeriod(marketId, seq, random)),
      ...events,
    ])
    if (random.integer(8) === 0) await live.buildSeries()
    if (random.integer(25) === 0) await compareSeries(base, LIVE_MARKET, height, 4)
  }
  return store
}

describeOn(STORE_KINDS, 'series of data points', (kind) => {
  test('follow from the points in any order of arrival, before and after pruning and in a copy', async (t) => {
    for (const seed of seedsOf('seconds', kind)) {
      const store = await fill(kind, t, seed)
      const base = await serve(t, store)
      await assertSound(store)
      assert.ok((await compareSeries(base, LIVE_MARKET, seed, runsOf('comparison'))) > 200)
      await compareSeries(base, OTHER_MARKET, seed, 10)
      const copy = kind.create(t)
      await copyStore(openStore(store), openStore(copy))
      await assertSound(copy)
      await dumpStore(copy)
      const bound =
        seed % 2 === 0
          ? ({ by: 'height', before: 1_060n } as const)
          : ({ by: 'time', before: timeOf(1_040 * 11) } as const)
      const { fundingPeriodDataPoints = 0 } = await pruneStore(openStore(store), bound)
      assert.ok(fundingPeriodDataPoints > 50)
      await assertSound(store)
      await compareSeries(base, LIVE_MARKET, seed, runsOf('comparison'))
    }
  })

  test('follow from the points after every commit, wherever a period begins, and made or not', async (t) => {
    for (const seed of seedsOf('change', kind)) {
      const { store, live } = await createLiveStore(t, kind)
      const random = createRandom(seed)
      // Far apart, because near buckets are made together.
      const time = () => timeOf(900 * random.integer(12) + random.integer(3))
      const heights = Array.from({ length: scaled(15, 60) }, (_, index) => index + 1)
      const order = heights
        .map((height) => [random.integer(1_000), height] as const)
        .sort(([a], [b]) => a - b)
      for (const [, height] of order) {
        const seqs = Array.from({ length: 1 + random.integer(3) }, () => BigInt(1 + random.integer(4)))
        const at = time()
        await live.commit(height, [
          ...(random.integer(3) === 0 ? [periodOf(seqs[0]!, time())] : []),
          ...(random.integer(4) === 0
            ? []
            : seqs.map((seq) => ({ ...oddPoint(1, random, at, seq), source: 1 as const }))),
        ])
        await dumpStore(store)
        if (random.integer(2) === 0) await live.buildSeries()
        if (random.integer(10) > 0) continue
        await dumpStore(store)
        await pruneBefore(store, BigInt(random.integer(height) + 1))
      }
      await assertSound(store)
    }
  })

  test('of a recording match all of its points, and are empty without any', async () => {
    const base = await serveFile(kind, SAMPLE)
    await compareSeries(base, MARKET, 3, runsOf('comparison'))
    const { interval, sources } = await seriesOf(base, MARKET, 'source=0')
    // SOURCE_UNSPECIFIED selects all.
    assert.deepEqual([interval, sources.length], ['2s', 2])
    const few = await createLyraClient({ url: base }).series(MARKET, {
      buckets: 4,
      from: 1696500000000000000n,
    })
    const query = 'buckets=4&dateRange.startTimestamp=1696500000000000000'
    assert.deepEqual(few, await seriesOf(base, MARKET, query))
    assert.ok(few.sources.every(({ buckets }) => buckets.length <= 5))
    const range = (from: bigint, to: bigint) =>
      `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
    const [start, end] = [-(2n ** 63n), 2n ** 63n - 1n]
    const all = await seriesOf(base, MARKET, range(start, end))
    assert.equal(all.interval, '365d')
    assert.ok(BigInt(all.from) <= start)
    const expected = seriesFrom(MARKET, await marketOf(base, MARKET), { start, end })
    assert.deepEqual(all.sources, expected.sources)
    for (const [marketId, query] of [
      [OTHER_MARKET, ''],
      [OTHER_MARKET, 'interval=1s'],
      ...[range(5n, 5n), range(6n, 5n), range(start, start + 1_000n), range(end - 1n, end)].map(
        (query) => [MARKET, query] as const,
      ),
    ] as const)
      assert.deepEqual(await seriesOf(base, marketId, query), nothingOf(marketId), query)
    const { text } = await assertMalformed(base, path(MARKET, 'interval=1s&dateRange.startTimestamp=0'))
    assertSays(
      text.replaceAll('\\"', '"'),
      'interval is "1s", too short for this range: at most 2001 buckets are allowed; use 14d or longer',
    )
  })
})

test('numbers are compared exactly, without expanding exponents', () => {
  const sorted = [
    ...'-1e999999999999 -1e3 -100 -99.5 -5e-1 -0.05 0 1e-999999999999'.split(' '),
    ...'0.05 .5 1 2 10 1e2 9999999999999999999 1e999999999999'.split(' '),
  ]
  for (const [a, left] of sorted.entries()) {
    for (const [b, right] of sorted.entries()) {
      assert.equal(Math.sign(compareNumbers(left, right)), Math.sign(a - b), `${left} and ${right}`)
    }
  }
  for (const pair of ['0 -0', '0 0e5', '1 1.000', '+1 1.', '100 1e2', '0.1 1e-1', '-12e1 -120', '007 7']) {
    const [left, right] = pair.split(' ') as [string, string]
    assert.equal(compareNumbers(left, right), 0, `${left} and ${right}`)
    assert.equal(compareNumbers(right, left), 0, `${right} and ${left}`)
  }
})
