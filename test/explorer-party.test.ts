import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FundingPayment } from 'lyra-client'
import { h } from 'preact'
import { SAMPLE_PARTY } from '../scripts/sample.ts'
import { formatAmount } from '../web/src/figures/amount.ts'
import { parseDecimal, writeDecimal } from '../web/src/figures/decimal.ts'
import { cumulative, sumsByDay, sumsByMarket } from '../web/src/party/payments.ts'
import { accessibilityFaults, eventually, overflow } from './fixtures/browser.ts'
import { exactFigure, explorerTest, figure } from './fixtures/explorer.ts'
import { paymentsOfMonth } from './fixtures/payments-of-month.ts'
import { cellsOf, clientOf, figuresOf, go, render, textOf, visit } from './fixtures/render.ts'
import { inTurns } from './fixtures/sampling.ts'
import { serveFile, storeOf } from './fixtures/service.ts'
import { MONTH } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const { PaymentFigures } = await import('../web/src/party/party-payments.tsx')
const { describeNow, Provision } = await import('../web/src/party/party-provisions.tsx')
const { PaidTable } = await import('../web/src/funding/period-payments.tsx')
const { Holdings } = await import('../web/src/node/holdings.tsx')
const { PartyView } = await import('../web/src/party/party-view.tsx')
const { describeDearest } = await import('../web/src/providers/epochs.ts')
const { describeCosts } = await import('../web/src/party/epoch-costs.ts')
const { withFees } = await import('../web/src/providers/fees.ts')
const { instruments, marketLabel, marketUnit } = await import('../web/src/service/instruments.ts')

/** A party of `month` with positions in all five markets, and a provider that trades. */
const TRADER = SAMPLE_PARTY
const PROVIDER = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'

const payment = (
  timestamp: bigint,
  amount: string,
  { lossAmount = '0', marketId = 'a'.repeat(64) } = {},
): FundingPayment => ({
  ...{ partyId: TRADER, marketId, fundingPeriodSeq: '1', timestamp: String(timestamp), amount, lossAmount },
})

const DAY = 86_400_000_000_000n

const timeIn = (text: string) => BigInt(Date.parse(`${text.replace(' ', 'T')}Z`)) * 1_000_000n

describe('the payments of a party, added', () => {
  const OTHER = 'b'.repeat(64)
  const list = [
    payment(2n * DAY, '-7'),
    payment(2n * DAY - 1n, '10', { lossAmount: '-4' }),
    payment(DAY, '0'),
    payment(DAY, '5', { marketId: OTHER }),
    payment(-1n, '100000000000000000000'),
  ]
  const written = (sum: ReturnType<typeof sumsByMarket>[number]) =>
    [sum.total, sum.received, sum.paid, sum.missed].map(writeDecimal)

  test('give received, paid and missed amounts by market', () => {
    const [own, other] = sumsByMarket(list)
    assert.deepEqual(written(own!), ['99999999999999999999', '100000000000000000006', '-7', '-4'])
    assert.deepEqual([own!.count, other!.count], [4, 1])
    assert.deepEqual(written(other!), ['5', '5', '0', '0'])
  })

  test('give the sums of days of UTC, newest first', () => {
    assert.deepEqual(
      sumsByDay(list).map(({ start, byMarket }) => [start / DAY, [...byMarket.values()].map(writeDecimal)]),
      [
        [2n, ['-7']],
        [1n, ['6', '5']],
        [-1n, ['100000000000000000000']],
      ],
    )
  })

  test('give a line for each market', () => {
    const [own] = cumulative(list)
    assert.deepEqual(own!.times, [-1n, DAY, 2n * DAY - 1n, 2n * DAY])
    assert.deepEqual(own!.totals.map(writeDecimal), [
      ...['100000000000000000000', '100000000000000000000', '100000000000000000006'],
      '99999999999999999999',
    ])
  })
})

describe('the view of a party', () => {
  test('shows its payments by market and day, in whole units, as the events have them', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/?view=party')
    const own = paymentsOfMonth().filter(({ partyId }) => partyId === TRADER)
    const { rows } = await served.client.fundingPaymentsPage({ partyId: TRADER }, { first: 5_000 })
    const list = rows.map(({ node }) => node)
    const view = render(h(PaymentFigures, { payments: { list, more: false } }))

    const sumOf = (some: typeof own) => some.reduce((sum, { amount }) => sum + BigInt(String(amount)), 0n)
    const [total] = figuresOf(view, 'payments-total')
    assert.equal(total!.value, String(sumOf(own)))
    assert.match(total!.text, /^-[\d,]+\.\d\d USDT$/)
    const markets = [...Map.groupBy(own, ({ marketId }) => String(marketId))].sort(([a], [b]) =>
      a < b ? -1 : 1,
    )
    const cells = cellsOf(view)
    for (const [at, [marketId, some]] of markets.entries()) {
      const shown = formatAmount(String(sumOf(some)), marketUnit(marketId), { places: 2, signed: true })
      assert.deepEqual(
        [cells[at]![0]!.includes(marketLabel(marketId)), cells[at]![1], cells[at]![4]],
        [true, `${shown} USDT`, String(some.length)],
      )
    }
    const dayOf = ({ timestamp }: (typeof own)[number]) =>
      new Date(Number(BigInt(String(timestamp)) / 1_000_000n)).toISOString().slice(0, 10)
    const days = [...Map.groupBy(own, dayOf)].sort(([a], [b]) => (a > b ? -1 : 1))
    for (const [at, [day, some]] of days.slice(0, 14).entries()) {
      const row = cells[markets.length + at]!
      const expected = markets.map(([marketId]) => {
        const sum = sumOf(some.filter((one) => one.marketId === marketId))
        return formatAmount(String(sum), marketUnit(marketId), { places: 2, signed: true })
      })
      assert.deepEqual(row, [day, ...expected])
    }
    assert.equal(cells.length, markets.length + 14)
    assert.match(textOf(view), /1 to 14 of 31/)
    go('/?view=party&day=3')
    const last = cellsOf(render(h(PaymentFigures, { payments: { list, more: false } }))).at(-1)!
    assert.equal(last[0], days.at(-1)![0])
  })

  test('says what payments are left out, and what others could not pay', async () => {
    await visit(clientOf(await serveFile(STORE_KINDS[0]!, MONTH)), '/?view=party')
    const list = [payment(DAY, '10', { lossAmount: '-4' })]
    const view = textOf(render(h(PaymentFigures, { payments: { list, more: true } })))
    assert.match(view, /more than 1 payments: those before 1970-01-02 00:00 are not shown or added/)
    assert.match(view, /Missed: others could not pay/)
    // A market whose asset is not known keeps its amounts as they were sent.
    assert.match(view, /Total of this range \+6 /)
  })

  test('names the markets that a chart of more than six does not draw', async () => {
    await visit(clientOf(await serveFile(STORE_KINDS[0]!, MONTH)), '/?view=party')
    const [known] = instruments.value!.values()
    const ids = [...'1234567'].map((digit) => digit.repeat(64))
    instruments.value = new Map(
      ids.map((marketId, index) => [marketId, { ...known!, marketId, code: `M${index}` }]),
    )
    const list = ids.map((marketId) => payment(DAY, '1', { marketId }))
    const view = textOf(render(h(PaymentFigures, { payments: { list, more: false } })))
    assert.match(view, /Not drawn: M6\./)
  })

  test('says how a provider does against the minimum, and shows its epochs', async () => {
    const { client } = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    const { rows } = await client.liquidityProvidersPage({ partyId: PROVIDER }, { first: 100 })
    const [own] = withFees(rows.map(({ node }) => node))
    const at = (time: string) => ({
      ...own!,
      sla: { ...own!.sla!, currentEpochFractionOfTimeOnBook: time },
      fees: { share: '0.5', kept: null, net: null },
    })
    assert.equal(
      describeNow(at('0.973'), '0.95'),
      'Fee share 50 %. Time on book this epoch 97.3 %: 2.3 percentage points above the minimum of 95 %.',
    )
    assert.equal(
      describeNow(at('0.5'), '0.95'),
      'Fee share 50 %. Time on book this epoch 50 %: 45 percentage points below the minimum of 95 %.',
    )
    assert.equal(describeNow(at('0.5'), null), 'Fee share 50 %. Time on book this epoch 50 %.')
    assert.match(describeNow({ ...at('1'), sla: null }, '0.95'), /no SLA figures for it/)
    const { marketId } = own!
    const epochs = (
      await client.liquidityProviderHistoryPage({ partyId: PROVIDER, marketId }, { first: 100 })
    ).rows.map(({ node }) => node)
    const view = render(h(Provision, { marketId, partyId: PROVIDER, now: own!, epochs }))
    // Ten that have ended, below the one that runs.
    assert.equal(cellsOf(view).length, 11)
    assert.equal(cellsOf(view)[0]![1], 'runs since 2024-10-01 15:30:00')
    assert.ok(
      view.includes(`href="/?view=providers&amp;market=${marketId}&amp;party=${PROVIDER}">More epochs`),
    )
    const left = render(h(Provision, { marketId, partyId: PROVIDER, now: null, epochs: epochs.slice(0, 2) }))
    assert.match(textOf(left), /no provision on this market now/)
    assert.equal(parseDecimal(epochs[0]!.timeOnBook) !== null, true)
  })

  test('names the epoch that cost a provider most, and proves why from the figures of all of month', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/?view=party')
    const whys = new Map<string, number>()
    for (const [marketId, { sla }] of instruments.value!) {
      const { rows } = await served.client.liquidityProviderHistoryPage({ marketId }, { first: 5_000 })
      for (const own of Map.groupBy(
        rows.map(({ node }) => node),
        ({ partyId }) => partyId,
      ).values()) {
        const costOf = ({ feesPaid, feePenalty }: (typeof own)[number]) =>
          Number(feesPaid) * Number(feePenalty)
        const most = own.toSorted((a, b) => costOf(b) - costOf(a))[0]!
        const { what } = describeDearest(own, sla, marketUnit(marketId))
        const cost = formatAmount(`${Math.trunc(costOf(most))}`, marketUnit(marketId), { places: 2 })
        if (costOf(most) === 0) assert.equal(what, `No penalty took fees in these ${own.length} epochs.`)
        else
          assert.ok(
            what.startsWith(`Epoch ${most.epoch} cost the most of these ${own.length}: ${cost} USDT`),
            what,
          )
        // As if each epoch were the one that cost most: no penalty of the core is left without a reason.
        for (const [index, row] of own.entries()) {
          if (Number(row.feePenalty) === 0) continue
          const alone = own.slice(index).map((one) => ({ ...one, feesPaid: one === row ? '1000000' : '0' }))
          const said = describeDearest(alone, sla, null).why
          const reason = /below the minimum|off the book|average of the \d|of today/.exec(said)![0]
          whys.set(reason.slice(0, 10), (whys.get(reason.slice(0, 10)) ?? 0) + 1)
        }
      }
    }
    assert.deepEqual([...whys].sort(), [
      ['average of', 133],
      ['below the ', 71],
      ['off the bo', 95],
    ])
  })

  test('adds up what penalties took on all markets of an asset, and names the epoch that cost most', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/?view=party')
    const pages = [...instruments.value!.keys()].map((marketId) =>
      served.client.liquidityProviderHistoryPage({ marketId }, { first: 5_000 }),
    )
    const nodes = (await Promise.all(pages)).flatMap(({ rows }) => rows.map(({ node }) => node))
    const costOf = ({ feesPaid, feePenalty }: (typeof nodes)[number]) => {
      const [whole, part = ''] = (feePenalty ?? '0').split('.')
      return (BigInt(feesPaid ?? 0) * BigInt(whole + part)) / 10n ** BigInt(part.length)
    }
    const usdt = (amount: bigint) => formatAmount(`${amount}`, marketUnit(nodes[0]!.marketId), { places: 2 })
    for (const own of Map.groupBy(nodes, ({ partyId }) => partyId).values()) {
      const epochs = new Map<string, bigint>()
      for (const row of own) epochs.set(row.epoch, (epochs.get(row.epoch) ?? 0n) + costOf(row))
      const markets = new Set(own.map(({ marketId }) => marketId)).size
      const all = [...epochs.values()].reduce((sum, cost) => sum + cost, 0n)
      const fees = own.reduce((sum, { feesPaid }) => sum + BigInt(feesPaid ?? 0), 0n)
      const said = describeCosts(own)
      if (markets === 1) assert.deepEqual(said, [])
      else {
        const start = `On ${markets} markets, in ${epochs.size} epochs, fee penalties took ${usdt(all)} USDT of`
        assert.equal(said.length, 1)
        assert.equal(said[0]!.what, `${start} ${usdt(fees)} USDT of fees.`)
        const [epoch, cost] = [...epochs].reduce((a, b) => (b[1] > a[1] ? b : a))
        if (cost === 0n) assert.equal(said[0]!.most, '')
        else {
          assert.match(
            said[0]!.most,
            new RegExp(`^Epoch ${epoch}, ended [-\\d]+ [\\d:]+ UTC, cost the most: ${usdt(cost)} USDT \\(`),
          )
          const parts = [...said[0]!.most.split('(')[1]!.matchAll(/ (\d[\d,]*\.\d+)/g)].map(
            ([, part]) => part,
          )
          const costs = own.filter((row) => row.epoch === epoch && costOf(row) > 0n).map(costOf)
          assert.deepEqual(parts, costs.sort((a, b) => (a > b ? -1 : 1)).map(usdt))
        }
      }
    }
    // Markets whose asset is not known, or each with an asset of its own, have their own lines only.
    assert.deepEqual(describeCosts(nodes.map((row) => ({ ...row, marketId: `${row.marketId}0` }))), [])
  })

  test('lists who paid for a period, those that paid most first, with links to each', async () => {
    await visit(clientOf(await serveFile(STORE_KINDS[0]!, MONTH)), '/?view=funding')
    const [first] = paymentsOfMonth()
    const own = paymentsOfMonth().filter(
      ({ marketId, fundingPeriodSeq }) => marketId === first!.marketId && fundingPeriodSeq === '40',
    ) as unknown as FundingPayment[]
    const unit = marketUnit(String(first!.marketId))
    const view = render(h(PaidTable, { payments: own, unit }))
    const amounts = own.map(({ amount }) => BigInt(amount)).sort((a, b) => (a < b ? -1 : 1))
    assert.deepEqual(
      cellsOf(view).map(([, text]) => text),
      amounts.map((amount) => `${formatAmount(String(amount), unit, { places: 2, signed: true })} USDT`),
    )
    for (const { partyId } of own) assert.ok(view.includes(`href="/?view=party&amp;party=${partyId}"`))
    // What others could not pay was not received: it counts in the order, too.
    const missed = [payment(1n, '5', { lossAmount: '-4' }), payment(1n, '2')]
    const table = render(h(PaidTable, { payments: missed, unit: null }))
    assert.match(textOf(table), /Received, or paid if below zero Missed: others could not pay/)
    assert.deepEqual(
      cellsOf(table).map((cells) => cells.slice(1)),
      [
        ['+1', '-4'],
        ['+2', '0'],
      ],
    )
  })

  test('has as many payments as the Node view counts', async () => {
    const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
    await visit(served, '/?view=node')
    const holdings = textOf(render(h(Holdings, { coverage: await served.client.coverage() })))
    assert.match(holdings, new RegExp(`Funding payments ${paymentsOfMonth().length.toLocaleString('en')} `))
  })

  test('asks for an id, and explains why one is invalid', async () => {
    await visit(clientOf(await serveFile(STORE_KINDS[0]!, MONTH)), '/?view=party')
    assert.match(textOf(render(h(PartyView, {}))), /Whose payments\?/)
    go('/?view=party&party=abc')
    assert.match(textOf(render(h(PartyView, {}))), /abc is not a party's id: it has 64 hex digits/)
  })

  explorerTest(
    'opens by an id that is pasted, fits every window, and its address shows the same',
    async ({ t, open }) => {
      const { page } = await open(await storeOf(t, STORE_KINDS[0]!, MONTH))
      await page.goto('/')
      await page.getByRole('link', { name: 'Party' }).click()
      await page.getByLabel('Party id').fill(TRADER.slice(0, 8))
      await page.getByText('8 of 64 digits').waitFor()
      await page.getByLabel('Party id').fill(`  ${TRADER.toUpperCase()} `)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForSelector('[data-chart="cumulative"] canvas')
      // The last week: 21 periods of 8 hours in each market.
      const week = paymentsOfMonth().filter(({ partyId }) => partyId === TRADER)
      const last = BigInt(String(week.at(-1)!.timestamp))
      const sumOf = (isIn: (time: bigint) => boolean) =>
        week
          .filter(({ timestamp }) => isIn(BigInt(String(timestamp))))
          .reduce((all, { amount }) => all + BigInt(String(amount)), 0n)
      const sum = sumOf((time) => time > last - 7n * DAY)
      assert.equal(await exactFigure(page, 'payments-total'), String(sum))
      // It is that of the dates as they are written, to the second.
      const dates = await page.locator('input.date').all()
      const [from, to] = await Promise.all(dates.map(async (date) => timeIn(await date.inputValue())))
      assert.equal(
        sumOf((time) => time >= from! && time < to!),
        sum,
      )
      assert.match(
        await page.locator('.range-said').innerHTML(),
        /^2024-09-24 16:00 to 2024-10-01 16:00 UTC$/,
      )
      const shown = await figure(page, 'payments-total')
      for (const [at, width] of [320, 390, 820, 1440].entries()) {
        await page.setViewportSize({ width, height: 844 })
        for (const colorScheme of inTurns(at, ['dark', 'light'] as const)) {
          await page.emulateMedia({ colorScheme })
          await page.waitForSelector(`html[data-theme="${colorScheme}"]`)
          await eventually(
            () => overflow(page),
            (pixels) => pixels === 0,
          )
          assert.deepEqual(await accessibilityFaults(page), [], `${colorScheme}, ${width}`)
        }
        // The button that copies a link is beside the field, and no table is cut.
        const [link, show] = await Promise.all(
          [/a link to this view$/, 'Show'].map((name) => page.getByRole('button', { name }).boundingBox()),
        )
        assert.ok(Math.abs(link!.y + link!.height / 2 - (show!.y + show!.height / 2)) < 10, `${width}`)
        assert.equal(await page.locator('.scroll-hint').count(), 0, `${width}`)
      }
      await page.getByRole('button', { name: 'all', exact: true }).click()
      await eventually(
        () => figure(page, 'payments-total'),
        (text) => text !== shown,
      )
      const all = await figure(page, 'payments-total')
      await page.reload()
      await eventually(
        () => figure(page, 'payments-total'),
        (text) => text === all,
      )
      // Who paid for a period leads to each party.
      await page.goto(`/?view=funding&market=${String(week[0]!.marketId)}&span=all`)
      await page.locator('.who-paid').first().click()
      await page.waitForSelector('table.paid tbody tr')
      assert.equal(await overflow(page), 0)
      assert.deepEqual(await accessibilityFaults(page), [])
      await page.locator('table.paid a').first().click()
      await page.waitForSelector('[data-figure="payments-total"]')
      await page.goto(`/?view=providers&party=${PROVIDER}`)
      await page.getByRole('link', { name: 'Payments and epochs' }).click()
      await page.waitForSelector('.provision table')
      assert.equal(new URL(page.url()).searchParams.get('view'), 'party')
      // Epochs are sorted by keys, and the address holds the order.
      const epochs = page.locator('.provision .epochs-table').first()
      await epochs.getByRole('button', { name: 'Lost to the fee penalty' }).press('Enter')
      await page.waitForURL(/epochSort=-lost/)
      const [, first] = await epochs.locator('tbody th').allInnerTexts()
      const dearest = await page.locator('[data-figure="dearest"]').first().innerText()
      assert.ok(dearest.startsWith(`Epoch ${first} cost the most`), dearest)
      await epochs.locator('th[aria-sort="descending"]', { hasText: 'Lost' }).waitFor()
      assert.deepEqual(await accessibilityFaults(page), [])
    },
  )
})
