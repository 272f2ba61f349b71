import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { SAMPLE_MARKET, SAMPLE_PARTY } from '../../scripts/sample.ts'
import { accessibilityFaults, eventually, eventuallyIs } from '../fixtures/explorer/browser.ts'
import { replaceDelay, explorerTest as test } from '../fixtures/explorer/explorer.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'

const PROVIDER = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'

const press =
  (name: string, within = 'main') =>
  (page: Page) =>
    page.locator(within).getByRole('button', { name, exact: true }).first().click()

const pick = (market: string) => async (page: Page) => {
  const field = page.getByRole('combobox', { name: 'Market' })
  await field.focus()
  await field.fill(market)
  await field.press('Enter')
}

const funding = `/?view=funding&market=${SAMPLE_MARKET}&units=2.5`

/** A figure, the request behind it, and what leads to the same figure of another range, market or page. */
const CASES: [what: string, path: string, figure: string, request: RegExp, act: (page: Page) => unknown][] = [
  [
    "a party's total",
    `/?view=party&party=${SAMPLE_PARTY}&span=30d`,
    '[data-figure="payments-total"]',
    /\/funding-payments\?/,
    press('7d'),
  ],
  [
    'the payments of a position',
    `${funding}&span=30d`,
    '[data-figure="position-total"]',
    /\/position-funding\//,
    press('7d'),
  ],
  ['the charts', `${funding}&span=30d`, '.figures .time-value', /\/series\//, press('1d')],
  [
    'the data points',
    `${funding}&span=30d`,
    'table.points',
    /\/data-points\//,
    press('Older', '[aria-label="Pages of points"]'),
  ],
  [
    'the providers of a market',
    `/?view=providers&market=${SAMPLE_MARKET}`,
    'table.providers',
    /\/liquidity\/providers\?/,
    pick('DOGE'),
  ],
  [
    'the past epochs of a provider',
    `/?view=providers&market=${SAMPLE_MARKET}&party=${PROVIDER}`,
    'table.epochs-table',
    /\/provider-history\?/,
    press('Last 50'),
  ],
  [
    'the map of funding',
    '/',
    '.heat-map',
    /\/funding-rates\?/,
    press('8 hours', '[aria-label="Column length"]'),
  ],
  [
    'the rates of markets compared',
    `/?compare=${SAMPLE_MARKET}&span=7d`,
    '[data-compared]',
    /\/funding-periods\//,
    press('Earlier'),
  ],
  ['the checkpoints', '/?view=checkpoints', 'table.checkpoints', /\/api\/v2\/checkpoints\?/, press('Older')],
]

/** Lets a page wait a tenth as long before it repeats a request. */
async function hurry(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const { setTimeout } = globalThis
    const sooner = (run: () => void, ms: number) => setTimeout(run, ms < 3_100 ? ms / 10 : ms)
    Object.assign(globalThis, { setTimeout: sooner })
  })
}

/** Whether a figure is dimmed and busy: it and all texts in it are as grey as the page's quiet ones. */
const isBusy = (figure: Locator) =>
  figure.evaluate((element) => {
    const place = element.closest('.answer')
    return place?.getAttribute('aria-busy') === 'true' && Number(getComputedStyle(place).opacity) < 1
  })

/** Leaves requests unanswered until the function returned is called. */
async function holdBack(page: Page, request: RegExp): Promise<() => void> {
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>()
  await page.route(request, async (route) => {
    await answered
    await route.continue()
  })
  return answer
}

const CONSOLE = /503|429|Failed to load resource|ERR_/

describe('a figure of the explorer', () => {
  for (const [what, path, selector, request, act] of CASES) {
    test(
      `is busy while another one is on its way, and gone after its error: ${what}`,
      async ({ openAt }) => {
        const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
        await hurry(page)
        const figure = page.locator(selector).first()
        const panel = page.locator('section', { has: page.locator(selector) }).last()
        const open = async () => {
          await page.goto(path)
          await figure.waitFor()
          await eventuallyIs(() => page.locator('[aria-busy="true"]').count(), 0)
          return figure.innerText()
        }
        for (const status of [503, 429]) {
          await open()
          let isFaulty = false
          await page.route(request, (route) =>
            isFaulty
              ? route.fulfill({ status, json: { code: 14, message: 'too busy', details: [] } })
              : route.continue(),
          )
          isFaulty = true
          await act(page)
          await page
            .getByText(/too busy/)
            .first()
            .waitFor()
          await eventuallyIs(() => page.locator(selector).filter({ visible: true }).count(), 0)
          assert.deepEqual(await accessibilityFaults(page), [])
          await page.unroute(request)
        }
        const before = await open()
        const answer = await holdBack(page, request)
        await act(page)
        await eventuallyIs(() => isBusy(figure), true)
        // It has no other look as long as nothing comes.
        await page.waitForTimeout(500)
        assert.equal(await isBusy(figure), true)
        assert.equal(await figure.innerText(), before)
        assert.deepEqual(await accessibilityFaults(page), [])
        answer()
        await eventually(
          () => figure.innerText(),
          (text) => text !== before,
        )
        await eventuallyIs(() => panel.locator('.answer[aria-busy="true"]').count(), 0)
        await page.unroute(request)
      },
      CONSOLE,
    )
  }

  test(
    'is gone if another one does not come for seconds, and comes in the end',
    async ({ openAt }) => {
      const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
      for (const [what, path, selector, request, act] of CASES.slice(0, 2)) {
        await page.goto(path)
        const figure = page.locator(selector).first()
        await figure.waitFor()
        await eventuallyIs(() => page.locator('[aria-busy="true"]').count(), 0)
        const before = await figure.innerText()
        const answer = await holdBack(page, request)
        await act(page)
        await eventuallyIs(() => isBusy(figure), true)
        await figure.waitFor({ state: 'hidden' })
        assert.deepEqual(await accessibilityFaults(page), [], what)
        answer()
        await figure.waitFor()
        assert.notEqual(await figure.innerText(), before, what)
        await page.unroute(request)
      }
    },
    CONSOLE,
  )

  test(
    'is shown whether or not the periods of its market can be loaded, which their table says',
    async ({ openAt }) => {
      const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
      await hurry(page)
      const periods = /\/funding-periods\/[0-9a-f]{64}\?/
      await page.route(periods, (route) =>
        route.fulfill({ status: 503, json: { code: 14, message: 'too busy', details: [] } }),
      )
      await page.goto(`${funding}&span=7d`)
      const panel = page.locator('section', { has: page.locator('#periods-title') }).last()
      await panel.getByText(/too busy/).waitFor()
      for (const figure of ['.figures .time-value', 'table.points']) await page.locator(figure).waitFor()
      await page.unroute(periods)
      await panel.getByRole('button', { name: 'Try again' }).click()
      await page.locator('table.periods').waitFor()
    },
    CONSOLE,
  )

  test('of another page of its list stays, dimmed, however long the page takes', async ({ openAt }) => {
    const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
    // Elsewhere, this is how long figures of another question stay.
    await replaceDelay(page, 5_000, 200)
    for (const [path, selector, request, pages] of [
      [`${funding}&span=30d`, 'table.points', /\/data-points\//, 'Pages of points'],
      ['/?view=checkpoints', 'table.checkpoints', /\/api\/v2\/checkpoints\?/, 'Pages of checkpoints'],
      [
        `/?view=party&party=${SAMPLE_PARTY}&span=30d`,
        'table.single-payments',
        /\/funding-payments\?/,
        'Pages of payments',
      ],
    ] as const) {
      await page.goto(path)
      const figure = page.locator(selector)
      await figure.waitFor()
      await eventuallyIs(() => page.locator('[aria-busy="true"]').count(), 0)
      const before = await figure.innerText()
      const answer = await holdBack(page, request)
      await press('Older', `[aria-label="${pages}"]`)(page)
      await eventuallyIs(() => isBusy(figure), true)
      await page.waitForTimeout(1_000)
      assert.equal(await isBusy(figure), true)
      assert.equal(await figure.innerText(), before)
      answer()
      await eventually(
        () => figure.innerText(),
        (text) => text !== before,
      )
      await page.unroute(request)
    }
  })

  test(
    'stays, grey and with its time, if the same question has no newer answer',
    async ({ openAt }) => {
      const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
      await hurry(page)
      for (const [what, path, selector, request] of CASES) {
        await page.goto(path)
        const figure = page.locator(selector).first()
        await figure.waitFor()
        await eventuallyIs(() => page.locator('[aria-busy="true"]').count(), 0)
        const before = await figure.innerText()
        // The service is away for a moment, and afterwards does not answer this question.
        let isAway = true
        await page.route(/\/(api|ready|health)/, (route) =>
          isAway
            ? route.abort()
            : request.test(route.request().url())
              ? route.fulfill({ status: 503, json: { code: 14, message: 'too busy', details: [] } })
              : route.continue(),
        )
        await page.getByText('The service does not respond.').waitFor()
        isAway = false
        const note = page
          .locator('.answer.stale', { has: page.locator(selector) })
          .locator('.stale-since')
          .first()
        await eventually(
          () => note.innerText(),
          (text) =>
            /^As of \d{4}-\d\d-\d\d [\d:]+ UTC; newer figures could not be loaded: .*too busy/.test(text),
          what,
        )
        assert.equal(await figure.innerText(), before, what)
        assert.deepEqual(await accessibilityFaults(page), [], what)
        await page.unroute(/\/(api|ready|health)/)
        // What comes from the same request elsewhere on the page is asked for again, too.
        await page.getByRole('button', { name: 'Try again' }).evaluateAll((all) => {
          for (const again of all) (again as HTMLElement).click()
        })
        await eventuallyIs(() => page.locator('.answer.stale').count(), 0, what)
      }
    },
    CONSOLE,
  )
})
