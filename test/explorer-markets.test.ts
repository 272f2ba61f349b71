import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { MarketSummary, MarketSummaryChange, Product } from 'lyra-client'
import { h } from 'preact'
import { formatAmountWithUnit } from '../web/src/figures/amount.ts'
import { parseDecimal, ratio, subtract, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatPercent, formatRate } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { describeLine, fromOneStart, valuesOf } from '../web/src/markets/compare-lines.ts'
import {
  annualised,
  askPeriods,
  type Period,
  RATE_SPANS,
  rateFor,
  whoPays,
} from '../web/src/periods/period.ts'
import { LIVE_MARKET, timeOf } from './fixtures/live-store.ts'
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
const { marketMatches } = await import('../web/src/service/markets.ts')
const { summariesCsv } = await import('../web/src/markets/summaries-csv.ts')
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
        // What was paid is the same on every basis.
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
      assert.equal(figureOf(row, 'premium')!.text, formatRate(premium, 2))
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

  test('is saved as CSV with the texts that were sent', async () => {
    const summaries = await summariesOf(recording)
    const sol = summaries.find(({ marketId }) => marketId === SOL)!
    const [head, line, ...others] = summariesCsv([sol], 0n).trimEnd().split('\r\n')
    assert.match(head!, /^marketId,code,state,rate,rateIsEstimate,/)
    assert.ok(line!.startsWith(`${SOL},SOL/PERP,STATE_ACTIVE,${sol.estimate!.fundingRate},true,`), line)
    assert.deepEqual(others, [])
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
  test('has the rates of the periods, a year, and their sum, exactly', async () => {
    for (const marketId of [BTC, SOL]) {
      const all = await askPeriods(recording.client, { marketId }, 5_000)
      const { lines, from } = fromOneStart([{ marketId, ...all }])
      assert.equal(from, null)
      const { periods } = lines[0]!
      const last = periods.at(-1)!
      const year = formatRate(annualised(last.rate, last.end! - last.start)!, 2)
      const time = formatTime(last.start).slice(0, 16)
      assert.equal(describeLine(periods, 'annualised', null), `${year} · period ${last.seq}, ${time}`)
      assert.ok(describeLine(periods, 'rate', null).startsWith(formatRate(number(last.rate!), 4)))
      // At the time of an earlier period, its rate.
      const earlier = periods.at(-2)!
      assert.ok(
        describeLine(periods, 'rate', last.start - 1n).startsWith(formatRate(number(earlier.rate!), 4)),
      )
      assert.equal(describeLine(periods, 'rate', 0n), 'no paid period')
    }
  })

  test('covers the time of which all periods are loaded, and leaves out those that paid nothing', () => {
    const hour = BigInt(HOUR) * 1_000_000_000n
    const every = (hours: bigint, first: number, count: number, rate: string): Period[] =>
      Array.from({ length: count }, (_, index) => ({
        ...{ seq: BigInt(first + index), start: BigInt(first + index) * hours * hour, payment: '1', rate },
        ...{ end: BigInt(first + index + 1) * hours * hour, internalTwap: null, externalTwap: null },
      }))
    const unpaid = { ...every(8n, 140, 1, '0')[0]!, rate: null }
    const { lines, from } = fromOneStart([
      { marketId: LIVE_MARKET, list: every(1n, 100, 1_000, '0.0001'), more: true },
      { marketId: ETH, list: [...every(8n, 0, 140, '0.001'), unpaid], more: true },
    ])
    assert.equal(from, 100n * hour)
    assert.deepEqual(
      lines.map(({ periods }) => writeDecimal(valuesOf(periods, 'cumulative').at(-1)!)),
      ['0.1000', '0.127'],
    )
  })
})
