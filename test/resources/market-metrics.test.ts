import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import { textOfDecimal } from '#core/domain/decimal'
import { nextPayment, pricePremium } from '#core/domain/market-figures'
import type { InstrumentEvent } from '#core/events/event'
import { PROMETHEUS_TYPE } from '#service/formats/prometheus-text'
import { createLyraClient, type MarketSummary, type ProviderStanding } from '../../client/src/index.ts'
import { idOf } from '../fixtures/events/event-stream.ts'
import { metricsOf, send, statusOf } from '../fixtures/requests/http.ts'
import { type Series, seriesByName } from '../fixtures/requests/prometheus-text.ts'
import { serve, storeOf } from '../fixtures/services/service.ts'
import { MONTH, recorded } from '../fixtures/shared.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  providedBy,
  serveLive,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { describeOn, STORE_KINDS } from '../fixtures/stores/stores.ts'

const PATH = '/metrics/markets'
const ON = { marketMetrics: true }

async function gaugesOf(base: string): Promise<Map<string, Series[]>> {
  const { status, headers, text } = await send(base, PATH)
  assert.equal(status, 200, text)
  assert.equal(headers['content-type'], PROMETHEUS_TYPE)
  assert.doesNotMatch(text, /NaN|Infinity/)
  return seriesByName(text)
}

/** How many series there are, apart from the count of those left out. */
const countOf = (gauges: Map<string, Series[]>) =>
  [...gauges].reduce(
    (sum, [name, series]) => sum + (name === 'lyra_market_metrics_dropped' ? 0 : series.length),
    0,
  )

const droppedOf = (gauges: Map<string, Series[]>) => gauges.get('lyra_market_metrics_dropped')!

/** The first time of a market's schedule after a time, by counting. */
function nextDue({ instrument }: MarketSummary, after: bigint): number | null {
  const schedule = instrument?.funding?.schedule
  if (schedule?.initial == null) return null
  let due = BigInt(schedule.initial)
  while (due <= after) due += BigInt(schedule.every)
  return Number(due) / 1e9
}

const numberOrNull = (text: string | null | undefined) => (text == null ? null : Number(text))

/** The figures of a market and of a provider by the API's own answers; null if they are not known. */
const FIGURES_OF_MARKET: Record<string, (summary: MarketSummary, at: bigint) => number | null> = {
  lyra_market_funding_rate_estimate: ({ estimate }) => numberOrNull(estimate?.fundingRate),
  lyra_market_funding_rate_last: ({ lastPaidPeriod }) => numberOrNull(lastPaidPeriod?.fundingRate),
  lyra_market_premium: ({ lastInternalPoint, lastExternalPoint }) =>
    lastInternalPoint && lastExternalPoint
      ? Number(lastInternalPoint.price) / Number(lastExternalPoint.price) - 1
      : null,
  lyra_market_next_payment_timestamp_seconds: nextDue,
  lyra_market_external_price_timestamp_seconds: ({ lastExternalPoint }) =>
    lastExternalPoint === null ? null : Number(lastExternalPoint.timestamp) / 1e9,
}

const FIGURES_OF_PROVIDER: Record<string, (standing: ProviderStanding) => number | null> = {
  lyra_provider_time_on_book: ({ timeOnBook }) => numberOrNull(timeOnBook),
  lyra_provider_minimum: ({ minimum }) => numberOrNull(minimum),
  lyra_provider_still_needed: ({ stillNeeded }) => numberOrNull(stillNeeded),
  lyra_provider_fee_penalty_last: ({ feePenaltyLastEpoch }) => numberOrNull(feePenaltyLastEpoch),
}

/** Compares series with figures by their labels; returns how many. */
function assertSeries(
  name: string,
  series: readonly Series[],
  expected: readonly { labels: Record<string, string>; value: number | null }[],
): number {
  const known = expected.filter(({ value }) => value !== null)
  assert.deepEqual(
    series.map(({ labels }) => labels),
    known.map(({ labels }) => labels),
    name,
  )
  for (const [index, { labels, value }] of known.entries()) {
    const shown = series[index]!.value
    assert.ok(
      Math.abs(shown - value!) <= 1e-12 * Math.max(1, Math.abs(value!)),
      `${name} ${JSON.stringify(labels)}: ${shown}, not ${value}`,
    )
  }
  return known.length
}

/** Compares all gauges with market summaries and the standing of providers; returns how many series there are of each. */
async function assertEqualAnswers(base: string): Promise<Record<string, number>> {
  const { headers } = await send(base, PATH)
  const gauges = await gaugesOf(base)
  const client = createLyraClient({ url: base })
  const counts: Record<string, number> = {}
  const { rows } = await client.marketSummariesPage({}, { first: 1_000, newestFirst: false })
  const summaries = rows.map(({ node }) => node)
  const labelsOf = ({ marketId, instrument }: MarketSummary) => ({
    market: instrument?.code ?? '',
    market_id: marketId,
  })
  for (const [name, figure] of Object.entries(FIGURES_OF_MARKET)) {
    const at = BigInt(String(headers['x-block-timestamp']))
    const expected = summaries.map((summary) => ({ labels: labelsOf(summary), value: figure(summary, at) }))
    counts[name] = assertSeries(name, gauges.get(name)!, expected)
  }
  const standings: { summary: MarketSummary; standing: ProviderStanding }[] = []
  for (const summary of summaries) {
    const { liquidityStanding } = await client.liquidityStanding({ marketId: summary.marketId })
    standings.push(...liquidityStanding.map((standing) => ({ summary, standing })))
  }
  for (const [name, figure] of Object.entries(FIGURES_OF_PROVIDER)) {
    const expected = standings.map(({ summary, standing }) => ({
      labels: { ...labelsOf(summary), party_id: standing.partyId },
      value: figure(standing),
    }))
    counts[name] = assertSeries(name, gauges.get(name)!, expected)
  }
  assert.deepEqual(droppedOf(gauges), [{ labels: {}, value: 0 }])
  assert.deepEqual(
    [...gauges.keys()],
    [...Object.keys(FIGURES_OF_MARKET), ...Object.keys(FIGURES_OF_PROVIDER), 'lyra_market_metrics_dropped'],
  )
  return counts
}

/** A market's state in its latest data. */
const inState = (marketId: string, state: number) => ({
  kind: 'market-data' as const,
  marketId,
  feeShares: [],
  slas: [],
  figures: {
    timestamp: timeOf(1),
    markPrice: '1',
    openInterest: 0n,
    state,
    tradingMode: 1,
    perpetual: null,
    isMalformed: false,
  },
})

const HOUR = 3_600_000_000_000n

/** A market with a code, and payments each hour from the time of block 0. */
const marketWith = (marketId: string, code: string, fields: Partial<InstrumentEvent> = {}) =>
  ({
    ...perpetualMarket(marketId),
    code,
    schedule: { initial: timeOf(0), every: HOUR },
    ...fields,
  }) as InstrumentEvent

/** A market of which everything is known but its estimate and providers. */
const richMarket = (marketId: string, code: string) => [
  marketWith(marketId, code),
  periodEvent({
    marketId,
    end: timeOf(1),
    fundingPayment: '5',
    fundingRate: '0.25',
    internalTwap: '1',
    externalTwap: '1',
  }),
  pointAt(1, { marketId, source: 1 }),
  pointAt(1, { marketId }),
]

test('The next payment is the first time of the schedule after the last block', () => {
  const cases: [initial: string | null, every: string, after: bigint, due: bigint | null][] = [
    [null, '8', 0n, null],
    ['100', '8', 0n, 100n],
    ['100', '8', 99n, 100n],
    ['100', '8', 100n, 108n],
    ['100', '8', 107n, 108n],
    ['100', '8', 108n, 116n],
    ['-10', '8', -12n, -10n],
    ['-10', '8', -10n, -2n],
    [`${2n ** 63n - 1n}`, '1', 2n ** 63n - 1n, 2n ** 63n],
  ]
  for (const [initial, every, after, due] of cases)
    assert.equal(nextPayment({ initial, every }, after), due, `${initial} ${every} ${after}`)
  assert.equal(nextPayment(null, 0n), null)
})

test('The premium is the internal price divided by the external one, minus 1', () => {
  const cases: [internal: string, external: string, premium: string | null][] = [
    ['101', '100', '0.01'],
    ['99', '100', '-0.01'],
    ['-1', '2', '-1.5'],
    ['1e3', '1.0', '999'],
    ['1', '3', '-0.6666666666666667'],
    ['0', '5', '-1'],
    ['5', '0', null],
    ['5', '1e999', null],
    ['', '5', null],
  ]
  for (const [internal, external, premium] of cases) {
    const value = pricePremium(internal, external)
    assert.equal(value === null ? null : textOfDecimal(value), premium, `${internal} ${external}`)
  }
})

describeOn(STORE_KINDS, 'the metrics of markets', (kind) => {
  for (const [name, path] of [
    ['month', MONTH],
    ['perps-long-named', recorded('perps-long-named')],
    ['perps-long', recorded('perps-long')],
  ] as const) {
    test(`are the figures of market summaries and of the providers' standing at the same block, of ${name}`, async (t) => {
      const base = await serve(t, await storeOf(t, kind, path), ON)
      const counts = await assertEqualAnswers(base)
      assert.ok(counts.lyra_market_premium! >= 3 && counts.lyra_provider_fee_penalty_last! >= 3)
      if (name === 'month') for (const [gauge, count] of Object.entries(counts)) assert.ok(count >= 5, gauge)
    })
  }

  test('name a market by its code, of any characters, and distinguish those with one code by their ids', async (t) => {
    const codes = ['"', '\\', '\\n', 'a\nb\r\n', '{x="1"} 5', 'é 😀\u2028', 'SAME', 'SAME', '']
    const ids = codes.map((_, index) => idOf(String(index + 1)))
    const { base } = await serveLive(
      t,
      kind,
      ids.flatMap((id, index) => richMarket(id, codes[index]!)),
      ON,
    )
    const gauges = await gaugesOf(base)
    for (const name of ['lyra_market_funding_rate_last', 'lyra_market_premium'])
      assert.deepEqual(
        gauges.get(name)!.map(({ labels }) => labels),
        ids.map((id, index) => ({ market: codes[index]!, market_id: id })),
      )
    await assertEqualAnswers(base)
  })

  test('have no series of what is not known, and none of markets that have ended', async (t) => {
    const { base, live } = await serveLive(
      t,
      kind,
      [
        { kind: 'auction', marketId: idOf('c'), openingAuction: true, leave: false, start: 1n, end: 2n },
        ...richMarket(LIVE_MARKET, 'A'),
        inState(LIVE_MARKET, 5),
        pointAt(1, { marketId: OTHER_MARKET, source: 1 }),
      ],
      ON,
    )
    const namesOf = async () => {
      const gauges = await gaugesOf(base)
      return [...gauges].flatMap(([name, series]) =>
        series.map(({ labels }) =>
          `${name.replace('lyra_market_', '')} ${labels.market_id?.[0] ?? ''}`.trim(),
        ),
      )
    }
    const ofOther = 'external_price_timestamp_seconds d'
    assert.deepEqual(await namesOf(), [
      'funding_rate_last a',
      'premium a',
      'next_payment_timestamp_seconds a',
      'external_price_timestamp_seconds a',
      ofOther,
      'metrics_dropped',
    ])
    for (const state of [2, 4, 7, 8, 9]) {
      await live.commit(live.height + 1, [inState(LIVE_MARKET, state)])
      assert.deepEqual(await namesOf(), [ofOther, 'metrics_dropped'], `${state}`)
    }
    await live.commit(live.height + 1, [inState(LIVE_MARKET, 6)])
    assert.equal((await namesOf()).length, 6)
    // Without market data, the state of the market's own event counts.
    await live.commit(live.height + 1, [marketWith(OTHER_MARKET, 'D', { state: 9 })])
    assert.equal((await namesOf()).length, 5)
  })

  test('have no value that a double cannot hold, and none of a division by zero', async (t) => {
    const rates = ['1e999', '-1e400', '1e-400', '-0.000000000000000000001', '+.5']
    const ids = rates.map((_, index) => idOf(String(index + 1)))
    const { base } = await serveLive(
      t,
      kind,
      [
        ...ids.flatMap((marketId, index) => {
          const fundingRate = rates[index]!
          return periodEvent({
            marketId,
            end: timeOf(1),
            fundingPayment: '1',
            fundingRate,
            internalTwap: '1',
            externalTwap: '1',
          })
        }),
        { ...pointAt(1, { marketId: ids[0]!, source: 1 }), price: '0' },
        pointAt(1, { marketId: ids[0]! }),
        { ...pointAt(1, { marketId: ids[1]!, source: 1 }), price: '1e999' },
        pointAt(1, { marketId: ids[1]! }),
      ],
      ON,
    )
    const gauges = await gaugesOf(base)
    assert.deepEqual(
      gauges.get('lyra_market_funding_rate_last')!.map(({ labels, value }) => [labels.market_id, value]),
      [
        [ids[2], 0],
        [ids[3], -1e-21],
        [ids[4], 0.5],
      ],
    )
    assert.deepEqual(gauges.get('lyra_market_premium'), [])
    assert.equal(gauges.get('lyra_market_external_price_timestamp_seconds')!.length, 2)
  })

  test('leave out all providers, and say how many, if there are too many series', async (t) => {
    const store = await storeOf(t, kind, MONTH)
    const whole = await gaugesOf(await serve(t, store, ON))
    const providers = whole.get('lyra_provider_minimum')!.length
    const all = countOf(whole)
    assert.ok(providers >= 15 && all > 4 * providers)
    const withLimit = async (marketSeries: number) =>
      gaugesOf(await serve(t, store, { ...ON, limits: { marketSeries } }))
    assert.deepEqual(await withLimit(all), whole)
    const ofMarkets = [...whole.entries()].filter(([name]) => /^lyra_market_(?!metrics)/.test(name))
    // With the lowest of these, not even the providers are read.
    for (const limit of [all - 1, providers, providers - 1, 0]) {
      const gauges = await withLimit(limit)
      assert.deepEqual(droppedOf(gauges), [{ labels: {}, value: providers }], `${limit}`)
      for (const [name, series] of ofMarkets) assert.deepEqual(gauges.get(name), series, name)
      for (const name of Object.keys(FIGURES_OF_PROVIDER)) assert.deepEqual(gauges.get(name), [], name)
    }
  })

  test('are not there unless they are switched on', async (t) => {
    const { base } = await serveLive(t, kind)
    assert.equal(await statusOf(base, PATH), 404)
    assert.equal(await statusOf(base, '/metrics'), 200)
  })

  test('are answered as /metrics and questions are: without a rate limit, compressed, with an entity tag', async (t) => {
    const { base, live } = await serveLive(t, kind, richMarket(LIVE_MARKET, 'A'), { ...ON, rateLimit: 1 })
    const plain = await send(base, PATH)
    const { headers: ofService } = await send(base, '/metrics')
    assert.equal(plain.headers['content-type'], ofService['content-type'])
    assert.equal(plain.headers['content-disposition'], undefined)
    const head = await send(base, PATH, { method: 'HEAD' })
    assert.deepEqual([head.status, head.text, head.headers.etag], [200, '', plain.headers.etag])
    const packed = await send(base, PATH, { headers: { 'accept-encoding': 'gzip' } })
    assert.equal(packed.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(packed.body).toString(), plain.text)
    const tagged = { headers: { 'if-none-match': plain.headers.etag! } }
    assert.equal(await statusOf(base, PATH, tagged), 304)
    for (let request = 0; request < 20; request++) assert.equal(await statusOf(base, PATH), 200)
    assert.equal((await send(base, `${PATH}?pretty`)).text, plain.text)
    for (const query of ['marketId=a', 'times=iso', 'format=csv'])
      assert.equal(await statusOf(base, `${PATH}?${query}`), 400)
    assert.equal(await statusOf(base, PATH, { method: 'POST' }), 405)
    assert.match(await metricsOf(base), /^lyra_pages_from_memory_total (?:2\d)$/m)
    // An hour later, with the next commit, the next payment is another one.
    await live.commit(2, [], 3_600)
    const later = await send(base, PATH, tagged)
    assert.equal(later.status, 200)
    const [next] = seriesByName(later.text).get('lyra_market_next_payment_timestamp_seconds')!
    assert.equal(next!.value, Number(timeOf(7_200)) / 1e9)
  })

  test('are refused by an empty store', async (t) => {
    assert.equal(await statusOf(await serve(t, kind.create(t), ON), PATH), 503)
  })

  test('are of one block while blocks are committed', async (t) => {
    if (kind.name === 'citus') return t.skip('rows on a cluster are committed before the position')
    const parties = [idOf('e'), idOf('f')]
    const { store, live } = await createLiveStore(t, kind)
    /** All of a block's values follow from its height. */
    const blockAt = (height: number) => {
      const rate = `0.${height}`
      const [provision, ...others] = providedBy(LIVE_MARKET, parties)
      const data = others.pop() as ReturnType<typeof inState>
      const slas = parties.map((party) => ({
        party,
        currentEpochFractionOfTimeOnBook: '',
        lastEpochFractionOfTimeOnBook: '',
        lastEpochFeePenalty: rate,
        lastEpochBondPenalty: '',
        hysteresisPeriodFeePenalties: [],
        requiredLiquidity: '',
        notionalVolumeBuys: '',
        notionalVolumeSells: '',
      }))
      return [
        marketWith(LIVE_MARKET, `code ${height}`),
        periodEvent({
          seq: BigInt(height),
          start: timeOf(height),
          end: timeOf(height),
          fundingPayment: '1',
          fundingRate: rate,
          internalTwap: '1',
          externalTwap: '1',
        }),
        { ...pointAt(height, { source: 1 }), timestamp: timeOf(height), seq: BigInt(height) },
        provision!,
        ...others,
        { ...data, slas },
      ]
    }
    await live.commit(1, blockAt(1))
    const base = await serve(t, store, { ...ON, inThreads: true })
    const heights = new Set<number>()
    const committing = (async () => {
      for (let height = 2; heights.size < 10; height++) {
        await live.commit(height, blockAt(height))
        // Reports have low priority: they must get a turn on a busy machine.
        await sleep(20)
      }
    })()
    for (const until = performance.now() + 30_000; heights.size < 10; ) {
      assert.ok(performance.now() < until, `${heights.size} blocks`)
      const { status, headers, text } = await send(base, PATH)
      assert.equal(status, 200, text)
      const height = Number(headers['x-block-height'])
      heights.add(height)
      const gauges = seriesByName(text)
      const labels = { market: `code ${height}`, market_id: LIVE_MARKET }
      const rate = Number(`0.${height}`)
      assert.deepEqual(gauges.get('lyra_market_funding_rate_last'), [{ labels, value: rate }])
      assert.deepEqual(gauges.get('lyra_market_external_price_timestamp_seconds'), [
        { labels, value: Number(timeOf(height)) / 1e9 },
      ])
      assert.deepEqual(
        gauges.get('lyra_provider_fee_penalty_last'),
        parties.map((party) => ({ labels: { ...labels, party_id: party }, value: rate })),
      )
    }
    await committing
  })

  test('have more providers than the standing gives', async (t) => {
    const parties = Array.from({ length: 5_100 }, (_, index) => `${index}`.padStart(64, '0'))
    const sla = {
      priceRange: '0.1',
      commitmentMinTimeFraction: '0.5',
      performanceHysteresisEpochs: 1n,
      slaCompetitionFactor: '0.5',
    }
    const { base } = await serveLive(
      t,
      kind,
      [marketWith(LIVE_MARKET, 'A', { sla }), ...providedBy(LIVE_MARKET, parties)],
      ON,
    )
    const gauges = await gaugesOf(base)
    assert.equal(gauges.get('lyra_provider_minimum')!.length, 5_100)
    assert.deepEqual(droppedOf(gauges), [{ labels: {}, value: 0 }])
  })
})

test('a service without figures of markets names the option', async (t) => {
  const { store } = await createLiveStore(t, STORE_KINDS[0]!)
  const base = await serve(t, store)
  const { status, text } = await send(base, PATH)
  assert.equal(status, 404)
  assert.match(text, /start it with --market-metrics/)
})
