import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe } from 'node:test'
import type { Instrument, LiquidityProvider, LiquidityProviderEpoch } from 'lyra-client'
import type { Page } from 'playwright-core'
import type { MarketEvent } from '#core/events/event'
import { formatAmount, formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { accessibilityFaults, eventually, eventuallyIs, overflow } from './fixtures/browser.ts'
import {
  BTC,
  cellsOf,
  ETH,
  exactFigure,
  figure,
  generate,
  SOL,
  explorerTest as test,
} from './fixtures/explorer.ts'
import { getPage } from './fixtures/http.ts'
import { createLiveStore, LIVE_MARKET, perpetualMarket } from './fixtures/live-store.ts'
import { PROVIDERS } from './fixtures/sample.ts'
import { storeOf } from './fixtures/service.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

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

/** A decimal number in units of 10^-36. */
function exact(text: string): bigint {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(whole! + fraction.padEnd(36, '0'))
}

const UNIT = 10n ** 36n

/** Fee share, kept share, and their product, of all providers of whole markets: in 10^-18, truncated. */
function feesOf(providers: LiquidityProvider[]) {
  const weight = ({ feeShare }: LiquidityProvider, byScore: boolean) =>
    exact(feeShare.equityLikeShare) * (byScore ? exact(feeShare.averageScore) : UNIT)
  return new Map(
    providers.map((provider) => {
      const own = providers.filter(({ marketId }) => marketId === provider.marketId)
      const byScore = own.some((other) => weight(other, true) > 0n)
      const sum = own.reduce((total, other) => total + weight(other, byScore), 0n)
      const kept = provider.sla === null ? null : UNIT - exact(provider.sla.lastEpochFeePenalty)
      const part = weight(provider, byScore) * 10n ** 18n
      return [
        provider,
        { share: part / sum, kept, net: kept === null ? null : (part * kept) / (sum * UNIT) },
      ] as const
    }),
  )
}

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
  test('are listed for all markets, one market or one party, with filters and totals', async ({
    t,
    openRecording,
  }) => {
    const { page, base } = await openRecording('perps-long-named')
    const all = (
      await Promise.all([BTC, ETH, SOL].map((marketId) => providersOf(base, [['marketId', marketId]])))
    ).flat()
    // By fee share after the penalty; rows without an SLA last, equal ones by their ids.
    const fees = feesOf(all)
    const names = (list: LiquidityProvider[]) =>
      list
        .map((provider) => ({ id: `${provider.marketId} ${provider.partyId}`, net: fees.get(provider)!.net }))
        .sort((a, b) => {
          if (a.net === null || b.net === null || a.net === b.net) {
            return a.net === b.net ? (a.id < b.id ? -1 : 1) : a.net === null ? 1 : -1
          }
          return b.net > a.net ? 1 : -1
        })
        .map(({ id }) => id)
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
        // The main columns are on the first screen, without a scroll bar.
        const titles = await page.locator('table.providers thead th').allInnerTexts()
        assert.deepEqual(
          titles.map((title) => title.replace(/[↓↑\s]+/g, ' ').trim()),
          [
            ...[
              'Market',
              'Party',
              'Fee share',
              'Kept after penalty',
              "Fee share at last epoch's penalty",
              'Time on book, this epoch',
            ],
            ...['Time on book, last epoch', 'Required liquidity, USD', 'Bond penalty, last epoch'],
          ],
        )
        assert.equal(await page.locator('.scroll-hint').count(), 0)

        // The exact texts of each row: 18 decimal places of a share, all digits of the rest.
        const shown = await page.locator('table.providers tbody tr').evaluateAll((rows) =>
          rows.map((row) => ({
            id: [...row.querySelectorAll('[title]')]
              .map((element) => element.getAttribute('title')!.split(' ').at(-1)!)
              .filter((title) => /^[0-9a-f]{64}$/.test(title))
              .join(' '),
            figures: ['fees', 'kept', 'net'].map(
              (name) => row.querySelector(`[data-figure="${name}"]`)?.getAttribute('value') ?? null,
            ),
          })),
        )
        for (const [provider, { share, kept, net }] of fees) {
          const row = shown.find(({ id }) => id === `${provider.marketId} ${provider.partyId}`)!
          const [fee, keeps, after] = row.figures
          assert.equal(exact(fee!) / 10n ** 18n, share)
          assert.equal(keeps === null ? null : exact(keeps), kept)
          assert.equal(after === null ? null : exact(after) / 10n ** 18n, net)
        }
        const shares = new Set([...fees.values()].map(({ share }) => share))
        assert.ok(shares.size > 3 && [...fees.values()].some(({ kept }) => kept !== null && kept < UNIT))
      },
    )

    await t.test('filters by penalty and by share, both in the URL', async () => {
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
      await page.getByText('An equity-like share is a percentage above zero').waitFor()
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
        await page.getByRole('button', { name: 'All 15 figures' }).click()
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
        await page.locator('.scroll-hint').waitFor()
        await page.getByText('What the figures mean').click()
        assert.match(
          await page.locator('.meanings').innerText(),
          /Bond penalty, last epoch\s+Fraction of its bond/,
        )
      },
    )

    await t.test("a party's page across markets, opened by its URL, and its rows as CSV", async () => {
      const { partyId } = all[0]!
      await page.getByPlaceholder('hex digits, or network').fill(partyId)
      await page.getByRole('button', { name: 'Show', exact: true }).click()
      await page.waitForURL(new RegExp(`party=${partyId}`))
      await page.goto(`/?view=providers&party=${partyId.toUpperCase()}`)
      const own = all.filter((provider) => provider.partyId === partyId)
      await eventuallyIs(() => page.locator('table.providers tbody tr').count(), own.length)
      assert.equal(await figure(page, 'markets'), `${own.length}`)
      const markets = (await cellsOf(page, 'providers')).map(([name]) => name!.trim().split('\n')[0]).sort()
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

    await t.test('a message for an invalid id, and for an unknown party', async () => {
      await page.goto('/?view=providers&party=bob')
      await page.getByText("bob is not a party's id or its beginning: it has 64 hex digits").waitFor()
      await page.goto('/?view=providers&market=12')
      await page.getByText("12 is not a market's id: it has 64 hex digits").waitFor()
      await page.goto(`/?view=providers&party=${'0'.repeat(64)}`)
      await page.getByText('00000000…000000 provides no liquidity').waitFor()
      await page.getByText('As of block 2,605.').waitFor()
    })
  })

  test('may have no SLA, and amounts without an asset are whole numbers as sent, with the reason', async ({
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
    await page
      .getByText('shown as sent, as whole numbers, and excluded from totals: the store has no market event')
      .waitFor()
    assert.equal(await page.locator('[data-figure="total-stake"]').count(), 0)
    await page.setViewportSize({ width: 375, height: 812 })
    assert.equal(await overflow(page), 0)
    assert.match(await page.locator('.card').innerText(), /No SLA figures/)
  })

  test('have a mark at the required time on book, and a total for each asset', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const markets = ['1', '2', '3', '4'].map((digit) => digit.repeat(64))
    const parties = ['a', 'b'].map((digit) => digit.repeat(64))
    // Two markets in USD, one in EUR, and one without an asset event.
    const assets = ['usd', 'usd', 'eur']
    await live.commit(1, [
      ...['usd', 'eur'].map(
        (assetId): MarketEvent => ({
          ...{
            kind: 'asset',
            assetId,
            symbol: assetId.toUpperCase(),
            name: assetId,
            decimals: 2n,
            status: 4,
          },
        }),
      ),
      ...assets.map(
        (settlementAsset, index): MarketEvent => ({
          ...(perpetualMarket(markets[index]!) as Extract<MarketEvent, { kind: 'market' }>),
          ...{ code: `M${index}`, settlementAsset },
          sla:
            index === 0
              ? {
                  ...{ priceRange: '0.05', commitmentMinTimeFraction: '0.65' },
                  ...{ performanceHysteresisEpochs: 1n, slaCompetitionFactor: '0.5' },
                }
              : null,
        }),
      ),
      ...markets.flatMap((marketId) => [
        ...parties.map(
          (partyId): MarketEvent => ({
            ...{
              kind: 'liquidity-provision',
              provisionId: `${marketId}${partyId}`,
              marketId,
              partyId,
              status: 1,
            },
          }),
        ),
        {
          ...{ kind: 'market-data' as const, figures: null, marketId },
          feeShares: parties.map((party, index) => ({
            ...{ party, equityLikeShare: index === 0 ? '0.25' : '0.75', averageEntryValuation: '1' },
            // If nobody has a score, only the shares count.
            ...{ averageScore: marketId === markets[1] ? '0' : index === 0 ? '0.9' : '0.1' },
            virtualStake: `100000.${'1'.repeat(16)}`,
          })),
          slas: parties.map((party) => ({
            ...{ party, currentEpochFractionOfTimeOnBook: '0.5', lastEpochFractionOfTimeOnBook: '0.7' },
            ...{ lastEpochFeePenalty: '0.2', lastEpochBondPenalty: '0', hysteresisPeriodFeePenalties: [] },
            ...{ requiredLiquidity: '12345', notionalVolumeBuys: '1', notionalVolumeSells: '1' },
          })),
        },
      ]),
    ])
    const { page } = await open(store)
    await page.goto('/?view=providers')
    await page.waitForSelector('table.providers')
    const row = (market: number, party: number) =>
      page.locator('table.providers tbody tr', {
        has: page.locator(`[title$="${markets[market]}"]`),
        hasText: parties[party]!.slice(0, 8),
      })
    const value = (market: number, party: number, name: string) =>
      row(market, party).locator(`[data-figure="${name}"]`).getAttribute('value')
    // 0.25 x 0.9 and 0.75 x 0.1 have a sum of 0.3.
    assert.equal(await value(0, 0, 'fees'), '0.750000000000000000')
    assert.equal(await value(0, 0, 'net'), '0.600000000000000000')
    assert.equal(await value(0, 0, 'kept'), '0.8')
    assert.equal(await value(1, 0, 'fees'), '0.250000000000000000')
    const marks = row(0, 0).locator('.bar-mark')
    assert.deepEqual(await marks.evaluateAll((all) => all.map((mark) => mark.getAttribute('data-least'))), [
      '0.65',
      '0.65',
    ])
    const [mark, bar] = [
      (await marks.first().boundingBox())!,
      (await row(0, 0).locator('.bar:has(.bar-mark)').first().boundingBox())!,
    ]
    assert.ok(Math.abs((mark.x + mark.width / 2 - bar.x) / bar.width - 0.65) < 0.02)
    assert.match(await row(0, 0).innerText(), /of at least 65 %/)
    assert.equal(await row(1, 0).locator('.bar-mark').count(), 0)
    // Below the minimum of 0.65 in this epoch; the other markets ask for none.
    const marked = page.locator('table.providers tbody tr', { hasText: 'below minimum this epoch' })
    assert.equal(await marked.count(), 2)
    for (const party of [0, 1]) assert.match(await row(0, party).innerText(), /below minimum this epoch/)
    const heads = await page.locator('table.providers thead').innerText()
    assert.match(heads, /Fee share at last epoch's penalty/)

    const totals = await page.locator('.totals').allInnerTexts()
    assert.equal(totals.length, 3, totals.join(' | '))
    assert.match(totals[1]!, /Required liquidity\s+246\.90 EUR\s+Virtual stake\s+2,000\.00 EUR/)
    assert.match(totals[2]!, /Required liquidity\s+493\.80 USD\s+Virtual stake\s+4,000\.00 USD/)
    await page
      .getByText('Amounts of 1 market are shown as sent, as whole numbers, and excluded from totals')
      .waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /\.1{3}/)
  })

  test('are found by the beginning of a party id, and listed in pages', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const ids = Array.from(
      { length: 225 },
      (_, index) => `${(index * 7919).toString(16).padStart(6, '0')}${'e'.repeat(58)}`,
    )
    await live.commit(1, [
      perpetualMarket(LIVE_MARKET),
      ...ids.map(
        (partyId): MarketEvent => ({
          ...{ kind: 'liquidity-provision', provisionId: partyId, marketId: LIVE_MARKET, partyId, status: 1 },
        }),
      ),
      {
        ...{ kind: 'market-data', figures: null, marketId: LIVE_MARKET, slas: [] },
        feeShares: ids.map((party, index) => ({
          ...{ party, equityLikeShare: `0.00${index + 100}`, averageEntryValuation: '1' },
          ...{ averageScore: '1', virtualStake: '1' },
        })),
      },
    ])
    const { page } = await open(store)
    await page.goto(`/?view=providers&market=${LIVE_MARKET}&sort=-share`)
    await page.waitForSelector('table.providers')
    const shown = () => rowsOf(page)
    const ordered = [...ids].reverse()
    await eventually(shown, (rows) => rows.join() === ordered.slice(0, 50).join())
    assert.equal(await figure(page, 'provisions'), '225')
    const { height } = (await page.locator('#app').boundingBox())!
    assert.ok(height < 4_000, `${height} px`)
    await page.getByText('1 to 50 of 225').waitFor()
    await page.getByRole('button', { name: 'Next' }).click()
    await eventually(shown, (rows) => rows.join() === ordered.slice(50, 100).join())
    await page.goto(page.url().replace('page=2', 'page=5'))
    await eventually(shown, (rows) => rows.join() === ordered.slice(200).join())
    assert.ok(await page.getByRole('button', { name: 'Next' }).isDisabled())
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.waitForURL(/page=4/)

    const [wanted] = [ids[123]!]
    const start = wanted.slice(0, 5).toUpperCase()
    await page.getByLabel('Party id, or its first digits').fill(start)
    await page.keyboard.press('Enter')
    const found = ids.filter((id) => id.startsWith(start.toLowerCase()))
    assert.ok(found.length < 10)
    await eventually(
      shown,
      (rows) =>
        rows
          .map((row) => row.split(' ').at(-1))
          .sort()
          .join() === found.sort().join(),
    )
    await page.getByText('Parties whose id begins with').waitFor()
    await page.getByLabel('Party id, or its first digits').fill('xyz')
    await page.getByText('A party id has up to 64 hex digits').waitFor()
    await page.goto('/?view=providers&party=abcdef0')
    await page.getByText("No provider's id begins with abcdef0").waitFor()
  })

  test('show past epochs on a click: chart, table and request, by keyboard and without colours', async ({
    t,
    open,
  }) => {
    const path = await generate(t, [
      ...['--blocks', '9000', '--markets', '1', '--parties', '3', '--points', '1', '--events', '0'],
    ])
    const { page, base } = await open(await storeOf(t, STORE_KINDS[0]!, path))
    await page.goto('/?view=providers')
    const row = page.locator('table.providers tbody tr').first()
    await row.getByRole('link', { name: 'Past epochs' }).click()
    await page.waitForURL(/market=[0-9a-f]{64}&party=[0-9a-f]{64}/)
    const address = new URL(page.url())
    const filters = ['market', 'party'].map((name): [string, string] => [
      `${name}Id`,
      address.searchParams.get(name)!,
    ])
    await page.waitForSelector('table.epochs-table')
    const { edges } = await getPage(base, '/api/v2/liquidity/provider-history', [
      ...filters,
      ['pagination.first', '200'],
    ])
    const rows = edges.map(({ node }) => node as unknown as LiquidityProviderEpoch)
    assert.ok(rows.length > 20, `${rows.length} epochs`)
    const values = (name: string) =>
      page
        .locator(`table.epochs-table [data-figure="${name}"]`)
        .evaluateAll((cells) => cells.map((cell) => cell.getAttribute('value')))
    const showsTable = async (expected: LiquidityProviderEpoch[]) => {
      const epochs = () => page.locator('table.epochs-table tbody tr:not(.missing-epochs) th').allInnerTexts()
      await eventually(epochs, (shown) => shown.join() === expected.map(({ epoch }) => epoch).join())
      for (const [name, read] of [
        ['epoch-book', (epoch: LiquidityProviderEpoch) => epoch.timeOnBook],
        ['epoch-fee-penalty', (epoch: LiquidityProviderEpoch) => epoch.feePenalty],
        ['epoch-bond-penalty', (epoch: LiquidityProviderEpoch) => epoch.bondPenalty],
        ['epoch-share', (epoch: LiquidityProviderEpoch) => epoch.equityLikeShare],
        ['epoch-required', (epoch: LiquidityProviderEpoch) => epoch.requiredLiquidity],
      ] as const) {
        assert.deepEqual(await values(name), expected.map(read), name)
      }
    }
    await showsTable(rows.slice(0, 10))

    // The bars show the same figures; those below the SLA's minimum are hatched and described.
    const least = Number(
      (await getPage(base, '/api/v2/instruments')).edges
        .map(({ node }) => node as unknown as Instrument)
        .find(({ marketId }) => marketId === filters[0]![1])!.sla!.commitmentMinTimeFraction,
    )
    const isShort = ({ timeOnBook }: LiquidityProviderEpoch) => Number(timeOnBook) < least
    assert.ok(rows.slice(0, 10).some(isShort) && !rows.slice(0, 10).every(isShort))
    const bars = await page.locator('[data-lane="Time on book"] [data-epoch]').evaluateAll((columns) =>
      columns.map((column) => {
        const bar = column.firstElementChild!
        const [whole, part] = [column, bar].map((element) => element.getBoundingClientRect().height)
        return {
          epoch: column.getAttribute('data-epoch')!,
          part: part! / whole!,
          short: bar.className.includes('short'),
        }
      }),
    )
    assert.deepEqual(
      bars.map(({ epoch, short }) => [epoch, short]),
      rows
        .slice(0, 10)
        .map((epoch) => [epoch.epoch, isShort(epoch)])
        .reverse(),
    )
    for (const { epoch, part } of bars) {
      const { timeOnBook } = rows.find((known) => known.epoch === epoch)!
      assert.ok(Math.abs(part - Number(timeOnBook)) < 0.02, `${epoch}: ${part} for ${timeOnBook}`)
    }
    const line = (await page.locator('.lane-least').boundingBox())!
    const lane = (await page.locator('[data-lane="Time on book"] .lane-bars').boundingBox())!
    assert.ok(Math.abs((lane.y + lane.height - line.y) / lane.height - least) < 0.03)
    assert.equal(
      await page.locator('table.epochs-table .tag').count(),
      rows.slice(0, 10).filter(isShort).length,
    )

    await page.locator('.epochs').focus()
    await page.keyboard.press('Home')
    const said = page.locator('.epochs-said')
    assert.match(await said.innerText(), new RegExp(`^Epoch ${rows[9]!.epoch}: on the book `))
    await page.keyboard.press('ArrowRight')
    const text = await said.innerText()
    assert.match(text, new RegExp(`^Epoch ${rows[8]!.epoch}: `))
    assert.equal(text.includes('less than the SLA requires'), isShort(rows[8]!))

    await page.getByRole('button', { name: 'Last 50' }).click()
    await showsTable(rows.slice(0, 20))
    await page
      .getByRole('navigation', { name: 'Pages of epochs' })
      .getByRole('button', { name: 'Next' })
      .click()
    await showsTable(rows.slice(20, Math.min(40, rows.length)))
    for (const width of [1440, 820, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await eventuallyIs(() => overflow(page), 0)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        assert.deepEqual(await accessibilityFaults(page), [], `${width} ${colorScheme}`)
      }
    }
  })

  test('show epochs without figures as missing, between the others', async ({ t, open }) => {
    const { store, live } = await createLiveStore(t)
    const partyId = 'b'.repeat(64)
    const epochs = [9, 7, 6, 2]
    const epochEnd = (seq: number) => ({ kind: 'epoch-end', seq: BigInt(seq) }) as unknown as MarketEvent
    for (const [index, epoch] of epochs.toReversed().entries()) {
      await live.commit(index + 1, [
        ...(index === 0
          ? [
              perpetualMarket(LIVE_MARKET),
              {
                kind: 'liquidity-provision' as const,
                provisionId: 'p',
                marketId: LIVE_MARKET,
                partyId,
                status: 1 as const,
              },
            ]
          : []),
        epochEnd(epoch),
        {
          ...{ kind: 'market-data', figures: null, marketId: LIVE_MARKET, feeShares: [] },
          slas: [
            {
              ...{ party: partyId, currentEpochFractionOfTimeOnBook: '0.5' },
              ...{
                lastEpochFractionOfTimeOnBook: '0.7',
                lastEpochFeePenalty: '0',
                lastEpochBondPenalty: '0',
              },
              ...{ hysteresisPeriodFeePenalties: [], requiredLiquidity: '1' },
              ...{ notionalVolumeBuys: '1', notionalVolumeSells: '1' },
            },
          ],
        },
      ])
    }
    const { page, base } = await open(store)
    await page.goto(`/?view=providers&market=${LIVE_MARKET}&party=${partyId}`)
    const { edges } = await getPage(base, '/api/v2/liquidity/provider-history', [['partyId', partyId]])
    assert.deepEqual(
      edges.map(({ node }) => node.epoch),
      epochs.map(String),
    )
    await page.waitForSelector('table.epochs-table')
    const heads = await page.locator('table.epochs-table tbody th').allInnerTexts()
    assert.deepEqual(heads, ['9', '8', '7', '6', '3 to 5', '2'])
    const missing = await page.locator('tr.missing-epochs').allInnerTexts()
    assert.deepEqual(
      missing.map((text) => text.split(/\s+/).slice(-5).join(' ')),
      Array(2).fill('no figures of this provider'),
    )
    for (const text of missing) assert.match(text, /missing/)
    const lane = page.locator('[data-lane="Time on book"] .lane-column')
    assert.deepEqual(
      await lane.evaluateAll((columns) => columns.map((column) => column.getAttribute('data-epoch'))),
      ['2', null, null, null, '6', '7', null, '9'],
    )
    await page.getByText('hatched: missing').waitFor()
  })
})
