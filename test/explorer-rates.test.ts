import assert from 'node:assert/strict'
import { describe, type TestContext } from 'node:test'
import type { FundingPeriodEvent, InstrumentEvent } from '#core/events/event'
import { accessibilityFaults, eventually, eventuallyIs, overflow } from './fixtures/browser.ts'
import { idOf } from './fixtures/event-stream.ts'
import { explorerTest as test } from './fixtures/explorer.ts'
import { createLiveStore, periodEvent, perpetualMarket, pointAt, timeOf } from './fixtures/live-store.ts'

const HOUR = 3_600
const DAYS = 40

/** A market whose periods pay rates by a schedule, in 10^-6. */
type Made = { marketId: string; code: string; hours: number; rateOf: (seq: number) => number }

const MARKETS: readonly Made[] = [
  { marketId: idOf('1'), code: 'A/PERP', hours: 8, rateOf: (seq) => (seq % 2 === 0 ? 300 : -100) },
  { marketId: idOf('2'), code: 'B/PERP', hours: 1, rateOf: () => 10 },
  { marketId: idOf('3'), code: 'C/PERP', hours: 4, rateOf: (seq) => (seq > 200 ? 500 : 1) },
]

const rateText = (millionths: number) =>
  `${millionths < 0 ? '-' : ''}0.${`${Math.abs(millionths)}`.padStart(6, '0')}`

const periodCount = ({ hours }: Made) => (DAYS * 24) / hours

function periodsOf(made: Made): FundingPeriodEvent[] {
  const count = periodCount(made)
  return Array.from({ length: count + 1 }, (_, index) => {
    const start = timeOf(index * made.hours * HOUR)
    const rate = rateText(made.rateOf(index + 1))
    const paid = { end: timeOf((index + 1) * made.hours * HOUR), fundingPayment: '1000', fundingRate: rate }
    return periodEvent({ marketId: made.marketId, seq: BigInt(index + 1), start, ...(index < count && paid) })
  })
}

/** A store of the markets, 40 days after their first period. */
async function storeOf(t: TestContext): Promise<string> {
  const { store, live } = await createLiveStore(t)
  const end = DAYS * 24 * HOUR
  await live.commit(
    end,
    MARKETS.flatMap((made) => [
      {
        ...(perpetualMarket(made.marketId) as InstrumentEvent),
        code: made.code,
        schedule: { initial: timeOf(0), every: BigInt(made.hours * HOUR) * 1_000_000_000n },
      },
      ...([1, 2] as const).map((source) => ({
        ...pointAt(end, { marketId: made.marketId, source, late: 1 }),
        seq: BigInt(periodCount(made) + 1),
      })),
      ...periodsOf(made),
    ]),
  )
  return store
}

/** The rates of a market in its last `hours` hours, in 10^-6. */
const ratesOfLast = (made: Made, hours: number) => {
  const count = periodCount(made)
  return Array.from({ length: hours / made.hours }, (_, index) => made.rateOf(count - index))
}

const sum = (values: readonly number[]) => values.reduce((a, b) => a + b, 0)

/** A rate in 10^-6 as the explorer shows it. */
const percent = (millionths: number, places = 4) => {
  const shown = (millionths / 10_000).toFixed(places)
  return `${millionths > 0 ? '+' : ''}${shown} %`
}

describe("the explorer's funding rates", () => {
  test('are shown for a period, 8 hours and a year, averaged over three windows, and sorted by them', async ({
    t,
    open,
  }) => {
    const { page } = await open(await storeOf(t))
    const cell = (marketId: string, name: string) =>
      page.locator(`tr[data-market="${marketId}"] [data-figure="${name}"]`).first().innerText()
    const order = () =>
      page
        .locator('table.markets tbody th a')
        .evaluateAll((links) => links.map((link) => link.textContent).join(' '))
    await page.goto('/')
    await page.waitForSelector('table.markets')
    for (const [button, hours] of [
      ['8 hours', () => 8],
      ['period', (made: Made) => made.hours],
      ['year', () => 365 * 24],
    ] as const) {
      await page.getByRole('group', { name: 'Rates per' }).getByRole('button', { name: button }).click()
      for (const made of MARKETS) {
        const scale = hours(made) / made.hours
        const paid = made.rateOf(periodCount(made))
        await eventuallyIs(() => cell(made.marketId, 'rate'), percent(paid * scale))
        assert.equal(await cell(made.marketId, 'paid'), percent(paid))
        for (const [name, window] of [
          ['24h', 24],
          ['7d', 168],
          ['30d', 720],
        ] as const) {
          const average = (sum(ratesOfLast(made, window)) / window) * hours(made)
          const shown = await cell(made.marketId, `average-${name}`)
          const value = Number(shown.replace(/[,%\s]/g, '')) * 10_000
          assert.ok(
            Math.abs(value - average) <= 0.51,
            `${made.code} ${name} per ${button}: ${shown}, ${average}`,
          )
        }
      }
    }
    await page.getByRole('button', { name: '7 d average' }).click()
    await eventuallyIs(order, 'C/PERP A/PERP B/PERP')
    await page.getByRole('button', { name: '7 d average' }).click()
    await eventuallyIs(order, 'B/PERP A/PERP C/PERP')
  })

  test('say when the next payment is due, on both pages', async ({ t, open }) => {
    const { page } = await open(await storeOf(t))
    await page.goto('/')
    await page.waitForSelector('table.markets')
    for (const { marketId, hours } of MARKETS) {
      const due = new Date(Number(timeOf((DAYS * 24 + hours) * HOUR) / 1_000_000n)).toISOString()
      const time = page.locator(`tr[data-market="${marketId}"] time`).first()
      assert.equal(await time.getAttribute('datetime'), due.slice(0, 16).replace('T', ' '))
      assert.ok((await time.innerText()).endsWith(`${due.slice(11, 16)} UTC`))
    }
    const [{ marketId, hours }] = MARKETS as [Made]
    await page.goto(`/?view=funding&market=${marketId}`)
    const due = new Date(Number(timeOf((DAYS * 24 + hours) * HOUR) / 1_000_000n)).toISOString().slice(11, 16)
    await eventually(
      () => page.locator('[data-figure="time-left"]').innerText(),
      (text) => text.includes(`payment due`) && text.includes(`${due} UTC`),
    )
  })

  test('are a map by market and day or 8 hours, read by arrow keys and without colours', async ({
    t,
    open,
  }) => {
    const { page } = await open(await storeOf(t))
    for (const width of [1_440, 820, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto('/')
      await page.waitForSelector('.heat-map')
      assert.deepEqual(await accessibilityFaults(page), [])
      assert.ok((await overflow(page)) <= 0, `${width}`)
      // The newest columns are in sight, beside the markets.
      const map = page.getByLabel('Funding heat map')
      await eventually(
        () => map.evaluate((place) => place.scrollWidth - place.scrollLeft - place.clientWidth),
        (hidden) => hidden <= 1,
      )
      const [frame, market, newest] = await Promise.all(
        [map, map.locator('tbody th').first(), map.locator('tbody tr').first().locator('td').last()].map(
          (one) => one.boundingBox(),
        ),
      )
      assert.ok(market!.x >= frame!.x && newest!.x >= market!.x + market!.width, `${width}`)
    }
    const reading = () => page.locator('[data-figure="map-reading"]').innerText()
    const day = (back: number) => {
      const last = timeOf(DAYS * 24 * HOUR) / 86_400_000_000_000n - BigInt(back)
      return { last, name: new Date(Number(last) * 86_400_000).toISOString().slice(0, 10) }
    }
    /** The rates of a market that were due on a day, in 10^-6. */
    const due = (made: Made, back: number) =>
      periodsOf(made).flatMap(({ end, seq }) =>
        end !== null && end / 86_400_000_000_000n === day(back).last ? [made.rateOf(Number(seq))] : [],
      )
    await page.locator('.heat-map [tabindex="0"]').focus()
    for (const [keys, row, back] of [
      [['ArrowLeft'], 0, 1],
      [['ArrowDown', 'ArrowLeft'], 1, 2],
      [['ArrowDown', 'ArrowDown', 'ArrowRight'], 2, 1],
    ] as const) {
      for (const key of keys) await page.keyboard.press(key)
      const made = MARKETS[row]!
      const rates = due(made, back)
      await eventuallyIs(
        reading,
        `${made.code}, ${day(back).name}: ${percent(sum(rates))} in ${rates.length} payments, ${sum(rates) > 0 ? 'longs pay shorts' : 'shorts pay longs'}`,
      )
      assert.equal(
        await page.locator('.heat-map td:focus').innerText(),
        percent(sum(rates), 3).replace(' %', ''),
      )
    }
    await page.keyboard.press('Home')
    await eventually(reading, (text) => text.startsWith('C/PERP'))
    await page.getByRole('group', { name: 'Column length' }).getByRole('button', { name: '8 hours' }).click()
    await page.waitForURL(/map=8h/)
    await eventually(reading, (text) => /^A\/PERP, 8 hours from \S+ \d\d:00 UTC: /.test(text))
  })

  test('are cumulated up to any time of the chart', async ({ t, open }) => {
    const { page } = await open(await storeOf(t))
    const [made] = MARKETS as [Made]
    const [from, to] = [timeOf(10 * 24 * HOUR), timeOf(20 * 24 * HOUR)]
    await page.goto(`/?view=funding&market=${made.marketId}&from=${from}&to=${to}`)
    const due = periodsOf(made).filter(({ end }) => end !== null && end >= from && end < to)
    const total = sum(due.map(({ seq }) => made.rateOf(Number(seq))))
    await eventuallyIs(() => page.locator('[data-figure="cumulative"]').first().innerText(), percent(total))
    await eventuallyIs(() => page.locator('[data-figure="cumulative-at"]').innerText(), percent(total))
    const chart = (await page.locator('[data-chart="rates"] .u-over').boundingBox())!
    await page.mouse.move(chart.x + chart.width / 2, chart.y + chart.height / 2)
    const pointed = await eventually(
      async () => /period (\d+):/.exec(await page.locator('[data-figure="period"]').innerText())?.[1],
      (seq) => seq !== undefined && Number(seq) < Number(due.at(-1)!.seq),
    )
    const upTo = due.filter(({ seq }) => seq <= BigInt(pointed!))
    await eventuallyIs(
      () => page.locator('[data-figure="cumulative-at"]').innerText(),
      percent(sum(upTo.map(({ seq }) => made.rateOf(Number(seq))))),
    )
  })
})
