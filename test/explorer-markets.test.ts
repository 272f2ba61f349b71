import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary, MarketSummaryChange, Product } from 'lyra-client'
import { h } from 'preact'
import { formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { parseDecimal, ratio, subtract, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatPercent, formatRate } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { type Period, RATE_SPANS, rateFor, whoPays } from '../web/src/periods/period.ts'
import { timeOf } from './fixtures/live-store.ts'
import {
  DAYS,
  due,
  HOUR,
  MARKETS,
  type Made,
  percent,
  periodCount,
  ratesOfLast,
  ratesStore,
  sum,
} from './fixtures/made-rates.ts'
import { clientOf, figureOf, go, render, rowsOf, type Served, textOf, visit } from './fixtures/render.ts'
import { BTC, ETH, SOL } from './fixtures/sample.ts'
import { FILE, serve, serveRecording } from './fixtures/service.ts'

const { inOrder, MarketsTable } = await import('../web/src/markets/markets-table.tsx')
const { columnStarts, HeatCells, heatRows, shadeLimits } = await import('../web/src/markets/heat-map.tsx')
const { MarketBar } = await import('../web/src/parts/market-bar.tsx')
const { askLines, columnsOf, describeLine, lineOfPeriods, titleOf, valuesOf } = await import(
  '../web/src/markets/compare-lines.ts'
)
const { marketMatches } = await import('../web/src/service/markets.ts')
const { withChanges } = await import('../web/src/markets/summary.ts')

const recording = clientOf(await serveRecording('perps-long-named'))
const rates = clientOf(await serve(FILE, await ratesStore(FILE)))

async function summariesOf({ client }: Served): Promise<MarketSummary[]> {
  return (await client.marketSummariesPage({}, { first: 1_000 })).rows.map(({ node }) => node)
}

const DAY = 3n * RATE_SPANS['8h']

type Basis = 'period' | '8h' | 'year'

const tableOf = (summaries: readonly MarketSummary[], basis: Basis = '8h') =>
  render(h(MarketsTable, { basis, summaries: inOrder(summaries, basis), compared: [], onCompare: () => {} }))

const rowOf = (table: string, marketId: string) =>
  rowsOf(table).find((row) => row.includes(`data-market="${marketId}"`))!

const orderOf = (table: string) => [...table.matchAll(/data-market="(\w+)"/g)].map(([, id]) => id)

const number = (text: string) => parseDecimal(text)!

/** A percentage as it is shown. */
const parsed = (text: string) => Number(text.replaceAll(',', '').replace(' %', ''))

describe("the explorer's table of markets", () => {
  test("has the API's rates on every basis, premiums and prices, and links", async () => {
    await visit(recording, '/')
    const summaries = await summariesOf(recording)
    assert.equal(summaries.length, 3)
    for (const summary of summaries) {
      const { marketId, instrument, estimate, lastPaidPeriod, lastExternalPoint, lastInternalPoint } = summary
      const length = BigInt(lastPaidPeriod!.end!) - BigInt(lastPaidPeriod!.start)
      for (const basis of ['period', '8h', 'year'] as const) {
        const row = rowOf(tableOf(summaries, basis), marketId)
        const { fundingRate } = estimate!
        const scaled =
          basis === 'period' ? number(fundingRate) : rateFor(RATE_SPANS[basis], fundingRate, length)!
        const [rate, paid] = [figureOf(row, 'rate')!, figureOf(row, 'paid')!]
        assert.equal(rate.text, formatRate(scaled, 4))
        assert.equal(rate.value, basis === 'period' ? fundingRate : writeDecimal(scaled))
        // Paid rates are the same on every basis.
        assert.equal(paid.text, formatRate(number(lastPaidPeriod!.fundingRate!), 4))
        assert.equal(paid.value, lastPaidPeriod!.fundingRate)
        for (const { text, value, title } of [rate, paid]) {
          assert.equal(title, formatPercent(value!))
          assert.ok(Math.abs(parsed(title) - parsed(text)) <= 0.000051, title)
        }
      }
      const row = rowOf(tableOf(summaries), marketId)
      const [external, internal] = [number(lastExternalPoint!.price), number(lastInternalPoint!.price)]
      const premium = ratio(subtract(internal, external), external, 0, 12)!
      assert.equal(figureOf(row, 'premium')!.text, formatRate(premium, 3))
      assert.equal(figureOf(row, 'price')!.value, lastExternalPoint!.price)
      const price = formatAmountWithUnit(lastExternalPoint!.price, { symbol: 'USD', decimals: 5 })
      assert.equal(figureOf(row, 'price')!.text, price)
      const shown = textOf(row)
      for (const part of [instrument!.code, instrument!.name, whoPays(estimate!.fundingRate)]) {
        assert.ok(shown.includes(part), shown)
      }
      const isActive = summary.marketData!.marketState === 'STATE_ACTIVE'
      assert.match(shown, isActive ? /Active/ : /Suspended · monitoring auction/)
      assert.ok(row.includes(`href="/?view=providers&amp;market=${marketId}">${summary.providers}</a>`))
      assert.ok(row.includes(`href="/?view=funding&amp;market=${marketId}"><span class="market-code">`))
    }
  })

  test('takes on the parts that change, and markets that are new', async () => {
    const [first, second, third] = await summariesOf(recording)
    const changed = { marketId: second!.marketId, estimate: null, providers: '77' }
    const changes = new Map<string, MarketSummaryChange>([
      [changed.marketId, changed],
      [third!.marketId, third!],
    ])
    assert.deepEqual(withChanges([first!, second!], changes), [first, { ...second, ...changed }, third])
    const row = rowOf(tableOf(withChanges([first!, second!], changes)), changed.marketId)
    assert.ok(row.includes('>77</a>'))
  })

  test('is sorted by any column, and found by code, name or id', async () => {
    await visit(recording, '/')
    const summaries = await summariesOf(recording)
    assert.deepEqual(orderOf(tableOf(summaries)), [BTC, ETH, SOL])
    const length = ({ lastPaidPeriod }: MarketSummary) =>
      Number(lastPaidPeriod!.end) - Number(lastPaidPeriod!.start)
    for (const [sort, read] of [
      ['rate', (summary: MarketSummary) => Number(summary.estimate!.fundingRate) / length(summary)],
      ['paid', (summary: MarketSummary) => Number(summary.lastPaidPeriod!.fundingRate)],
      ['providers', (summary: MarketSummary) => Number(summary.providers)],
    ] as const) {
      const highestFirst = summaries.toSorted((a, b) => read(b) - read(a)).map(({ marketId }) => marketId)
      go(`/?sort=-${sort}`)
      assert.deepEqual(orderOf(tableOf(summaries)), highestFirst, sort)
      go(`/?sort=${sort}`)
      assert.deepEqual(orderOf(tableOf(summaries)), highestFirst.toReversed(), sort)
    }
    for (const wanted of ['sol/', 'solana', SOL.slice(20, 40), SOL.toUpperCase(), 'Solana PERP']) {
      assert.deepEqual(
        [BTC, ETH, SOL].filter((id) => marketMatches(id, wanted)),
        [SOL],
        wanted,
      )
    }
  })

  test('has no rate of a market that has ended, but the time of its end', async () => {
    await visit(recording, '/')
    const [recordedSummary] = await summariesOf(recording)
    const { marketId, lastPaidPeriod, marketData } = recordedSummary!
    const ended = { marketState: 'STATE_SETTLED', tradingMode: 'TRADING_MODE_NO_TRADING' } as const
    // The instrument event dates from the market's start, so its state is still active.
    const summary = { ...recordedSummary!, marketData: { ...marketData!, ...ended } }
    const row = tableOf([summary])
    const since = `<span class="state-chip ended">Settled since ${formatTime(marketData!.timestamp).slice(0, 16)} UTC</span>`
    assert.ok(row.includes(since), row)
    assert.equal(figureOf(row, 'rate'), undefined)
    assert.equal(figureOf(row, 'paid')!.value, lastPaidPeriod!.fundingRate)
    const bar = h(MarketBar, { marketId, summary, markets: [marketId], onPick: () => {} })
    assert.ok(render(bar).includes(since))
  })
})

test('a market that pays no funding says why instead of having no schedule', async () => {
  await visit(recording, '/')
  const [known] = await summariesOf(recording)
  const of = (product: Product) => {
    const instrument = { ...known!.instrument!, product, funding: null }
    const none = { estimate: null, lastPaidPeriod: null, runningPeriod: null }
    return textOf(tableOf([{ ...known!, ...none, instrument }]))
  }
  assert.match(of('PRODUCT_FUTURE'), /no funding: a dated future/)
  assert.match(of('PRODUCT_SPOT'), /no funding: a spot market/)
  for (const product of ['PRODUCT_FUTURE', 'PRODUCT_SPOT'] as const) {
    assert.doesNotMatch(of(product), /no schedule/)
  }
  assert.match(of('PRODUCT_PERPETUAL'), /no schedule/)
})

describe("the explorer's rates", () => {
  test('are for a period, 8 hours and a year, averaged over three windows, and sorted by them', async () => {
    await visit(rates, '/')
    const summaries = await summariesOf(rates)
    for (const [basis, hours] of [
      ['8h', () => 8],
      ['period', (made: Made) => made.hours],
      ['year', () => 365 * 24],
    ] as const) {
      const table = tableOf(summaries, basis)
      for (const made of MARKETS) {
        const row = rowOf(table, made.marketId)
        const paid = made.rateOf(periodCount(made))
        assert.equal(figureOf(row, 'rate')!.text, percent((paid * hours(made)) / made.hours))
        assert.equal(figureOf(row, 'paid')!.text, percent(paid))
        for (const [name, window] of [
          ['24h', 24],
          ['7d', 168],
          ['30d', 720],
        ] as const) {
          const average = (sum(ratesOfLast(made, window)) / window) * hours(made)
          const { text } = figureOf(row, `average-${name}`)!
          assert.ok(
            Math.abs(parsed(text) * 10_000 - average) <= 0.51,
            `${made.code} ${name} per ${basis}: ${text}`,
          )
        }
        // The next payment, by the market's schedule.
        const next = new Date(Number(timeOf((DAYS * 24 + made.hours) * HOUR) / 1_000_000n)).toISOString()
        assert.ok(row.includes(`datetime="${next.slice(0, 16).replace('T', ' ')}"`), row)
        assert.ok(textOf(row).includes(`${next.slice(11, 16)} UTC`), row)
      }
    }
    const [a, b, c] = MARKETS.map(({ marketId }) => marketId)
    go('/?sort=-7d')
    assert.deepEqual(orderOf(tableOf(summaries)), [c, a, b])
    go('/?sort=7d')
    assert.deepEqual(orderOf(tableOf(summaries)), [b, a, c])
  })

  test('are a map of sums by market and day or 8 hours, each in a sentence', async () => {
    await visit(rates, '/')
    const summaries = await summariesOf(rates)
    const last = timeOf(DAYS * 24 * HOUR)
    for (const [step, length, columns] of [
      ['1d', 3n * RATE_SPANS['8h'], 30],
      ['8h', RATE_SPANS['8h'], 21],
    ] as const) {
      const end = (last / length + 1n) * length
      const from = end - BigInt(columns) * length
      const sums = await rates.client.fundingRates({ interval: step, from, to: end, first: 10 })
      const rows = heatRows(sums, inOrder(summaries, '8h'))
      const starts = columnStarts(rows, end, length)
      assert.deepEqual([starts[0], starts.at(-1), starts.length], [from, end - length, columns])
      const map = render(h(HeatCells, { rows, starts, step }))
      for (const [row, made] of MARKETS.entries()) {
        for (const [column, start] of starts.entries()) {
          const of = due(made, start, start + length)
          const time = formatTime(start)
          const when = step === '1d' ? time.slice(0, 10) : `8 hours from ${time.slice(0, 16)} UTC`
          const who = sum(of) > 0 ? 'longs pay shorts' : 'shorts pay longs'
          const payments = `${of.length} payment${of.length === 1 ? '' : 's'}`
          const [, title, text] = new RegExp(
            `data-cell="${row} ${column}"[^>]*title="([^"]*)"[^>]*>([^<]*)<`,
          ).exec(map)!
          assert.equal(title, `${made.code}, ${when}: ${percent(sum(of))} in ${payments}, ${who}`)
          assert.ok(Math.abs(Number(text) - sum(of) / 10_000) <= 0.0005, `${text} in ${title}`)
          // The newest cell of the first market is read first.
          if (row === 0 && column === columns - 1) assert.ok(textOf(map).startsWith(title!))
        }
      }
    }
  })
})

test('the map of funding has the order of the table, and shades that tell small sums apart, with a key', async () => {
  await visit(rates, '/?sort=-market')
  const summaries = inOrder(await summariesOf(rates), '8h')
  const end = (timeOf(DAYS * 24 * HOUR) / DAY + 1n) * DAY
  const sums = await rates.client.fundingRates({ interval: '1d', from: end - 3n * DAY, to: end, first: 10 })
  const rows = heatRows(sums, summaries)
  assert.deepEqual(
    rows.map(({ marketId }) => marketId),
    MARKETS.map(({ marketId }) => marketId).toReversed(),
  )
  const map = render(h(HeatCells, { rows, starts: columnStarts(rows, end, DAY), step: '1d' }))
  assert.match(textOf(map), /Longs pay up to [\d. ]+ Shorts pay up to [\d. ]+ Market/)
  // The greatest sum has the darkest shade, and no shade is beyond it.
  const shades = [...map.matchAll(/<td[^>]*--shade:\s*(\d)/g)].map(([, shade]) => Number(shade))
  assert.equal(Math.max(...shades), 6)
  const limits = shadeLimits(0.0226)
  const shadeOf = (size: number) => limits.findIndex((limit) => size <= limit) + 1
  assert.deepEqual([0.0003, 0.001, 0.006, 0.0226].map(shadeOf), [1, 2, 4, 6])
})

describe("the explorer's comparison of markets", () => {
  const ids = MARKETS.map(({ marketId }) => marketId)
  const held = { from: timeOf(0), to: timeOf(DAYS * 24 * HOUR) }
  const sumOf = (some: readonly number[]) => writeDecimal({ digits: BigInt(sum(some)), scale: 6 })

  test('has the rates due in its range, of every market, whatever the length of its periods', async () => {
    const range = { from: timeOf((DAYS - 7) * 24 * HOUR + 5), to: held.to + 1n }
    const { lines, byDay } = await askLines(rates.client, ids, range, held)
    assert.equal(byDay, false)
    for (const [index, made] of MARKETS.entries()) {
      const { due: own, from } = lines[index]!
      const expected = due(made, range.from, range.to)
      assert.equal(from, null)
      assert.equal(own.length, (7 * 24) / made.hours)
      assert.equal(writeDecimal(valuesOf(own, 'cumulative', '8h').at(-1)!), sumOf(expected))
      // The last rate on each basis, and that of an earlier time.
      const last = own.at(-1)!
      const of = (basis: Basis, at: bigint | null = null) => describeLine(own, 'rate', basis, at)
      const name = `period ${periodCount(made)}, paid ${formatTime(last.end).slice(0, 16)}`
      assert.equal(of('period'), `${percent(expected.at(-1)!)} · ${name}`)
      assert.equal(of('8h'), `${percent((expected.at(-1)! * 8) / made.hours)} · ${name}`)
      assert.ok(of('year').endsWith(` % · ${name}`))
      assert.ok(of('period', last.start - 1n).startsWith(`${percent(expected.at(-2)!)} · period`))
      assert.equal(of('period', range.from - DAY), 'no payment')
    }
    // All lines end together, and the first columns are the times.
    const [times, ...columns] = columnsOf(lines, 'rate', '8h')
    assert.deepEqual([columns.length, times.at(-1)], [3, Number(held.to / 1_000_000_000n)])
    for (const column of columns) assert.notEqual(column.at(-1), undefined)
  })

  test('adds up days if its range is long, of every market', async () => {
    const range = { from: held.to - 100n * DAY, to: held.to + 1n }
    const { lines, byDay } = await askLines(rates.client, ids, range, held)
    assert.equal(byDay, true)
    for (const [index, made] of MARKETS.entries()) {
      const { due: own } = lines[index]!
      const first = timeOf(made.hours * HOUR)
      assert.equal(own[0]!.start, first - (first % DAY))
      const total = writeDecimal(valuesOf(own, 'cumulative', 'year').at(-1)!)
      assert.equal(Number(total), Number(sumOf(due(made, held.from, range.to))))
      const { start } = own.at(-2)!
      const day = sum(due(made, start, start + DAY))
      const date = formatTime(start).slice(0, 10)
      assert.equal(describeLine(own, 'rate', '8h', start), `${percent(day / 3)} · day ${date}`)
    }
  })

  test('says what its lines are, and from when on a market has too many periods', () => {
    assert.equal(titleOf('rate', '8h', false), 'Funding rates per 8 hours')
    assert.equal(titleOf('rate', 'year', true), 'Funding rates per year, by day')
    assert.equal(titleOf('rate', 'period', true), 'Funding rates, sum of each day')
    assert.equal(titleOf('cumulative', '8h', true), 'Cumulative funding rates, by day')
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
