import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLyraClient, type FundingEstimateHistoryAnswer } from '../../client/src/index.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import {
  type Content,
  content,
  dataPoint,
  fileOf,
  fundingPeriod,
  MARKET,
  type MadeBlock,
  perpetual,
} from '../fixtures/events/event-stream.ts'
import { getJson, nodesOf, send } from '../fixtures/requests/http.ts'
import { ingest, serve, serveFile, storeOf, storeOfBytes } from '../fixtures/services/service.ts'
import { MONTH, recordingPath, skip } from '../fixtures/shared.ts'
import { describeOn, runSql, STORE_KINDS } from '../fixtures/stores/stores.ts'

const pathOf = (market: string, query = '') => `/api/v2/funding-estimates/${market}/history?${query}`
const historyOf = (base: string, market: string, query = '') =>
  getJson<FundingEstimateHistoryAnswer>(base, pathOf(market, query))

const SECOND = 1_000_000_000n
const DAY = 86_400n * SECOND
const MOST = 5_000

type Estimate = FundingEstimateHistoryAnswer['fundingEstimateHistory']['estimates'][number]

/** All estimates of a range, page by page. */
async function walk(base: string, market: string, query: string, first: number): Promise<Estimate[]> {
  const estimates: Estimate[] = []
  for (let after = ''; ; ) {
    const { fundingEstimateHistory } = await historyOf(
      base,
      market,
      `${query}&pagination.first=${first}${after === '' ? '' : `&pagination.after=${after}`}`,
    )
    assert.ok(fundingEstimateHistory.estimates.length <= first)
    estimates.push(...fundingEstimateHistory.estimates)
    if (fundingEstimateHistory.next === null) return estimates
    after = fundingEstimateHistory.next
  }
}

/** Prices of a source of the market in its first period, at seconds. */
const pointAt = (source: number, second: number, price: number) =>
  dataPoint({ source, price: String(price), timestamp: BigInt(second) * SECOND })

const auctionAt = (second: number, leave: 0 | 1): Content =>
  content(121, {
    1: MARKET,
    2: 0,
    3: leave,
    4: leave ? null : BigInt(second) * SECOND,
    5: leave ? BigInt(second) * SECOND : null,
  })

describeOn(STORE_KINDS, 'the estimates of funding periods over time', (kind) => {
  test('end with what the periods of month have paid, and are the same page by page', async () => {
    const base = await serveFile(kind, MONTH)
    const { marketSummaries } = await getJson<{
      marketSummaries: { edges: { node: { marketId: string } }[] }
    }>(base, '/api/v2/market-summaries')
    let paid = 0
    for (const { node } of marketSummaries.edges) {
      const market = node.marketId
      const periods = await nodesOf(base, `/api/v2/funding-periods/${market}`, [])
      const ended = periods.filter(({ fundingPayment }) => fundingPayment !== undefined)
      const [from, to] = [1_725_148_800_000_000_000n, 1_725_148_800_000_000_000n + 31n * DAY]
      const range = `dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`
      const estimates = await walk(base, market, range, MOST)
      assert.deepEqual(await walk(base, market, range, 37), estimates)
      const keys = estimates.map(
        ({ timestamp, seq }) => `${timestamp.padStart(20, '0')} ${seq.padStart(20, '0')}`,
      )
      assert.deepEqual(keys.toSorted(), keys)
      assert.equal(new Set(keys).size, keys.length)
      const rest = await walk(base, market, `dateRange.startTimestamp=${to}`, MOST)
      for (const { seq, end, fundingPayment, fundingRate, internalTwap, externalTwap } of ended) {
        const last = [...estimates, ...rest].filter((one) => one.seq === seq).at(-1)
        assert.deepEqual(
          last,
          {
            timestamp: end,
            seq,
            internalTwap,
            externalTwap,
            fundingPayment,
            fundingRate,
            parameters: 'current',
          },
          `${market} ${seq}`,
        )
        paid++
      }
    }
    assert.equal(paid, 460)
  })

  test('are computed without the ends that are stored: a period that has lost its figures still ends with them', async (t) => {
    const path = recordingPath('nullchain.evts.gz')
    if (path === null) return skip(t, 'nullchain is missing')
    const store = await storeOf(t, kind, path)
    const base = await serve(t, store)
    const summaries = await getJson<{ marketSummaries: { edges: { node: { marketId: string } }[] } }>(
      base,
      '/api/v2/market-summaries',
    )
    const markets = summaries.marketSummaries.edges.map(({ node }) => node.marketId)
    const endsOf = async (at: string) => {
      const ends: string[] = []
      for (const market of markets) {
        const all = await walk(at, market, '', MOST)
        for (const { seq, end } of await nodesOf(at, `/api/v2/funding-periods/${market}`, [])) {
          const last = all.find((one) => one.seq === seq && one.timestamp === end)
          if (last !== undefined) ends.push(`${market} ${seq} ${last.fundingPayment} ${last.fundingRate}`)
        }
      }
      return ends
    }
    const before = await endsOf(base)
    assert.ok(before.length >= 8, `${before.length}`)
    await runSql(
      store,
      'update funding_periods set internal_twap = null, external_twap = null, funding_payment = null, funding_rate = null',
    )
    assert.deepEqual(await endsOf(await serve(t, store)), before)
  })

  const opening = fundingPeriod({ start: 2n * SECOND })
  const terms = perpetual()

  test('need a point of each source, count no time in auctions, and know nothing after a missing block or of pruned points', async (t) => {
    const blocks: MadeBlock[] = [
      { height: 2, events: [terms, opening, pointAt(2, 2, 100)] },
      { height: 3, events: [pointAt(1, 3, 80)] },
      { height: 5, events: [pointAt(2, 5, 200)] },
    ]
    const more: MadeBlock[] = [
      { height: 6, events: [auctionAt(6, 0)] },
      { height: 8, events: [auctionAt(8, 1), pointAt(2, 8, 50), pointAt(1, 8, 50)] },
      { height: 9, events: [pointAt(1, 9, 60)] },
    ]
    const fillers = [4, 7].map((height) => ({ height }))
    const whole = [...blocks, ...more, ...fillers].sort((a, b) => a.height - b.height)
    const shown = ({ timestamp, internalTwap, externalTwap }: Estimate) =>
      `${BigInt(timestamp) / SECOND}: ${internalTwap} ${externalTwap}`
    const of = async (base: string) =>
      (await historyOf(base, MARKET)).fundingEstimateHistory.estimates.map(shown)
    const store = await storeOfBytes(t, kind, fileOf(...whole))
    const base = await serve(t, store)
    // Internal: 100 from 2 on, 200 from 5 on, in auction from 6 to 8, 50 from 8 on; external from 3 on.
    const expected = ['2: 100 null', '3: 100 80', '5: 100 80', '8: 125 80', '9: 110 72']
    assert.deepEqual(await of(base), expected)
    const gapped = kind.create(t)
    await ingest(gapped, fileOf(...whole.filter(({ height }) => height !== 4)), { allowGap: true })
    const answer = await historyOf(await serve(t, gapped), MARKET)
    assert.deepEqual(answer.fundingEstimateHistory.estimates.map(shown), [
      '2: 100 null',
      '3: 100 80',
      ...['5', '8', '9'].map((second) => `${second}: null null`),
    ])
    assert.deepEqual(
      answer.missing.map(({ from, to }) => [from, to]),
      [['4', '4']],
    )
    await runSql(store, 'insert into pruned (id, before_timestamp) values (1, 2500000000)')
    assert.deepEqual(
      await of(await serve(t, store)),
      ['2', '3', '5', '8', '9'].map((second) => `${second}: null null`),
    )
  })

  test('know nothing of a period that ends in an imported block: without its auctions', async (t) => {
    const blocks: MadeBlock[] = [
      { height: 2, events: [terms, opening, pointAt(2, 2, 100), pointAt(1, 2, 80)] },
      { height: 3, events: [fundingPeriod({ start: 2n * SECOND, end: 3n * SECOND })] },
    ]
    const store = await storeOfBytes(t, kind, fileOf(...blocks))
    const twapsOf = async () => {
      const { fundingEstimateHistory } = await historyOf(await serve(t, store), MARKET)
      return fundingEstimateHistory.estimates.map((one) => `${one.internalTwap} ${one.externalTwap}`)
    }
    assert.equal((await twapsOf())[0], '100 80')
    await runSql(store, `insert into imported (from_height, to_height, lacks) values (3, 3, '')`)
    assert.equal((await twapsOf())[0], 'null null')
  })

  test('have parameters of the time or later ones, and no payment without any', async (t) => {
    const points = [pointAt(2, 2, 100), pointAt(1, 2, 100)]
    const later = fileOf(
      { height: 2, events: [terms, opening, ...points] },
      { height: 3, events: [terms, pointAt(2, 3, 110)] },
      { height: 4, events: [pointAt(2, 4, 120)] },
    )
    const base = await serve(t, await storeOfBytes(t, kind, later))
    const { fundingEstimateHistory } = await historyOf(base, MARKET)
    assert.deepEqual(
      fundingEstimateHistory.estimates.map(
        ({ parameters, fundingPayment }) => `${parameters} ${fundingPayment !== null}`,
      ),
      ['later true', 'current true', 'current true'],
    )
    const without = fileOf({ height: 2, events: [opening, ...points] })
    const answer = await historyOf(await serve(t, await storeOfBytes(t, kind, without)), MARKET)
    const [only] = answer.fundingEstimateHistory.estimates
    assert.deepEqual([only!.internalTwap, only!.fundingPayment, only!.fundingRate], ['100', null, null])
  })

  test('are refused for malformed ids, cursors of others and ranges of more than 31 days, and are none for an unknown market', async (t) => {
    const store = await storeOfBytes(
      t,
      kind,
      fileOf({ height: 2, events: [terms, opening, pointAt(2, 2, 100)] }),
    )
    const base = await serve(t, store)
    const refused: [path: string, said: string][] = [
      [pathOf(''), '"code":10003,"message":"empty or missing market ID"'],
      [pathOf('abc'), '"code":10000,"message":"invalid market ID"'],
      [pathOf(MARKET, 'pagination.after=AA'), '"code":10028'],
      [pathOf(MARKET, 'pagination.first=5001'), '"code":10028'],
      [
        pathOf(MARKET, `dateRange.startTimestamp=0&dateRange.endTimestamp=${31n * DAY + 1n}`),
        'not be longer than 31 days',
      ],
      [pathOf(MARKET, 'format=csv'), 'unknown parameter'],
    ]
    for (const [path, said] of refused) {
      const { status, text } = await send(base, path)
      assert.equal(status, 400, path)
      assertSays(text, said)
    }
    for (const query of [
      'dateRange.startTimestamp=5&dateRange.endTimestamp=5',
      'dateRange.startTimestamp=9000000000',
    ])
      assert.deepEqual((await historyOf(base, MARKET, query)).fundingEstimateHistory.estimates, [], query)
    assert.deepEqual((await historyOf(base, 'f'.repeat(64))).fundingEstimateHistory.estimates, [])
    assert.equal((await send(base, `${pathOf(MARKET)}`.replace('/history', '/other'))).status, 404)
    const client = createLyraClient({ url: base })
    const { fundingEstimateHistory } = await client.fundingEstimateHistory(MARKET, { first: 1 })
    assert.equal(fundingEstimateHistory.estimates.length, 1)
  })
})
