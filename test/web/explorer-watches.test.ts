import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary, ProviderStanding } from 'lyra-client'
import type { Page } from 'playwright-core'
import { assertSays } from '../fixtures/assert-says.ts'
import { accessibilityFaults, eventually, eventuallyIs } from '../fixtures/explorer/browser.ts'
import { assertFits, explorerTest, setHidden } from '../fixtures/explorer/explorer.ts'
import { clientOf, visit } from '../fixtures/explorer/render.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import {
  LIVE_MARKET,
  periodEvent,
  perpetualMarket,
  serveLive,
  timeOf,
} from '../fixtures/stores/live-store.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'

const { judgeProvider, judgeRate, describeWatch } = await import('../../web/src/watches/judge.ts')
const { addWatch, MOST_WATCHES, readWatches, removeWatch, watches } = await import(
  '../../web/src/watches/watches.ts'
)

const PARTY = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'

/** Puts a notification's text into a list of its page instead of showing it. */
const noteNotifications = (page: Page) =>
  page.addInitScript(() => {
    const shown: string[] = []
    class Shown {
      static permission = 'granted'
      static requestPermission = async () => 'granted'
      constructor(title: string, { body, tag }: { body: string; tag: string }) {
        shown.push(`${title}: ${body} (${tag.slice(0, 12)})`)
      }
    }
    Object.assign(globalThis, { Notification: Shown, shownNotifications: shown })
  })

const shownOn = (page: Page) =>
  page.evaluate(() => (globalThis as unknown as { shownNotifications: string[] }).shownNotifications)

/** Keeps a watch in the browser before a page is opened. */
const watchBefore = (page: Page, watch: ReturnType<typeof watchOf>) =>
  page.addInitScript((text) => localStorage.setItem('lyra-watches', text), JSON.stringify([watch]))

/** A watch of the rate of a market. */
const watchOf = (kind: 'above' | 'below' | 'sign' | 'minimum', value = '', seen = '') => ({
  marketId: 'a'.repeat(64),
  kind,
  value,
  partyId: kind === 'minimum' ? PARTY : '',
  seen,
})

describe('notifications of the explorer', () => {
  test('tell of a rate beyond a value once, until it is back, and of a sign when it changes', async () => {
    const { client } = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit({ base: '', client }, '/')
    const [{ node } = assert.fail()] = (await client.marketSummariesPage()).rows
    const rateIs = (fundingRate: string): MarketSummary => ({
      ...node,
      estimate: { ...node.estimate!, fundingRate },
    })
    const told = (kind: 'above' | 'below' | 'sign', value: string, ...rates: string[]) => {
      let watch = watchOf(kind, value)
      return rates.map((rate) => {
        const { seen, message } = judgeRate(watch, rateIs(rate))!
        watch = { ...watch, seen }
        return message !== null
      })
    }
    assert.deepEqual(told('above', '0.05', '0.0005', '0.00051', '0.9', '0.0005', '0.001'), [
      false,
      true,
      false,
      false,
      true,
    ])
    assert.deepEqual(told('below', '-0.01', '0', '-0.0001', '-0.00011', '-1', '0', '-1'), [
      false,
      false,
      true,
      false,
      false,
      true,
    ])
    assert.deepEqual(told('sign', '', '0.1', '0', '0.2', '-0.1', '0', '-0.1', '0.1'), [
      false,
      false,
      false,
      true,
      false,
      false,
      true,
    ])
    const code = node.instrument!.code
    const messageOf = (...[watch, rate]: [Parameters<typeof judgeRate>[0], string]) =>
      judgeRate(watch, rateIs(rate))!.message
    assert.equal(
      messageOf(watchOf('above', '0.05'), '0.001'),
      `The funding rate of ${code} is +0.1000 %, above 0.05 %.`,
    )
    assert.equal(
      messageOf(watchOf('sign', '', 'longs pay'), '-0.001'),
      `The funding rate of ${code} is -0.1000 %: shorts pay now.`,
    )
    // A market that has ended has no rate.
    const ended = { ...node, marketData: { ...node.marketData!, marketState: 'STATE_SETTLED' as const } }
    assert.equal(judgeRate(watchOf('above', '0.05'), ended), null)
  })

  test('tell of a provider below the minimum once', () => {
    const standing = { marketId: 'a'.repeat(64), timeOnBook: '0.5', minimum: '0.6' } as ProviderStanding
    const at = (timeOnBook: string | null, seen = '') =>
      judgeProvider(watchOf('minimum', '', seen), { ...standing, timeOnBook })
    assert.equal(
      at('0.5')!.message,
      'b0e93493…185fe6 was on the book of aaaaaaaa…aaaaaa for 50 % of this epoch, below the minimum of 60 %.',
    )
    assert.deepEqual(
      [at('0.5', 'yes'), at('0.6', 'yes'), at('0.61')].map((judged) => [judged!.seen, judged!.message]),
      [
        ['yes', null],
        ['no', null],
        ['no', null],
      ],
    )
    assert.deepEqual([at(null), judgeProvider(watchOf('minimum'), undefined)], [null, null])
  })

  test('are kept in the browser, which takes only what they are', () => {
    assert.deepEqual(
      readWatches(
        JSON.stringify([
          watchOf('above', '0.05', 'yes'),
          watchOf('above', '5e3'),
          watchOf('sign', '1'),
          watchOf('minimum'),
          { ...watchOf('minimum'), partyId: 'network' },
          { ...watchOf('sign'), marketId: 'a' },
          { ...watchOf('sign'), kind: 'toString' },
          { ...watchOf('sign'), seen: 7 },
          null,
        ]),
      ),
      [watchOf('above', '0.05', 'yes'), watchOf('minimum')],
    )
    for (const text of [null, '', '{', '{}', 'null']) assert.deepEqual(readWatches(text), [])
    for (let value = 0; value < 30; value++) addWatch({ ...watchOf('above', `${value}`) })
    addWatch(watchOf('above', '29'))
    assert.deepEqual(
      watches.value.map((watch) => describeWatch(watch)),
      Array.from({ length: MOST_WATCHES }, (_, index) => `rate above ${10 + index} %`),
    )
    for (const watch of watches.value) removeWatch(watch)
    assert.deepEqual(watches.value, [])
  })

  explorerTest(
    'are shown by the browser and on the page, once, also after it is loaded again',
    async ({ openAt }) => {
      const base = await serveFile(STORE_KINDS[0]!, MONTH)
      const page = await openAt(base, { permissions: ['notifications'] })
      await noteNotifications(page)
      const shown = () => shownOn(page)
      const markets = (await clientOf(base).client.marketSummariesPage()).rows
      const btc = markets.find(({ node }) => node.instrument!.code === 'BTC/USDT')!.node.marketId
      await page.goto(`/?view=funding&market=${btc}`)
      await page.getByRole('button', { name: 'Notify me' }).click()
      await page.getByRole('textbox', { name: 'Value, in percent' }).fill('x')
      assert.equal(await page.getByRole('button', { name: 'Add' }).isDisabled(), true)
      await page.getByRole('textbox', { name: 'Value, in percent' }).fill('0.01 %')
      await page.getByRole('button', { name: 'Add' }).click()
      const message = 'The funding rate of BTC/USDT is +0.0379 %, above 0.01 %.'
      await eventuallyIs(async () => (await shown()).join(), `Lyra: ${message} (above ${btc.slice(0, 6)})`)
      await page.locator('.told', { hasText: message }).waitFor()
      for (const width of [390, 820, 1_440]) {
        await page.setViewportSize({ width, height: 900 })
        await assertFits(page, `${width}`)
        const { x, width: own } = (await page.locator('.watches').boundingBox())!
        assert.ok(x >= 0 && x + own <= width, `${width}: ${x} to ${x + own}`)
      }
      await page.reload()
      await page.getByRole('button', { name: 'Notify me (1)' }).click()
      assertSays(await page.locator('.watches').innerText(), 'rate above 0.01 %')
      await page.waitForTimeout(3_000)
      assert.deepEqual(await shown(), [])
      await page.getByRole('button', { name: 'Remove' }).click()
      // A provider of a market, whose minimum is reached, and then not any more.
      await page.goto(`/?view=providers&market=${btc}&party=${PARTY}`)
      await page.getByRole('button', { name: 'Notify me' }).click()
      await page.getByRole('button', { name: 'If it is below the minimum time on book' }).click()
      await eventually(
        () => page.evaluate(() => localStorage.getItem('lyra-watches') ?? ''),
        (text) => text.includes('"seen":"no"'),
      )
      assert.deepEqual(await accessibilityFaults(page), [])
      await page.route(/\/liquidity\/standing/, async (route) => {
        const answer = await (await route.fetch()).json()
        for (const standing of answer.liquidityStanding) standing.timeOnBook = '0.5'
        await route.fulfill({ json: answer })
      })
      await page.reload()
      await eventuallyIs(async () => (await shown()).length, 1)
      assertSays(
        (await shown())[0]!,
        'was on the book of BTC/USDT for 50 % of this epoch, below the minimum of 75 %.',
      )
      // A request that is still being answered would fail after the test.
      await page.unrouteAll({ behavior: 'wait' })
    },
  )

  explorerTest('are shown once by tabs that nobody sees, of which one watches', async ({ t, openAt }) => {
    const paid = (seq: bigint, fundingRate: string) =>
      periodEvent({ seq, end: timeOf(Number(seq)), fundingPayment: '1', fundingRate })
    const { live, base } = await serveLive(t, STORE_KINDS[0]!, [
      perpetualMarket(LIVE_MARKET),
      paid(1n, '0.0001'),
    ])
    const streams = async () =>
      /lyra_streams\{resource="marketSummaries"\} (\d+)/.exec(await metricsOf(base))?.[1]
    const pages = [await openAt(base), await openAt(base)] as const
    for (const page of pages) {
      await noteNotifications(page)
      await page.goto('/?view=node')
    }
    const watch = { ...watchOf('above', '1', 'no'), marketId: LIVE_MARKET }
    await pages[0].evaluate((text) => localStorage.setItem('lyra-watches', text), JSON.stringify([watch]))
    // The other tab learns of it.
    await pages[0].reload()
    await eventuallyIs(streams, '2')
    for (const page of pages) await setHidden(page, true)
    await eventuallyIs(streams, '1')
    await live.commit(2, [paid(2n, '0.09')])
    const told = 'The funding rate of A/PERP is +9.0000 %, above 1 %.'
    const shown = async () => (await Promise.all(pages.map(shownOn))).flat().join()
    await eventuallyIs(shown, `Lyra: ${told} (above aaaaaa)`)
    // Whichever tab is looked at next shows it, and tells of nothing again.
    for (const page of pages) await page.locator('.told', { hasText: told }).waitFor()
    for (const page of pages) await setHidden(page, false)
    await eventuallyIs(streams, '2')
    assert.equal(await shown(), `Lyra: ${told} (above aaaaaa)`)
    // The other one goes on once the first is closed.
    await live.commit(3, [paid(3n, '0.0001')])
    await eventually(
      () => pages[1].evaluate(() => localStorage.getItem('lyra-watches') ?? ''),
      (text) => text.includes('"seen":"no"'),
    )
    await setHidden(pages[1], true)
    await pages[0].close()
    await eventuallyIs(streams, '1')
    await live.commit(4, [paid(4n, '0.08')])
    await eventually(
      () => shownOn(pages[1]),
      (all) => all.some((text) => text.includes('+8.0000 %')),
    )
  })

  explorerTest('are shown of a provider, too, by a tab that nobody sees', async ({ openAt }) => {
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    const page = await openAt(base, { permissions: ['notifications'] })
    await noteNotifications(page)
    const { rows } = await clientOf(base).client.liquidityProvidersPage({ partyId: PARTY })
    await watchBefore(page, { ...watchOf('minimum', '', 'no'), marketId: rows[0]!.node.marketId })
    await page.addInitScript(() => {
      const { setInterval } = globalThis
      const sooner = (run: () => void, ms: number) => setInterval(run, ms === 60_000 ? 300 : ms)
      Object.assign(globalThis, { setInterval: sooner })
    })
    // Blocks arrive, and the provider leaves the book.
    let blocks = 0n
    let timeOnBook: string | null = null
    await page.route(/\/api\/v2\/coverage/, async (route) => {
      const answer = await (await route.fetch()).json()
      const held = answer.coverage.blocks
      held.lastTimestamp = `${BigInt(held.lastTimestamp) + ++blocks * 10_000_000_000n}`
      await route.fulfill({ json: answer })
    })
    await page.route(/\/liquidity\/standing/, async (route) => {
      const answer = await (await route.fetch()).json()
      for (const standing of answer.liquidityStanding) standing.timeOnBook = timeOnBook ?? standing.timeOnBook
      await route.fulfill({ json: answer })
    })
    await page.goto('/?view=node')
    await page.waitForResponse(/\/liquidity\/standing/)
    await setHidden(page, true)
    timeOnBook = '0.5'
    await eventuallyIs(async () => (await shownOn(page)).length, 1)
    assertSays((await shownOn(page))[0]!, 'for 50 % of this epoch, below the minimum of 75 %.')
    await page.unrouteAll({ behavior: 'wait' })
  })
})
