import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import type { MarketEvent } from '#core/events/event'
import { accessibilityFaults, eventually, eventuallyIs, openPage, overflow } from './fixtures/browser.ts'
import { dial } from './fixtures/core.ts'
import { BTC, FUNDING, generate, looksTest, settled, explorerTest as test } from './fixtures/explorer.ts'
import { getPage } from './fixtures/http.ts'
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
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const RECORDING = 'perps-long-named'

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }

/** The texts and filled boxes that a page draws on its canvases, in device pixels. */
type Drawn = {
  texts: { text: string; left: number; right: number }[]
  boxes: { style: string; area: number }[]
}

/** Records drawing on canvases from now on, and forgets earlier records. */
async function watchDrawing(page: Page): Promise<() => Promise<Drawn>> {
  await page.addInitScript(() => {
    const drawn = { texts: [] as unknown[], boxes: [] as unknown[] }
    Object.assign(globalThis, { drawn })
    // biome-ignore lint/suspicious/noExplicitAny: a browser's type, which this program does not know.
    const { prototype } = (globalThis as any).CanvasRenderingContext2D
    const { fillText, fillRect } = prototype
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    prototype.fillText = function (this: any, text: string, x: number, y: number, ...rest: number[]) {
      const { width } = this.measureText(text)
      const left = this.textAlign === 'left' || this.textAlign === 'start' ? x : x - width
      drawn.texts.push({ text, left, right: left + width })
      fillText.call(this, text, x, y, ...rest)
    }
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    prototype.fillRect = function (this: any, x: number, y: number, width: number, height: number) {
      drawn.boxes.push({ style: this.fillStyle, area: width * height })
      fillRect.call(this, x, y, width, height)
    }
  })
  return () => page.evaluate<Drawn>('drawn')
}

/** Events of an auction that starts at a height and ends a block later. */
const auctionEvent = (began: number, leave: boolean): MarketEvent => ({
  ...{ kind: 'auction', marketId: LIVE_MARKET, openingAuction: false, leave },
  ...{ start: timeOf(began), end: leave ? timeOf(began + 1) : 0n },
})

const background = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => {
    // biome-ignore lint/suspicious/noExplicitAny: a browser's function, which this program does not know.
    return (globalThis as any).getComputedStyle(element).backgroundColor as string
  })

describe('the layout of the explorer', () => {
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
    for (const [view, ready] of [
      ['/', 'table.markets'],
      [`/?compare=${market},${other}`, '[data-chart="compare"] canvas'],
      ['/?view=funding', '.chart-panel[aria-busy="false"] .notes'],
      ['/?view=providers', 'table.providers, .card'],
      [`/?view=providers&market=${market}&party=${party}`, '.panel .request'],
      ['/?view=checkpoints', 'table.checkpoints'],
      ['/?view=node', '.holdings'],
    ] as const) {
      const pages = await Promise.all(
        [1440, 390].map(async (width) => {
          const opened = await openPage(browser, service.base, { viewport: { width, height: 900 } })
          await opened.page.addInitScript(
            `window.shifts = []
            new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value, sources }) =>
              ({ value, moved: sources.map(({ node }) => node?.className || node?.nodeName) }))))
              .observe({ type: 'layout-shift', buffered: true })`,
          )
          await opened.page.goto(view)
          await opened.page.locator(ready).first().waitFor({ state: 'attached' })
          return opened
        }),
      )
      await core.send(blocks.slice(sent, sent + 3))
      sent += 3
      await untilHeight(service, sent)
      // The page looks for blocks every three seconds.
      await setTimeout(3_500)
      for (const { page, close } of pages) {
        const shifts = await page.evaluate<{ value: number }[]>('shifts')
        const sum = shifts.reduce((total, { value }) => total + value, 0)
        const { width } = page.viewportSize()!
        assert.ok(sum <= 0.1, `${view} at ${width}: ${sum}: ${JSON.stringify(shifts)}`)
        await close()
      }
    }
    await core.close()
  })

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

  test('has every figure of every market on a phone, with its name, and sorts them', async ({
    openRecording,
  }) => {
    const { page } = await openRecording(RECORDING, PHONE)
    await page.goto('/')
    await page.waitForSelector('table.markets')
    const titles = await page
      .locator('table.markets thead th')
      .evaluateAll((heads) => heads.map((head) => (head.textContent ?? '').replace(/[↓↑]/g, '').trim()))
    assert.ok(titles.length >= 10)
    const row = page.locator(`tr[data-market="${BTC}"]`)
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
    assert.equal(
      await row.locator('th').evaluate((cell) => {
        // biome-ignore lint/suspicious/noExplicitAny: a browser's function, which this program does not know.
        return (globalThis as any).getComputedStyle(cell).boxShadow as string
      }),
      'none',
    )
    const codes = () => page.locator('table.markets .market-code').allInnerTexts()
    const before = await codes()
    await page.getByLabel('Sort by').selectOption('-market')
    await eventually(codes, (shown) => shown.join() === [...before].reverse().join())
    assert.match(page.url(), /sort=-market/)
    assert.deepEqual(await accessibilityFaults(page), [])
  })

  looksTest('shows the cumulative rate of the range at any width', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    // 720 is a window of 1,440 at 200 %.
    for (const width of [1440, 820, 720, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(FUNDING)
      await settled(page)
      assert.ok(await page.locator('data[data-figure="cumulative"]').first().isVisible(), `${width}`)
    }
  })
})

describe('the charts of the explorer', () => {
  test('write the number of a period whole or not at all', async ({ openRecording }) => {
    const { page, base } = await openRecording(RECORDING)
    const drawn = await watchDrawing(page)
    const { edges } = await getPage(base, `/api/v2/funding-periods/${BTC}`, 'pagination.first=1000')
    const { start } = edges.find(({ node }) => node.seq === '20')!.node as { start: string }
    // A range that ends just after the start of a period.
    const ending = `/?view=funding&market=${BTC}&from=${BigInt(start) - 300_000_000_000n}&to=${BigInt(start) + 4_000_000_000n}`
    for (const [width, path] of [
      [1440, FUNDING],
      [1280, ending],
      [820, FUNDING],
      [390, ending],
    ] as const) {
      await page.setViewportSize({ width, height: 900 })
      await page.goto(path)
      await settled(page)
      const plot = await page.locator('[data-chart="prices"] .u-over').evaluate((over) => {
        // biome-ignore lint/suspicious/noExplicitAny: a browser's type, which this program does not know.
        const { offsetLeft, clientWidth } = over as any
        return { left: offsetLeft as number, right: (offsetLeft + clientWidth) as number }
      })
      const labels = (await drawn()).texts.filter(({ text }) => /^#\d+$/.test(text))
      assert.ok(labels.length > 1)
      for (const { text, left, right } of labels) {
        assert.ok(left >= plot.left && right <= plot.right, `${text} at ${width}: ${left} to ${right}`)
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
    const colours = await page
      .locator('.chart')
      .first()
      .evaluate((chart) => {
        // biome-ignore lint/suspicious/noExplicitAny: a browser's functions, which this program does not know.
        const { getComputedStyle, document } = globalThis as any
        const context = document.createElement('canvas').getContext('2d')
        return ['--chart-auction', '--chart-mark'].map((name) => {
          context.fillStyle = getComputedStyle(chart).getPropertyValue(name)
          return context.fillStyle as string
        })
      })
    const { width, height } = (await page.locator('[data-chart="prices"] .u-over').boundingBox())!
    const { boxes } = await drawn()
    const tinted = boxes.filter(({ style, area }) => colours.includes(style) && area <= width * height)
    assert.ok(tinted.length > 0, 'auctions are visible')
    const perDrawing = tinted.reduce((sum, { area }) => sum + area, 0) / (tinted.length / auctions)
    assert.ok(perDrawing < 0.1 * width * height, `${perDrawing} of ${width * height}`)
  })

  test('explain bands and patterns, and show who pays without relying on colours', async ({
    openRecording,
  }) => {
    const { page } = await openRecording(RECORDING)
    // The charts are busy until the slowest of their answers is drawn.
    await page.route('**/auctions/**', async (route) => {
      await setTimeout(1_000)
      await route.continue()
    })
    await page.goto(FUNDING)
    await settled(page)
    const key = page.locator('.bar-key')
    for (const name of ['longs pay', 'shorts pay', 'estimate', 'in auction', 'every other funding period']) {
      assert.ok((await key.innerText()).includes(name), name)
    }
    const image = await page.locator('.bar-key .key.shorts').evaluate((element) => {
      // biome-ignore lint/suspicious/noExplicitAny: a browser's function, which this program does not know.
      return (globalThis as any).getComputedStyle(element).backgroundImage as string
    })
    assert.match(image, /gradient/, 'shorts are hatched')
  })

  test('are saved with their legend, unit and mode', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    const drawn = await watchDrawing(page)
    await page.goto(`${FUNDING}&bars=cumulative&hide=internal-price`)
    await settled(page)
    const saved = async (button: string) => {
      const before = (await drawn()).texts.length
      await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: button }).click()])
      return (await drawn()).texts.slice(before).map(({ text }) => text)
    }
    const rates = await saved('Save as PNG: funding rates')
    for (const text of [
      'Cumulative, in %',
      'longs pay',
      'shorts pay',
      'estimate',
      'in auction',
      'every other funding period',
    ]) {
      assert.ok(
        rates.some((line) => line.includes(text)),
        `${text} in ${rates.join(' | ')}`,
      )
    }
    const prices = await saved('Save as PNG: prices and TWAPs')
    for (const text of ['in USD', 'External price', 'External TWAP', 'Internal TWAP']) {
      assert.ok(
        prices.some((line) => line.includes(text)),
        `${text} in ${prices.join(' | ')}`,
      )
    }
    assert.ok(!prices.includes('Internal price'), 'a hidden line is in no legend')
    const premium = await saved('Save as PNG: premium')
    assert.ok(
      premium.some((line) => line.includes('in %')),
      premium.join(' | '),
    )
  })

  test('keep the chosen point while zooming by keyboard', async ({ openRecording }) => {
    const { page } = await openRecording(RECORDING)
    await page.goto(FUNDING)
    await settled(page)
    await page.locator('.charts').focus()
    await page.keyboard.press('Home')
    for (let step = 0; step < 30; step++) await page.keyboard.press('ArrowRight')
    const shown = () => page.locator('.time-value').innerText()
    await eventuallyIs(() => page.locator('.figures .figure-name').first().innerText(), 'At')
    const secondsOf = (text: string) => Date.parse(text.replace(' UTC', 'Z').replace(' ', 'T')) / 1_000
    const chosen = secondsOf(await shown())
    for (const key of ['+', '+', '-', '+']) {
      await page.keyboard.press(key)
      // After a pause the page requests the new range; the chosen point stays until the answer arrives.
      await page.waitForTimeout(400)
      await settled(page)
      assert.equal(await page.locator('.figures .figure-name').first().innerText(), 'At')
      const seconds = secondsOf(await shown())
      // The 5 s buckets become shorter: the last one within the chosen bucket is selected.
      assert.ok(seconds >= chosen && seconds < chosen + 5, `${key}: ${seconds - chosen} s`)
    }
    const step = await shown()
    await page.keyboard.press('ArrowRight')
    await eventually(shown, (text) => text > step)
    assert.ok((await shown()).slice(0, 15) === step.slice(0, 15), 'the next point is near')
  })
})
