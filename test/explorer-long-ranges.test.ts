import assert from 'node:assert/strict'
import { describe, test as plainTest, type TestContext } from 'node:test'
import type { FundingPayments, FundingPeriod, FundingPeriodDataPoint, FundingRates } from 'lyra-client'
import type { FundingPeriodEvent, InstrumentEvent } from '#core/events/event'
import { parseDecimal } from '../web/src/figures/decimal.ts'
import { formatBasisPoints, formatRate } from '../web/src/figures/format-figure.ts'
import { areTooMany, askDays, daysOf, dayValues } from '../web/src/funding/days.ts'
import { readingAt } from '../web/src/funding/reading.ts'
import { type Period, whoPays } from '../web/src/periods/period.ts'
import { momentsOf, readSeries } from '../web/src/series/series.ts'
import { eventually } from './fixtures/browser.ts'
import { idOf } from './fixtures/event-stream.ts'
import { exactFigure, figure, settled, explorerTest as test } from './fixtures/explorer.ts'
import { getJson, getPage } from './fixtures/http.ts'
import { createLiveStore, periodEvent, perpetualMarket, pointAt, timeOf } from './fixtures/live-store.ts'

const HOUR = 3_600
const DAYS = 365
const DAY_NS = 86_400_000_000_000n

/** A market of a year, with a rate and TWAPs of its own in each period. */
type Made = { marketId: string; hours: number; points: boolean }

const EIGHT: Made = { marketId: idOf('1'), hours: 8, points: true }
const HOURLY: Made = { marketId: idOf('2'), hours: 1, points: false }

const rateOf = (seq: number) => `${seq % 3 === 0 ? '-' : ''}0.000${`${seq}`.padStart(5, '0')}`

function periodsOf({ marketId, hours }: Made): FundingPeriodEvent[] {
  const count = (DAYS * 24) / hours
  return Array.from({ length: count + 1 }, (_, index) => {
    const [start, end] = [index, index + 1].map((at) => timeOf(at * hours * HOUR))
    const paid = { end: end!, fundingPayment: rateOf(index + 1).startsWith('-') ? '-5' : '5' }
    const closing = index < count && { ...paid, fundingRate: rateOf(index + 1) }
    return periodEvent({ marketId, seq: BigInt(index + 1), start: start!, ...closing })
  })
}

/** A point of each source every four hours, whose TWAP names its period. */
function pointsOf({ marketId, hours }: Made) {
  return Array.from({ length: (DAYS * 24) / 4 }, (_, index) => {
    const height = index * 4 * HOUR + 600
    const seq = Math.floor(height / (hours * HOUR)) + 1
    const sign = seq % 2 === 0 ? 1 : -1
    return ([1, 2] as const).map((source) => ({
      ...pointAt(height, { marketId, source }),
      seq: BigInt(seq),
      twap: `${1_000_000 + seq + (source === 1 ? 0 : sign * 2_000)}`,
    }))
  }).flat()
}

async function storeOf(t: TestContext, made: readonly Made[]): Promise<string> {
  const { store, live } = await createLiveStore(t)
  const end = DAYS * 24 * HOUR + 60
  await live.commit(
    end,
    made.flatMap((one) => [
      perpetualMarket(one.marketId) as InstrumentEvent,
      ...periodsOf(one),
      ...(one.points
        ? pointsOf(one)
        : ([1, 2] as const).map((source) => ({
            ...pointAt(end, { marketId: one.marketId, source, late: 1 }),
            seq: BigInt((DAYS * 24) / one.hours + 1),
          }))),
    ]),
  )
  return store
}

describe('a long range of the explorer', () => {
  test('has readings whose label, rate, TWAPs and premium are of one period', async ({ t, open }) => {
    const { page, base } = await open(await storeOf(t, [EIGHT]))
    const { edges } = await getPage(
      base,
      `/api/v2/funding-periods/${EIGHT.marketId}`,
      'pagination.first=5000',
    )
    const periods = edges.map(({ node }) => node as unknown as FundingPeriod)
    await page.goto(`/?view=funding&market=${EIGHT.marketId}&span=all`)
    await settled(page)
    assert.match(await page.locator('.figures').innerText(), /in steps of 12h/)
    const plot = (await page.locator('[data-chart="prices"] .u-over').boundingBox())!
    const seen = new Set<string>()
    for (const part of [null, 0.03, 0.11, 0.2, 0.33, 0.41, 0.5, 0.62, 0.7, 0.81, 0.9, 0.97]) {
      if (part !== null) {
        await page.mouse.move(plot.x + plot.width * part, plot.y + 60)
        await page.locator('.figures .figure-name', { hasText: /^At$/ }).waitFor()
      }
      const label = await eventually(
        () => figure(page, 'period'),
        (text) => !seen.has(text),
      )
      seen.add(label)
      const [, seq] = /^period (\d+):/.exec(label) ?? []
      const period = periods.find((one) => one.seq === seq)
      assert.ok(period !== undefined, label)
      if (period.fundingRate !== undefined) {
        assert.equal(await exactFigure(page, 'period-rate'), period.fundingRate, label)
      }
      const points = (
        await getPage(
          base,
          `/api/v2/funding-periods/data-points/${EIGHT.marketId}`,
          `seq=${seq}&pagination.first=100`,
        )
      ).edges.map(({ node }) => node as unknown as FundingPeriodDataPoint)
      const [external, internal] = ['SOURCE_EXTERNAL', 'SOURCE_INTERNAL'].map(
        (source) => points.find(({ dataPointType }) => dataPointType === source)!.twap,
      )
      assert.equal(await exactFigure(page, 'external-twap'), external, label)
      assert.equal(await exactFigure(page, 'internal-twap'), internal, label)
      const premium = formatBasisPoints(internal!, external!)!
      assert.ok((await figure(page, 'basis-points')).endsWith(`premium ${premium}`), label)
    }
  })

  test('of more periods than can be drawn shows the sums of days that the API gives', async ({ t, open }) => {
    const { page, base } = await open(await storeOf(t, [HOURLY]))
    const { marketId } = HOURLY
    const from = (timeOf(0) / DAY_NS) * DAY_NS
    const to = (timeOf(DAYS * 24 * HOUR) / DAY_NS + 1n) * DAY_NS
    const { fundingRates } = await getJson<{ fundingRates: FundingRates }>(
      base,
      `/api/v2/funding-rates?marketId=${marketId}&dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`,
    )
    const { buckets } = fundingRates.edges[0]!.node
    assert.equal(buckets.length, DAYS + 1)
    await page.goto(`/?view=funding&market=${marketId}&span=all`)
    await page.getByRole('heading', { name: 'Funding rates, sum of each day' }).waitFor()
    await settled(page)
    assert.match(
      await page.locator('.notes').innerText(),
      /more than 1,500 funding periods: rates are drawn in sums by day/,
    )
    assert.doesNotMatch(await page.locator('main').innerText(), /no funding period|are not drawn/)
    const plot = (await page.locator('[data-chart="rates"] .u-over').boundingBox())!
    let before = ''
    for (const part of [0.02, 0.2, 0.5, 0.8, 0.98]) {
      await page.mouse.move(plot.x + plot.width * part, plot.y + 20)
      const text = await eventually(
        () => figure(page, 'period'),
        (shown) => shown !== before,
      )
      before = text
      const [date] = /^\d{4}-\d\d-\d\d(?=: )/.exec(text)!
      const bucket = buckets.find(({ start }) => BigInt(start) === BigInt(Date.parse(date)) * 1_000_000n)!
      assert.equal(await exactFigure(page, 'day-sum'), parsed(bucket.sumOfRates), text)
      assert.equal(
        text,
        `${date}: ${formatRate(parseDecimal(bucket.sumOfRates)!, 4)} in ${bucket.count} payments, ${whoPays(bucket.sumOfRates)}`,
      )
    }
    // The first and the last bar are where the data begin and end.
    const coloured = await page.evaluate<[number, number]>(`(() => {
      const chart = document.querySelector('[data-chart="rates"] canvas')
      const copy = document.createElement('canvas')
      Object.assign(copy, { width: chart.width, height: chart.height })
      const drawing = copy.getContext('2d', { willReadFrequently: true })
      drawing.drawImage(chart, 0, 0)
      const { data } = drawing.getImageData(0, 0, chart.width, chart.height)
      const style = getComputedStyle(document.documentElement)
      const context = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
      const colours = ['--chart-longs', '--chart-shorts'].map((name) => {
        context.fillStyle = style.getPropertyValue(name).trim()
        context.fillRect(0, 0, 1, 1)
        return context.getImageData(0, 0, 1, 1).data.slice(0, 3).join()
      })
      const at = []
      for (let x = 0; x < chart.width; x++)
        for (let y = 0; y < chart.height; y++) {
          const i = 4 * (y * chart.width + x)
          if (colours.includes([data[i], data[i + 1], data[i + 2]].join())) { at.push(x / devicePixelRatio); break }
        }
      return [at[0], at.at(-1)]
    })()`)
    const canvas = (await page.locator('[data-chart="rates"] canvas').boundingBox())!
    const left = plot.x - canvas.x
    assert.ok(coloured[0] <= left + plot.width * 0.03, `${coloured}`)
    assert.ok(coloured[1] >= left + plot.width * 0.95, `${coloured}`)

    await page.getByRole('button', { name: 'Cumulative' }).click()
    await page.getByRole('heading', { name: 'Cumulative funding rate, by day' }).waitFor()
    await page.mouse.move(0, 0)
    const { fundingPayments } = await getJson<{ fundingPayments: FundingPayments }>(
      base,
      `/api/v2/funding-payments/${marketId}?dateRange.startTimestamp=${from}&dateRange.endTimestamp=${to}`,
    )
    const { sumOfRates } = fundingPayments
    await eventually(
      () => exactFigure(page, 'cumulative'),
      (text) => text === sumOfRates,
    )
    await eventually(
      () => exactFigure(page, 'cumulative-at'),
      (text) => text !== null && parsed(text) === parsed(sumOfRates),
    )
    // A range of fewer periods is drawn period by period again.
    await page.getByRole('button', { name: '30d', exact: true }).click()
    await page.getByRole('heading', { name: 'Cumulative funding rate', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Rate', exact: true }).click()
    await page.getByRole('heading', { name: 'Funding rate of each period' }).waitFor()
  })
})

/** A decimal's digits without zeros at the end. */
const parsed = (text: string) => (text.includes('.') ? text.replace(/\.?0+$/, '') : text)

const period = (seq: number, start: bigint, end: bigint | null): Period => ({
  ...{ seq: BigInt(seq), start, end, payment: '1', rate: `0.${seq}`, internalTwap: null, externalTwap: null },
})

plainTest('a reading is of the period that its bucket names', () => {
  const same = (text: string) => ({ first: text, last: text, minimum: text, maximum: text })
  const bucket = (start: number, seq: number, twap: number) => {
    return { start: `${start}`, seq: `${seq}`, count: '1', price: same('9'), twap: same(`${twap}`) }
  }
  const series = readSeries({
    ...{ marketId: 'a', from: '0', to: '100', interval: '1s', bucketNanoseconds: '20' },
    sources: [
      {
        dataPointType: 'SOURCE_EXTERNAL',
        buckets: [bucket(0, 1, 100), bucket(20, 2, 102), bucket(40, 4, 104)],
      },
      {
        dataPointType: 'SOURCE_INTERNAL',
        buckets: [bucket(0, 1, 101), bucket(20, 3, 103), bucket(40, 4, 105)],
      },
    ],
  })
  const periods = [1, 2, 3, 4, 5].map((seq) =>
    period(seq, BigInt(seq * 10 - 10), seq === 5 ? null : BigInt(seq * 10)),
  )
  const data = { moments: momentsOf(series), bucket: series.bucket, periods }
  const read = (time: bigint) => {
    const { seq, period, twaps, pair, difference } = readingAt(data, time)
    const twap = (source: 'external' | 'internal') => twaps[source]?.twap.last ?? null
    return [seq, period?.rate, twap('external'), twap('internal'), pair?.internal.seq, difference?.digits]
  }
  assert.deepEqual(read(5n), [1n, '0.1', '100', '101', 1n, 1n])
  // The external source has no point of period 3.
  assert.deepEqual(read(20n), [3n, '0.3', null, '103', undefined, undefined])
  assert.deepEqual(read(45n), [4n, '0.4', '104', '105', 4n, 1n])
  // Long after the last bucket the running period has no point yet.
  assert.deepEqual(read(70n), [5n, '0.5', null, null, undefined, undefined])
})

plainTest(
  'sums by day are asked for in parts that the API allows, and only if periods are too many',
  async () => {
    const asked: { from: bigint; to: bigint }[] = []
    const lyra = {
      fundingRates: async ({ from, to }: { from?: bigint; to?: bigint }) => {
        asked.push({ from: from!, to: to! })
        const buckets = [{ start: `${from}`, count: 2, sumOfRates: '0.3' }]
        return { edges: [{ node: { marketId: 'a', interval: '1d', buckets }, cursor: '' }], pageInfo: null }
      },
    }
    const whole = daysOf({ from: 5n, to: 3_000n * DAY_NS }, { from: 7n, to: 2_500n * DAY_NS + 4n })
    assert.deepEqual(whole, { from: 0n, to: 2_501n * DAY_NS })
    const days = await askDays(lyra as unknown as Parameters<typeof askDays>[0], 'a', whole)
    assert.deepEqual(
      asked.map(({ from, to }) => (to - from) / DAY_NS),
      [1_100n, 1_100n, 301n],
    )
    const values = (kind: Parameters<typeof dayValues>[2]) =>
      [...dayValues(days, { from: 5n, to: 1_500n * DAY_NS }, kind).values()].map(
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
  },
)
