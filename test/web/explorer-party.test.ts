import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { FundingPayment, LiquidityProviderEpoch, MarketFunding } from 'lyra-client'
import { SAMPLE_MARKET, SAMPLE_PARTY } from '../../scripts/sample.ts'
import { add, type Decimal, writeDecimal } from '../../web/src/figures/decimal.ts'
import {
  changesByDay,
  changesOf,
  cumulative,
  sumsByDay,
  sumsByMarket,
} from '../../web/src/payments/payments.ts'
import { askEach, type SinglePayment } from '../../web/src/payments/single-payments.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { paymentsOfMonth } from '../fixtures/events/payments-of-month.ts'
import { accessibilityFaults, eventually, eventuallyIs } from '../fixtures/explorer/browser.ts'
import {
  assertFits,
  clipboard,
  exactFigure,
  explorerTest,
  replaceDelay,
  watchRequests,
} from '../fixtures/explorer/explorer.ts'
import {
  clientOf,
  figureOf,
  go,
  render,
  rowTexts,
  type Served,
  textOf,
  visit,
} from '../fixtures/explorer/render.ts'
import { serveFile } from '../fixtures/services/service.ts'
import { MONTH } from '../fixtures/shared.ts'
import { STORE_KINDS } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const { PaymentFigures } = await import('../../web/src/party/party-payments.tsx')
const { describeNow, Provision } = await import('../../web/src/party/party-provisions.tsx')
const { PaymentsTable } = await import('../../web/src/party/single-payments.tsx')
const { askParty, holdingsOf } = await import('../../web/src/mine/holding.ts')
const { readParties } = await import('../../web/src/saved/saved-parties.ts')
const { HoldingsTable } = await import('../../web/src/mine/mine.tsx')
const { PaidTable } = await import('../../web/src/funding/tables/period-payments.tsx')
const { Holdings } = await import('../../web/src/node/holdings.tsx')
const { monthsOf } = await import('../../web/src/party/statement-download.tsx')
const { PartyView } = await import('../../web/src/party/party-view.tsx')
const { describeDearest } = await import('../../web/src/providers/epochs.ts')
const { describeCosts } = await import('../../web/src/party/epoch-costs.ts')
const { withFees } = await import('../../web/src/providers/fees.ts')
const { instruments, marketUnit } = await import('../../web/src/service/instruments.ts')

/** A party of `month` with positions in all five markets, and a provider that trades. */
const TRADER = SAMPLE_PARTY
const PROVIDER = 'b0e93493657ad9e47faa4099bedadd421aecc3bc31f27750d926e4e93e185fe6'

const payment = (
  timestamp: bigint,
  amount: string,
  { lossAmount = '0', marketId = 'a'.repeat(64) } = {},
): FundingPayment => ({
  partyId: TRADER,
  marketId,
  fundingPeriodSeq: '1',
  timestamp: String(timestamp),
  amount,
  lossAmount,
})

const DAY = 86_400_000_000_000n

/** Goes to an address of a service of `month`. */
async function visitMonth(path: string): Promise<Served> {
  const served = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
  await visit(served, path)
  return served
}

/** The sums of a market with one payment, and of its day. */
function fundingOf(
  { marketId, amount, lossAmount, timestamp }: FundingPayment,
  net = String(BigInt(amount) + BigInt(lossAmount)),
): MarketFunding {
  const isPaid = net.startsWith('-')
  const sums = { count: 1, received: isPaid ? '0' : net, paid: isPaid ? net.slice(1) : '0', net, lossAmount }
  const start = String((BigInt(timestamp) / DAY) * DAY)
  return { marketId, ...sums, buckets: [{ start, ...sums }] }
}

const RANGE = { from: -DAY, to: 3n * DAY }

/** The figures of markets with one payment each. */
const paymentsOf = (list: FundingPayment[]) =>
  render(PaymentFigures, { payments: { markets: list.map((one) => fundingOf(one)), list }, range: RANGE })

/** The columns of past epochs. */
const EPOCHS = [
  'Runs since (UTC)',
  'Ended (UTC)',
  'Time on book',
  'Fee penalty',
  'Bond penalty (of bond)',
  'Equity-like share',
  'Required liquidity',
  'Fees before penalty',
  'Lost to the fee penalty',
  'Earned',
]

describe('the view of a party', () => {
  test('shows each payment with rate and position, as the statement of the whole range has them', async () => {
    const { client } = await visitMonth(`/?view=party&party=${TRADER}`)
    const range = { partyId: TRADER, from: 1_725_148_800_000_000_000n, to: 1_727_827_200_000_000_000n }
    const { partyStatement } = await client.partyStatement(TRADER, { from: range.from, to: range.to })
    const stated = partyStatement.rows.filter(({ kind }) => kind === 'funding payment')
    const found: SinglePayment[] = []
    let after: string | undefined
    do {
      const page = await askEach(client, range, { first: 100, after })
      found.push(...page.payments)
      after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : undefined
    } while (after !== undefined)
    const keyOf = (marketId: string, period: string | null, ...figures: unknown[]) =>
      [marketId, period, ...figures].join(' ')
    assert.deepEqual(
      found.map((one) => keyOf(one.marketId, one.fundingPeriodSeq, one.rate, one.size)).sort(),
      stated.map((row) => keyOf(row.marketId, row.period, row.rate, row.size)).sort(),
    )
    assert.ok(found.length > 400 && found.every(({ rate, size }) => rate !== null && size !== null))
    const [latest] = rowTexts(render(PaymentsTable, { payments: found.slice(0, 1) }))
    assert.equal(latest, '2024-10-01 16:00:00 ETH/USDT 91 +0.0489 % 60.55 -88.17 USDT')
    const unknown = render(PaymentsTable, {
      payments: [{ ...found[0]!, size: null, rate: null, lossAmount: '-1000000' }],
    })
    assert.equal(rowTexts(unknown)[0], '2024-10-01 16:00:00 ETH/USDT 91 – – -89.17 USDT -1.00 USDT')
    const none = await askEach(client, { ...range, to: range.from + 1n }, { first: 5 })
    assert.deepEqual([none.rows, none.payments], [[], []])
  })

  test('adds up what a kept party received, and estimates its next payments by its last positions', async () => {
    const { client } = await visitMonth('/')
    const { rows } = await client.marketSummariesPage()
    const summaries = rows.map(({ node }) => node)
    const last = 1_727_825_400_000_000_000n
    const figures = await askParty(client, TRADER, last)
    const holdings = holdingsOf(figures, summaries, last)
    const all = (await paymentsOfMonth()).filter(({ partyId }) => partyId === TRADER)
    const sumSince = (marketId: string, from: bigint) =>
      all
        .filter((one) => one.marketId === marketId && BigInt(String(one.timestamp)) >= from)
        .reduce((sum, one) => sum + BigInt(String(one.amount)), 0n)
    assert.deepEqual(
      holdings.map(({ marketId, week, month }) => [marketId, writeDecimal(week), writeDecimal(month)]),
      holdings.map(({ marketId }) => [
        marketId,
        `${sumSince(marketId, last + 1n - 7n * DAY)}`,
        `${sumSince(marketId, last + 1n - 30n * DAY)}`,
      ]),
    )
    assert.equal(holdings.length, 5)
    const table = render(HoldingsTable, { holdings, last, of: 'Desk 2' })
    const rendered = rowTexts(table)
    assert.equal(
      rendered[2],
      'BTC/USDT -148.25 USDT -1,295.70 USDT +8.15 USDT 2024-10-01 16:00 UTC -0.315 00:00 UTC 2024-10-02 +6.51 USDT',
    )
    assert.match(textOf(table), /Total, USDT -5,607\.79 USDT -11,427\.00 USDT\s+-73\.22 USDT$/)
    // Whoever was not paid for the last period may have no position any more.
    const [first, ...others] = figures.latest
    const older = { ...first!, fundingPeriodSeq: '90' }
    const [unknown] = holdingsOf({ ...figures, latest: [older, ...others.slice(5)] }, summaries, last).filter(
      ({ marketId }) => marketId === older.marketId,
    )
    assert.equal(unknown!.estimate, null)
    const totalWith = (...estimates: (Decimal | null)[]) => {
      const some = holdings.map((holding, index) => ({ ...holding, estimate: estimates[index] ?? null }))
      return textOf(render(HoldingsTable, { holdings: some, last, of: 'Desk 2' }))
    }
    assert.match(totalWith(), /Total, USDT -5,607\.79 USDT -11,427\.00 USDT\s+–$/)
    const cent = { digits: 10_000n, scale: 0 }
    assert.match(totalWith(cent, null, cent), /\+0\.02 USDT for 2 of 5 markets$/)
    // As the core cuts it: 0.6 of the smallest unit is none.
    const [least] = holdingsOf(
      { ...figures, latest: figures.latest.map((payment) => ({ ...payment, size: '0.6' })) },
      summaries.map((one) => ({ ...one, estimate: { ...one.estimate!, fundingPayment: '-1' } })),
      last,
    )
    assert.deepEqual(least!.estimate, { digits: 0n, scale: 0 })
    // At any hour, seven days are what Party shows as 7d.
    const night = 1_727_744_400_000_000_000n
    const nightly = holdingsOf(await askParty(client, TRADER, night), summaries, night)
    const until = all.filter(({ timestamp }) => BigInt(String(timestamp)) <= night)
    assert.equal(
      writeDecimal(nightly.map(({ week }) => week).reduce(add)),
      `${until
        .filter(({ timestamp }) => BigInt(String(timestamp)) > night - 7n * DAY)
        .reduce((sum, { amount }) => sum + BigInt(String(amount)), 0n)}`,
    )
    assert.deepEqual(holdingsOf({ ...figures, latest: [] }, [], last)[0]!.due, null)
  })

  test('takes from the browser only what are parties', () => {
    const [one, other] = ['a', 'b'].map((digit) => digit.repeat(64)) as [string, string]
    assert.deepEqual(
      readParties(
        JSON.stringify([
          { id: one, name: 'First' },
          { id: 'x', name: 'No party' },
          null,
          7,
          { id: other },
          { id: other, name: 'y'.repeat(99) },
          { id: one, name: 'Again' },
        ]),
      ),
      [
        { id: one, name: 'Again' },
        { id: other, name: 'y'.repeat(40) },
      ],
    )
    for (const text of [null, '', '{', '{}', '"a"', 'null']) assert.deepEqual(readParties(text), [])
  })

  test('orders the sums by market and day, and adds changes over time, exactly', () => {
    const sums = (net: string, received: string, paid: string, lossAmount = '0') => ({
      count: 1,
      received,
      paid,
      net,
      lossAmount,
    })
    const [a, b] = ['a'.repeat(64), 'b'.repeat(64)]
    const huge = '100000000000000000006'
    const markets: MarketFunding[] = [
      { marketId: b, ...sums('5', '5', '0'), buckets: [{ start: `${DAY}`, ...sums('5', '5', '0') }] },
      {
        marketId: a,
        ...sums('99999999999999999999', huge, '7', '-4'),
        buckets: [
          { start: `${-DAY}`, ...sums(huge, huge, '0', '-4') },
          { start: `${2n * DAY}`, ...sums('-7', '0', '7') },
        ],
      },
    ]
    assert.deepEqual(
      sumsByMarket(markets).map(({ count, total, received, paid, missed }) => [
        count,
        ...[total, received, paid, missed].map(writeDecimal),
      ]),
      [
        [1, '99999999999999999999', huge, '-7', '-4'],
        [1, '5', '5', '0', '0'],
      ],
    )
    assert.deepEqual(
      sumsByDay(markets).map(({ start, byMarket }) => [
        start / DAY,
        ...[...byMarket.values()].map(writeDecimal),
      ]),
      [
        [2n, '-7'],
        [1n, '5'],
        [-1n, huge],
      ],
    )
    const stepsOf = (changes: Parameters<typeof cumulative>[0]) => {
      const [own] = cumulative(changes)
      return own!.times.map((time, index) => [time, writeDecimal(own!.totals[index]!)])
    }
    // A day counts at its end, or that of the range.
    assert.deepEqual(stepsOf(changesByDay(markets, { to: 2n * DAY + 5n })), [
      [0n, huge],
      [2n * DAY + 5n, '99999999999999999999'],
    ])
    const list = [
      payment(2n * DAY, '-7'),
      payment(2n * DAY - 1n, '10', { lossAmount: '-4' }),
      payment(DAY, '0'),
      payment(-1n, '100000000000000000000'),
    ]
    assert.deepEqual(stepsOf(changesOf(list)), [
      [-1n, '100000000000000000000'],
      [DAY, '100000000000000000000'],
      [2n * DAY - 1n, '100000000000000000006'],
      [2n * DAY, '99999999999999999999'],
    ])
  })

  test('offers a statement of each month with payments, of five years at most', () => {
    const time = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
    const names = (from: string, to: string) => monthsOf(time(from), time(to)).map(({ name }) => name)
    assert.deepEqual(names('2024-09-01', '2024-10-01'), ['2024-10', '2024-09'])
    assert.deepEqual(names('2023-11-30T23:59:59Z', '2024-01-31T23:59:59Z'), ['2024-01', '2023-12', '2023-11'])
    assert.deepEqual(names('2024-02-29', '2024-02-29'), ['2024-02'])
    assert.equal(names('1990-01-01', '2024-01-31').length, 60)
    for (const { name, from, to } of monthsOf(time('2019-03-01'), time('2024-02-29')))
      assert.deepEqual([from, to > from], [time(`${name}-01`), true])
    assert.equal(monthsOf(0n, time('2024-02-29'))[0]!.to, time('2024-03-01'))
  })

  test('shows its payments by market and day, in whole units, and the Node view counts all', async () => {
    const { client } = await visitMonth('/?view=party')
    const { partyFunding } = await client.partyFunding(TRADER, { interval: '1d' })
    const { rows } = await client.fundingPaymentsPage({ partyId: TRADER }, { first: 5_000 })
    const { markets: funding } = partyFunding
    const figures = (list: FundingPayment[] | null) =>
      render(PaymentFigures, { payments: { markets: funding, list }, range: RANGE })
    const view = figures(rows.map(({ node }) => node))
    const { text, value } = figureOf(view, 'payments-total')!
    assert.deepEqual([text, value], ['-11,423.21 USDT', '-11423.209393'])
    // The greatest amounts first, whether received or paid.
    const markets = [
      'DOGE/USDT -5,707.40 USDT +982.54 USDT -6,689.94 USDT 92',
      'LINK/USDT -5,256.88 USDT +2,374.82 USDT -7,631.69 USDT 92',
      'BTC/USDT -1,287.13 USDT +305.39 USDT -1,592.52 USDT 92',
      'SOL/USDT +569.05 USDT +4,541.95 USDT -3,972.90 USDT 92',
      'ETH/USDT +259.15 USDT +1,983.10 USDT -1,723.95 USDT 92',
    ]
    const shown = rowTexts(view)
    assert.deepEqual(shown.slice(0, 7), [
      ...markets,
      '2024-10-01 -133.42 -41.18 -21.65 +12.95 +147.45 -230.98',
      '2024-09-30 +164.65 -9.00 +63.68 -2.26 +172.87 -60.65',
    ])
    assert.equal(shown.length, 5 + 14)
    assertSays(textOf(view), '1 to 14 of 31')
    assertSays(textOf(view), ' 92 Total, USDT -11,423.21 USDT +10,187.79 USDT -21,611.00 USDT 460 Cumulative')
    assertSays(textOf(view), 'Day (UTC) Total, USDT DOGE/USDT, USDT LINK/USDT, USDT')
    go('/?view=party&day=3')
    assertSays(textOf(figures(null)), 'Cumulative, by day, USDT')
    assert.deepEqual(rowTexts(figures(null)), [
      ...markets,
      // Amounts too small for two decimals have more, and so has their column.
      '2024-09-03 -139.89 -171.44 -7.55 +43.87 -1.98 -2.779',
      '2024-09-02 +4.10 -60.34 -3.17 +44.72 +22.98 -0.092',
      '2024-09-01 +3.79 +4.50 +0.43 +8.57 -5.58 -4.130',
    ])
    const holdings = textOf(render(Holdings, { coverage: await client.coverage() }))
    assertSays(holdings, 'Funding payments 4,301 ')
    assertSays(holdings, 'Instruments 5 Auctions 7 Epochs 32 Fees paid by epoch 150 ')
  })

  test('says what others could not pay, and which markets of more than six it does not draw', async () => {
    await visitMonth('/?view=party')
    const view = textOf(paymentsOf([payment(DAY, '10', { lossAmount: '-4' })]))
    assertSays(view, 'Missed: others could not pay')
    // A market whose asset is not known keeps its amounts as they were sent.
    assertSays(view, 'Total of this range +6 ')
    const [known] = instruments.value!.values()
    const ids = [...'1234567'].map((digit) => digit.repeat(64))
    instruments.value = new Map(
      ids.map((marketId, index) => [marketId, { ...known!, marketId, code: `M${index}` }]),
    )
    const many = ids.map((marketId) => payment(DAY, '1', { marketId }))
    assertSays(textOf(paymentsOf(many)), 'Not drawn, as the smaller ones: M6.')
    const greatest = ids.map((marketId, index) => payment(DAY, `${-index}`, { marketId }))
    const drawn = paymentsOf(greatest)
    assertSays(textOf(drawn), 'Not drawn, as the smaller ones: M0.')
    assert.deepEqual(
      [...drawn.matchAll(/data-compared="(\w)/g)].map(([, first]) => first),
      [...'765432', 't'],
    )
  })

  test('says how a provider does against the minimum, and shows its epochs', async () => {
    const { client } = await visitMonth('/?view=party')
    const { rows } = await client.liquidityProvidersPage({ partyId: PROVIDER }, { first: 100 })
    const [own] = withFees(rows.map(({ node }) => node))
    const at = (time: string) => ({
      ...own!,
      sla: { ...own!.sla!, currentEpochFractionOfTimeOnBook: time },
      fees: { share: '0.5', remaining: null, net: null, others: null },
    })
    for (const [time, least, said] of [
      ['0.973', '0.95', '97.3 %: 2.3 percentage points above the minimum of 95 %.'],
      ['0.5', '0.95', '50 %: 45 percentage points below the minimum of 95 %.'],
      ['0.5', null, '50 %.'],
    ] as const) {
      assert.equal(describeNow(at(time), least, null), `Fee share 50 %. Time on book this epoch ${said}`)
    }
    const beside = { ...at('1'), fees: { share: '0.5', remaining: null, net: null, others: '0.5' } }
    assertSays(
      describeNow(beside, '0.95', null),
      'Fee share at most 50 %: parties without a provision, such as AMMs, hold 50 %. Time on book',
    )
    assertSays(describeNow({ ...at('1'), sla: null }, '0.95', null), 'no SLA figures for it')
    // What is still needed says more than the time so far.
    const { liquidityStanding } = await client.liquidityStanding({ partyId: PROVIDER })
    const standing = liquidityStanding.find(({ marketId }) => marketId === own!.marketId)!
    assert.match(
      describeNow(at('1'), '0.75', standing),
      /^Fee share 50 %\. On the book for 100 % of the epoch so far; the minimum of 75 % needs 10 h 23 min of the remaining 16 h 30 min \(62\.88 %\)\. Leaving now would cost 100 % of its fees, staying to the end \d.* %\.$/,
    )
    assertSays(describeNow(at(''), '0.95', null), 'Time on book this epoch not known.')
    const { marketId } = own!
    const page = await client.liquidityProviderHistoryPage({ partyId: PROVIDER, marketId }, { first: 100 })
    const epochs = page.rows.map(({ node }) => node)
    const view = render(Provision, { marketId, partyId: PROVIDER, now: own!, standing: null, epochs })
    const [running, ended, ...others] = rowTexts(view, EPOCHS)
    assert.equal(running, '31 runs since 2024-10-01 15:30:00 100 % of at least 75 % known when it ends')
    assert.equal(
      ended,
      '30 2024-10-01 15:30:00 100 % of at least 75 % 0 % 0 % 55.56 % 300,000.00 221.02 0.00 221.02',
    )
    // Ten that have ended, below the one that runs.
    assert.equal(others.length, 9)
    assert.ok(
      view.includes(`href="/?view=providers&amp;market=${marketId}&amp;party=${PROVIDER}">More epochs`),
    )
    const left = render(Provision, {
      marketId,
      partyId: PROVIDER,
      now: null,
      standing: null,
      epochs: epochs.slice(0, 2),
    })
    assertSays(textOf(left), 'no provision on this market now')
  })

  test('proves why each penalty of month was taken, and adds up what penalties took on all markets of an asset', async () => {
    const { client } = await visitMonth('/?view=party')
    const whys: Record<string, number> = {}
    const nodes: LiquidityProviderEpoch[] = []
    for (const [marketId, { sla }] of instruments.value!) {
      const { rows } = await client.liquidityProviderHistoryPage({ marketId }, { first: 5_000 })
      nodes.push(...rows.map(({ node }) => node))
      for (const own of Map.groupBy(nodes.slice(-rows.length), ({ partyId }) => partyId).values()) {
        // As if each epoch were the one that cost most: no penalty of the core is left without a reason.
        for (const [index, row] of own.entries()) {
          if (Number(row.feePenalty) === 0) continue
          const alone = own.slice(index).map((one) => ({ ...one, feesPaid: one === row ? '1000000' : '0' }))
          const said = describeDearest(alone, sla, null).why
          const [reason] = /below the minimum|off the book|average of the|of today/.exec(said)!
          whys[reason] = (whys[reason] ?? 0) + 1
        }
      }
    }
    assert.deepEqual(whys, { 'average of the': 133, 'below the minimum': 71, 'off the book': 95 })

    const ofParty = (partyId: string) => nodes.filter((row) => row.partyId.startsWith(partyId))
    assert.deepEqual(describeCosts(ofParty('854b4af3')), [
      {
        what: 'On 3 markets, in 31 epochs, fee penalties took 17.48 USDT of 6,924.18 USDT of fees; it earned 6,906.71 USDT (not known in 3 of 93).',
        most: 'Epoch 25, ended 2024-09-26 13:00 UTC, cost the most: 7.69 USDT (LINK/USDT 5.41, DOGE/USDT 2.27).',
      },
    ])
    const [unpenalised] = describeCosts(ofParty('854b4af3').map((row) => ({ ...row, feePenalty: '0' })))
    assert.equal(unpenalised!.most, '')
    // A single market, and markets whose asset is not known, have their own lines only.
    const { marketId } = nodes[0]!
    assert.deepEqual(describeCosts(nodes.filter((row) => row.marketId === marketId)), [])
    assert.deepEqual(describeCosts(nodes.map((row) => ({ ...row, marketId: `${row.marketId}0` }))), [])
  })

  test('lists who paid for a period, those that paid most first, with links to each', async () => {
    await visitMonth('/?view=funding')
    const [{ marketId } = {}] = paymentsOfMonth()
    const own = paymentsOfMonth().filter(
      (one) => one.marketId === marketId && one.fundingPeriodSeq === '40',
    ) as unknown as FundingPayment[]
    const view = render(PaidTable, { payments: own, unit: marketUnit(String(marketId)) })
    assert.equal(
      rowTexts(view)
        .map((text) => text.split(' ')[1])
        .join(' '),
      '-88.61 -42.62 -15.98 -8.97 -2.39 -2.27 +5.20 +8.97 +10.74 +19.68 +50.17 +66.08',
    )
    for (const { partyId } of own) assert.ok(view.includes(`href="/?view=party&amp;party=${partyId}"`))
    // What others could not pay was not received: it counts in the order, too.
    const missed = [payment(1n, '5', { lossAmount: '-4' }), payment(1n, '2')]
    const table = render(PaidTable, { payments: missed, unit: null })
    assertSays(textOf(table), 'Received, or paid if below zero Missed: others could not pay')
    assert.deepEqual(rowTexts(table), ['3e6558d0…a21563 +1 -4', '3e6558d0…a21563 +2 0'])
    assert.ok(!table.includes('data-about="network"'))
  })

  test('says what the network is, which is not ranked: nobody can see what it really paid', async () => {
    await visitMonth('/?view=party&party=network')
    const about = /network is no trader.* so what it really paid cannot be seen\./
    assert.match(textOf(render(PartyView, {})), about)
    const paid = [{ ...payment(1n, '-100'), partyId: 'network' }, payment(1n, '5'), payment(1n, '-2')]
    const table = render(PaidTable, { payments: paid, unit: null })
    assert.deepEqual(rowTexts(table), ['3e6558d0…a21563 -2', '3e6558d0…a21563 +5', 'network as owed -100'])
    assert.match(textOf(table), about)
  })

  test('asks for an id where no asset is known, and explains why one is invalid', async () => {
    await visitMonth('/?view=party')
    instruments.value = new Map()
    assertSays(textOf(render(PartyView, {})), 'Whose payments?')
    go('/?view=party&party=abc')
    assertSays(textOf(render(PartyView, {})), "abc is not a party's id: it has 64 hex digits")
  })

  explorerTest('says when something is due on the clocks of the reader, too', async ({ openAt }) => {
    const base = await serveFile(STORE_KINDS[0]!, MONTH)
    for (const [timezoneId, said] of [
      ['Asia/Kolkata', '00:00 UTC\n2024-10-02\n05:30 here'],
      ['America/New_York', '00:00 UTC\n2024-10-02\n2024-10-01 20:00 here'],
      ['UTC', '00:00 UTC\n2024-10-02'],
    ]) {
      const page = await openAt(base, { timezoneId: timezoneId! })
      await page.goto('/')
      const due = page.locator('table.markets [data-figure="due"]').first()
      await eventuallyIs(() => due.innerText(), said!)
      await page.setViewportSize({ width: 390, height: 800 })
      await assertFits(page, timezoneId!)
      await page.goto(`/?view=party&party=${TRADER}&span=7d`)
      const time = page.locator('table tbody th[title$=" ns"]').first()
      await eventuallyIs(
        async () => /here/.test((await time.getAttribute('title')) ?? ''),
        timezoneId !== 'UTC',
      )
    }
  })

  explorerTest('keeps parties by name in the browser, which begins with them', async ({ openAt }) => {
    // A browser of its own: what it keeps is not for the other tests.
    const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH), {})
    await page.goto(`/?view=party&party=${TRADER}`)
    await page.getByRole('textbox', { name: 'Name' }).fill('Desk 2')
    await page.getByRole('button', { name: 'Keep as mine' }).click()
    await page.getByRole('heading', { name: /Funding payments of party Desk 2/ }).waitFor()
    await page.goto(`/?view=party&party=${PROVIDER}`)
    await page.getByRole('button', { name: 'Keep as mine' }).click()
    await page.goto('/')
    const mine = page.locator('section[aria-labelledby="mine-title"]')
    await eventuallyIs(() => mine.locator('.my-party').count(), 2)
    await mine.locator(`[data-party="${TRADER}"] [data-market]`).nth(4).waitFor()
    await mine.locator(`[data-party="${PROVIDER}"] [data-standing]`).nth(2).waitFor()
    assertSays(
      await mine.locator(`[data-party="${PROVIDER}"] [data-standing]`).first().innerText(),
      'of the remaining',
    )
    assert.deepEqual(await accessibilityFaults(page), [])
    for (const width of [390, 820, 1_440]) {
      await page.setViewportSize({ width, height: 900 })
      await assertFits(page, `${width}`)
    }
    // The key and the form in which earlier versions have saved them.
    assert.deepEqual(JSON.parse((await page.evaluate(() => localStorage.getItem('lyra-parties')))!), [
      { id: TRADER, name: 'Desk 2' },
      { id: PROVIDER, name: '' },
    ])
    // Elsewhere the party has its name, too, and an address with a state goes where it says.
    await page.goto('/?view=party&order=paid&span=30d')
    await page.locator('table.stacked .party-name', { hasText: 'Desk 2' }).first().waitFor()
    await page.goto('/?sort=rate')
    await page.waitForSelector('table.markets')
    // Another tab forgets one.
    const other = await page.context().newPage()
    await other.goto(new URL(`/?view=party&party=${PROVIDER}`, page.url()).href)
    await other.getByRole('button', { name: 'Forget' }).click()
    await other.getByRole('button', { name: 'Keep as mine' }).waitFor()
    await page.goto('/')
    await eventuallyIs(() => mine.locator('.my-party').count(), 1)
    await other.goto(new URL(`/?view=party&party=${TRADER}`, page.url()).href)
    await other.getByRole('button', { name: 'Forget' }).click()
    await eventuallyIs(() => mine.count(), 0)
    await page.goto('/')
    await page.waitForSelector('table.markets')
  })

  explorerTest(
    'lists without an id who gained or paid most in the range, of each asset, with links to them',
    async ({ openAt }) => {
      const base = await serveFile(STORE_KINDS[0]!, MONTH)
      const page = await openAt(base)
      await page.goto('/?view=party')
      const { client } = clientOf(base)
      const [{ node } = assert.fail()] = (await client.instrumentsPage({}, { first: 1 })).rows
      const { id = '', decimals = '0' } = node.settlementAsset ?? {}
      const { fundingLeaders } = await client.fundingLeaders({ assetId: id!, order: 'paid' })
      const [first] = fundingLeaders.leaders
      assert.ok(fundingLeaders.parties > 5)
      await page.getByRole('heading', { name: 'Who gained and who paid funding, in USDT' }).waitFor()
      await page.getByRole('button', { name: 'all', exact: true }).click()
      await page.getByRole('button', { name: 'Paid most' }).click()
      const row = page.locator('table tbody tr').first()
      await eventuallyIs(() => row.locator('code.id').getAttribute('title'), first!.partyId)
      const paid = await row
        .locator('td[data-label="Paid"] [data-exact], td[data-label="Paid"]')
        .first()
        .innerText()
      const shown = Number(paid.replace(/[^0-9.-]/g, '').replace('−', '-'))
      assert.ok(Math.abs(shown + Number(first!.paid) / 10 ** Number(decimals)) < 0.006, paid)
      for (const width of [1440, 820, 390]) {
        await page.setViewportSize({ width, height: 900 })
        await assertFits(page, `leaders at ${width} px`)
      }
      // On one market alone: who received most in DOGE last week?
      const doge = (await client.instrumentsPage()).rows.find(
        ({ node: { code } }) => code === 'DOGE/USDT',
      )!.node
      const lastWeek = { from: 1_727_049_600_000_000_000n, to: 1_727_654_400_000_000_000n }
      await page.goto('/?view=party&order=received&from=last%20week')
      await page.getByLabel('Market').selectOption('DOGE/USDT')
      await page
        .getByRole('heading', { name: 'Who gained and who paid funding on DOGE/USDT, in USDT' })
        .waitFor()
      const received = new Map<string, bigint>()
      for (const { marketId, partyId, timestamp, amount } of await paymentsOfMonth()) {
        const [time, change] = [BigInt(String(timestamp)), BigInt(String(amount))]
        if (marketId !== doge.marketId || time < lastWeek.from || time >= lastWeek.to || change < 0n) continue
        received.set(String(partyId), (received.get(String(partyId)) ?? 0n) + change)
      }
      const [[most, sum] = assert.fail()] = [...received].sort(([, a], [, b]) => (a > b ? -1 : 1))
      await eventuallyIs(() => row.locator('code.id').getAttribute('title'), most)
      assert.equal(
        await row.locator('td[data-label="Received"] data').getAttribute('value'),
        `${Number(sum) / 1e6}`,
      )
      await page.goto('/?view=party&order=paid&span=all')
      await row.locator('a').click()
      await page.getByRole('heading', { name: 'Funding payments of party' }).waitFor()
      assertSays(page.url(), `party=${first!.partyId}`)
    },
  )

  explorerTest('asks who gained and paid most once for the same payments', async ({ openAt }) => {
    const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
    await replaceDelay(page, 3_000, 50)
    const asked = watchRequests(page)
    await page.goto('/?view=party&span=all')
    await page.locator('table.stacked').waitFor()
    const before = asked.filter((path) => path.endsWith('/coverage')).length
    await eventually(
      async () => asked.filter((path) => path.endsWith('/coverage')).length,
      (count) => count > before + 5,
    )
    assert.equal(asked.filter((path) => path.endsWith('/funding-leaders')).length, 1)
  })

  explorerTest(
    'opens by an id that is pasted, leads to its epochs and who paid, and its address shows the same',
    async ({ openAt }) => {
      const page = await openAt(await serveFile(STORE_KINDS[0]!, MONTH))
      await page.goto('/')
      await page.getByRole('link', { name: 'Party' }).click()
      await page.getByRole('combobox', { name: 'Party id' }).fill(TRADER.slice(0, 8))
      await page.getByText('8 of 64 digits').waitFor()
      await page.getByRole('combobox', { name: 'Party id' }).fill(`  ${TRADER.toUpperCase()} `)
      await page.getByRole('button', { name: 'Show' }).click()
      await page.waitForSelector('[data-chart="cumulative"] canvas')
      // The last week: 21 periods of 8 hours in each market, between dates that are whole seconds.
      const total = () => exactFigure(page, 'payments-total')
      assert.equal(await total(), '-5607.788651')
      const dates = await page.locator('input.date').all()
      assert.deepEqual(await Promise.all(dates.map((date) => date.inputValue())), [
        '2024-09-24 16:00:01',
        '2024-10-01 16:00:01',
      ])
      assert.equal(await page.locator('.range-said').innerHTML(), '2024-09-24 16:00 to 2024-10-01 16:00 UTC')
      // A word that is double-clicked is copied exactly, without the sign that is not selected.
      const shown = page.locator('[data-figure="payments-total"]')
      const copied = async () => {
        await page.keyboard.press('Control+c')
        return clipboard(page)
      }
      await shown.dblclick({ position: { x: 30, y: 8 } })
      assert.equal(await copied(), '5607.788651')
      await shown.selectText()
      assert.equal(await copied(), '-5607.788651')
      // The accountant's file is of last month, of the range that is shown, or of another month.
      const statement = async (name: string) => {
        await page.getByLabel('Statement of').selectOption(name)
        const [download] = await Promise.all([
          page.waitForEvent('download'),
          page.getByRole('link', { name: 'Download statement' }).click(),
        ])
        const rows = readFileSync(await download.path(), 'utf8')
          .trimEnd()
          .split('\r\n')
        return [download.suggestedFilename(), rows.length]
      }
      assert.equal(await page.getByLabel('Statement of').inputValue(), '2024-09')
      assert.deepEqual(await statement('last month, 2024-09'), [
        'statement-3e6558d0-2024-09-01-2024-10-01.csv',
        447,
      ])
      assert.deepEqual(await statement('range'), [
        'statement-3e6558d0-2024-09-24T160001Z-2024-10-01T160001Z.csv',
        107,
      ])
      assertSays(String((await statement('2024-10'))[0]), '2024-10-01-2024-11-01-incomplete.csv')
      await page.getByRole('button', { name: 'all', exact: true }).click()
      await eventuallyIs(total, '-11423.209393')
      await page.reload()
      await eventuallyIs(total, '-11423.209393')
      // Who paid for a period leads to each party.
      await page.goto(`/?view=funding&market=${SAMPLE_MARKET}&span=all`)
      await page.locator('.who-paid').first().click()
      await page.waitForSelector('table.paid tbody tr')
      // It opens in sight, with the focus, and closing it leads back.
      const opened = page.locator('.panel.opened')
      await eventually(
        () => opened.boundingBox(),
        (box) => box !== null && box.y > 0 && box.y < 300,
      )
      assert.equal(await opened.evaluate((panel) => panel === panel.ownerDocument.activeElement), true)
      await opened.getByRole('button', { name: 'Close' }).click()
      await page.locator('.who-paid:focus').press('Enter')
      await page.waitForSelector('table.paid tbody tr')
      await assertFits(page)
      await page.locator('table.paid a').first().click()
      await page.waitForSelector('[data-figure="payments-total"]')

      // A provider's epochs on a market are read by keys, and page by page; the first page begins with the one that runs.
      await page.goto(`/?view=providers&market=${SAMPLE_MARKET}`)
      const row = page.locator('table.providers tbody tr', { hasText: '884dba40' })
      await row.getByRole('link', { name: 'Past epochs' }).click()
      const shows = (newest: number, oldest: number) =>
        eventuallyIs(
          async () => (await page.locator('table.epochs-table tbody th').allInnerTexts()).join(),
          Array.from({ length: newest - oldest + 1 }, (_, index) => newest - index).join(),
        )
      await shows(31, 21)
      // Its standing in the epoch that runs is above, exact on hover.
      const { client } = clientOf(await serveFile(STORE_KINDS[0]!, MONTH))
      const { liquidityStanding } = await client.liquidityStanding({ marketId: SAMPLE_MARKET })
      const standing = liquidityStanding.find(({ partyId }) => partyId.startsWith('884dba40'))
      for (const [name, shown] of [
        ['standing-book', standing!.timeOnBook],
        ['still-needed-part', standing!.stillNeeded],
        ['penalty-if-left', standing!.feePenaltyIfLeft],
      ] as const)
        assert.equal(await exactFigure(page, name), shown, name)
      assert.equal(await page.locator('[data-figure="still-needed"]').innerText(), '10 h 23 min')
      assertSays(await page.locator('.standing [data-figure="due"]').innerText(), '16:00 UTC')
      assert.equal(await exactFigure(page, 'last-fees'), '26.61726')
      assert.equal(await exactFigure(page, 'last-earned'), '0')
      // A bar is as high as its figure, and the line lies at the market's minimum.
      const book = page.locator('[data-row="book"]')
      const [bars, bar, least] = await Promise.all(
        ['.epochs-bars', '.epochs-bar', '.epochs-least'].map((part) =>
          book.locator(part).last().boundingBox(),
        ),
      )
      assert.ok(Math.abs(bar!.height / bars!.height - 0.5918) < 0.02)
      assert.ok(Math.abs((bars!.y + bars!.height - least!.y) / bars!.height - 0.75) < 0.03)
      await page.locator('.epochs').focus()
      for (const [key, said] of [
        ['Home', 'Epoch 21: below SLA; time on book 60.2 %'],
        ['ArrowRight', 'Epoch 22: below SLA; time on book 62.24 %'],
        ['End', 'Epoch 30: below SLA; time on book 59.18 %'],
      ] as const) {
        await page.keyboard.press(key)
        assert.equal((await page.locator('.epochs-said').innerText()).split('; fee')[0], said)
      }
      await page.getByRole('button', { name: 'Last 50' }).click()
      await shows(31, 11)
      const pages = page.getByRole('navigation', { name: 'Pages of epochs' })
      await pages.getByRole('button', { name: 'Next' }).click()
      await shows(10, 0)

      await page.goto(`/?view=providers&party=${PROVIDER}`)
      await page.getByRole('link', { name: 'Payments and epochs' }).click()
      await page.waitForURL(/view=party/)
      // Epochs are sorted by keys, and the address holds the order.
      const epochs = page.locator('.provision .epochs-table').first()
      await epochs.getByRole('button', { name: 'Lost to the fee penalty' }).press('Enter')
      await page.waitForURL(/epochSort=-lost/)
      await epochs.locator('th[aria-sort="descending"]', { hasText: 'Lost' }).waitFor()
      const isDearestFirst = async () => {
        const [, first] = await epochs.locator('tbody th').allInnerTexts()
        const dearest = await page.locator('[data-figure="dearest"]').first().innerText()
        return dearest.startsWith(`Epoch ${first} cost the most`)
      }
      await until(isDearestFirst, 'the epoch that cost most is first')
      assert.deepEqual(await accessibilityFaults(page), [])
    },
  )
})
