import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary } from 'lyra-client'
import { parseDecimal, writeDecimal } from '../../web/src/figures/decimal.ts'
import type { Shown } from '../../web/src/markets/compare-lines.ts'
import { type Period, RATE_SPANS } from '../../web/src/periods/period.ts'
import { assertSays } from '../fixtures/assert-says.ts'
import { DAYS, HOUR, MARKETS, ratesStore } from '../fixtures/events/made-rates.ts'
import {
  answered,
  clientOf,
  figureOf,
  go,
  render,
  rowsOf,
  rowTexts,
  type Served,
  textOf,
  visit,
} from '../fixtures/explorer/render.ts'
import { FILE, serve, serveRecording } from '../fixtures/services/service.ts'
import { BTC, ETH, SOL } from '../fixtures/shared.ts'
import { timeOf } from '../fixtures/stores/live-store.ts'

const { inOrder, MarketsTable } = await import('../../web/src/markets/markets-table.tsx')
const { columnStarts, HeatCells, heatRows, shadeLimits } = await import('../../web/src/markets/heat-map.tsx')
const { Compare } = await import('../../web/src/markets/compare.tsx')
const { MarketBar } = await import('../../web/src/parts/pickers/market-bar.tsx')
const { askLines, columnsOf, describeLine, describeSpread, lineOfPeriods, spreadOf, titleOf, valuesOf } =
  await import('../../web/src/markets/compare-lines.ts')
const { marketMatches } = await import('../../web/src/service/markets.ts')

const recording = clientOf(await serveRecording('perps-long-named'))
const rates = clientOf(await serve(FILE, await ratesStore(FILE)))

/** Goes to an address of a service, and reads its markets. */
async function summariesAt(served: Served, path: string): Promise<MarketSummary[]> {
  await visit(served, path)
  return (await served.client.marketSummariesPage({}, { first: 1_000 })).rows.map(({ node }) => node)
}

const DAY = 3n * RATE_SPANS['8h']

type Basis = 'period' | '8h' | 'year'

const tableOf = (summaries: readonly MarketSummary[], basis: Basis = '8h') =>
  render(MarketsTable, { basis, summaries: inOrder(summaries, basis), compared: [], onCompare: () => {} })

const COLUMNS = [
  'Rate now',
  'External price',
  'Price premium',
  'Next payment',
  'Last paid',
  '24 h average',
  '7 d average',
  '30 d average',
  'Price',
  'Providers',
  'State',
]

const textsOf = (summaries: readonly MarketSummary[], basis: Basis = '8h') =>
  rowTexts(tableOf(summaries, basis), COLUMNS)

describe("the explorer's table of markets", () => {
  test('has rates on every basis, average rates, premiums, prices and the next payment', async () => {
    const made = await summariesAt(rates, '/')
    const recorded = await summariesAt(recording, '/')
    assert.deepEqual(textsOf(recorded), [
      'BTC/PERP Bitcoin perpetual -76.3779 % estimate shorts pay longs 29,568.13 USD -0.196 % no schedule -1,147.5142 % 3 Active',
      'ETH/PERP Ether perpetual -202.3387 % estimate shorts pay longs 1,459.14 USD +0.651 % no schedule -498.6399 % 4 Suspended · monitoring auction',
      'SOL/PERP Solana perpetual +1,457.8286 % estimate longs pay shorts 18.7852 USD +3.151 % no schedule +1,363.9654 % 2 Active',
    ])
    await visit(rates, '/')
    for (const [basis, ...expected] of [
      [
        'period',
        'A/PERP A +0.0300 % of the last period longs pay shorts 4,456,000 0.000 % 06:13 UTC 2023-12-25 +0.0300 % +0.0167 % +0.0110 % +0.0100 % 0 Active',
        'B/PERP A +0.0010 % of the last period longs pay shorts 4,456,000 0.000 % 23:13 UTC 2023-12-24 +0.0010 % +0.0010 % +0.0010 % +0.0010 % 0 Active',
        'C/PERP A +0.0500 % of the last period longs pay shorts 4,456,000 0.000 % 02:13 UTC 2023-12-25 +0.0500 % +0.0500 % +0.0476 % +0.0112 % 0 Active',
      ],
      [
        '8h',
        'A/PERP A +0.0300 % of the last period longs pay shorts 4,456,000 0.000 % 06:13 UTC 2023-12-25 +0.0300 % +0.0167 % +0.0110 % +0.0100 % 0 Active',
        'B/PERP A +0.0080 % of the last period longs pay shorts 4,456,000 0.000 % 23:13 UTC 2023-12-24 +0.0080 % +0.0080 % +0.0080 % +0.0080 % 0 Active',
        'C/PERP A +0.1000 % of the last period longs pay shorts 4,456,000 0.000 % 02:13 UTC 2023-12-25 +0.1000 % +0.1000 % +0.0952 % +0.0224 % 0 Active',
      ],
      [
        'year',
        'A/PERP A +32.8500 % of the last period longs pay shorts 4,456,000 0.000 % 06:13 UTC 2023-12-25 +32.8500 % +18.2500 % +11.9929 % +10.9500 % 0 Active',
        'B/PERP A +8.7600 % of the last period longs pay shorts 4,456,000 0.000 % 23:13 UTC 2023-12-24 +8.7600 % +8.7600 % +8.7600 % +8.7600 % 0 Active',
        'C/PERP A +109.5000 % of the last period longs pay shorts 4,456,000 0.000 % 02:13 UTC 2023-12-25 +109.5000 % +109.5000 % +104.2961 % +24.5037 % 0 Active',
      ],
    ] as const) {
      assert.deepEqual(textsOf(made, basis), expected)
    }
  })

  test('has the exact texts on hover, and links', async () => {
    const summaries = await summariesAt(recording, '/')
    for (const [basis, value, title] of [
      ['period', '-0.0023868093712688', '-0.23868093712688 %'],
      ['8h', '-0.763778998806016000', '-76.3778998806016 %'],
      ['year', '-836.338003692587520000', '-83,633.800369258752 %'],
    ] as const) {
      const rate = figureOf(tableOf(summaries, basis), 'rate')!
      assert.deepEqual([rate.value, rate.title], [value, title])
    }
    const [row] = rowsOf(tableOf(summaries, 'period'))
    assert.deepEqual(
      ['paid', 'price', 'premium'].map((name) => figureOf(row!, name)!.value),
      ['-0.0358598172447733', '29568.13', '-0.0019629242701517'],
    )
    assert.ok(row!.includes(`href="/?view=providers&amp;market=${BTC}">3</a>`))
    assert.ok(row!.includes(`href="/?view=funding&amp;market=${BTC}"><span class="market-code">`))
  })

  test('is sorted by any column, and found by code, name or id', async () => {
    for (const [served, sort, ...expected] of [
      [recording, 'market', 'BTC', 'ETH', 'SOL'],
      [recording, 'rate', 'ETH', 'BTC', 'SOL'],
      [recording, 'paid', 'BTC', 'ETH', 'SOL'],
      [recording, 'price', 'SOL', 'ETH', 'BTC'],
      [recording, 'premium', 'BTC', 'ETH', 'SOL'],
      [recording, 'providers', 'SOL', 'BTC', 'ETH'],
      [rates, '7d', 'B/P', 'A/P', 'C/P'],
      [rates, 'next', 'B/P', 'C/P', 'A/P'],
    ] as const) {
      const order = async (path: string) =>
        textsOf(await summariesAt(served, path)).map((text) => text.slice(0, 3))
      assert.deepEqual(await order(`/?sort=${sort}`), expected)
      assert.deepEqual(await order(`/?sort=-${sort}`), expected.toReversed())
    }
    // On the chosen basis: what a short period paid is more in 8 hours.
    const made = await summariesAt(rates, '/?sort=paid')
    const [a, c] = ['A', 'C'].map((name) =>
      made.find(({ instrument }) => instrument!.code === `${name}/PERP`),
    )
    const paidLess = { ...c!, lastPaidPeriod: { ...c!.lastPaidPeriod!, fundingRate: '0.0002' } }
    for (const [basis, ...order] of [
      ['period', paidLess, a],
      ['8h', a, paidLess],
    ] as const) {
      assert.deepEqual(inOrder([a!, paidLess], basis), order, basis)
    }
    await visit(recording, '/')
    for (const wanted of ['sol/', 'solana', SOL.slice(20, 40), SOL.toUpperCase(), 'Solana PERP']) {
      assert.deepEqual(
        [BTC, ETH, SOL].filter((id) => marketMatches(id, wanted)),
        [SOL],
        wanted,
      )
    }
  })

  test('has no rate of a market that has ended, but the time of its end, and says why others pay none', async () => {
    const [known] = await summariesAt(recording, '/?sort=market')
    const { marketId } = known!
    const ended = { marketState: 'STATE_SETTLED', tradingMode: 'TRADING_MODE_NO_TRADING' } as const
    // The instrument event dates from the market's start, so its state is still active.
    const summary = { ...known!, marketData: { ...known!.marketData!, ...ended } }
    const since = '<span class="state-chip ended">Settled since 2024-03-01 06:43 UTC</span>'
    const row = tableOf([summary])
    assertSays(row, since)
    assert.equal(figureOf(row, 'rate'), undefined)
    assert.equal(figureOf(tableOf([summary], 'period'), 'paid')!.value, known!.lastPaidPeriod!.fundingRate)
    const bar = { marketId, summary: answered(summary), markets: [marketId], onPick: () => {} }
    assert.ok(render(MarketBar, bar).includes(since))
    for (const [product, rate, next] of [
      ['PRODUCT_FUTURE', 'no funding: a dated future', '–'],
      ['PRODUCT_SPOT', 'no funding: a spot market', '–'],
      ['PRODUCT_PERPETUAL', '–', 'no schedule'],
    ] as const) {
      const instrument = { ...known!.instrument!, product, funding: null }
      const none = { estimate: null, lastPaidPeriod: null, runningPeriod: null }
      const [text] = textsOf([{ ...known!, ...none, instrument }])
      assertSays(text!, `perpetual ${rate} 18.7852 USD +3.151 % ${next} –`)
    }
  })
})

test('the map of funding has sums in the order of the table, shades that tell small ones apart, and a key', async () => {
  const summaries = inOrder(await summariesAt(rates, '/?sort=-market'), '8h')
  const end = (timeOf(DAYS * 24 * HOUR) / DAY + 1n) * DAY
  for (const [step, expected, titles] of [
    [
      '1d',
      'Longs pay up to 0.0083 0.033 0.075 0.13 0.21 0.3 Shorts pay up to 0.0083 0.033 0.075 0.13 0.21 0.3 Market 12-22 12-23 12-24 C/PERP +0.300 +0.300 +0.300 B/PERP +0.024 +0.024 +0.023 A/PERP +0.050 +0.010 +0.050',
      [
        'C/PERP, 2023-12-24: +0.3000 % in 6 payments, longs pay shorts',
        'B/PERP, 2023-12-24: +0.0230 % in 23 payments, longs pay shorts',
        'A/PERP, 2023-12-23: +0.0100 % in 3 payments, longs pay shorts',
      ],
    ],
    [
      '8h',
      'Longs pay up to 0.0028 0.011 0.025 0.044 0.069 0.1 Shorts pay up to 0.0028 0.011 0.025 0.044 0.069 0.1 Market 12-24 00h 12-24 08h 12-24 16h C/PERP +0.100 +0.100 +0.100 B/PERP +0.008 +0.008 +0.007 A/PERP +0.030 -0.010 +0.030',
      [
        'C/PERP, 8 hours from 2023-12-24 16:00 UTC: +0.1000 % in 2 payments, longs pay shorts',
        'B/PERP, 8 hours from 2023-12-24 16:00 UTC: +0.0070 % in 7 payments, longs pay shorts',
        'A/PERP, 8 hours from 2023-12-24 08:00 UTC: -0.0100 % in 1 payment, shorts pay longs',
      ],
    ],
  ] as const) {
    const length = step === '1d' ? DAY : RATE_SPANS['8h']
    const from = end - 3n * length
    const sums = await rates.client.fundingRates({ interval: step, from, to: end, first: 10 })
    const rows = heatRows(sums.edges, summaries)
    const starts = columnStarts(rows, end, length)
    assert.deepEqual(starts, [from, from + length, from + 2n * length])
    const map = render(HeatCells, { rows, starts, step, missing: new Set<bigint>() })
    // The newest cell of the first market is read first.
    assert.equal(textOf(map), `${titles[0]} ${expected}`)
    for (const title of titles) assert.ok(map.includes(`title="${title}"`), title)
    // The greatest sum has the darkest shade, and no shade is beyond it.
    const shades = [...map.matchAll(/<td[^>]*--shade:\s*(\d)/g)].map(([, shade]) => Number(shade))
    assert.equal(Math.max(...shades), 6)
  }
  const limits = shadeLimits(0.0226)
  const shadeOf = (size: number) => limits.findIndex((limit) => size <= limit) + 1
  assert.deepEqual([0.0003, 0.001, 0.006, 0.0226].map(shadeOf), [1, 2, 4, 6])
})

describe("the explorer's comparison of markets", () => {
  const shownAs = (kind: Shown['kind'], basis: Shown['basis'], worth = 1_000n): Shown => ({
    kind,
    basis,
    worth: { digits: worth, scale: 0 },
    symbol: 'USD',
  })

  test('begins with the money that a position of 1,000 receives, and asks what it is worth', async () => {
    await visit(rates, '/')
    const drawn = (path: string) => {
      go(path)
      const html = render(Compare, { marketIds: [MARKETS[0]!.marketId], basis: '8h' })
      const pressed = /aria-label="Values of the lines".*?aria-pressed="true">(\w+)</s.exec(html)![1]
      return [pressed, /id="compare-title"[^>]*>([^<]*)</.exec(html)![1]]
    }
    const received = (size: string) => `Funding received by a ${size}, cumulative`
    assert.deepEqual(drawn('/?from=2020-01-01&to=2020-03-01'), [
      'Money',
      received('long position worth 1,000'),
    ])
    assert.deepEqual(drawn('/?worth=-25000.5'), ['Money', received('short position worth 25,000.5')])
    assert.deepEqual(drawn('/?worth=x'), ['Money', received('long position worth 1,000')])
    assert.deepEqual(drawn('/?bars=rate'), ['Rate', 'Funding rates per 8 hours'])
    assert.deepEqual(drawn('/?bars=cumulative'), ['Cumulative', 'Cumulative funding rates'])
  })

  test('of two has their spread, while both have a value', () => {
    const hour = (at: number) => BigInt(at) * 3_600_000_000_000n
    const lineOf = (from: number, step: number, ...rates: string[]) => ({
      marketId: ETH,
      from: null,
      due: rates.map((rate, index) => ({
        start: hour(from + index * step),
        end: hour(from + (index + 1) * step),
        rate: parseDecimal(rate)!,
        name: `period ${index}`,
      })),
    })
    // One pays every hour, the other one every two hours, an hour later and longer.
    const lines = [lineOf(0, 1, '0.01', '0.02', '0.03', '-0.01'), lineOf(1, 2, '0.005', '0.1')]
    const stepsIn = (shown: Shown) =>
      spreadOf(lines, shown)?.map(({ start, end, value }) => [
        Number(start / hour(1)),
        Number(end / hour(1)),
        Number(writeDecimal(value)),
      ])
    assert.deepEqual(stepsIn(shownAs('cumulative', '8h')), [
      [1, 2, 0.025],
      [2, 3, 0.055],
      [3, 4, -0.055],
    ])
    assert.deepEqual(stepsIn(shownAs('money', '8h')), [
      [1, 2, -25],
      [2, 3, -55],
      [3, 4, 55],
    ])
    assert.deepEqual(stepsIn(shownAs('rate', '8h')), [
      [1, 2, 0.14],
      [2, 3, 0.22],
      [3, 4, -0.48],
    ])
    // Rates of periods of different lengths cannot be compared.
    assert.equal(stepsIn(shownAs('rate', 'period')), undefined)
    assert.equal(spreadOf([...lines, lines[0]!], shownAs('money', '8h')), null)
    const money = shownAs('money', '8h')
    const spread = spreadOf(lines, money)!
    assert.deepEqual(
      [null, hour(2), 0n].map((at) => describeSpread(spread, money, at)),
      ['+55.00 USD', '-55.00 USD', 'at no time do both have a value'],
    )
    const [times, one, other, both] = columnsOf(lines, money)
    assert.deepEqual(
      times,
      [0, 1, 2, 3, 4, 5].map((at) => at * 3600),
    )
    assert.deepEqual(one, [-10, -30, -60, -50, -50, undefined])
    assert.deepEqual(other, [undefined, -5, undefined, -105, undefined, -105])
    assert.deepEqual(both, [undefined, -25, -55, 55, 55, undefined])
    assert.equal(columnsOf([...lines, lines[0]!], money).length, 4)
  })

  const ids = MARKETS.map(({ marketId }) => marketId)
  const held = { from: timeOf(0), to: timeOf(DAYS * 24 * HOUR) }

  test('has the rates due in its range, or sums of days if that is long, of every market', async () => {
    const week = { from: timeOf((DAYS - 7) * 24 * HOUR + 5), to: held.to + 1n }
    for (const [range, byDay, ...expected] of [
      [
        week,
        false,
        [21, '0.002300', '+0.0300 %', '+32.85 % · period 120, paid 2023-12-24 22:13', '-0.0100 %'],
        [168, '0.001680', '+0.0080 %', '+8.76 % · period 960, paid 2023-12-24 22:13', '+0.0080 %'],
        [42, '0.020002', '+0.1000 %', '+109.50 % · period 240, paid 2023-12-24 22:13', '+0.1000 %'],
      ],
      [
        { from: held.to - 100n * DAY, to: held.to + 1n },
        true,
        [40, '0.0120', '+0.0167 %', '+18.25 % · day 2023-12-24', '+0.0033 %'],
        [41, '0.00960', '+0.0077 %', '+8.40 % · day 2023-12-24', '+0.0080 %'],
        [40, '0.020200', '+0.1000 %', '+109.50 % · day 2023-12-24', '+0.1000 %'],
      ],
    ] as const) {
      const { lines, ...rest } = await askLines(rates.client, ids, range, held)
      assert.equal(rest.byDay, byDay)
      const shown = lines.map(({ due, from }) => {
        assert.equal(from, null)
        assert.equal(describeLine(due, shownAs('rate', 'period'), due[0]!.start - 1n), 'no payment')
        const sum = writeDecimal(valuesOf(due, shownAs('cumulative', '8h')).at(-1)!)
        const rate = (at: bigint | null) => describeLine(due, shownAs('rate', '8h'), at).split(' ·')[0]
        return [
          due.length,
          sum,
          rate(null),
          describeLine(due, shownAs('rate', 'year'), null),
          rate(due.at(-2)!.start),
        ]
      })
      assert.deepEqual(shown, expected)
      // All lines end together, and the first columns are the times.
      const [times, ...columns] = columnsOf(lines, shownAs('rate', '8h'))
      const last = byDay ? 1_703_462_400 : Number(held.to / 1_000_000_000n)
      assert.deepEqual([columns.length, times.at(-1)], [3, last])
      for (const column of columns) assert.notEqual(column.at(-1), undefined)
    }
    const { lines } = await askLines(rates.client, ids, week, held)
    assert.equal(
      describeLine(lines[0]!.due, shownAs('rate', 'period'), null),
      '+0.0300 % · period 120, paid 2023-12-24 22:13',
    )
  })

  test('says what its lines are, and from when on a market has too many periods', () => {
    assert.equal(
      titleOf(shownAs('money', '8h'), true),
      'Funding received by a long position worth 1,000 USD, cumulative, by day',
    )
    assert.equal(titleOf(shownAs('rate', '8h'), false), 'Funding rates per 8 hours')
    assert.equal(titleOf(shownAs('rate', 'year'), true), 'Funding rates per year, by day')
    assert.equal(titleOf(shownAs('rate', 'period'), true), 'Funding rates, sum of each day')
    assert.equal(titleOf(shownAs('cumulative', '8h'), true), 'Cumulative funding rates, by day')
    const period = { seq: 1n, start: 5n, end: 9n, payment: '1', internalTwap: null, externalTwap: null }
    const list: Period[] = [
      { ...period, rate: '0.1' },
      // Nothing was paid for a period without a length.
      { ...period, seq: 2n, start: 9n, rate: '0.1' },
      { ...period, seq: 3n, start: 9n, end: null, rate: null },
    ]
    const lineIn = (from: bigint, more: boolean) => lineOfPeriods(ETH, { list, more }, { from, to: 10n })
    assert.deepEqual(
      lineIn(0n, true).due.map(({ name }) => name),
      ['period 1, paid 1970-01-01 00:00'],
    )
    assert.deepEqual(
      [lineIn(0n, true), lineIn(5n, true), lineIn(0n, false)].map(({ from }) => from),
      [5n, null, null],
    )
  })
})
