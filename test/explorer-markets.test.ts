import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe } from 'node:test'
import type { Coverage, FundingPeriod, Series, MarketSummary as Summary } from 'lyra-client'
import { formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { parseDecimal, ratio, subtract, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatPercent, formatRate, groupDigits } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { annualised, RATE_SPANS, rateFor } from '../web/src/periods/period.ts'
import { eventually, eventuallyIs, openPage } from './fixtures/browser.ts'
import {
  BTC,
  cellsOf,
  ETH,
  FUNDING,
  generate,
  SOL,
  settled,
  explorerTest as test,
  watchRequests,
} from './fixtures/explorer.ts'
import { getJson } from './fixtures/http.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  timeOf,
} from './fixtures/live-store.ts'
import { scaled } from './fixtures/sampling.ts'
import { serve, storeOf } from './fixtures/service.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const RECORDING = 'perps-long-named'

async function summariesOf(base: string): Promise<Summary[]> {
  type Body = { marketSummaries: { edges: { node: Summary }[] } }
  const { marketSummaries } = await getJson<Body>(base, '/api/v2/market-summaries?pagination.first=1000')
  return marketSummaries.edges.map(({ node }) => node)
}

const number = (text: string) => parseDecimal(text)!

/** A percentage as it is shown. */
const parsed = (text: string) => Number(text.replaceAll(',', '').replace(' %', ''))

describe("the explorer's markets", () => {
  test("are a table of the API's rates, premiums and prices, sorted by any column", async ({
    openRecording,
  }) => {
    const { page, base } = await openRecording(RECORDING)
    const asked = watchRequests(page)
    const summaries = await summariesOf(base)
    assert.equal(summaries.length, 3)
    for (const summary of summaries) {
      const row = page.locator(`tr[data-market="${summary.marketId}"]`)
      const value = (name: string) => row.locator(`data[data-figure="${name}"]`).getAttribute('value')
      const text = (name: string) => row.locator(`data[data-figure="${name}"]`).innerText()
      const { instrument, estimate, lastPaidPeriod, lastExternalPoint, lastInternalPoint } = summary
      await page.goto('/?per=period')
      assert.equal(await value('rate'), estimate!.fundingRate)
      assert.equal(await text('rate'), formatRate(number(estimate!.fundingRate), 4))
      assert.equal(await value('paid'), lastPaidPeriod!.fundingRate)
      const length = BigInt(lastPaidPeriod!.end!) - BigInt(lastPaidPeriod!.start)
      // What was paid is the same on every basis; a hover shows each figure's own quantity, exactly.
      for (const [basis, span] of [
        ['8h', RATE_SPANS['8h']],
        ['year', RATE_SPANS.year],
      ] as const) {
        await page.goto(`/?per=${basis}`)
        const scaled = rateFor(span, estimate!.fundingRate, length)!
        assert.equal(await text('rate'), formatRate(scaled, 4))
        assert.equal(await value('rate'), writeDecimal(scaled))
        assert.equal(await text('paid'), formatRate(number(lastPaidPeriod!.fundingRate!), 4))
        assert.equal(await value('paid'), lastPaidPeriod!.fundingRate)
        for (const [name, exact] of [
          ['rate', writeDecimal(scaled)],
          ['paid', lastPaidPeriod!.fundingRate!],
        ] as const) {
          const hover = await row.locator(`data[data-figure="${name}"]`).getAttribute('title')
          assert.equal(hover, formatPercent(exact))
          assert.ok(Math.abs(parsed(hover!) - parsed(await text(name))) <= 0.000051, `${hover}`)
        }
      }
      await page.goto('/')
      const [external, internal] = [number(lastExternalPoint!.price), number(lastInternalPoint!.price)]
      assert.equal(
        await text('premium'),
        formatRate(ratio(subtract(internal, external), external, 0, 12)!, 2),
      )
      assert.equal(await value('price'), lastExternalPoint!.price)
      assert.equal(
        await text('price'),
        formatAmountWithUnit(lastExternalPoint!.price, { symbol: 'USD', decimals: 5 }),
      )
      const shown = await row.innerText()
      assert.ok(shown.includes(instrument!.code) && shown.includes(instrument!.name), shown)
      assert.match(
        shown,
        summary.marketData!.marketState === 'STATE_ACTIVE' ? /Active/ : /Suspended · monitoring auction/,
      )
      assert.equal(await row.getByRole('link', { name: summary.providers, exact: true }).count(), 1)
      await row.locator('.sparkline svg').waitFor()
    }
    asked.length = 0
    await page.reload()
    await eventuallyIs(() => page.locator('.sparkline svg').count(), 3)
    // One request for the table, one for the map, one for each visible line.
    assert.equal(asked.filter((path) => path === '/api/v2/market-summaries').length, 1)
    assert.equal(asked.filter((path) => path.includes('/series/')).length, 3)
    assert.equal(asked.filter((path) => path === '/api/v2/funding-rates').length, 1)

    const order = () =>
      page
        .locator('table.markets tbody tr')
        .evaluateAll((rows) => rows.map((row) => row.getAttribute('data-market')))
    assert.deepEqual(await order(), [BTC, ETH, SOL])
    const by = (read: (summary: Summary) => number) =>
      [...summaries].sort((a, b) => read(b) - read(a)).map(({ marketId }) => marketId)
    const per = ({ lastPaidPeriod }: Summary, rate: string) =>
      Number(rate) / (Number(lastPaidPeriod!.end) - Number(lastPaidPeriod!.start))
    for (const [name, read] of [
      ['Rate now', (summary: Summary) => per(summary, summary.estimate!.fundingRate)],
      ['Last paid', (summary: Summary) => Number(summary.lastPaidPeriod!.fundingRate!)],
      ['Providers', ({ providers }: Summary) => Number(providers)],
    ] as const) {
      await page.getByRole('button', { name }).click()
      assert.deepEqual(await order(), by(read), name)
      await page.getByRole('button', { name }).click()
      assert.deepEqual(await order(), by(read).reverse(), name)
    }
    await page.getByLabel('Find a market by code, name or id').fill('solana')
    await eventually(order, (seen) => JSON.stringify(seen) === JSON.stringify([SOL]))
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('.csv').first().click(),
    ])
    const csv = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.equal(csv.length, 2)
    const sol = summaries.find(({ marketId }) => marketId === SOL)!
    assert.ok(csv[1]!.startsWith(`${SOL},SOL/PERP,STATE_ACTIVE,${sol.estimate!.fundingRate},true,`), csv[1]!)
    await page.getByRole('link', { name: 'SOL/PERP' }).click()
    await page.waitForURL(new RegExp(`view=funding&market=${SOL}`))
  })

  test('are compared by their rates in one chart, which the URL names', async ({ openRecording }) => {
    const { page, base } = await openRecording(RECORDING)
    await page.goto('/')
    await page.getByLabel('Compare BTC/PERP').check()
    await page.getByLabel('Compare SOL/PERP').check()
    await page.waitForURL(new RegExp(`compare=${BTC}%2C${SOL}`))
    await page.goto(page.url())
    for (const marketId of [BTC, SOL]) {
      const { fundingPeriods } = await getJson<{ fundingPeriods: { edges: { node: FundingPeriod }[] } }>(
        base,
        `/api/v2/funding-periods/${marketId}?pagination.first=5000`,
      )
      const last = fundingPeriods.edges.find(({ node }) => node.fundingRate !== undefined)!.node
      const line = page.locator(`[data-compared="${marketId}"]`)
      const length = BigInt(last.end!) - BigInt(last.start)
      const year = formatRate(annualised(last.fundingRate!, length)!, 2)
      await eventually(
        () => line.innerText(),
        (text) => text.includes(year) && text.includes(`period ${last.seq},`),
      )
      const lines = page.getByRole('group', { name: 'Values of the lines' })
      await lines.getByRole('button', { name: 'Rate' }).click()
      await eventually(
        () => line.innerText(),
        (text) => text.includes(formatRate(number(last.fundingRate!), 4)),
      )
      await lines.getByRole('button', { name: 'Annualised' }).click()
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save as PNG: funding rates compared' }).click(),
    ])
    assert.equal(
      readFileSync(await download.path())
        .subarray(1, 4)
        .toString(),
      'PNG',
    )
    await page.getByLabel('Compare BTC/PERP').uncheck()
    await page.waitForURL(new RegExp(`compare=${SOL}$`))
  })

  test('are all shown if there are forty and the limit is 20 requests a second', async ({ t, browser }) => {
    const store = await storeOf(
      t,
      STORE_KINDS[0]!,
      await generate(t, ['--blocks', '400', '--markets', '40', '--points', '20']),
    )
    const base = await serve(t, store, { rateLimit: 20 })
    const { page, faults } = await openPage(browser, base)
    await page.goto('/')
    await eventuallyIs(() => page.locator('table.markets tbody tr').count(), 40)
    await page.getByText('BTC/USDT-PERP', { exact: true }).waitFor()
    await page.locator('table.markets tbody tr').last().scrollIntoViewIfNeeded()
    await page.locator('table.markets tbody tr').last().locator('.sparkline svg').waitFor()
    await page.goto('/?view=providers')
    const { coverage } = await getJson<{ coverage: Coverage }>(base, '/api/v2/coverage')
    await eventuallyIs(
      () => page.locator('[data-figure="markets"]').innerText(),
      `${coverage.liquidityProviders.filter(({ count }) => count !== '0').length}`,
    )
    await page.goto('/?view=funding&span=all')
    await settled(page)
    await page.goto('/?view=node')
    await page.waitForSelector('.holdings')
    assert.equal((await cellsOf(page, 'holdings')).length, 40)
    assert.equal(await page.locator('.failure').count(), 0)
    // Browsers report refused requests, which the page repeats later.
    assert.deepEqual(
      faults.filter((fault) => !fault.includes('429')),
      [],
    )
  })
})

/** Points of one market, and their blocks. */
const POINTS = scaled(100_000, 1_000_000)
const BLOCKS = scaled(100, 1_000)

describe("the explorer's requests", () => {
  test('of a chart are at most four, and never repeated for loaded data, even if empty', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    for (let height = 1; height <= BLOCKS; height++) {
      await live.commit(
        height,
        Array.from({ length: POINTS / BLOCKS }, (_, index) => ({
          ...pointAt(height, { source: index % 4 === 0 ? 1 : 2 }),
          timestamp: timeOf(height * 600) + BigInt(index) * 500_000_000n,
          price: String(1_000_000 + ((height * 7_919 + index * 104_729) % 50_000)),
        })),
      )
    }
    const { page, base } = await open(store, { rateLimit: 20 })
    const asked = watchRequests(page)
    const drawn = async () => {
      await settled(page)
      const charts = asked.filter(
        (path) =>
          path.includes('/series/') ||
          path.includes('/funding-estimates/') ||
          path.includes('/auctions/') ||
          /\/funding-periods\/[0-9a-f]{64}$/.test(path),
      )
      asked.length = 0
      return charts
    }
    await page.goto('/?view=funding&span=all')
    const first = await drawn()
    assert.ok(first.length <= 4, first.join())
    for (const part of ['/series/', '/auctions/']) {
      assert.equal(first.filter((path) => path.includes(part)).length, 1, part)
    }
    const { series } = await getJson<{ series: Series }>(
      base,
      `${first.find((path) => path.includes('/series/'))}?buckets=1`,
    )
    const counted = series.sources.flatMap(({ buckets }) => buckets.map(({ count }) => Number(count)))
    assert.equal(
      counted.reduce((sum, each) => sum + each, 0),
      POINTS,
    )
    const said = await page.locator('.notes').innerText()
    const [, external, internal] = /from ([\d,]+) external and ([\d,]+) internal points/.exec(said)!
    assert.deepEqual(
      [external, internal],
      [POINTS / 4, (POINTS * 3) / 4].map((each) => groupDigits(`${each}`)),
    )
    // After a small move all data are loaded.
    await page.getByRole('application').focus()
    await page.keyboard.press('Shift+ArrowLeft')
    await page.waitForURL(/from=/)
    await page.waitForTimeout(500)
    assert.deepEqual(await drawn(), [])
    // Zoomed in, only the finer series is requested.
    for (let step = 0; step < 3; step++) await page.keyboard.press('+')
    await page.waitForTimeout(500)
    const closer = await drawn()
    assert.ok(closer.length >= 1 && closer.length <= 3, closer.join())
    assert.ok(
      closer.every((path) => path.includes('/series/')),
      closer.join(),
    )
    await page.goto(FUNDING.replace(BTC, ETH))
    await page.getByText('No funding of this market').waitFor()
  })

  test('of an ended market have no rate; it is shown as closed, with the time of its end', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const period = { seq: 1n, start: timeOf(0), internalTwap: '99', externalTwap: '100' }
    await live.commit(1, [
      // The instrument event dates from the market's start, so its state is still active.
      perpetualMarket(LIVE_MARKET),
      ...[pointAt(1), pointAt(1, { source: 1 })],
      {
        ...{ kind: 'funding-period', marketId: LIVE_MARKET, ...period, end: timeOf(1) },
        ...{ fundingPayment: '-1', fundingRate: '-0.01' },
      },
    ])
    await live.commit(2, [
      {
        ...{ kind: 'market-data', marketId: LIVE_MARKET, feeShares: [], slas: [] },
        figures: {
          ...{ timestamp: timeOf(2), markPrice: '100', openInterest: 0n, state: 9, tradingMode: 5 },
          ...{ perpetual: null, isMalformed: false },
        },
      },
    ])
    const { page } = await open(store)
    await page.goto('/')
    const row = page.locator(`tr[data-market="${LIVE_MARKET}"]`)
    const since = `Settled since ${formatTime(timeOf(2)).slice(0, 16)} UTC`
    await row.getByText(since).waitFor()
    assert.equal(await row.locator('[data-figure="rate"]').count(), 0)
    assert.equal(await row.locator('.state-chip.ended').count(), 1)
    assert.equal(await row.locator('data[data-figure="paid"]').getAttribute('value'), '-0.01')
    await page.goto(`/?view=funding&market=${LIVE_MARKET}&span=all`)
    await page.getByText(since).waitFor()
  })

  test('are compared over the time of which all their periods are loaded', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const periodsEvery = (marketId: string, hours: number, count: number, fundingRate: string) =>
      Array.from({ length: count }, (_, index) =>
        periodEvent({
          ...{ marketId, seq: BigInt(index), fundingPayment: '1', fundingRate },
          start: timeOf(index * hours * 3_600),
          end: timeOf((index + 1) * hours * 3_600),
        }),
      )
    await live.commit(1, [
      ...periodsEvery(LIVE_MARKET, 1, 1_100, '0.0001'),
      ...periodsEvery(OTHER_MARKET, 8, 140, '0.001'),
    ])
    const { page } = await open(store)
    await page.goto(`/?compare=${LIVE_MARKET},${OTHER_MARKET}&bars=cumulative`)
    await page.getByText(`Compared from ${formatTime(timeOf(100 * 3_600)).slice(0, 16)} UTC on`).waitFor()
    for (const [marketId, cumulative] of [
      [LIVE_MARKET, '+10.00 %'],
      [OTHER_MARKET, '+12.70 %'],
    ] as const) {
      const text = await page.locator(`[data-compared="${marketId}"]`).innerText()
      assert.ok(text.includes(cumulative), text)
    }
  })

  test('of more funding periods than fit on a page are five, with sums by day, and the page names the omitted ones', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const count = 5_200
    const periods = Array.from({ length: count }, (_, seq) => ({
      kind: 'funding-period' as const,
      marketId: LIVE_MARKET,
      seq: BigInt(seq),
      start: timeOf(seq * 3_600),
      end: timeOf((seq + 1) * 3_600),
      fundingPayment: '100',
      fundingRate: '0.0001',
      internalTwap: '1',
      externalTwap: '1',
    }))
    await live.commit(1, [pointAt(1), pointAt(count * 3_600), ...periods])
    const { page } = await open(store)
    const asked = watchRequests(page)
    await page.goto('/?view=funding&span=all')
    await page.getByText('This range has more than 5,000 funding periods: those before').waitFor()
    await settled(page)
    const charts = asked.filter((path) =>
      /\/series\/|estimates|rates|funding-periods\/[0-9a-f]{64}$/.test(path),
    )
    assert.equal(charts.length, 5, charts.join())
    // Figures are of all periods, those that are not listed too.
    await page.getByText('Cumulative (5,200 periods due)').waitFor()
    const exact = (name: string) => page.locator(`data[data-figure="${name}"]`).first().getAttribute('value')
    assert.equal(Number(await exact('cumulative')), 0.52)
    assert.equal(await exact('position-total'), '-520000')
    await page.getByText('rates are drawn in sums by day').waitFor()
    // At the start of the last bucket.
    await eventually(
      () => page.locator('[data-figure="cumulative-at"]').innerText(),
      (text) => Number.parseFloat(text) > 51.8,
    )
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('section[aria-labelledby="periods-title"] .csv').click(),
    ])
    assert.equal(
      readFileSync(await download.path(), 'utf8')
        .trim()
        .split(/\r?\n/).length,
      count + 1,
    )
    // A short range in the past is complete.
    await page.goto(`/?view=funding&from=${timeOf(3_600 * 10)}&to=${timeOf(3_600 * 20)}`)
    await page.getByText('Cumulative (10 periods due)').waitFor()
    assert.equal(await page.locator('data[data-figure="cumulative"]').getAttribute('value'), '0.0010')
    assert.equal(await page.getByText('more than 5,000').count(), 0)
  })
})
