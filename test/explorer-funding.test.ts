import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary, PositionFunding } from 'lyra-client'
import { h } from 'preact'
import { formatAmount, formatAmountWithUnit, type Unit, whyNoUnit } from '../web/src/figures/amount.ts'
import { parseDecimal, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatRate, groupDigits } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { areTooMany, askDays, dayBars, daysOf, dayValues } from '../web/src/funding/days.ts'
import {
  barValues,
  cumulativeAt,
  type Reading,
  readingAt,
  runningPeriod,
  titleOf,
} from '../web/src/funding/reading.ts'
import type { ReadoutProps } from '../web/src/funding/readout.tsx'
import { nextPayment } from '../web/src/periods/next-payment.ts'
import {
  annualised,
  askPeriods,
  cumulative,
  type Period,
  whoPays,
  within,
} from '../web/src/periods/period.ts'
import { auctionTimes, readAuctions } from '../web/src/series/auctions.ts'
import { momentsOf, type Range, readSeries } from '../web/src/series/series.ts'
import { send } from './fixtures/http.ts'
import { LIVE_MARKET, timeOf } from './fixtures/live-store.ts'
import { DAYS, due, HOUR, MARKETS, percent, ratesStore, sum } from './fixtures/made-rates.ts'
import {
  cellsOf,
  clientOf,
  figureOf,
  go,
  render,
  rowsOf,
  type Served,
  textOf,
  visit,
} from './fixtures/render.ts'
import { BTC, ETH, SOL } from './fixtures/sample.ts'
import { FILE, serve, serveRecording } from './fixtures/service.ts'

const { Cumulative, NowFigures } = await import('../web/src/funding/now-figures.tsx')
const { ChartNotes } = await import('../web/src/funding/funding-market.tsx')
const { PeriodsTable } = await import('../web/src/funding/periods-table.tsx')
const { MarkPrice } = await import('../web/src/funding/mark-price.tsx')
const { PositionPayments, receivedBy } = await import('../web/src/funding/position-payments.tsx')
const { Readout, tipLines } = await import('../web/src/funding/readout.tsx')
const { heldRange } = await import('../web/src/funding/requests.ts')
const { latestCoverage } = await import('../web/src/service/coverage.ts')
const { instrumentOf, marketUnit } = await import('../web/src/service/instruments.ts')

const recording = clientOf(await serveRecording('perps-long-named'))
const rates = clientOf(await serve(FILE, await ratesStore(FILE)))

const USD: Unit = { symbol: 'USD', decimals: 5 }

const DAY = 86_400n * 1_000_000_000n

const rate = (text: string, places = 4) => formatRate(parseDecimal(text)!, places)

const answered = <Data>(data: Data) => ({ data, error: null, loading: false, reload: () => {} })

/** The requests of the funding view, for a market with all its data. */
async function fundingOf(served: Served, marketId: string) {
  await visit(served, `/?view=funding&market=${marketId}`)
  const { client } = served
  const coverage = latestCoverage()!
  const held = heldRange(coverage, marketId)!
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

const nowOf = ({ periods, estimate, summary, unit, last }: Funding, nextPayment: bigint | null = null) =>
  render(
    h(NowFigures, { periods: periods.list, estimate, summary, due: nextPayment, unit, last, children: null }),
  )

const tableOf = (marketId: string, { periods, estimate, unit, range }: Funding) =>
  render(
    h(PeriodsTable, {
      ...{ marketId, periods: answered(periods), shown: within(periods.list, range), firstListed: null },
      ...{ range, estimate, unit },
    }),
  )

function readoutOf({ data, periods, estimate, unit, range }: Funding, time: bigint) {
  const reading = readingAt({ ...data, periods: periods.list }, time)
  const values = barValues(periods.list, range, estimate, 'rate')
  const sums = barValues(periods.list, range, estimate, 'cumulative')
  const cumulative = cumulativeAt(periods.list, sums, time)
  return readout(reading, { bars: { kind: 'rate', values }, unit, cumulative, interval: data.interval })
}

function readout(reading: Reading, props: Partial<ReadoutProps> = {}): string {
  const none: Omit<ReadoutProps, 'reading'> = {
    ...{ pointed: true, bars: { kind: 'rate', values: new Map() }, days: null, cumulative: null },
    ...{ unit: null, interval: '' },
  }
  return render(h(Readout, { ...none, reading, ...props }))
}

const period = (seq: number, start: bigint, end: bigint | null, fields: Partial<Period> = {}): Period => ({
  ...{ seq: BigInt(seq), start, end, payment: '1', rate: `0.${seq}`, internalTwap: null, externalTwap: null },
  ...fields,
})

type Buckets = [at: number, seq: number, twap: string][]

/** A series of buckets of 20 ns, which begin so many nanoseconds after a time. */
function dataOf(from: bigint, external: Buckets, internal: Buckets): Funding['data'] {
  const same = (text: string) => ({ first: text, last: text, minimum: text, maximum: text })
  const buckets = (of: Buckets) =>
    of.map(([at, seq, twap]) => ({
      start: `${from + BigInt(at)}`,
      ...{ seq: `${seq}`, count: '1', price: same('9'), twap: same(twap) },
    }))
  const series = readSeries({
    ...{ marketId: 'a', from: '0', to: '100', interval: '1s', bucketNanoseconds: '20' },
    sources: [
      { dataPointType: 'SOURCE_EXTERNAL', buckets: buckets(external) },
      { dataPointType: 'SOURCE_INTERNAL', buckets: buckets(internal) },
    ],
  })
  return { moments: momentsOf(series), bucket: series.bucket, interval: '1s' }
}

/** A market without a known asset or an estimate. */
const madeFunding = (fields: Partial<Omit<Funding, 'summary'>> & { summary?: MarketSummary }): Funding => ({
  ...{ range: { from: 0n, to: 100n }, periods: { list: [], more: false }, estimate: null, unit: null },
  ...{ data: { moments: [], bucket: 1n, interval: '' }, last: timeOf(114) },
  summary: { marketData: null, instrument: null } as unknown as MarketSummary,
  ...fields,
})

describe("the explorer's funding", () => {
  test('has the last paid period, the running one as an estimate, and the sum of all', async () => {
    const funding = await fundingOf(recording, BTC)
    const { periods, estimate, range } = funding
    const paid = periods.list.filter((period) => period.rate !== null)
    const last = paid.at(-1)!
    const now = nowOf(funding)
    assert.equal(figureOf(now, 'last-rate')!.text, rate(last.rate!))
    assert.equal(figureOf(now, 'last-rate')!.value, last.rate)
    const payment = last.payment!.replace('-', '')
    assert.equal(figureOf(now, 'last-payment')!.value, payment)
    assert.equal(figureOf(now, 'last-payment')!.text, formatAmountWithUnit(payment, USD))
    const text = textOf(now)
    assert.ok(text.includes(whoPays(last.payment)), text)
    const year = annualised(last.rate, last.end! - last.start)!
    assert.equal(figureOf(now, 'last-annualised')!.text, formatRate(year, 2))
    assert.match(text, new RegExp(`Period #${estimate!.seq}, estimate`))
    assert.equal(figureOf(now, 'estimate-rate')!.value, estimate!.fundingRate)
    assert.equal(figureOf(now, 'estimate-payment')!.value, estimate!.fundingPayment.replace('-', ''))
    // The data are static: dates instead of ages.
    assert.ok(
      text.includes(`began ${formatTime(periods.list.at(-1)!.start)} UTC ; periods are not regular`),
      text,
    )
    const all = render(h(Cumulative, { periods: periods.list, range, areAll: true, payments: null }))
    assert.equal(figureOf(all, 'cumulative')!.value, writeDecimal(cumulative(paid)))
    assert.match(textOf(all), new RegExp(`Cumulative \\(${paid.length} periods due\\)`))
  })

  test('has the amount that a position of any size received or paid in the range', async () => {
    const { periods, range, unit, estimate } = await fundingOf(recording, BTC)
    const paid = periods.list.filter(({ payment }) => payment !== null)
    const sumPaid = paid.reduce((total, { payment }) => total - BigInt(payment!), 0n)
    const figureFor = (payments: (PositionFunding & { range: Range }) | null) =>
      render(
        h(PositionPayments, {
          ...{ marketId: BTC, payments: answered(payments), unit, running: runningPeriod(periods.list) },
          estimate,
        }),
      )
    for (const units of [1n, -20n, 3n]) {
      go(`/?view=funding&units=${units}`)
      const payments = await recording.client.positionFunding(BTC, { ...range, units: `${units}`, first: 1 })
      const shown = figureFor({ ...payments, range })
      const total = sumPaid * units
      assert.equal(figureOf(shown, 'position-total')!.value, `${total}`)
      const amount = formatAmountWithUnit(`${total}`, USD, { signed: true })
      assert.equal(figureOf(shown, 'position-total')!.text, amount)
      assert.equal(
        figureOf(shown, 'position-next')!.value,
        `${-units * BigInt(estimate.fundingPayment)}`,
        textOf(shown),
      )
      const did = `${units < 0n ? 'short' : 'long'} ${total < 0n ? 'paid' : 'received'}`
      assert.ok(textOf(shown).includes(`${did} for ${paid.length} periods`), textOf(shown))
      const csv = /href="([^"]*)" download/.exec(shown)![1]!.replaceAll('&amp;', '&')
      const lines = paid
        .toReversed()
        .map(({ seq, end, rate, payment }) => [seq, end, rate, -units * BigInt(payment!)].join())
      assert.equal(
        (await send(recording.base, csv)).text,
        ['seq,end,fundingRate,amount', ...lines, ''].join('\r\n'),
      )
    }
    // Beside a size that is refused or not answered yet stands no result, least of all that of another one.
    const payments = await recording.client.positionFunding(BTC, { ...range, units: '3', first: 1 })
    for (const [units, fault] of [
      ['0,5', 'Write 0.5, without a comma.'],
      ['many', 'Write a decimal number, such as 2.5, or -2.5 for a short position.'],
      ['2', ''],
    ] as const) {
      go(`/?view=funding&units=${units}`)
      const shown = figureFor({ ...payments, range })
      assert.equal(/class="fault"[^>]*>([^<]*)</.exec(shown)![1], fault)
      assert.equal(shown.includes('aria-invalid="true"'), fault !== '')
      assert.equal(figureOf(shown, 'position-total'), undefined)
    }
    assert.equal(receivedBy('2.5', '-7'), '17.5')
    assert.equal(receivedBy('-0.50', '4'), '2')
  })

  test("has the mark price in the market's decimals, if they are known", async () => {
    const { summary } = await fundingOf(recording, BTC)
    const instrument = { ...summary.instrument!, decimalPlaces: '2' }
    const of = (markPrice: string, decimalPlaces = '2') =>
      render(
        h(MarkPrice, {
          summary: {
            ...summary,
            instrument: { ...instrument, decimalPlaces },
            marketData: { ...summary.marketData!, markPrice },
          },
        }),
      )
    assert.equal(textOf(of('5470393')), 'Mark price 54,703.93 USD')
    assert.match(
      of('5470393'),
      /title="At [^"]*It values positions\. The internal price, which funding uses, /,
    )
    assert.equal(of('0'), '')
    assert.equal(of('5', ''), '')
  })

  test('has every period in a table, with the texts that the core sent', async () => {
    for (const marketId of [BTC, ETH, SOL]) {
      const funding = await fundingOf(recording, marketId)
      const { estimate } = funding
      const list = funding.periods.list.toReversed()
      go('/?view=funding')
      assert.match(tableOf(marketId, funding), new RegExp(`All ${list.length} periods of this range`))
      go('/?view=funding&periods=all')
      const table = tableOf(marketId, funding)
      const [cells, rows] = [cellsOf(table), rowsOf(table)]
      assert.equal(cells.length, list.length)
      for (const [index, period] of list.entries()) {
        const [seq, start, , ...row] = cells[index]!
        assert.deepEqual([seq, start], [groupDigits(`${period.seq}`), formatTime(period.start)])
        const twaps = (of: { internalTwap?: string | null; externalTwap?: string | null }) =>
          [of.internalTwap!, of.externalTwap!].map((twap) =>
            // Amounts of a column have the same decimals: all of the asset's.
            twap === '0' ? 'none (0)' : formatAmount(twap, USD, { least: USD.decimals }),
          )
        if (period.end === null) {
          assert.match(row[0]!, /^estimate/)
          // Those of its own row are opening prices.
          assert.deepEqual(row.slice(-2), twaps(estimate!))
        } else if (period.rate === null) assert.equal(row[0], 'no payment: zero length', seq)
        else {
          assert.ok(rows[index]!.includes(`<data class="amount" value="${period.rate}"`), seq)
          assert.deepEqual(
            [row[0], row[2], row[3], ...row.slice(4)],
            [
              rate(period.rate),
              whoPays(period.payment),
              formatAmount(period.payment!, USD, { signed: true, least: USD.decimals }),
              ...twaps(period),
            ],
          )
          // A period's number shows that period alone.
          assert.ok(
            // With the payment at its end, without that at its start.
            rows[index]!.includes(
              `market=${marketId}&amp;from=${BigInt(period.start) + 1n}&amp;to=${BigInt(period.end) + 1n}"`,
            ),
            seq,
          )
        }
      }
    }
  })

  test('has prices and TWAPs at a time, whole on hover, and in words', async () => {
    const funding = await fundingOf(recording, BTC)
    const { moments } = funding.data
    for (const moment of moments.filter((_, index) => index % 50 === 0 || index === moments.length - 1)) {
      const html = readoutOf(funding, moment.start)
      assert.ok(textOf(html).startsWith(`At ${formatTime(moment.start)} UTC period `), textOf(html))
      for (const source of ['external', 'internal'] as const) {
        const price = moment[source]?.price.last
        assert.equal(figureOf(html, `${source}-price`)?.value, price)
        if (price === undefined) continue
        assert.equal(figureOf(html, `${source}-price`)!.text, formatAmountWithUnit(price, USD))
        const twap = figureOf(html, `${source}-twap`)
        if (twap !== undefined) assert.equal(twap.title, `${moment[source]!.twap.last} × 10⁻⁵ USD`)
      }
    }
    const { data, periods } = funding
    const both = moments.findLast(
      ({ start, internal, difference }) => internal?.start === start && (difference?.digits ?? 0n) > 0n,
    )!
    const reading = readingAt({ ...data, periods: periods.list }, both.start)
    const [external, internal] = [reading.moment!.external!, reading.moment!.internal!]
    const difference = `${BigInt(internal.twap.last) - BigInt(external.twap.last)}`
    assert.equal(figureOf(readoutOf(funding, reading.time), 'difference')!.value, difference)
    const rates = { kind: 'rate' as const, values: barValues(periods.list, funding.range, null, 'rate') }
    const [first, bar, ...others] = tipLines(reading, rates, null, USD)
    assert.equal(first, `${formatTime(reading.time)} UTC, period ${external.seq}`)
    assert.equal(bar, `Rate ${rate(reading.period!.rate!)}, ${whoPays(reading.period!.payment)}`)
    const line = (name: string, { price, twap }: typeof external) =>
      `${name} ${formatAmountWithUnit(price.last, USD)}, TWAP ${formatAmount(twap.last, USD)}`
    assert.deepEqual(others.slice(0, 2), [line('External', external), line('Internal', internal)])
    assert.match(others[2]!, /^Premium \+[\d.]+ bp$/)
    // Before the periods are known, their payments are not shown.
    const early = readingAt({ ...data, periods: null }, reading.time)
    assert.match(tipLines(early, rates, null, USD)[1]!, /^External /)
    assert.match(textOf(readout(early, { pointed: false })), /^Latest in the range \S+ \S+ UTC External TWAP/)
  })

  test('has no difference in auction, and says when the market was in auction', async () => {
    const funding = await fundingOf(recording, ETH)
    const { range, last } = funding
    const series = readSeries(await recording.client.series(ETH, { ...range, interval: '2s' }))
    const data = { moments: momentsOf(series), bucket: series.bucket, interval: series.interval }
    const without = data.moments.find(({ external, internal }) =>
      [external, internal].some((of) => of !== null && /^0+$/.test(of.twap.last)),
    )
    assert.ok(without !== undefined, 'the recording has a period that begins in auction')
    const html = readoutOf({ ...funding, data }, without.start)
    assert.equal(figureOf(html, 'difference')!.text, '–')
    assert.match(textOf(html), /in auction since the start of the period: no TWAP/)
    const auctions = auctionTimes(readAuctions(await recording.client.auctions(ETH)), last)
    const { from, to } = auctions.at(-1)!
    const shades = auctions.map((at) => ({ ...at, kind: 'auction' as const }))
    const chart = { ...data, periods: null, shades, decimals: 5 }
    const notes = textOf(render(h(ChartNotes, { data: chart, range, why: null, byDay: false })))
    const [first, end] = [from, to].map((time) => formatTime(time).slice(0, 19))
    assert.ok(
      notes.includes(`In auction from ${first} to ${end} and ${auctions.length - 1} earlier auctions`),
      notes,
    )
    for (const source of ['external', 'internal'] as const) {
      const count = series[source].reduce((total, bucket) => total + bucket.count, 0n)
      assert.ok(notes.includes(`${groupDigits(`${count}`)} ${source} `), notes)
    }
  })

  test('says when a regular period ends, and shows whole numbers if no asset is known', () => {
    const great = '1234567890123456789012345678'
    const paid = { payment: '12345', rate: '0.0001', internalTwap: great, externalTwap: great }
    const [start, end] = [timeOf(0), timeOf(114)]
    const list = Array.from({ length: 11 }, (_, index) =>
      period(index, timeOf(index * 10), timeOf(index * 10 + 10), paid),
    )
    list.push(period(11, timeOf(110), null, { payment: null, rate: null }))
    const data = dataOf(end, [[0, 11, great]], [[0, 11, `${BigInt(great) + 1n}`]])
    const funding = madeFunding({
      periods: { list, more: false },
      range: { from: start, to: end + 1n },
      data,
    })
    const now = nowOf(funding)
    assert.ok(textOf(now).includes(`due ${formatTime(timeOf(120))} UTC`), textOf(now))
    // The number of 10-second periods in 365 days.
    assert.equal(figureOf(now, 'last-annualised')!.text, '+31,536.00 %')
    const html = readoutOf(funding, end)
    assert.equal(figureOf(html, 'external-twap')!.text, '1,234,567,890,123,456,789,012,345,678')
    assert.equal(figureOf(html, 'difference')!.text, '+1')
    const chart = { ...data, periods: null, shades: [], decimals: 0 }
    assert.match(
      textOf(
        render(h(ChartNotes, { data: chart, range: funding.range, why: whyNoUnit(null), byDay: false })),
      ),
      /Prices are shown as sent, as whole numbers: the store has no market event for this market/,
    )
    assert.match(textOf(tableOf(LIVE_MARKET, funding)), /\+12,345 1,234,567,890,123,456,789,012,345,678/)
  })

  test('gives the true reason for no estimate, and counts no running period as missing', () => {
    const running = { internalTwap: '7', externalTwap: '8' }
    const list = [period(1, 0n, 10n), period(2, 10n, null, { ...running, payment: null, rate: null })]
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
      const [first] = cellsOf(tableOf(LIVE_MARKET, funding))
      assert.deepEqual([first![0], ...first!.slice(-2)], ['2', '–', '–'])
    }
    const missing = (...seqs: string[]) => {
      const payments = { missing: seqs } as unknown as PositionFunding
      return textOf(
        render(h(Cumulative, { periods: list, range: { from: 0n, to: 20n }, areAll: true, payments })),
      )
    }
    assert.doesNotMatch(missing('2'), /missing/)
    assert.match(missing('2', '3'), /1 period is missing/)
    assert.match(missing('2', '3', '4'), /2 periods are missing/)
  })

  test('is cumulated up to any time, with a due time by the schedule of the market', async () => {
    const [made] = MARKETS
    const funding = await fundingOf(rates, made.marketId)
    const [from, to] = [timeOf(10 * 24 * HOUR), timeOf(20 * 24 * HOUR)]
    const { list } = funding.periods
    const sums = barValues(list, { from, to }, null, 'cumulative')
    for (let time = from; time < to; time += 7n * 3_600_000_000_000n) {
      // A period counts from its start on, once its payment is due in the range.
      const known = list.filter(({ start }) => start <= time).at(-1)!
      const at = cumulativeAt(list, sums, time)
      const expected = sum(due(made, from, known.end! + 1n < to ? known.end! + 1n : to))
      assert.equal(formatRate(at!, 4), percent(expected), formatTime(time))
    }
    const next = nextPayment(instrumentOf(made.marketId)!.funding!.schedule, funding.last)!
    assert.match(
      textOf(nowOf(funding, next)),
      new RegExp(`payment due ${formatTime(next).slice(11, 16)} UTC`),
    )
  })

  test('of many periods has the sums of days that the API gives', async () => {
    const { client } = rates
    const { marketId } = MARKETS[1]
    const range = daysOf({ from: 0n, to: 2n ** 62n }, { from: timeOf(0), to: timeOf(DAYS * 24 * HOUR) })
    const { buckets } = (await client.fundingRates({ marketId, ...range })).edges[0]!.node
    assert.equal(buckets.length, DAYS + 1)
    const days = await askDays(client, marketId, range)
    const values = dayValues(days, range, 'cumulative')
    const dayOf = (time: bigint) => {
      const reading = readingAt({ moments: [], bucket: 1n, periods: [] }, time)
      return textOf(
        readout(reading, {
          days,
          bars: { kind: 'cumulative', values },
          cumulative: values.get(time) ?? null,
        }),
      )
    }
    for (const { start, count, sumOfRates } of buckets) {
      const sum = `${rate(sumOfRates)} in ${count} payment${count === 1 ? '' : 's'}, ${whoPays(sumOfRates)}`
      const since = `cumulative since ${formatTime(range.from).slice(0, 10)} ${formatRate(values.get(BigInt(start))!, 4)}`
      assert.ok(dayOf(BigInt(start)).includes(`${formatTime(start).slice(0, 10)}: ${sum} ${since}`), sum)
    }
    assert.ok(dayOf(range.to).includes(`${formatTime(range.to).slice(0, 10)}: no payment`))
    const { sumOfRates } = await client.positionFunding(marketId, range)
    assert.equal(rate(sumOfRates, 18), formatRate([...values.values()].at(-1)!, 18))
    assert.deepEqual(
      dayBars(values).map(({ from, to }) => [from, to]),
      buckets.map(({ start }) => [BigInt(start), BigInt(start) + DAY]),
    )
  })

  test('names the bars of the charts', () => {
    assert.equal(titleOf('rate', false), 'Funding rate of each period')
    assert.equal(titleOf('rate', true), 'Funding rates, sum of each day')
    assert.equal(titleOf('cumulative', false), 'Cumulative funding rate')
    assert.equal(titleOf('cumulative', true), 'Cumulative funding rate, by day')
  })
})

test('a reading is of the period that its bucket names', () => {
  const { moments, bucket } = dataOf(
    0n,
    [
      [0, 1, '100'],
      [20, 2, '102'],
      [40, 4, '104'],
    ],
    [
      [0, 1, '101'],
      [20, 3, '103'],
      [40, 4, '105'],
    ],
  )
  const periods = [1, 2, 3, 4, 5].map((seq) =>
    period(seq, BigInt(seq * 10 - 10), seq === 5 ? null : BigInt(seq * 10)),
  )
  const data = { moments, bucket, periods }
  // The same in a few lines beside the pointer.
  const values = new Map([[3n, parseDecimal('0.3')!]])
  assert.deepEqual(tipLines(readingAt(data, 20n), { kind: 'annualised', values }, null, null), [
    '1970-01-01 00:00:00.00000002 UTC, period 3',
    'Annualised +30.0000 %, longs pay shorts',
    'External 9, no TWAP',
    'Internal 9, TWAP 103',
    'no premium',
  ])
  const running = { kind: 'cumulative' as const, values: new Map([[5n, parseDecimal('-0.5')!]]) }
  assert.deepEqual(tipLines(readingAt(data, 70n), running, null, null).slice(0, 2), [
    '1970-01-01 00:00:00.00000004 UTC, period 5',
    'Cumulative -50.0000 %, estimate',
  ])
  const days = [{ start: 0n, count: 1, sum: parseDecimal('0.1')! }]
  const byDay = { kind: 'rate' as const, values: new Map([[0n, parseDecimal('0.1')!]]) }
  assert.deepEqual(tipLines(readingAt(data, 5n), byDay, days, null), [
    '1970-01-01 00:00:00 UTC',
    'Rate, by day +10.0000 %, longs pay shorts',
    'External 9, TWAP 100',
    'Internal 9, TWAP 101',
    'Premium +100.00 bp',
  ])
  const read = (time: bigint) => {
    const html = readout(readingAt(data, time))
    const names = ['period-rate', 'external-twap', 'internal-twap', 'difference']
    const values = names.map((name) => figureOf(html, name)?.value)
    return [/ period (\d+):/.exec(textOf(html))![1], ...values, / premium (.*)/.exec(textOf(html))?.[1]]
  }
  assert.deepEqual(read(5n), ['1', '0.1', '100', '101', '1', '+100.00 bp'])
  // The external source has no point of period 3.
  assert.deepEqual(read(20n), ['3', '0.3', undefined, '103', undefined, undefined])
  assert.deepEqual(read(45n), ['4', '0.4', '104', '105', '1', '+96.15 bp'])
  // Long after the last bucket the running period has no point yet.
  assert.deepEqual(read(70n), ['5', '0.5', undefined, undefined, undefined, undefined])
})

test('sums by day are asked for in parts that the API allows, and only if periods are too many', async () => {
  const asked: { from: bigint; to: bigint }[] = []
  const lyra = {
    fundingRates: async ({ from, to }: { from?: bigint; to?: bigint }) => {
      asked.push({ from: from!, to: to! })
      const buckets = [{ start: `${from}`, count: 2, sumOfRates: '0.3' }]
      return { edges: [{ node: { marketId: 'a', interval: '1d', buckets }, cursor: '' }], pageInfo: null }
    },
  }
  const whole = daysOf({ from: 5n, to: 3_000n * DAY }, { from: 7n, to: 2_500n * DAY + 4n })
  assert.deepEqual(whole, { from: 0n, to: 2_501n * DAY })
  const days = await askDays(lyra as unknown as Parameters<typeof askDays>[0], 'a', whole)
  assert.deepEqual(
    asked.map(({ from, to }) => (to - from) / DAY),
    [1_100n, 1_100n, 301n],
  )
  const values = (kind: Parameters<typeof dayValues>[2]) =>
    [...dayValues(days, { from: 5n, to: 1_500n * DAY }, kind).values()].map(
      ({ digits, scale }) => Number(digits) / 10 ** scale,
    )
  assert.deepEqual(values('rate'), [0.3, 0.3])
  assert.deepEqual(values('8h'), [0.1, 0.1])
  assert.deepEqual(values('annualised'), [109.5, 109.5])
  assert.deepEqual(values('cumulative'), [0.3, 0.6])
  const list = Array.from({ length: 1_501 }, (_, index) => period(index, BigInt(index), BigInt(index + 1)))
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_501n }), true)
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_500n }), false)
  assert.equal(areTooMany(list.slice(0, 5), true, { from: -1n, to: 5n }), true)
})
