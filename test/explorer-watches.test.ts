import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary, ProviderStanding } from 'lyra-client'
import { assertSays } from './fixtures/assert-says.ts'
import { accessibilityFaults, eventually, eventuallyIs } from './fixtures/browser.ts'
import { assertFits, explorerTest } from './fixtures/explorer.ts'
import { clientOf, visit } from './fixtures/render.ts'
import { serveFile } from './fixtures/service.ts'
import { MONTH } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const { judgeProvider, judgeRate, describeWatch } = await import('../web/src/watches/judge.ts')
const { addWatch, MOST_WATCHES, readWatches, removeWatch, watches } = await import(
  '../web/src/watches/watches.ts'
)

const PARTY = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'

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
      await page.addInitScript(() => {
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
      const shown = () =>
        page.evaluate(() => (globalThis as unknown as { shownNotifications: string[] }).shownNotifications)
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
      await page.waitForLoadState('networkidle').catch(() => {})
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
    },
  )
})
