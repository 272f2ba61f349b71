import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Locator, Page } from 'playwright-core'
import type { MarketEvent } from '#core/events/event'
import { PICTURE_FOLDER } from '../../scripts/build-pictures.ts'
import { takePictures } from '../../scripts/explorer-pictures.ts'
import { SAMPLE_MARKET, SAMPLE_PARTY } from '../../scripts/sample.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { accessibilityFaults, eventually, eventuallyIs, overflow } from '../fixtures/explorer/browser.ts'
import {
  assertFits,
  BTC,
  clipboard,
  downloadBy,
  exactFigure,
  FUNDING,
  figure,
  generate,
  looksTest,
  settled,
  explorerTest as test,
  watchRequests,
} from '../fixtures/explorer/explorer.ts'
import { inTurns, LONG, sampled } from '../fixtures/sampling.ts'
import { dial } from '../fixtures/services/core.ts'
import { blocksOf, startLive, untilHeight } from '../fixtures/services/live.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import {
  createLiveStore,
  LIVE_MARKET,
  OTHER_MARKET,
  periodEvent,
  perpetualMarket,
  pointAt,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const RECORDING = 'perps-long-named'

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

const PROVIDED = `/?view=providers&market=${SAMPLE_MARKET}`

/** A provider of that market, and another market. */
const PROVIDER = '884dba404ad24f6b21caae93bb17aae1f8a3eaeccceb68464248ac5c8e124f95'
const OTHER = 'd632ace3a372cddd18238e31a9b3d031673c70f630dc65f9c1c459a3a7f25d26'

const VIEWS = {
  markets: ['/', '.heat-map'],
  compare: [`/?view=markets&compare=${SAMPLE_MARKET},${OTHER}`, '[data-chart="compare"] canvas'],
  funding: [`/?view=funding&market=${SAMPLE_MARKET}&span=all`, '.notes'],
  estimates: [`/?view=funding&market=${SAMPLE_MARKET}&span=7d&estimates=1`, '.key.estimate-line'],
  providers: ['/?view=providers', '.request'],
  market: [`${PROVIDED}&columns=all`, '.request'],
  epochs: [`${PROVIDED}&party=${PROVIDER}`, '.epochs'],
  party: [`/?view=party&party=${SAMPLE_PARTY}`, '[data-chart="cumulative"] canvas'],
  checkpoints: ['/?view=checkpoints', 'table.checkpoints'],
  node: ['/?view=node', '.holdings'],
} as const

/** Window widths at which every view must fit. */
const WIDTHS = [320, 375, 768, 820, 1024, 1440]

/**
 * The texts that canvases show and the colours of their boxes: drawn since they were last cleared, or, for those that are in no
 * page, since the last reading. A reading must not forget what others draw only once: it may come between two drawings.
 */
async function watchDrawing(page: Page): Promise<() => Promise<string[]>> {
  await page.addInitScript(() => {
    const shown = new Map<HTMLCanvasElement, string[]>()
    const note = (canvas: HTMLCanvasElement, drawn: string) =>
      shown.set(canvas, [...(shown.get(canvas) ?? []), drawn])
    const { prototype } = CanvasRenderingContext2D
    const { fillText, fillRect, clearRect } = prototype
    prototype.clearRect = function (...rest) {
      shown.delete(this.canvas)
      clearRect.call(this, ...rest)
    }
    prototype.fillText = function (text, ...rest) {
      note(this.canvas, text)
      fillText.call(this, text, ...rest)
    }
    prototype.fillRect = function (...box) {
      note(this.canvas, `${this.fillStyle}`)
      fillRect.call(this, ...box)
    }
    const readDrawn = () => {
      const all = [...shown]
      for (const [canvas] of all) if (!canvas.isConnected) shown.delete(canvas)
      return all.flatMap(([, drawn]) => drawn)
    }
    Object.assign(globalThis, { readDrawn })
  })
  return () => page.evaluate<string[]>('readDrawn()')
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

const linesOf = (csv: Buffer) => csv.toString().trim().split(/\r?\n/)

const background = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => getComputedStyle(element).backgroundColor)

/** A table's rows as they are shown, but for its figures, which are `#`, or `# %`. */
function shownRows(table: HTMLTableElement): string[] {
  const isShown = (element: Element) => getComputedStyle(element).display !== 'none'
  return [...table.rows].filter(isShown).map((row) => {
    const cells = [...row.cells].filter(isShown).map((cell) => {
      let text = cell.innerText
      for (const figure of cell.querySelectorAll('data')) {
        const shown = figure.innerText
        text = text.replace(shown, shown.endsWith('%') ? shown.replace(/[+-]?[\d,.]+/g, '#') : '#')
      }
      return text.replace(/\s+/g, ' ').trim()
    })
    return cells.join('\t')
  })
}

/** What copying a table gives, by row. */
async function copiedRows(page: Page, table: Locator): Promise<string[]> {
  await table.evaluate((node) => getSelection()!.setBaseAndExtent(node, 0, node, node.childNodes.length))
  await page.keyboard.press('Control+c')
  return (await clipboard(page)).split('\n')
}

const withoutNumbers = (row: string) => row.replace(/[+-]?\d[\d,.]*/g, '#')

describe('the layout of the explorer', () => {
  test('copies tables as they are shown, at any width', async ({ openAt, openRecording }) => {
    const month = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
    const recording = await openRecording(RECORDING)
    for (const [page, path, ready] of [
      ...Object.values(VIEWS).map(([path, ready]) => [month, path, ready] as const),
      [recording, FUNDING, 'table.periods'] as const,
    ]) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await page.waitForSelector(ready)
      for (const width of [1440, 390]) {
        await page.setViewportSize({ width, height: 900 })
        // On a phone the page has other tables, as soon as it is drawn anew.
        await page.evaluate(
          () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
        )
        for (const table of await page.locator('table').all()) {
          let shown = await table.evaluate(shownRows)
          let copied = await copiedRows(page, table)
          // Figures may come between the two looks.
          for (let now = await table.evaluate(shownRows); !isDeepStrictEqual(now, shown); ) {
            shown = now
            copied = await copiedRows(page, table)
            now = await table.evaluate(shownRows)
          }
          const name = `${path}, ${width}, ${await table.getAttribute('class')}`
          assert.deepEqual(copied.map(withoutNumbers), shown.map(withoutNumbers), name)
        }
      }
    }
  })

  test('fits every width in both themes without violations of axe-core, with a link and CSV on each view', async ({
    openAt,
  }) => {
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const page = await openAt(base)
    const button = (name: string | RegExp) => page.getByRole('button', { name })
    for (const [index, [name, [path, ready]]] of Object.entries(VIEWS).entries()) {
      await page.setViewportSize({ width: 1440, height: 900 })
      await page.goto(path)
      await page.waitForSelector(ready)
      if (name === 'funding') {
        await settled(page)
        const { y, height } = (await page.locator('[data-chart="prices"]').boundingBox())!
        assert.ok(y + height <= 900, `the chart of prices ends at ${y + height}`)
      }
      await button(/a link to this view$/).click()
      assert.equal(await clipboard(page), `${base}${path}`, name)
      const csv = page.locator('.csv')
      const lines = linesOf((await downloadBy(name === 'epochs' ? csv.first() : csv.last())).bytes)
      const columns = lines.map((line) => line.replaceAll(/"[^"]*"/g, '').split(',').length)
      assert.ok(lines.length > 2, `${name}: ${lines.length} lines`)
      assert.equal(new Set(columns).size, 1, `${name}: ${lines[0]}`)
      for (const [place, width] of sampled('seconds', WIDTHS).entries()) {
        await page.setViewportSize({ width, height: 812 })
        // The next view starts with the other theme.
        for (const colorScheme of inTurns(index + place, ['dark', 'light'] as const)) {
          await page.emulateMedia({ colorScheme })
          await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
          await eventuallyIs(() => overflow(page), 0, `${name}, ${width}`)
          if (name === 'funding') {
            assert.ok(await page.locator('[data-figure="cumulative"]').first().isVisible(), `${width}`)
          }
          if (place !== index % 2 && !LONG) continue
          assert.deepEqual(await accessibilityFaults(page), [], `${name}, ${colorScheme}, ${width}`)
        }
        if (name !== 'party') continue
        // The button that copies a link is beside the field, and no table is cut.
        const [link, show] = await Promise.all(
          [/a link to this view$/, 'Show'].map((name) => button(name).boundingBox()),
        )
        assert.ok(Math.abs(link!.y + link!.height / 2 - (show!.y + show!.height / 2)) < 10, `${width}`)
        assert.equal(await page.locator('.scroll-hint').count(), 0, `${width}`)
      }
    }
  })

  test('shifts by at most 0.1 while a view fills and blocks arrive, on a screen and on a phone', async ({
    t,
    browser,
  }) => {
    const network = ['--blocks', '400', '--markets', '12', '--parties', '40', '--points', '12']
    const blocks = await blocksOf(await generate(t, network))
    const service = await startLive(t, STORE_KINDS[0]!.create(t), temporaryFolder(t))
    const core = await dial(service.corePort)
    let sent = 0
    const send = async (count: number) => {
      await core.send(blocks.slice(sent, sent + count))
      sent += count
      await untilHeight(service, sent)
    }
    await send(300)
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
    const [market, other] = [
      'f0ce29b74afcfc3553764f84b93f622953ae9b3f7b47cafeff0acafb4ebfe7a5',
      'ef8126d8e08ea6c354a5267ed75566e19637297e0fe97589ab9a16c514ba30fa',
    ]
    const provider = 'e61ba9b85234d1c37e3173e353f257ebc4d0e3d871c625d49b9d76469cfb1a0c'
    const payer = '326c259e28b12cc43380d44bab63056ed25c4b6419391c462ba79f476d86dac2'
    const views = [
      ['/', 'table.markets'],
      [`/?compare=${market},${other}`, '[data-chart="compare"] canvas'],
      ['/?view=funding', '.chart-panel[aria-busy="false"] .notes'],
      ['/?view=providers', 'table.providers'],
      [`/?view=providers&market=${market}&party=${provider}`, 'table.epochs-table'],
      [`/?view=party&party=${payer}`, '[data-chart="cumulative"] canvas'],
      ['/?view=checkpoints', 'table.checkpoints'],
      ['/?view=node', '.holdings'],
    ] as const
    for (const [view, ready] of sampled('process', views)) {
      for (const page of pages) {
        await page.goto(view)
        await page.locator(ready).first().waitFor({ state: 'attached' })
      }
      await send(3)
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

  test("has short pages of a party's days and epochs on a phone", async ({ openAt }) => {
    const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH), PHONE)
    await page.goto(`/?view=party&party=${PROVIDER}&span=30d`)
    await page.locator('.provision').first().waitFor()
    await page.locator('table.days tbody tr').first().waitFor()
    assert.equal(await page.locator('table.days tbody tr').count(), 7)
    // Three epochs, and the one that runs.
    const epochs = page.locator('.provision').first().locator('.epochs-table tbody tr')
    assert.equal(await epochs.count(), 4)
    await page.getByRole('link', { name: 'More epochs' }).first().waitFor()
  })

  test('has every figure of every market on a phone, with its name, and sorts them', async ({
    openRecording,
  }) => {
    const page = await openRecording(RECORDING, PHONE)
    await page.goto('/')
    await page.waitForSelector('table.markets')
    const row = page.locator(`tr[data-market="${BTC}"]`)
    // A line each, until all figures are asked for; the map is folded.
    const line = (await row.boundingBox())!
    assert.ok(line.height <= 100, `${line.height}`)
    const figures = async (cells: string) =>
      (await row.locator(cells).evaluateAll((found) => found.map((cell) => cell.dataset.label))).join()
    assert.equal(await figures('td:visible'), 'Rate now,External price,Compare')
    await page.getByLabel('Sort by').selectOption('-7d')
    await eventuallyIs(() => figures('td:visible'), 'Rate now,7 d average,Compare')
    await page.getByLabel('Sort by').selectOption('market')
    assert.equal(await page.locator('.heat-map').count(), 0)
    await page.getByText('Map of funding').click()
    await page.waitForSelector('.heat-map')
    await page.getByRole('button', { name: 'All figures' }).click()
    await page.waitForURL(/figures=all/)
    const heads = await page.locator('table.markets thead th').allTextContents()
    assert.ok(heads.length >= 10)
    assert.equal(await figures('td'), heads.slice(1).join())
    for (const cell of await row.locator('> *').all()) {
      const { x, width, height } = (await cell.boundingBox())!
      assert.ok(height > 0 && x >= 0 && x + width <= 390, await cell.innerText())
    }
    assert.equal(await page.locator('.scroll-hint').count(), 0)
    // The shadow of a fixed first cell, which wide tables need, must not cover the panel's edge.
    assert.equal(await row.locator('th').evaluate((cell) => getComputedStyle(cell).boxShadow), 'none')
    await page.getByLabel('Sort by').selectOption('-market')
    await eventuallyIs(
      async () => (await page.locator('table.markets .market-code').allInnerTexts()).join(),
      'SOL/PERP,ETH/PERP,BTC/PERP',
    )
    assertSays(page.url(), 'sort=-market')
    await assertFits(page)
  })

  looksTest(
    'uses the width of the window, keeps the heads of tables in sight, and highlights whole rows',
    async ({ openRecording }) => {
      const page = await openRecording(RECORDING)
      const show = async (path: string, table: string, width: number, height = 900) => {
        await page.setViewportSize({ width, height })
        await page.goto(path)
        await page.waitForSelector(`table.${table} tbody tr:nth-child(2)`)
      }
      for (const [path, table, width] of [
        ['/', 'markets', 1800],
        [FUNDING, 'periods', 1800],
        ['/?view=providers', 'providers', 1800],
        ['/', 'markets', 1440],
      ] as const) {
        await show(path, table, width)
        // No table scrolls next to empty space.
        const panel = (await page.locator('main .panel').last().boundingBox())!
        assert.ok(panel.width > width - 100, `${path}: ${panel.width}`)
        await eventuallyIs(() => page.locator('.scroll-hint').count(), 0)
        if (table === 'periods') continue
        // From its first cell to its last.
        const row = `table.${table} tbody tr:nth-child(2)`
        const still = await background(page, `${row} > :first-child`)
        await page.locator(`${row} > :nth-child(3)`).hover()
        const hovered = await background(page, `${row} > :first-child`)
        assert.notEqual(hovered, still)
        assert.equal(hovered, await background(page, row))
      }
      // Also of tables that are scrolled sideways.
      for (const [width, table] of [
        [1440, 'periods'],
        [1440, 'points'],
        [820, 'periods'],
      ] as const) {
        await show(`${FUNDING}&periods=all`, table, width, 700)
        await settled(page)
        const rows = page.locator(`table.${table} tbody tr`)
        await rows.last().scrollIntoViewIfNeeded()
        const bar = (await page.locator('.header').boundingBox())!
        const head = await eventually(
          async () => (await page.locator(`table.${table} thead th`).first().boundingBox())!,
          ({ y }) => y >= bar.height - 1,
        )
        const row = (await rows.last().boundingBox())!
        assert.ok(head.y < row.y && row.y - head.y < 700, `${table} at ${width}: ${head.y}, ${row.y}`)
        const first = (await rows.first().boundingBox())!
        assert.ok(first.y < head.y, 'the first row is scrolled away')
      }
    },
  )

  looksTest('shows names of any length without pushing figures off the page', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const long = 'The perpetual future of a coin with an exceedingly long name, which says much'
    const names = [
      [LIVE_MARKET, `${long}/PERP`, long],
      [OTHER_MARKET, 'W'.repeat(1_024), 'N'.repeat(1_024)],
    ] as const
    await live.commit(
      1,
      names.flatMap(([marketId, code, name]) => [
        { ...perpetualMarket(marketId), code, name, quoteName: name, settlementAsset: 'VOTE' } as MarketEvent,
        { kind: 'asset', assetId: 'VOTE', name, symbol: name, decimals: 5n, status: 4 } as MarketEvent,
        periodEvent({ marketId }),
        pointAt(1, { marketId }),
        pointAt(1, { marketId, source: 1 }),
      ]),
    )
    const page = await open(store)
    for (const width of [1440, 820, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto('/')
      const price = page.locator(`tr[data-market="${OTHER_MARKET}"] data[data-figure="price"]`)
      await price.waitFor()
      const box = (await price.boundingBox())!
      assert.ok(box.x > 0 && box.x + box.width <= width, `${width}: ${JSON.stringify(box)}`)
      assert.equal(await overflow(page), 0)
      for (const [market] of names) {
        await page.goto(`/?view=funding&market=${market}`)
        await settled(page)
        assert.equal(await overflow(page), 0, `${width}`)
      }
    }
  })

  looksTest(
    'a phone shows the chart in its upper half, explains gestures, and scrolls wide tables',
    async ({ openRecording }) => {
      const page = await openRecording(RECORDING, PHONE)
      await page.goto(FUNDING)
      await settled(page)
      const { y } = (await page.locator('[data-chart="rates"] canvas').boundingBox())!
      assert.ok(y < 844 / 2, `the chart begins at ${y}`)
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
  test('draw more periods than fit on a page in sums by day, count all, and name the omitted ones', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const count = 5_200
    const periods = Array.from({ length: count }, (_, seq) =>
      periodEvent({
        seq: BigInt(seq),
        start: timeOf(seq * 3_600),
        end: timeOf((seq + 1) * 3_600),
        fundingPayment: '100',
        fundingRate: '0.0001',
        internalTwap: '1',
        externalTwap: '1',
      }),
    )
    await live.commit(1, [pointAt(1), pointAt(count * 3_600), ...periods])
    const page = await open(store)
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
    await page.getByText('of 5,200 periods that ended in this range').waitFor()
    assert.equal(Number(await exactFigure(page, 'cumulative')), 0.52)
    assert.equal(await exactFigure(page, 'position-total'), '-520000')
    // At the start of the last bucket.
    await eventually(
      () => figure(page, 'cumulative-at'),
      (text) => Number.parseFloat(text) > 51.8,
    )
    const csv = page.locator('section[aria-labelledby="periods-title"] .csv')
    assert.equal(linesOf((await downloadBy(csv)).bytes).length, count + 1)
    // A short range in the past is complete, and drawn period by period.
    await page.goto(`/?view=funding&bars=cumulative&from=${timeOf(3_600 * 10)}&to=${timeOf(3_600 * 20)}`)
    await page.getByText('of 10 periods that ended in this range').waitFor()
    await page.getByRole('heading', { name: 'Cumulative funding rate', exact: true }).waitFor()
    assert.equal(Number(await exactFigure(page, 'cumulative')), 0.001)
    assert.equal(await page.getByText('more than 5,000').count(), 0)
    // A period that began long before the range is listed all the same, and so is one that ends as the range begins.
    for (const [from, to, due, listed] of [
      [20 * 3_600 + 1_800, 20 * 3_600 + 2_400, 'No payment was due', ['20']],
      [20 * 3_600, 20 * 3_600 + 600, 'of 1 period that', ['20', '19']],
      [20 * 3_600 - 300, 20 * 3_600 + 300, 'of 1 period that', ['20', '19']],
    ] as const) {
      await page.goto(`/?view=funding&from=${timeOf(from)}&to=${timeOf(to)}`)
      await page.getByText(due).waitFor()
      await settled(page)
      assert.deepEqual(await page.locator('table.periods tbody th').allInnerTexts(), listed)
    }
  })

  test('explain colours and patterns beneath, and in pictures with their unit and mode', async ({
    openRecording,
  }) => {
    const page = await openRecording(RECORDING)
    const drawn = await watchDrawing(page)
    // The charts are busy until the slowest of their answers is drawn.
    await page.route('**/auctions/**', async (route) => {
      await setTimeout(1_000)
      await route.continue()
    })
    await page.goto(`${FUNDING}&bars=cumulative&hide=internal-price`)
    await settled(page)
    const first = await drawn()
    for (const colour of await coloursOf(page, ['longs', 'shorts', 'band', 'mark'])) {
      assert.ok(first.includes(colour), colour)
    }
    // The numbers of periods.
    for (const seq of ['#1', '#9', '#30']) assert.ok(first.includes(seq), first.join())
    const meanings = ['longs pay', 'shorts pay', 'estimate', 'in auction', 'every other funding period']
    const key = await page.locator('.bar-key').innerText()
    for (const name of meanings) assert.ok(key.includes(name), name)
    const hatched = page.locator('.bar-key .key.shorts')
    assertSays(await hatched.evaluate((element) => getComputedStyle(element).backgroundImage), 'gradient')
    for (const [title, expected] of [
      ['funding rates', ['Cumulative, in %', ...meanings]],
      ['prices and TWAPs', ['in USD', 'External price', 'External TWAP', 'Internal TWAP']],
      ['premium', ['in %']],
    ] as const) {
      await drawn()
      const { name, bytes } = await downloadBy(page.getByRole('button', { name: `Save as PNG: ${title}` }))
      assert.match(name, /^BTC-PERP.*\.png$/)
      assert.equal(bytes.subarray(1, 4).toString(), 'PNG')
      assert.ok(bytes.readUInt32BE(16) > 500 && bytes.length > 4_000, `${bytes.length} bytes`)
      const texts = await drawn()
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
  browser,
  openAt,
}) => {
  const base = await serveFile(STORE_KINDS[0]!, MONTH)
  const page = await openAt(base)
  for (const [name, picture] of await takePictures(browser, base)) {
    const different = await differenceOf(page, readFileSync(join(PICTURE_FOLDER, name)), picture)
    assert.ok(different <= MOST_DIFFERENT, `${name}: ${(100 * different).toFixed(1)} % of the picture differ`)
  }
})

/** The part of the squares of 8 x 8 pixels whose mean colour differs visibly; 1 if the sizes differ. */
function differenceOf(page: Page, ...pictures: [Buffer, Buffer]): Promise<number> {
  return page.evaluate(
    `(async (texts) => {
      const bitmaps = await Promise.all(texts.map((text) =>
        createImageBitmap(new Blob([Uint8Array.from(atob(text), (one) => one.charCodeAt(0))]))))
      const [one, other] = bitmaps
      if (one.width !== other.width || one.height !== other.height) return 1
      const [width, height] = [Math.floor(one.width / 8), Math.floor(one.height / 8)]
      const canvas = new OffscreenCanvas(width, height).getContext('2d')
      canvas.imageSmoothingQuality = 'high'
      for (const bitmap of bitmaps) {
        canvas.drawImage(bitmap, 0, 0, width, height)
        canvas.globalCompositeOperation = 'difference'
      }
      const { data } = canvas.getImageData(0, 0, width, height)
      let different = 0
      for (let at = 0; at < data.length; at += 4) if (Math.max(...data.slice(at, at + 3)) > 24) different++
      return different / (data.length / 4)
    })(${JSON.stringify(pictures.map((picture) => picture.toString('base64')))})`,
  )
}
