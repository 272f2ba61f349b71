import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary } from 'lyra-client'
import { nextPayment } from '#core/domain/market-figures'
import { type Unit, whyNoUnit } from '../../web/src/figures/amount.ts'
import { approximate } from '../../web/src/figures/decimal.ts'
import { formatRate } from '../../web/src/figures/format-figure.ts'
import type { ReadoutProps } from '../../web/src/funding/charts/readout.tsx'
import { askDays, dayBars, daysOf, dayValues } from '../../web/src/funding/data/days.ts'
import {
  barValues,
  cumulativeAt,
  type Reading,
  readingAt,
  runningPeriod,
  titleOf,
} from '../../web/src/funding/data/reading.ts'
import type { RangePayments } from '../../web/src/funding/data/use-payments.ts'
import { askPeriods } from '../../web/src/periods/period.ts'
import { auctionTimes, readAuctions } from '../../web/src/series/auctions.ts'
import { momentsOf, type Range, readSeries } from '../../web/src/series/series.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { DAYS, HOUR, MARKETS, ratesStore } from '../fixtures/events/made-rates.ts'
import { madePeriod, madeSeries } from '../fixtures/explorer/explorer-series.ts'
import {
  answered,
  clientOf,
  figureOf,
  go,
  render,
  rowsOf,
  rowTexts,
  type Served,
  textOf,
  visit,
} from '../fixtures/explorer/render.ts'
import { FILE, serve, serveFile, serveRecording } from '../fixtures/services/service.ts'
import { BTC, ETH, MONTH } from '../fixtures/shared.ts'
import { LIVE_MARKET, timeOf } from '../fixtures/stores/live-store.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'

const { Cumulative, NowFigures } = await import('../../web/src/funding/now/now-figures.tsx')
const { ChartNotes } = await import('../../web/src/funding/charts/chart-notes.tsx')
const { PeriodsTable } = await import('../../web/src/funding/tables/periods-table.tsx')
const { MarkPrice } = await import('../../web/src/funding/mark-price.tsx')
const { PositionPayments } = await import('../../web/src/funding/now/position-payments.tsx')
const { receivedBy } = await import('../../web/src/funding/data/units.ts')
const { askPastEstimates, estimateAt, estimateLine } = await import(
  '../../web/src/funding/charts/past-estimates.ts'
)
const { Readout, tipLines } = await import('../../web/src/funding/charts/readout.tsx')
const { storedRange } = await import('../../web/src/funding/data/requests.ts')
const { latestCoverage } = await import('../../web/src/service/coverage.ts')
const { instrumentOf, marketUnit } = await import('../../web/src/service/instruments.ts')

const recording = clientOf(await serveRecording('perps-long-named'))
const rates = clientOf(await serve(FILE, await ratesStore(FILE)))

const USD: Unit = { symbol: 'USD', decimals: 5 }

const DAY = 86_400n * 1_000_000_000n
const DAY_S = 24 * HOUR

/** The requests of the funding view, for a market with all its data. */
async function fundingOf(served: Served, marketId: string) {
  await visit(served, `/?view=funding&market=${marketId}`)
  const { client } = served
  const coverage = latestCoverage()!
  const held = storedRange(coverage, marketId)!
  const range = { from: held.from, to: held.to + 1n }
  const [summary] = (await client.marketSummariesPage({ marketId })).rows.map(({ node }) => node)
  const series = readSeries(await client.series(marketId, { ...range, buckets: 500 }))
  return {
    range,
    summary: summary!,
    periods: await askPeriods(client, { marketId }, 5_000),
    estimate: await client.fundingEstimate(marketId),
    data: { moments: momentsOf(series), bucket: series.bucket, interval: series.interval },
    unit: marketUnit(marketId),
    last: BigInt(coverage.blocks.lastTimestamp),
  }
}

type Funding = Awaited<ReturnType<typeof fundingOf>>

/** Sums that have not arrived. */
const UNASKED = { ...answered({} as RangePayments), data: null }

const nowOf = ({ periods, estimate, summary, unit, last }: Funding, nextPayment: bigint | null = null) =>
  render(NowFigures, {
    periods: periods.list,
    estimate,
    summary,
    due: nextPayment,
    unit,
    last,
    children: null,
  })

const tableOf = (marketId: string, { periods, estimate, unit, range }: Funding) =>
  render(PeriodsTable, {
    marketId,
    periods: answered(periods),
    range,
    estimate,
    unit,
  })

function readoutOf({ data, periods, estimate, unit, range }: Funding, time: bigint) {
  const reading = readingAt({ ...data, periods: periods.list }, time)
  const values = barValues(periods.list, range, estimate, 'rate')
  const sums = barValues(periods.list, range, estimate, 'cumulative')
  const cumulative = cumulativeAt(periods.list, sums, time)
  return readout(reading, { bars: { kind: 'rate', values }, unit, cumulative, interval: data.interval })
}

function readout(reading: Reading, props: Partial<ReadoutProps> = {}): string {
  return render(Readout, {
    pointed: true,
    bars: { kind: 'rate', values: new Map() },
    days: null,
    cumulative: null,
    unit: null,
    interval: '',
    reading,
    ...props,
  })
}

/** A market without a known asset or an estimate. */
const madeFunding = (fields: Partial<Omit<Funding, 'summary'>> & { summary?: MarketSummary }): Funding => ({
  range: { from: 0n, to: 100n },
  periods: { list: [], more: false },
  estimate: null,
  unit: null,
  data: { moments: [], bucket: 1n, interval: '' },
  last: timeOf(114),
  summary: { marketData: null, instrument: null } as unknown as MarketSummary,
  ...fields,
})

describe("the explorer's funding", () => {
  test('has the last paid period, the running one as an estimate, and the sum of all', async () => {
    const funding = await fundingOf(recording, BTC)
    const now = nowOf(funding)
    // The data are static: dates instead of ages.
    assert.equal(
      textOf(now),
      'Period #31, estimate -0.2387 % shorts pay longs 70.35102 USD -83,633.80 % a year began 2024-03-01 06:41:45 UTC ; periods are not regular Last paid -3.5860 % shorts pay longs 1,070.13057 USD -1,256,528.00 % a year',
    )
    const { periods, range } = funding
    const all = render(Cumulative, { periods: periods.list, range, areAll: true, payments: UNASKED })
    assert.equal(
      textOf(all),
      'Cumulative +58.9837 % of 28 periods that ended in this range +743,449.29 % a year since 2024-03-01 06:00 UTC',
    )
    assert.deepEqual(
      ['last-rate', 'last-payment', 'estimate-rate', 'estimate-payment', 'cumulative'].map(
        (name) => figureOf(now + all, name)!.value,
      ),
      ['-0.0358598172447733', '1070.13057', '-0.0023868093712688', '70.35102', '0.5898370503315531'],
    )
  })

  test('has the amount that a position of any size received or paid in the range', async () => {
    const funding = await fundingOf(recording, BTC)
    const { periods, range, unit, estimate } = funding
    const shownFor = async (units: string, answeredUnits = units) => {
      go(`/?view=funding&units=${units}`)
      const asked = { ...range, units: answeredUnits, first: 1 }
      const payments = { ...(await recording.client.positionFunding(BTC, asked)), range } as RangePayments
      const running = runningPeriod(periods.list)
      const paid = { marketId: BTC, payments: answered(payments), unit, running, estimate }
      const { summary } = funding
      return render(PositionPayments, { ...paid, summary: answered(summary) })
    }
    for (const [units, total, next, text] of [
      [
        '1',
        '-15087.02243',
        '70.35102',
        '-15,087.02 USD long paid for 28 periods CSV worth 29,510.09 USD at the mark price next payment +70.35 USD',
      ],
      [
        '-20',
        '301740.4486',
        '-1407.0204',
        '+301,740.45 USD short received for 28 periods CSV worth 590,201.80 USD at the mark price next payment -1,407.02 USD',
      ],
    ]) {
      const shown = await shownFor(units!)
      assert.equal(
        textOf(shown),
        `Position of ${units === '1' ? 'unit' : 'units'}, this range ${text} , estimate`,
      )
      assert.equal(figureOf(shown, 'position-total')!.value, total)
      assert.equal(figureOf(shown, 'position-next')!.value, next)
      assert.ok(
        shown.includes(
          `href="/api/v2/position-funding/${BTC}?dateRange.startTimestamp=${range.from}&amp;dateRange.endTimestamp=${range.to}&amp;units=${units}&amp;format=csv" download`,
        ),
      )
    }
    // Beside a size that is refused or not answered yet stands no result, least of all that of another one.
    for (const [units, fault] of [
      ['0,5', 'Write 0.5, without a comma.'],
      ['many', 'Write a decimal number, such as 2.5, or -2.5 for a short position.'],
      ['2', ''],
    ] as const) {
      const shown = await shownFor(units, '3')
      assert.equal(/class="fault"[^>]*>([^<]*)</.exec(shown)![1], fault)
      assert.equal(shown.includes('aria-invalid="true"'), fault !== '')
      assert.equal(figureOf(shown, 'position-total'), undefined)
    }
    assert.equal(receivedBy('2.5', '-7'), '17.5')
    assert.equal(receivedBy('-0.50', '4'), '2')
  })

  test("has the mark price in the market's decimals, if they are known", async () => {
    const { summary } = await fundingOf(recording, BTC)
    const of = (markPrice: string, decimalPlaces = '2') => {
      const instrument = { ...summary.instrument!, decimalPlaces }
      const marketData = { ...summary.marketData!, markPrice }
      return render(MarkPrice, { query: answered({ ...summary, instrument, marketData }) })
    }
    assert.equal(textOf(of('5470393')), 'Mark price 54,703.93 USD')
    assert.match(
      of('5470393'),
      /title="At [^"]*It values positions\. The internal price, which funding uses, /,
    )
    assert.equal(of('0'), '')
    assert.equal(of('5', ''), '')
  })

  test('has every period in a table, with the texts that the core sent', async () => {
    for (const [marketId, count, expected] of [
      [
        BTC,
        32,
        {
          0: '31 2024-03-01 06:41:45 running estimate -0.2387 % -83,633.80 % shorts pay longs -70.35102 29,393.92 29,474.92',
          1: '30 2024-03-01 06:40:15 1 min 30 s -3.5860 % -1,256,528.00 % shorts pay longs -1,070.13057 28,768.94 29,842.05',
          3: '28 2024-03-01 06:38:47 0 s no payment: zero length 28,594.22 29,884.26',
          31: '0 2024-03-01 06:00:03 1 min 26 s +1.0118 % +371,041.33 % longs pay shorts +306.64426 30,642.29 30,305.45',
        },
      ],
      [
        ETH,
        49,
        {
          37: '11 2024-03-01 06:09:56 0 s no payment: zero length none (0) none (0)',
          48: '0 2024-03-01 06:00:03 59 s +0.000019 % +10.00 % longs pay shorts +0.00028 1,500.61 1,500.66',
        },
      ],
    ] as const) {
      const funding = await fundingOf(recording, marketId)
      const list = funding.periods.list.toReversed()
      assert.match(tableOf(marketId, funding), new RegExp(`All ${count} periods of this range`))
      go('/?view=funding&periods=all')
      const rows = rowsOf(tableOf(marketId, funding))
      assert.equal(rows.length, count)
      for (const [index, text] of Object.entries(expected)) assert.equal(textOf(rows[Number(index)]!), text)
      for (const [index, { seq, start, end, rate }] of list.entries()) {
        if (end === null || rate === null) continue
        // A period's number shows that period alone: with the payment at its end, without that at its start.
        const link = `market=${marketId}&amp;from=${start + 1n}&amp;to=${end + 1n}">${seq}<`
        assert.ok(rows[index]!.includes(link), `${seq}`)
        assert.ok(rows[index]!.includes(`<data class="amount" value="${rate}"`), `${seq}`)
      }
    }
  })

  test('lists every period that is in the cumulative rate, and says which others it lists', () => {
    const paid = { payment: '1', rate: '0.0100', internalTwap: '1', externalTwap: '1' }
    const at = timeOf
    const list = [
      madePeriod(1, at(0), at(10), paid),
      // It ends as the range begins: its payment is due in the range.
      madePeriod(2, at(10), at(20), paid),
      madePeriod(3, at(20), at(20), { payment: null, rate: null }),
      madePeriod(4, at(20), at(30), paid),
      madePeriod(5, at(30), at(40), paid),
      madePeriod(6, at(40), at(50), paid),
    ]
    const shownIn = (range: Range) => ({
      figure: textOf(
        render(Cumulative, { periods: list, range, areAll: true, payments: answered({} as RangePayments) }),
      ),
      table: tableOf(LIVE_MARKET, madeFunding({ periods: { list, more: false }, range })),
    })
    const shown = shownIn({ from: at(20), to: at(35) })
    assertSays(shown.figure, 'Cumulative +2.0000 % of 2 periods that ended in this range')
    assertSays(
      textOf(shown.table),
      'The cumulative rate is the sum of 2 of these 4 periods: those that were paid and ended in this range.',
    )
    const texts = rowTexts(shown.table)
    assert.deepEqual(
      texts.map((text) => [text.split(' ')[0], /ended later/.test(text)]),
      [
        ['5', true],
        ['4', false],
        ['3', false],
        ['2', false],
      ],
    )
    assertSays(texts[0]!, 'ended later +1.0000 %')
    const one = shownIn({ from: at(31), to: at(41) })
    assertSays(one.figure, 'Cumulative +1.0000 % of 1 period that ended in this range')
    // Without a difference nothing is explained.
    const same = shownIn({ from: at(31), to: at(51) })
    assertSays(same.figure, 'of 2 periods')
    assert.doesNotMatch(textOf(same.table), /cumulative rate|ended later/)
    const none = shownIn({ from: at(41), to: at(45) })
    assertSays(none.figure, 'Cumulative No payment was due in this range')
    assert.doesNotMatch(textOf(none.table), /cumulative rate/)
    assert.match(rowTexts(none.table)[0]!, /ended later/)
  })

  test('has prices and TWAPs at a time, whole on hover, and in words', async () => {
    const funding = await fundingOf(recording, BTC)
    const { data, periods, range } = funding
    const rates = { kind: 'rate' as const, values: barValues(periods.list, range, null, 'rate') }
    const start = 1_709_275_110_000_000_000n
    const html = readoutOf(funding, start)
    assert.equal(
      textOf(html),
      'At 2024-03-01 06:38:30 UTC period 27: -0.2775 %, shorts pay longs cumulative in this range +67.3216 % in steps of 10s External TWAP 28,225.18024 USD price 29,750.11 USD 27,993.47 – 29,885.40, 4 points Internal TWAP 28,254.39448 USD price 28,587.79 USD 28,173.50 – 28,587.79, 2 points TWAP difference +29.21424 USD internal − external; premium +10.35 bp',
    )
    for (const [name, value, hover] of [
      ['external-twap', '28225.18024', '28,225.18024 USD'],
      ['internal-price', '28587.79', '28,587.79 USD'],
      ['difference', '29.21424', '29.21424 USD'],
    ] as const) {
      const { value: exact, title } = figureOf(html, name)!
      assert.deepEqual([exact, title], [value, hover])
    }
    assert.equal(
      textOf(readoutOf(funding, data.moments.at(-1)!.start)),
      'At 2024-03-01 06:43:00 UTC period 31: running cumulative in this range, with the estimate +58.7450 % in steps of 10s External TWAP 29,470.93 USD price 29,568.13 USD 29,551.44 – 29,568.13, 2 points Internal TWAP 29,385.37411 USD price 29,510.09 USD TWAP difference -85.55589 USD internal − external; premium -29.03 bp',
    )
    const lines = tipLines(readingAt({ ...data, periods: periods.list }, start), rates, null, USD)
    assert.deepEqual(lines, [
      '2024-03-01 06:38:30 UTC, period 27',
      'Rate -0.2775 %, shorts pay longs',
      'External 29,750.11 USD, TWAP 28,225.18024',
      'Internal 28,587.79 USD, TWAP 28,254.39448',
      'Premium +10.35 bp',
    ])
    // Before the periods are known, their payments are not shown.
    const early = readingAt({ ...data, periods: null }, start)
    assert.deepEqual(tipLines(early, rates, null, USD), lines.toSpliced(1, 1))
    assert.match(textOf(readout(early, { pointed: false })), /^Latest in the range \S+ \S+ UTC External TWAP/)
  })

  test('has estimates at each time, which end with what each period paid', async () => {
    const { client } = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    const { rows } = await client.instrumentsPage()
    const marketId = rows.find(({ node }) => node.code === 'BTC/USDT')!.node.marketId
    const range = { from: 1_725_148_800_000_000_000n, to: 1_727_825_400_000_000_001n }
    const periods = (await askPeriods(client, { marketId }, 1_000)).list
    const past = await askPastEstimates(client, marketId, range)
    assert.ok(past.list.length > 2_000 && !past.isCut)
    for (const kind of ['rate', '8h', 'annualised'] as const) {
      const bars = barValues(periods, range, null, kind)
      const line = estimateLine(past, periods, kind)
      const paid = periods.filter(({ rate, end }) => rate !== null && end !== null)
      assert.ok(paid.length > 80)
      for (const { seq, end } of paid) {
        assert.deepEqual(estimateAt(past, periods, kind, end! - 1n) === null, false)
        // Of the period that begins then, the line has a point just after.
        const at = line.findIndex(({ time }) => time >= end!)
        assert.equal(line[at]!.time, end)
        assert.equal(line[at]!.value, approximate(bars.get(seq)!) * 100, `${kind} of period ${seq}`)
        assert.equal(line[at + 1]!.value, null)
      }
    }
    assert.deepEqual(estimateLine(past, periods, 'cumulative'), [])
    // A line is drawn once: its times ascend.
    const times = estimateLine(past, periods, 'rate').map(({ time }) => time)
    assert.ok(times.every((time, index) => index === 0 || time > times[index - 1]!))
    const long = await askPastEstimates(client, marketId, { from: 0n, to: range.to })
    assert.deepEqual(long, { list: [], isCut: true })
  })

  test('has no difference in auction, and says when the market was in auction', async () => {
    const funding = await fundingOf(recording, ETH)
    const { range, last } = funding
    const series = readSeries(await recording.client.series(ETH, { ...range, interval: '2s' }))
    const data = { moments: momentsOf(series), bucket: series.bucket, interval: series.interval }
    // Its period begins in auction.
    assert.equal(
      textOf(readoutOf({ ...funding, data }, 1_709_273_162_000_000_000n)),
      'At 2024-03-01 06:06:02 UTC period 7: -2.0384 %, shorts pay longs cumulative in this range +7.9685 % in steps of 2s External TWAP 0.00 USD price 1,401.32 USD 1,357.47 – 1,401.32, 2 points Internal TWAP 0.00 USD price 1,349.38 USD TWAP difference – in auction since the start of the period: no TWAP',
    )
    const auctions = auctionTimes(readAuctions(await recording.client.marketAuctions(ETH)), last)
    const shades = auctions.map((at) => ({ ...at, kind: 'auction' as const }))
    const chart = { ...data, periods: null, shades, decimals: 5 }
    assert.equal(
      textOf(render(ChartNotes, { data: chart, range, why: null, byDay: false })),
      'Drawn from 1,437 external and 714 internal points: the last price and TWAP of each step, with a band from its lowest to its highest price. Steps at the ends of the range count whole, and each point once: the table of data points lists it again for each later period into which it was carried over. In auction from 2024-03-01 06:43:00 to 2024-03-01 06:43:06 and 20 earlier auctions: prices in an auction do not count towards TWAPs.',
    )
  })

  test('says when a regular period ends, and shows whole numbers if no asset is known', () => {
    const great = '1234567890123456789012345678'
    const paid = { payment: '12345', rate: '0.0001', internalTwap: great, externalTwap: great }
    const end = timeOf(114)
    const list = Array.from({ length: 11 }, (_, index) =>
      madePeriod(index, timeOf(index * 10), timeOf(index * 10 + 10), paid),
    )
    list.push(madePeriod(11, timeOf(110), null))
    const data = madeSeries(20, [[end, great, 11]], [[end, `${BigInt(great) + 1n}`, 11]])
    const range = { from: timeOf(0), to: end + 1n }
    const funding = madeFunding({ periods: { list, more: false }, range, data })
    // The number of 10-second periods in 365 days.
    assert.equal(
      textOf(nowOf(funding)),
      'Period #11, estimate No estimate: the store has no market data of this market due 2023-11-14 22:15:20 UTC Last paid +0.0100 % longs pay shorts 12,345 +31,536.00 % a year',
    )
    const html = readoutOf(funding, end)
    assert.equal(figureOf(html, 'external-twap')!.text, '1,234,567,890,123,456,789,012,345,678')
    assert.equal(figureOf(html, 'difference')!.text, '+1')
    const chart = { ...data, periods: null, shades: [], decimals: 0 }
    assertSays(
      textOf(render(ChartNotes, { data: chart, range, why: whyNoUnit(null), byDay: false })),
      'Prices are shown as sent, as whole numbers: the store has no market event for this market',
    )
    assertSays(textOf(tableOf(LIVE_MARKET, funding)), '+12,345 1,234,567,890,123,456,789,012,345,678')
  })

  test('gives the true reason for no estimate, and counts no running period as missing', () => {
    const running = { internalTwap: '7', externalTwap: '8' }
    const list = [madePeriod(1, 0n, 10n), madePeriod(2, 10n, null, running)]
    const marketData = { marketState: 'STATE_ACTIVE', tradingMode: 'TRADING_MODE_CONTINUOUS' }
    for (const [summary, reason] of [
      [{ marketData: null }, 'the store has no market data of this market'],
      [{ marketData, runningPeriod: {} }, "the market's latest data contain none for this period"],
      [{ marketData, runningPeriod: null }, 'a later period has begun, whose first block is missing'],
      [{ marketData: { ...marketData, marketState: 'STATE_SETTLED' } }, 'the market has ended'],
    ] as const) {
      const funding = madeFunding({
        periods: { list, more: false },
        summary: { instrument: null, ...summary } as unknown as MarketSummary,
      })
      assert.ok(textOf(nowOf(funding)).includes(`No estimate: ${reason}`), reason)
      // Its opening prices are no averages.
      assert.equal(
        rowTexts(tableOf(LIVE_MARKET, funding))[0],
        '2 1970-01-01 00:00:00.00000001 running running – –',
      )
    }
    const missing = (...seqs: string[]) => {
      const payments = answered({ missing: seqs } as unknown as RangePayments)
      return textOf(
        render(Cumulative, { periods: list, range: { from: 0n, to: 20n }, areAll: true, payments }),
      )
    }
    assert.doesNotMatch(missing('2'), /missing/)
    assertSays(missing('2', '3'), 'at least 1 period is missing')
    assertSays(missing('2', '3', '4'), 'at least 2 periods are missing')
  })

  test('is cumulated up to any time, by period or by day, with a due time by the schedule of the market', async () => {
    const [{ marketId }, { marketId: hourly }] = MARKETS
    const funding = await fundingOf(rates, marketId)
    const { list } = funding.periods
    const sums = barValues(list, { from: timeOf(10 * DAY_S), to: timeOf(20 * DAY_S) }, null, 'cumulative')
    // A period counts from its start on, once its payment is due in the range.
    for (const [hours, sum] of [
      [0, '+0.0200 %'],
      [7, '+0.0200 %'],
      [14, '+0.0500 %'],
      [21, '+0.0400 %'],
      [239, '+0.3000 %'],
    ] as const) {
      assert.equal(formatRate(cumulativeAt(list, sums, timeOf(10 * DAY_S + hours * HOUR))!, 4), sum)
    }
    const next = nextPayment(instrumentOf(marketId)!.funding!.schedule, funding.last)!
    assertSays(textOf(nowOf(funding, next)), 'payment due 06:13 UTC 2023-12-25 Last paid')

    const range = daysOf({ from: 0n, to: 2n ** 62n }, { from: timeOf(0), to: timeOf(DAYS * DAY_S) })
    const days = await askDays(rates.client, hourly, range)
    const values = dayValues(days, range, 'cumulative')
    for (const [index, expected] of [
      [
        0,
        '2023-11-14: +0.0010 % in 1 payment, longs pay shorts cumulative of whole days since 2023-11-14 +0.0010 %',
      ],
      [
        1,
        '2023-11-15: +0.0240 % in 24 payments, longs pay shorts cumulative of whole days since 2023-11-14 +0.0250 %',
      ],
      [
        40,
        '2023-12-24: +0.0230 % in 23 payments, longs pay shorts cumulative of whole days since 2023-11-14 +0.9600 %',
      ],
      [41, '2023-12-25: no payment'],
    ] as const) {
      const time = range.from + BigInt(index) * DAY
      const bars = { kind: 'cumulative' as const, values }
      const reading = readingAt({ moments: [], bucket: 1n, periods: [] }, time)
      const shown = textOf(readout(reading, { days, bars, cumulative: values.get(time) ?? null }))
      assert.equal(shown.split(' External TWAP')[0], `At – ${expected}`)
    }
    assert.deepEqual(
      dayBars(values).map(({ from, to }) => [from, to]),
      days.map(({ start }) => [start, start + DAY]),
    )
  })

  test('names the bars of the charts', () => {
    assert.equal(titleOf('rate', false), 'Funding rate of each period')
    assert.equal(titleOf('rate', true), 'Funding rates, sum of each day')
    assert.equal(titleOf('cumulative', false), 'Cumulative funding rate')
    assert.equal(titleOf('cumulative', true), 'Cumulative funding rate, by day')
  })
})
