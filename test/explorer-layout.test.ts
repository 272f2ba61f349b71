import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { MarketEvent } from '#core/events/event'
import { PICTURE_FOLDER } from '../scripts/build-pictures.ts'
import { takePictures } from '../scripts/explorer-pictures.ts'
import { accessibilityFaults, eventually, eventuallyIs, overflow } from './fixtures/browser.ts'
import { dial } from './fixtures/core.ts'
import {
  BTC,
  ETH,
  exactFigure,
  FUNDING,
  figure,
  generate,
  looksTest,
  SOL,
  settled,
  explorerTest as test,
  watchRequests,
} from './fixtures/explorer.ts'
import { getPage, send } from './fixtures/http.ts'
import { blocksOf, startLive, untilHeight } from './fixtures/live.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  timeOf,
} from './fixtures/live-store.ts'
import { inTurns, LONG, sampled } from './fixtures/sampling.ts'
import { storeOf } from './fixtures/service.ts'
import { MONTH } from './fixtures/shared.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const RECORDING = 'perps-long-named'

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

const VIEWS = {
  markets: ['/', '.heat-map'],
  compare: [`/?view=markets&compare=${BTC},${ETH}`, '[data-chart="compare"] canvas'],
  funding: [FUNDING, '.notes'],
  providers: ['/?view=providers', '.request'],
  market: [`/?view=providers&market=${SOL}&columns=all`, '.request'],
  checkpoints: ['/?view=checkpoints', 'table.checkpoints'],
  node: ['/?view=node', '.holdings'],
} as const

/** Window widths at which every view must fit. */
const WIDTHS = [320, 375, 768, 820, 1024, 1440]

/** The texts and filled boxes that a page draws on its canvases, in device pixels. */
type Drawn = {
  texts: { text: string; align: string; left: number; right: number }[]
  boxes: { style: string; x: number; width: number; height: number }[]
}

/**
 * What canvases show: drawn since they were last cleared, or, for those that are in no page, since the last reading. A reading
 * must not forget what others draw only once: it may come between two drawings.
 */
async function watchDrawing(page: Page): Promise<() => Promise<Drawn>> {
  await page.addInitScript(() => {
    const shown = new Map<HTMLCanvasElement, Drawn>()
    const of = ({ canvas }: CanvasRenderingContext2D): Drawn => {
      const known = shown.get(canvas) ?? { texts: [], boxes: [] }
      shown.set(canvas, known)
      return known
    }
    const { prototype } = CanvasRenderingContext2D
    const { fillText, fillRect, clearRect } = prototype
    prototype.clearRect = function (...rest) {
      shown.delete(this.canvas)
      clearRect.call(this, ...rest)
    }
    prototype.fillText = function (text, x, y, ...rest) {
      const { width } = this.measureText(text)
      const left = this.textAlign === 'left' || this.textAlign === 'start' ? x : x - width
      of(this).texts.push({ text, align: this.textAlign, left, right: left + width })
      fillText.call(this, text, x, y, ...rest)
    }
    prototype.fillRect = function (x, y, width, height) {
      of(this).boxes.push({ style: `${this.fillStyle}`, x, width, height })
      fillRect.call(this, x, y, width, height)
    }
    const readDrawn = () => {
      const all = [...shown]
      for (const [canvas] of all) if (!canvas.isConnected) shown.delete(canvas)
      return {
        texts: all.flatMap(([, { texts }]) => texts),
        boxes: all.flatMap(([, { boxes }]) => boxes),
      }
    }
    Object.assign(globalThis, { readDrawn })
  })
  return () => page.evaluate<Drawn>('readDrawn()')
}

/** Colours of the charts, as canvases name them. */
function coloursOf(page: Page, names: string[]): Promise<string[]> {
  return page
    .locator('.chart')
    .first()
    .evaluate((chart, names) => {
      const context = document.createElement('canvas').getContext('2d')!
      return names.map((name) => {
        context.fillStyle = getComputedStyle(chart).getPropertyValue(`--chart-${name}`)
        return `${context.fillStyle}`
      })
    }, names)
}

/** The size of a chart's plot, in pixels. */
async function plotOf(page: Page, chart: string): Promise<{ left: number; width: number; height: number }> {
  return page.locator(`[data-chart="${chart}"] .u-over`).evaluate((over) => {
    const { offsetLeft: left, clientWidth: width, clientHeight: height } = over as HTMLElement
    return { left, width, height }
  })
}

/** Events of an auction that starts at a height and ends a block later. */
const auctionEvent = (began: number, leave: boolean): MarketEvent => ({
  ...{ kind: 'auction', marketId: LIVE_MARKET, openingAuction: false, leave },
  ...{ start: timeOf(began), end: leave ? timeOf(began + 1) : 0n },
})

const background = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor)

describe('the layout of the explorer', () => {
  test('fits every width in both themes without violations of axe-core, with a link and CSV on each view', async ({
    openRecording,
  }) => {
    const { page, base } = await openRecording('perps-calm-named')
    for (const [index, [name, [path, ready]]] of Object.entries(VIEWS).entries()) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await page.waitForSelector(ready)
      if (name === 'funding') {
        await settled(page)
        const { y, height } = (await page.locator('[data-chart="prices"]').boundingBox())!
        assert.ok(y + height <= 900, `the chart of prices ends at ${y + height}`)
      }
      await page.getByRole('button', { name: /a link to this view$/ }).click()
      assert.equal(await page.evaluate('navigator.clipboard.readText()'), `${base}${path}`, name)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('.csv').last().click(),
      ])
      const lines = readFileSync(await download.path(), 'utf8')
        .trim()
        .split(/\r?\n/)
      const columns = lines.map((line) => line.replaceAll(/"[^"]*"/g, '').split(',').length)
      assert.ok(lines.length > 2, `${name}: ${lines.length} lines`)
      assert.equal(new Set(columns).size, 1, `${name}: ${lines[0]}`)
      for (const [place, width] of sampled('seconds', WIDTHS).entries()) {
        await page.setViewportSize({ width, height: 812 })
        // The next view starts with the other theme.
        for (const colorScheme of inTurns(index + place, ['dark', 'light'] as const)) {
          await page.emulateMedia({ colorScheme })
          await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
          await eventually(
            () => overflow(page),
            (pixels) => pixels === 0,
          ).catch((error) => {
            throw new Error(`${name}, ${width}: ${error.message}`)
          })
          if (name === 'funding') {
            assert.ok(await page.locator('[data-figure="cumulative"]').first().isVisible(), `${width}`)
          }
          if (place !== index % 2 && !LONG) continue
          assert.deepEqual(await accessibilityFaults(page), [], `${name}, ${colorScheme}, ${width}`)
        }
      }
    }
  })

  test('shifts by at most 0.1 while a view fills and blocks arrive, on a screen and on a phone', async ({
    t,
    browser,
  }) => {
    const path = await generate(t, [
      '--blocks',
      '400',
      '--markets',
      '12',
      '--parties',
      '40',
      '--points',
      '12',
    ])
    const blocks = await blocksOf(path)
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const core = await dial(service.corePort)
    let sent = 300
    await core.send(blocks.slice(0, sent))
    await untilHeight(service, sent)
    const { edges } = await getPage(service.base, '/api/v2/market-summaries')
    const [market, other] = edges.map(({ node }) => node.marketId as string)
    const provided = await getPage(service.base, '/api/v2/liquidity/providers', `marketId=${market}`)
    const party = provided.edges[0]!.node.partyId as string
    const paid = await send(service.base, '/api/v2/export/funding-payments?format=ndjson')
    const { partyId: payer } = JSON.parse(paid.text.split('\n')[0]!) as { partyId: string }
    const pages = await Promise.all(
      [1440, 390].map(async (width) => {
        const page = await browser.newPage({ baseURL: service.base, viewport: { width, height: 900 } })
        await page.addInitScript(
          `window.shifts = []
          new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value, sources }) =>
            ({ value, moved: sources.map(({ node }) => node?.className || node?.nodeName) }))))
            .observe({ type: 'layout-shift', buffered: true })`,
        )
        return page
      }),
    )
    const views = [
      ['/', 'table.markets'],
      [`/?compare=${market},${other}`, '[data-chart="compare"] canvas'],
      ['/?view=funding', '.chart-panel[aria-busy="false"] .notes'],
      ['/?view=providers', 'table.providers'],
      [`/?view=providers&market=${market}&party=${party}`, '.panel .request'],
      [`/?view=party&party=${payer}`, '[data-chart="cumulative"] canvas'],
      ['/?view=checkpoints', 'table.checkpoints'],
      ['/?view=node', '.holdings'],
    ] as const
    for (const [view, ready] of sampled('process', views)) {
      await Promise.all(
        pages.map(async (page) => {
          await page.goto(view)
          await page.locator(ready).first().waitFor({ state: 'attached' })
        }),
      )
      await core.send(blocks.slice(sent, sent + 3))
      sent += 3
      await untilHeight(service, sent)
      // The page looks for blocks every three seconds.
      await setTimeout(3_500)
      for (const page of pages) {
        const shifts = await page.evaluate<{ value: number }[]>('shifts')
        const sum = shifts.reduce((total, { value }) => total + value, 0)
        const { width } = page.viewportSize()!
        assert.ok(sum <= 0.1, `${view} at ${width}: ${sum}: ${JSON.stringify(shifts)}`)
      }
    }
    await core.close()
  })

  test('has every figure of every market on a phone, with its name, and sorts them', async ({
    openRecording,
  }) => {
    const { page } = await openRecording(RECORDING, PHONE)
    await page.goto('/')
    await page.waitForSelector('table.markets')
    const titles = await page
      .locator('table.markets thead th')
      .evaluateAll((heads) => heads.map((head) => head.textContent.replace(/[↓↑]/g, '').trim()))
    assert.ok(titles.length >= 10)
    const row = page.locator(`tr[data-market="${BTC}"]`)
    // A line each, until all figures are asked for; the map is folded.
    const line = (await row.boundingBox())!
    assert.ok(line.height <= 100, `${line.height}`)
    const visible = () =>
      row.locator('td:visible').evaluateAll((cells) => cells.map((cell) => cell.dataset.label))
    assert.deepEqual(await visible(), ['Rate now', 'External price', 'Compare'])
    await page.getByLabel('Sort by').selectOption('-7d')
    await eventually(visible, (shown) => shown.join() === 'Rate now,7 d average,Compare')
    await page.getByLabel('Sort by').selectOption('market')
    assert.equal(await page.locator('.heat-map').count(), 0)
    await page.getByText('Map of funding').click()
    await page.waitForSelector('.heat-map')
    await page.getByRole('button', { name: 'All figures' }).click()
    await page.waitForURL(/figures=all/)
    const names = await row
      .locator('td')
      .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('data-label')))
    assert.deepEqual(names, titles.slice(1))
    for (const cell of await row.locator('> *').all()) {
      const { x, width, height } = (await cell.boundingBox())!
      assert.ok(height > 0 && x >= 0 && x + width <= 390, await cell.innerText())
    }
    assert.equal(await page.locator('.scroll-hint').count(), 0)
    assert.equal(await overflow(page), 0)
    // The shadow of a fixed first cell, which wide tables need, must not cover the panel's edge.
    assert.equal(await row.locator('th').evaluate((cell) => getComputedStyle(cell).boxShadow), 'none')
    const codes = () => page.locator('table.markets .market-code').allInnerTexts()
    const before = await codes()
    await page.getByLabel('Sort by').selectOption('-market')
    await eventually(codes, (shown) => shown.join() === [...before].reverse().join())
    assert.match(page.url(), /sort=-market/)
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  looksTest(
    'uses the width of the window, without a table that scrolls next to empty space',
    async ({ openRecording }) => {
      const { page } = await openRecording(RECORDING, { viewport: { width: 1800, height: 900 } })
      for (const [path, ready] of [
        ['/', 'table.markets'],
        [FUNDING, 'table.periods'],
        ['/?view=providers', 'table.providers'],
      ] as const) {
        await page.goto(path)
        await page.waitForSelector(ready)
        const { width } = (await page.locator('main .panel').last().boundingBox())!
        assert.ok(width > 1_700, `${path}: ${width}`)
        await eventuallyIs(() => page.locator('.scroll-hint').count(), 0)
      }
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto('/')
      await page.waitForSelector('table.markets')
      await eventuallyIs(() => page.locator('.scroll-hint').count(), 0)
    },
  )

  looksTest(
    'keeps the heads of tables in sight, also of tables scrolled sideways',
    async ({ openRecording }) => {
      const { page } = await openRecording(RECORDING, { viewport: { width: 1440, height: 700 } })
      for (const [width, table] of [
        [1440, 'periods'],
        [1440, 'points'],
        [820, 'periods'],
      ] as const) {
        await page.setViewportSize({ width, height: 700 })
        await page.goto(`${FUNDING}&periods=all`)
        await page.waitForSelector(`table.${table}`)
        await settled(page)
        const rows = page.locator(`table.${table} tbody tr`)
        await rows.last().scrollIntoViewIfNeeded()
        const bar = (await page.locator('.header').boundingBox())!
        const head = await eventually(
          async () => (await page.locator(`table.${table} thead th`).first().boundingBox())!,
          ({ y }) => y >= bar.height - 1,
          3_000,
        )
        const row = (await rows.last().boundingBox())!
        assert.ok(head.y < row.y && row.y - head.y < 700, `${table} at ${width}: ${head.y}, ${row.y}`)
        const first = (await rows.first().boundingBox())!
        assert.ok(first.y < head.y, 'the first row is scrolled away')
      }
    },
  )

  looksTest(
    'highlights the row under the pointer from its first cell to its last',
    async ({ openRecording }) => {
      const { page } = await openRecording(RECORDING)
      for (const [path, table] of [
        ['/', 'markets'],
        ['/?view=providers', 'providers'],
      ] as const) {
        await page.goto(path)
        const row = `table.${table} tbody tr:nth-child(2)`
        await page.waitForSelector(row)
        const still = await background(page, `${row} > :first-child`)
        await page.locator(`${row} > :nth-child(3)`).hover()
        const hovered = await background(page, `${row} > :first-child`)
        assert.notEqual(hovered, still)
        assert.equal(hovered, await background(page, row))
      }
    },
  )

  looksTest('shows names of any length without pushing figures off the page', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const long = 'The perpetual future of a coin with an exceedingly long name, which says much'
    const named = { ...perpetualMarket(LIVE_MARKET), code: `${long}/PERP`, name: long } as MarketEvent
    const wide = {
      ...perpetualMarket(OTHER_MARKET),
      code: 'W'.repeat(120),
      name: 'N'.repeat(120),
    } as MarketEvent
    await live.commit(1, [
      named,
      wide,
      ...[LIVE_MARKET, OTHER_MARKET].flatMap((marketId) => [
        periodEvent({ marketId }),
        pointAt(1, { marketId }),
        pointAt(1, { marketId, source: 1 }),
      ]),
    ])
    const { page } = await open(store)
    for (const viewport of [{ width: 1440, height: 900 }, { width: 820, height: 1000 }, PHONE.viewport]) {
      await page.setViewportSize(viewport)
      await page.goto('/')
      const price = page.locator(`tr[data-market="${OTHER_MARKET}"] data[data-figure="price"]`)
      await price.waitFor()
      const box = (await price.boundingBox())!
      assert.ok(box.x > 0 && box.x + box.width <= viewport.width, `${viewport.width}: ${JSON.stringify(box)}`)
      assert.equal(await overflow(page), 0)
      for (const market of [LIVE_MARKET, OTHER_MARKET]) {
        await page.goto(`/?view=funding&market=${market}`)
        await settled(page)
        assert.equal(await overflow(page), 0, `${viewport.width}`)
      }
    }
  })

  looksTest(
    'a phone shows the chart in its upper half, explains gestures, and scrolls wide tables',
    async ({ openRecording }) => {
      const { page } = await openRecording(RECORDING, {
        viewport: { width: 375, height: 812 },
        hasTouch: true,
        isMobile: true,
      })
      await page.goto(FUNDING)
      await settled(page)
      const { y } = (await page.locator('[data-chart="rates"] canvas').boundingBox())!
      assert.ok(y < 812 / 2, `the chart begins at ${y}`)
      await page.getByText('Tap for values · one finger pans · two fingers zoom').waitFor()
      const table = page.locator('.table-frame', { has: page.locator('table.periods') })
      await table.getByText('Scroll sideways for more columns').waitFor()
      // The rate is whole before the table is scrolled.
      const { x, width } = (await table.locator('tbody .estimate td .amount').first().boundingBox())!
      assert.ok(x + width <= 390 - 12, `${x + width}`)
      await table.locator('.table-place').evaluate((place) => place.scrollTo({ left: 10_000 }))
      await table.getByText('Scroll back').waitFor()
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.getByText('Tap for values').waitFor()
    },
  )
})

describe('the charts of the explorer', () => {
  test('write the number of a period whole or not at all, in its place also after a zoom', async ({
    openRecording,
  }) => {
    const { page, base } = await openRecording(RECORDING)
    const drawn = await watchDrawing(page)
    const { edges } = await getPage(base, `/api/v2/funding-periods/${BTC}`, 'pagination.first=1000')
    const { start } = edges.find(({ node }) => node.seq === '20')!.node as { start: string }
    // A range that ends just after the start of a period.
    const ending = `/?view=funding&market=${BTC}&from=${BigInt(start) - 300_000_000_000n}&to=${BigInt(start) + 4_000_000_000n}`
    for (const [path, wide, narrow] of [
      [FUNDING, 1440, 820],
      [ending, 1280, 390],
    ] as const) {
      const steps: [name: string, act: () => Promise<unknown>][] = [
        [`${wide}`, () => page.goto(path)],
        ...(path === FUNDING ? ['Zoom in', 'Zoom out', 'Earlier', 'Later'] : []).map(
          (name): (typeof steps)[number] => [
            name,
            () => page.getByRole('button', { name, exact: true }).click(),
          ],
        ),
        [`${narrow}`, () => page.setViewportSize({ width: narrow, height: 900 })],
      ]
      await page.setViewportSize({ width: wide, height: 900 })
      for (const [name, act] of steps) {
        await act()
        await settled(page)
        // Until the last change is drawn.
        await eventually(
          async () => {
            const { left, width } = await plotOf(page, 'prices')
            const labels = (await drawn()).texts.filter(({ text }) => /^#\d+$/.test(text))
            return { name, left, right: left + width, labels }
          },
          ({ left, right, labels }) =>
            labels.length > 1 &&
            labels.every((label) => label.align === 'left' && label.left >= left && label.right <= right),
          10_000,
        )
      }
    }
  })

  test('tint no more of the plot than the market was in auction, however short each auction was', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const auctions = 128
    const last = 100 * auctions
    // A second in auction, every 100 seconds.
    await live.commitAll([
      { height: 1, events: [perpetualMarket(LIVE_MARKET), periodEvent(), pointAt(1)] },
      ...Array.from({ length: last - 1 }, (_, index) => ({
        height: index + 2,
        events:
          index % 100 < 2
            ? [auctionEvent(index - (index % 100) + 2, index % 100 === 1)]
            : index % 10 === 0
              ? [pointAt(index + 2), pointAt(index + 2, { source: 1 })]
              : [],
      })),
    ])
    const { page } = await open(store)
    const drawn = await watchDrawing(page)
    await page.goto(`/?view=funding&market=${LIVE_MARKET}&from=${timeOf(0)}&to=${timeOf(last)}`)
    await settled(page)
    await page.getByText(`and ${auctions - 1} earlier auctions`).waitFor()
    const [shade, mark] = await coloursOf(page, ['auction', 'mark'])
    const { width, height } = await plotOf(page, 'prices')
    const { boxes } = await drawn()
    const tinted = boxes.filter(
      ({ style, ...box }) => style === mark && box.width * box.height <= width * height,
    )
    assert.ok(tinted.length >= auctions, 'auctions are visible')
    const area = tinted.reduce((sum, box) => sum + box.width * box.height, 0) / (tinted.length / auctions)
    assert.ok(area < 0.1 * width * height, `${area} of ${width * height}`)

    // Two auctions that are wide enough to be seen are shaded over their whole length.
    await page.goto(`/?view=funding&market=${LIVE_MARKET}&from=${timeOf(5_950)}&to=${timeOf(6_150)}`)
    await settled(page)
    const shaded = (await drawn()).boxes.filter((box) => box.style === shade && box.height === height)
    const places = new Set(shaded.map(({ x }) => Math.round(x)))
    const [first, second, ...others] = [...places].sort((a, b) => a - b)
    assert.deepEqual(others, [])
    assert.ok(Math.abs((second! - first!) / width - 100 / 200) < 0.01, `${first} ${second}`)
    for (const box of shaded) assert.ok(Math.abs(box.width / width - 1 / 200) < 0.002, `${box.width}`)
  })

  test('draw more periods than fit on a page in sums by day, count all, and name the omitted ones', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const count = 5_200
    const periods = Array.from({ length: count }, (_, seq) =>
      periodEvent({
        ...{ seq: BigInt(seq), start: timeOf(seq * 3_600), end: timeOf((seq + 1) * 3_600) },
        ...{ fundingPayment: '100', fundingRate: '0.0001', internalTwap: '1', externalTwap: '1' },
      }),
    )
    await live.commit(1, [pointAt(1), pointAt(count * 3_600), ...periods])
    const { page } = await open(store)
    const drawn = await watchDrawing(page)
    const asked = watchRequests(page)
    await page.goto('/?view=funding&span=all')
    await page.getByText('This range has more than 5,000 funding periods: those before').waitFor()
    await settled(page)
    const charts = asked.filter((path) =>
      /\/series\/|estimates|rates|funding-periods\/[0-9a-f]{64}$/.test(path),
    )
    assert.equal(charts.length, 5, charts.join())
    await page.getByRole('heading', { name: 'Funding rates, sum of each day' }).waitFor()
    await page.getByText('more than 1,500 funding periods: rates are drawn in sums by day').waitFor()
    // Figures are of all periods, those that are not listed too.
    await page.getByText('Cumulative (5,200 periods due)').waitFor()
    assert.equal(Number(await exactFigure(page, 'cumulative')), 0.52)
    assert.equal(await exactFigure(page, 'position-total'), '-520000')
    // At the start of the last bucket.
    await eventually(
      () => figure(page, 'cumulative-at'),
      (text) => Number.parseFloat(text) > 51.8,
    )
    // The first and the last bar mark the beginning and end of the data.
    const { left, width } = await plotOf(page, 'rates')
    const [longs] = await coloursOf(page, ['longs'])
    const bars = (await drawn()).boxes
      .filter(({ style }) => style === longs)
      .map(({ x }) => (x - left) / width)
    assert.ok(Math.min(...bars) <= 0.03 && Math.max(...bars) >= 0.95, `${bars}`)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.locator('section[aria-labelledby="periods-title"] .csv').click(),
    ])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split(/\r?\n/)
    assert.equal(lines.length, count + 1)
    // A short range in the past is complete, and drawn period by period.
    await page.goto(`/?view=funding&bars=cumulative&from=${timeOf(3_600 * 10)}&to=${timeOf(3_600 * 20)}`)
    await page.getByText('Cumulative (10 periods due)').waitFor()
    await page.getByRole('heading', { name: 'Cumulative funding rate', exact: true }).waitFor()
    assert.equal(Number(await exactFigure(page, 'cumulative')), 0.001)
    assert.equal(await page.getByText('more than 5,000').count(), 0)
  })

  test('explain colours and patterns beneath, and in pictures with their unit and mode', async ({
    openRecording,
  }) => {
    const { page } = await openRecording(RECORDING)
    const drawn = await watchDrawing(page)
    // The charts are busy until the slowest of their answers is drawn.
    await page.route('**/auctions/**', async (route) => {
      await setTimeout(1_000)
      await route.continue()
    })
    await page.goto(`${FUNDING}&bars=cumulative&hide=internal-price`)
    await settled(page)
    const { boxes } = await drawn()
    for (const colour of await coloursOf(page, ['longs', 'shorts'])) {
      assert.ok(
        boxes.some(({ style }) => style === colour),
        colour,
      )
    }
    const meanings = ['longs pay', 'shorts pay', 'estimate', 'in auction', 'every other funding period']
    const key = await page.locator('.bar-key').innerText()
    for (const name of meanings) assert.ok(key.includes(name), name)
    const hatched = page.locator('.bar-key .key.shorts')
    assert.match(await hatched.evaluate((element) => getComputedStyle(element).backgroundImage), /gradient/)
    for (const [name, expected] of [
      ['funding rates', ['Cumulative, in %', ...meanings]],
      ['prices and TWAPs', ['in USD', 'External price', 'External TWAP', 'Internal TWAP']],
      ['premium', ['in %']],
    ] as const) {
      await drawn()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: `Save as PNG: ${name}` }).click(),
      ])
      assert.match(download.suggestedFilename(), /^BTC-PERP.*\.png$/)
      const png = readFileSync(await download.path())
      assert.equal(png.subarray(1, 4).toString(), 'PNG')
      assert.ok(png.readUInt32BE(16) > 500 && png.length > 4_000, `${png.length} bytes`)
      const texts = (await drawn()).texts.map(({ text }) => text)
      for (const text of expected) {
        assert.ok(
          texts.some((line) => line.includes(text)),
          `${text} in ${texts.join(' | ')}`,
        )
      }
      assert.ok(!texts.includes('Internal price'), 'a hidden line is in no legend')
    }
  })
})

/** Part of a picture that may differ: fonts and their smoothing are not the same everywhere. */
const MOST_DIFFERENT = 0.05

test('the pictures of the documentation show the explorer as it is (npm run build:pictures)', async ({
  t,
  browser,
  open,
}) => {
  const { page, base } = await open(await storeOf(t, STORE_KINDS[0]!, MONTH))
  for (const [name, picture] of await takePictures(browser, base)) {
    const different = await differenceOf(page, readFileSync(join(PICTURE_FOLDER, name)), picture)
    assert.ok(different <= MOST_DIFFERENT, `${name}: ${(100 * different).toFixed(1)} % of the picture differ`)
  }
})

/** The part of the squares of 8 x 8 pixels whose mean colour differs visibly; 1 if the sizes differ. */
function differenceOf(page: Page, ...pictures: [Buffer, Buffer]): Promise<number> {
  return page.evaluate(
    `(async ([a, b]) => {
      const meansOf = async (text) => {
        const bytes = Uint8Array.from(atob(text), (one) => one.charCodeAt(0))
        const bitmap = await createImageBitmap(new Blob([bytes]))
        const [width, height] = [Math.floor(bitmap.width / 8), Math.floor(bitmap.height / 8)]
        const canvas = new OffscreenCanvas(width, height).getContext('2d')
        canvas.imageSmoothingQuality = 'high'
        canvas.drawImage(bitmap, 0, 0, width, height)
        return { width, height, data: canvas.getImageData(0, 0, width, height).data }
      }
      const [one, other] = [await meansOf(a), await meansOf(b)]
      if (one.width !== other.width || one.height !== other.height) return 1
      let different = 0
      for (let at = 0; at < one.data.length; at += 4) {
        if ([0, 1, 2].some((color) => Math.abs(one.data[at + color] - other.data[at + color]) > 24)) different++
      }
      return different / (one.data.length / 4)
    })(${JSON.stringify(pictures.map((picture) => picture.toString('base64')))})`,
  )
}
