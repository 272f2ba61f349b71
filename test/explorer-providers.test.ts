import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe } from 'node:test'
import type { LiquidityProvider } from 'lyra-client'
import type { Page } from 'playwright-core'
import { formatAmount, formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { eventually, eventuallyIs, overflow } from './fixtures/browser.ts'
import { BTC, cellsOf, ETH, exactFigure, figure, SOL, explorerTest as test } from './fixtures/explorer.ts'
import { getPage } from './fixtures/http.ts'
import { createLiveStore, LIVE_MARKET } from './fixtures/live-store.ts'
import { PROVIDERS } from './fixtures/sample.ts'

const USD = { symbol: 'USD', decimals: 5 }

const NAMES: Record<string, string> = { [BTC]: 'BTC/PERP', [ETH]: 'ETH/PERP', [SOL]: 'SOL/PERP' }

async function providersOf(base: string, filters: [string, string][]): Promise<LiquidityProvider[]> {
  const { edges } = await getPage(base, PROVIDERS, [...filters, ['pagination.first', '5000']])
  return edges.map(({ node }) => node as unknown as LiquidityProvider)
}

const isPenalised = ({ sla }: LiquidityProvider) =>
  sla !== null &&
  [sla.lastEpochFeePenalty, sla.lastEpochBondPenalty, ...sla.hysteresisPeriodFeePenalties].some(
    (text) => Number(text) !== 0,
  )

/** Market and party of each row of the table. */
async function rowsOf(page: Page): Promise<string[]> {
  return page.locator('table.providers tbody tr').evaluateAll((rows) =>
    rows.map((row) =>
      [...row.querySelectorAll('[title]')]
        .map((element) => (element as unknown as { title: string }).title.split(' ').at(-1))
        .filter((title) => /^[0-9a-f]{64}$/.test(title ?? ''))
        .join(' '),
    ),
  )
}

describe("the explorer's providers", () => {
  test('are those of all markets at once, of one, or of a party, with filters and totals', async ({
    t,
    openRecording,
  }) => {
    const { page, base } = await openRecording('perps-long-named')
    const all = (
      await Promise.all([BTC, ETH, SOL].map((marketId) => providersOf(base, [['marketId', marketId]])))
    ).flat()
    const names = (list: LiquidityProvider[]) =>
      [...list]
        .sort((a, b) => Number(b.feeShare.equityLikeShare) - Number(a.feeShare.equityLikeShare))
        .map(({ marketId, partyId }) => `${marketId} ${partyId}`)
    const sum = (list: LiquidityProvider[]) =>
      `${list.reduce((total, { sla }) => total + BigInt(sla!.requiredLiquidity), 0n)}`

    await t.test(
      'all markets: every provision, by share, with the first figures and the totals',
      async () => {
        await page.goto('/?view=providers')
        await eventually(
          () => rowsOf(page),
          (rows) => JSON.stringify(rows) === JSON.stringify(names(all)),
        )
        assert.equal(await figure(page, 'provisions'), `${all.length}`)
        assert.equal(await figure(page, 'parties'), `${new Set(all.map(({ partyId }) => partyId)).size}`)
        assert.equal(await figure(page, 'markets'), '3')
        assert.equal(await figure(page, 'penalised'), `${all.filter(isPenalised).length}`)
        assert.equal(await exactFigure(page, 'total-required'), sum(all))
        assert.equal(await figure(page, 'total-required'), formatAmountWithUnit(sum(all), USD, { places: 2 }))
        const [first] = await cellsOf(page, 'providers')
        assert.ok(Object.values(NAMES).includes(first![0]!.trim()), first![0]!)
        // What is needed is on the first screen, without a scroll bar.
        const titles = await page.locator('table.providers thead th').allInnerTexts()
        assert.deepEqual(
          titles.map((title) => title.replace(/[↓↑\s]+/g, ' ').trim()),
          [
            ...[
              'Market',
              'Party',
              'Equity-like share',
              'Required liquidity, USD',
              'Time on book, this epoch',
            ],
            ...['Time on book, last epoch', 'Fee penalty, last epoch', 'Bond penalty, last epoch'],
          ],
        )
        assert.equal(await page.locator('.scroll-hint').count(), 0)
      },
    )

    await t.test('filters: the penalised ones, those below a share, both in the address', async () => {
      await page.getByLabel('Penalised only').check()
      await page.getByLabel('Equity-like share below, %').fill('20')
      const expected = all.filter(
        (provider) => isPenalised(provider) && Number(provider.feeShare.equityLikeShare) < 0.2,
      )
      assert.ok(expected.length > 0 && expected.length < all.filter(isPenalised).length)
      await eventually(
        () => rowsOf(page),
        (rows) => JSON.stringify(rows) === JSON.stringify(names(expected)),
      )
      assert.equal(await exactFigure(page, 'total-required'), sum(expected))
      const address = page.url()
      assert.match(address, /penalised=1.*below=20|below=20.*penalised=1/)
      await page.goto(address)
      await eventually(
        () => rowsOf(page),
        (rows) => rows.length === expected.length,
      )
      await page.getByLabel('Equity-like share below, %').fill('0.0')
      await page.getByText('An equity-like share is a number of percent above zero').waitFor()
      await page.getByLabel('Equity-like share below, %').fill('0.000001')
      await page.getByRole('button', { name: 'Clear the filters' }).click()
      await eventually(
        () => rowsOf(page),
        (rows) => rows.length === all.length,
      )
    })

    await t.test(
      'one market: two decimals, exact on hover, any column sorts, the rest a click away',
      async () => {
        await page.getByRole('combobox', { name: 'Market' }).click()
        await page.keyboard.type('ether')
        await page.keyboard.press('Enter')
        await page.waitForURL(new RegExp(`market=${ETH}`))
        const own = all.filter(({ marketId }) => marketId === ETH)
        await eventuallyIs(() => page.locator('table.providers tbody tr').count(), own.length)
        await page.getByRole('button', { name: 'All 12 figures' }).click()
        await page.waitForURL(/columns=all/)
        await page.getByRole('button', { name: 'Virtual stake, USD' }).click()
        const byStake = [...own].sort(
          (a, b) => Number(b.feeShare.virtualStake) - Number(a.feeShare.virtualStake),
        )
        const stakes = () =>
          page
            .locator('table.providers tbody data[data-figure="stake"]')
            .evaluateAll((cells) => cells.map((cell) => [cell.getAttribute('value'), cell.textContent]))
        const expected = byStake.map(({ feeShare }) => [
          feeShare.virtualStake,
          formatAmount(feeShare.virtualStake, USD, { places: 2 }),
        ])
        await eventually(stakes, (seen) => JSON.stringify(seen) === JSON.stringify(expected))
        await page.getByRole('button', { name: 'Virtual stake, USD' }).click()
        await eventually(stakes, (seen) => JSON.stringify(seen) === JSON.stringify([...expected].reverse()))
        await page.getByText('Scroll sideways for more columns').waitFor()
        await page.getByText('What the figures mean').click()
        assert.match(
          await page.locator('.meanings').innerText(),
          /Bond penalty, last epoch\s+The part of its bond/,
        )
      },
    )

    await t.test("a party's page across markets, by its address alone, and its rows as CSV", async () => {
      const { partyId } = all[0]!
      await page.getByPlaceholder('64 hex digits, or network').fill(partyId)
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.waitForURL(new RegExp(`party=${partyId}`))
      await page.goto(`/?view=providers&party=${partyId.toUpperCase()}`)
      const own = all.filter((provider) => provider.partyId === partyId)
      await eventuallyIs(() => page.locator('table.providers tbody tr').count(), own.length)
      assert.equal(await figure(page, 'markets'), `${own.length}`)
      const markets = (await cellsOf(page, 'providers')).map(([name]) => name!.trim()).sort()
      assert.deepEqual(markets, own.map(({ marketId }) => NAMES[marketId]!).sort())
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.locator('.panel .csv').click(),
      ])
      const csv = readFileSync(await download.path(), 'utf8')
        .trim()
        .split(/\r?\n/)
      assert.equal(csv.length - 1, own.length)
      for (const { feeShare } of own) assert.ok(csv.some((line) => line.includes(feeShare.virtualStake)))

      await page.goto('/?view=providers')
      await page.waitForSelector('table.providers')
      const [every] = await Promise.all([page.waitForEvent('download'), page.locator('.panel .csv').click()])
      const lines = readFileSync(await every.path(), 'utf8')
        .trim()
        .split('\r\n')
      assert.equal(lines.length - 1, all.length)
    })

    await t.test('a wrong id gets words, an unknown party too', async () => {
      await page.goto('/?view=providers&party=bob')
      await page.getByText("bob is not a party's id: it has 64 hex digits").waitFor()
      await page.goto('/?view=providers&market=12')
      await page.getByText("12 is not a market's id: it has 64 hex digits").waitFor()
      await page.goto(`/?view=providers&party=${'0'.repeat(64)}`)
      await page.getByText('00000000…000000 provides no liquidity').waitFor()
      await page.getByText('As of block 2,605.').waitFor()
    })
  })

  test('may have no SLA, and amounts without an asset are whole numbers as sent, with a word why', async ({
    t,
    open,
  }) => {
    const { store, live } = await createLiveStore(t)
    const party = 'b'.repeat(64)
    const great = '1234567890123456789012345678'
    const share = {
      party,
      averageEntryValuation: great,
      averageScore: '0.5',
      virtualStake: `${great}.0000000000000001`,
    }
    await live.commit(1, [
      { kind: 'liquidity-provision', provisionId: 'p', marketId: LIVE_MARKET, partyId: party, status: 1 },
      {
        kind: 'market-data',
        figures: null,
        marketId: LIVE_MARKET,
        feeShares: [{ ...share, equityLikeShare: '0.1234567890123456789' }],
        slas: [],
      },
    ])
    const { page } = await open(store)
    await page.goto(`/?view=providers&market=${LIVE_MARKET}&columns=all`)
    await page.waitForSelector('table.providers')
    const row = await page.locator('table.providers tbody').innerText()
    assert.match(row, /No SLA figures/)
    assert.match(row, /12\.35 %/)
    assert.equal(await exactFigure(page, 'share'), '0.1234567890123456789')
    assert.equal(await exactFigure(page, 'stake'), `${great}.0000000000000001`)
    assert.ok(row.includes('1,234,567,890,123,456,789,012,345,678'), row)
    await page.getByText('whole numbers as sent: no event with the name and the asset').waitFor()
    await page.setViewportSize({ width: 375, height: 812 })
    assert.equal(await overflow(page), 0)
    assert.match(await page.locator('.card').innerText(), /No SLA figures/)
  })
})
