import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FundingRates } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { inUnits } from '../fixtures/events/made-rates.ts'
import { createRandom } from '../fixtures/random.ts'
import { getJson, send } from '../fixtures/requests/http.ts'
import { serve } from '../fixtures/services/service.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  serveLive,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { ANY_STORE_KIND, describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

const HOUR = 3_600
const DAY = 24 * HOUR
const RATES = '/api/v2/funding-rates'

/** A period of a synthetic market, in seconds after the first block; rates in 10^-16, null without a payment. */
type Period = { seq: number; start: number; end: number | null; rate: bigint | null }

const rateText = (rate: bigint) =>
  `${rate < 0n ? '-' : ''}0.${(rate < 0n ? -rate : rate).toString().padStart(16, '0')}`

const eventOf = (marketId: string, { seq, start, end, rate }: Period) =>
  periodEvent({
    marketId,
    seq: BigInt(seq),
    start: timeOf(start),
    end: end === null ? null : timeOf(end),
    fundingPayment: rate === null ? null : '1',
    fundingRate: rate === null ? null : rateText(rate),
  })

/** Periods of random lengths up to a time, some of zero length, the last one running. */
function periodsUpTo(end: number, random: ReturnType<typeof createRandom>): Period[] {
  const periods: Period[] = []
  for (let at = random.integer(2 * HOUR), seq = 1; at < end; seq++) {
    const length = random.integer(10) === 0 ? 0 : HOUR * (1 + random.integer(10))
    const isOver = at + length <= end
    const rate = BigInt(random.integer(2_000_000_000) - 1_000_000_000) * 1_000n
    periods.push({
      seq,
      start: at,
      end: isOver ? at + length : null,
      rate: isOver && length > 0 ? rate : null,
    })
    at += length
    if (!isOver) break
  }
  return periods
}

describeOn(STORE_KINDS, 'funding rates', (kind) => {
  test('are summed from the stored periods, at every time', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const base = await serve(t, store)
    const random = createRandom(40)
    const periods = periodsUpTo(80 * DAY, random)
    let height = 0
    for (const at of [3 * HOUR, 23 * HOUR, 25 * HOUR, 7 * DAY, 8 * DAY, 31 * DAY, 45 * DAY, 80 * DAY]) {
      const stored = periods
        .filter(({ start }) => start <= at)
        .map((period) =>
          period.end !== null && period.end > at ? { ...period, end: null, rate: null } : period,
        )
      const all = stored.map((period) => eventOf(LIVE_MARKET, period))
      all.push(eventOf(OTHER_MARKET, { seq: 1, start: 0, end: null, rate: null }))
      await live.commit(++height, all, at)
      const [from, to] = [timeOf(Math.max(0, at - 20 * DAY)), timeOf(at) + 1n]
      for (const [name, length] of [
        ['8h', 8 * HOUR],
        ['1d', DAY],
      ] as const) {
        const query = `interval=${name}&dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
        const { edges } = await ratesOf(base, query)
        assert.deepEqual(
          edges.map(({ node }) => [node.marketId, node.interval]),
          [
            [OTHER_MARKET, name],
            [LIVE_MARKET, name],
          ],
        )
        const bucketLength = BigInt(length) * 1_000_000_000n
        const wanted = new Map<bigint, { count: number; sum: bigint }>()
        for (const { end, rate } of stored) {
          if (end === null || rate === null) continue
          const start = (timeOf(end) / bucketLength) * bucketLength
          if (start + bucketLength <= from || start >= to) continue
          const known = wanted.get(start) ?? { count: 0, sum: 0n }
          wanted.set(start, { count: known.count + 1, sum: known.sum + rate * 10n ** 16n })
        }
        assert.deepEqual(
          edges[1]!.node.buckets.map(({ start, count, sumOfRates }) => [
            BigInt(start),
            count,
            inUnits(sumOfRates, 32),
          ]),
          [...wanted]
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([start, { count, sum }]) => [start, count, sum]),
          `${name} at ${at}`,
        )
        assert.deepEqual(edges[0]!.node.buckets, [])
      }
    }
  })

  test('have a default range, and pages of markets', async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const periods = Array.from({ length: 40 * 3 }, (_, index): Period => {
      const start = index * 8 * HOUR
      return { seq: index + 1, start, end: start + 8 * HOUR, rate: 1n }
    })
    await live.commit(
      40 * DAY,
      [LIVE_MARKET, OTHER_MARKET].flatMap((marketId) => periods.map((period) => eventOf(marketId, period))),
    )
    const base = await serve(t, store)
    const counts = async (query: string) =>
      (await ratesOf(base, query)).edges.map(({ node }) =>
        node.buckets.reduce((sum, { count }) => sum + count, 0),
      )
    // 30 days back from the last block, and the rest of the first bucket.
    for (const count of await counts('')) assert.ok(count >= 90 && count <= 93, `${count}`)
    for (const count of await counts('interval=8h')) assert.ok(count >= 21 && count <= 22, `${count}`)
    assert.deepEqual(await counts('dateRange.startTimestamp=5&dateRange.endTimestamp=5'), [0, 0])
    assert.equal((await counts(`marketId=${LIVE_MARKET}`)).length, 1)
    assert.deepEqual(await counts(`marketId=${'f'.repeat(64)}`), [])
    const { text } = await send(base, `${RATES}?interval=8h&format=csv`)
    const { edges: markets } = await ratesOf(base, 'interval=8h')
    const rows = markets.flatMap(({ node: { marketId, buckets } }) =>
      buckets.map(({ start, count, sumOfRates }) => [marketId, start, count, sumOfRates]),
    )
    assert.equal(
      text,
      [['marketId', 'start', 'count', 'sumOfRates'], ...rows].map((row) => `${row.join(',')}\r\n`).join(''),
    )
    const first = await ratesOf(base, 'pagination.first=1')
    assert.deepEqual(
      [first.edges.length, first.edges[0]!.node.marketId, first.pageInfo.hasNextPage],
      [1, OTHER_MARKET, true],
    )
    const second = await ratesOf(base, `pagination.after=${first.pageInfo.endCursor}`)
    assert.deepEqual(
      [
        second.edges.map(({ node }) => node.marketId),
        second.pageInfo.hasNextPage,
        second.pageInfo.hasPreviousPage,
      ],
      [[LIVE_MARKET], false, true],
    )
  })

  test('are refused for invalid requests, by the table of errors', async (t) => {
    const { base } = await serveLive(t, kind, [
      eventOf(LIVE_MARKET, { seq: 1, start: 0, end: null, rate: null }),
    ])
    const day = 86_400_000_000_000n
    const summaries = await getJson<{ marketSummaries: FundingRates }>(base, '/api/v2/market-summaries')
    const { endCursor } = summaries.marketSummaries.pageInfo
    for (const [query, message] of [
      [`dateRange.startTimestamp=0&dateRange.endTimestamp=${1_100n * day + 1n}`, /1100 buckets of 1d/],
      [`dateRange.startTimestamp=0&dateRange.endTimestamp=${367n * day}&interval=8h`, /1100 buckets of 8h/],
      ['dateRange.startTimestamp=0', /1100 buckets/],
      [`pagination.after=${endCursor}`, /another resource/],
    ] as const) {
      const { status, text } = await send(base, `${RATES}?${query}`)
      assert.deepEqual([status, JSON.parse(text).code], [400, 3], `${query}: ${text}`)
      assert.match(text.replaceAll('\\"', '"'), message, query)
    }
    // A year by 8 hours is allowed.
    for (const range of [
      `dateRange.startTimestamp=0&dateRange.endTimestamp=${1_100n * day}`,
      `interval=8h&dateRange.startTimestamp=0&dateRange.endTimestamp=${366n * day}`,
    ]) {
      assert.equal((await ratesOf(base, range)).edges.length, 1)
    }
    for (const [from, to] of [
      [2n ** 63n - 2n, 2n ** 63n - 1n],
      [-(2n ** 63n), -(2n ** 63n) + 5n],
    ] as const) {
      const { edges } = await ratesOf(base, `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`)
      assert.deepEqual(edges[0]!.node.buckets, [])
    }
  })
})

async function ratesOf(base: string, query: string): Promise<FundingRates> {
  return (await getJson<{ fundingRates: FundingRates }>(base, `${RATES}?${query}`)).fundingRates
}

test('a CSV file of too many rates is refused, never cut', async (t) => {
  const markets = Array.from({ length: 102 }, (_, index) => index.toString(16).padStart(64, '0'))
  const at = (bucket: number) => (timeOf(0) / 28_800_000_000_000n + BigInt(bucket)) * 28_800_000_000_000n
  const periods = (marketId: string) =>
    Array.from({ length: 400 }, (_, index) =>
      periodEvent({
        marketId,
        seq: BigInt(index),
        start: at(index),
        end: at(index) + 1n,
        fundingPayment: '1',
        fundingRate: '0.1',
      }),
    )
  const { base } = await serveLive(t, STORE_KINDS[0]!, markets.flatMap(periods))
  const file = (buckets: number) =>
    send(
      base,
      `${RATES}?interval=8h&format=csv&dateRange.startTimestamp=${at(0)}&dateRange.endTimestamp=${at(buckets)}`,
    )
  const { status, text } = await file(400)
  assert.equal(status, 400)
  assertSays(text, 'more rows than a CSV file may have')
  assert.equal((await file(300)).text.split('\r\n').length, 102 * 300 + 2)
})

for (const kind of ANY_STORE_KIND) {
  test(`funding rates end a page early if markets have very many periods, and lose none (${kind.name})`, async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    const ids = [1, 2, 3].map((digit) => String(digit).repeat(64))
    const count = 60_000
    for (const marketId of ids) {
      const periods = Array.from({ length: count }, (_, index): Period => {
        const start = index * 20
        return { seq: index + 1, start, end: start + 20, rate: 1n }
      })
      await live.commit(
        20 * count + Number(marketId[0]),
        periods.map((period) => eventOf(marketId, period)),
      )
    }
    const base = await serve(t, store)
    const seen: string[] = []
    const pages: number[] = []
    let after = ''
    do {
      const page = await ratesOf(base, after === '' ? '' : `pagination.after=${after}`)
      pages.push(page.edges.length)
      seen.push(...page.edges.map(({ node }) => node.marketId))
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : ''
    } while (after !== '')
    assert.deepEqual([pages, seen], [[2, 1], ids.toReversed()])
  })
}
