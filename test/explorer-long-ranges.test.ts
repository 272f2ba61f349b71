import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { h } from 'preact'
import type { FundingPeriodEvent, InstrumentEvent } from '#core/events/event'
import { compare, type Decimal, parseDecimal, writeDecimal } from '../web/src/figures/decimal.ts'
import { formatBasisPoints, formatRate } from '../web/src/figures/format-figure.ts'
import { formatTime } from '../web/src/figures/format-time.ts'
import { areTooMany, askDays, type Day, dayBars, daysOf, dayValues } from '../web/src/funding/days.ts'
import { type BarKind, type Reading, readingAt } from '../web/src/funding/reading.ts'
import { askPeriods, type Period, whoPays } from '../web/src/periods/period.ts'
import { momentsOf, readSeries } from '../web/src/series/series.ts'
import { idOf } from './fixtures/event-stream.ts'
import { createLiveStore, periodEvent, perpetualMarket, pointAt, timeOf } from './fixtures/live-store.ts'
import { clientOf, figureOf, render, textOf, visit } from './fixtures/render.ts'
import { serve } from './fixtures/service.ts'

const { Readout } = await import('../web/src/funding/readout.tsx')

const HOUR = 3_600
const DAYS = 365
const DAY_NS = 86_400_000_000_000n

/** A market of a year, with a rate and TWAPs of its own in each period. */
type Made = { marketId: string; hours: number; points: boolean }

const EIGHT: Made = { marketId: idOf('1'), hours: 8, points: true }
const HOURLY: Made = { marketId: idOf('2'), hours: 1, points: false }

const rateOf = (seq: number) => `${seq % 3 === 0 ? '-' : ''}0.000${`${seq}`.padStart(5, '0')}`

function periodsOf({ marketId, hours }: Made): FundingPeriodEvent[] {
  const count = (DAYS * 24) / hours
  return Array.from({ length: count + 1 }, (_, index) => {
    const [start, end] = [index, index + 1].map((at) => timeOf(at * hours * HOUR))
    const paid = { end: end!, fundingPayment: rateOf(index + 1).startsWith('-') ? '-5' : '5' }
    const closing = index < count && { ...paid, fundingRate: rateOf(index + 1) }
    return periodEvent({ marketId, seq: BigInt(index + 1), start: start!, ...closing })
  })
}

/** A point of each source every four hours, whose TWAP names its period. */
function pointsOf({ marketId, hours }: Made) {
  return Array.from({ length: (DAYS * 24) / 4 }, (_, index) => {
    const height = index * 4 * HOUR + 600
    const seq = Math.floor(height / (hours * HOUR)) + 1
    const sign = seq % 2 === 0 ? 1 : -1
    return ([1, 2] as const).map((source) => ({
      ...pointAt(height, { marketId, source }),
      seq: BigInt(seq),
      twap: `${1_000_000 + seq + (source === 1 ? 0 : sign * 2_000)}`,
    }))
  }).flat()
}

async function storeOf(t: TestContext, made: readonly Made[]): Promise<string> {
  const { store, live } = await createLiveStore(t)
  const end = DAYS * 24 * HOUR + 60
  await live.commit(
    end,
    made.flatMap((one) => [
      perpetualMarket(one.marketId) as InstrumentEvent,
      ...periodsOf(one),
      ...(one.points
        ? pointsOf(one)
        : ([1, 2] as const).map((source) => ({
            ...pointAt(end, { marketId: one.marketId, source, late: 1 }),
            seq: BigInt((DAYS * 24) / one.hours + 1),
          }))),
    ]),
  )
  return store
}

function readoutOf(
  reading: Reading,
  bars: { kind: BarKind; values: ReadonlyMap<bigint, Decimal> },
  days: readonly Day[] | null = null,
  cumulative: Decimal | null = null,
): string {
  return render(h(Readout, { reading, bars, days, cumulative, pointed: true, unit: null, interval: '' }))
}

describe('a long range of the explorer', () => {
  test('has readings whose label, rate, TWAPs and premium are of one period', async (t) => {
    const served = clientOf(await serve(t, await storeOf(t, [EIGHT])))
    const { marketId } = EIGHT
    await visit(served, `/?view=funding&market=${marketId}`)
    const { list } = await askPeriods(served.client, { marketId }, 5_000)
    const range = { from: timeOf(0), to: timeOf(DAYS * 24 * HOUR + 60) }
    const series = readSeries(await served.client.series(marketId, { ...range, buckets: 1_000 }))
    const data = { moments: momentsOf(series), bucket: series.bucket, periods: list }
    assert.equal(series.interval, '12h')
    const points = new Map<string, string>()
    for (const { seq, source, twap } of pointsOf(EIGHT)) points.set(`${seq} ${source}`, twap)
    const seen = new Set<bigint>()
    for (const { start } of data.moments) {
      const reading = readingAt(data, start)
      const readout = readoutOf(reading, { kind: 'rate', values: new Map() })
      const seq = BigInt(/period (\d+):/.exec(textOf(readout))![1]!)
      seen.add(seq)
      const period = list.find((one) => one.seq === seq)!
      assert.equal(figureOf(readout, 'period-rate')?.value ?? null, period.rate)
      const [external, internal] = [points.get(`${seq} 1`)!, points.get(`${seq} 2`)!]
      assert.equal(figureOf(readout, 'external-twap')!.value, external)
      assert.equal(figureOf(readout, 'internal-twap')!.value, internal)
      assert.ok(textOf(readout).endsWith(`premium ${formatBasisPoints(internal, external)}`), textOf(readout))
    }
    assert.ok(seen.size > 300, `${seen.size} periods`)
  })

  test('of more periods than can be drawn has the sums of days that the API gives', async (t) => {
    const served = clientOf(await serve(t, await storeOf(t, [HOURLY])))
    const { marketId } = HOURLY
    await visit(served, `/?view=funding&market=${marketId}`)
    const range = daysOf({ from: 0n, to: 2n ** 62n }, { from: timeOf(0), to: timeOf(DAYS * 24 * HOUR) })
    const buckets = (await served.client.fundingRates({ marketId, ...range })).edges[0]!.node.buckets
    assert.equal(buckets.length, DAYS + 1)
    const days = await askDays(served.client, marketId, range)
    const values = dayValues(days, range, 'cumulative')
    for (const bucket of buckets) {
      const start = BigInt(bucket.start)
      const text = writeDecimal(parseDecimal(bucket.sumOfRates)!)
      const reading = readingAt({ moments: [], bucket: 1n, periods: [] }, start + DAY_NS / 2n)
      const readout = readoutOf(reading, { kind: 'cumulative', values }, days, values.get(start)!)
      assert.equal(figureOf(readout, 'day-sum')!.value, text)
      const sum = formatRate(parseDecimal(text)!, 4)
      const payments = bucket.count === 1 ? '1 payment' : `${bucket.count} payments`
      const day = `${formatTime(start).slice(0, 10)}: ${sum} in ${payments}, ${whoPays(text)}`
      assert.ok(
        textOf(readout).includes(`${day} cumulative since ${formatTime(range.from).slice(0, 10)}`),
        day,
      )
    }
    const { sumOfRates } = await served.client.fundingPayments(marketId, range)
    assert.equal(compare([...values.values()].at(-1)!, parseDecimal(sumOfRates)!), 0)
    const late = readingAt({ moments: [], bucket: 1n, periods: [] }, range.to)
    const none = readoutOf(late, { kind: 'rate', values: new Map() }, days)
    assert.ok(textOf(none).includes(`${formatTime(range.to).slice(0, 10)}: no payment`), textOf(none))
    assert.deepEqual(
      dayBars(values).map(({ from, to }) => [from, to]),
      buckets.map(({ start }) => [BigInt(start), BigInt(start) + DAY_NS]),
    )
  })
})

const period = (seq: number, start: bigint, end: bigint | null): Period => ({
  ...{ seq: BigInt(seq), start, end, payment: '1', rate: `0.${seq}`, internalTwap: null, externalTwap: null },
})

test('a reading is of the period that its bucket names', () => {
  const same = (text: string) => ({ first: text, last: text, minimum: text, maximum: text })
  const bucket = (start: number, seq: number, twap: number) => {
    return { start: `${start}`, seq: `${seq}`, count: '1', price: same('9'), twap: same(`${twap}`) }
  }
  const series = readSeries({
    ...{ marketId: 'a', from: '0', to: '100', interval: '1s', bucketNanoseconds: '20' },
    sources: [
      {
        dataPointType: 'SOURCE_EXTERNAL',
        buckets: [bucket(0, 1, 100), bucket(20, 2, 102), bucket(40, 4, 104)],
      },
      {
        dataPointType: 'SOURCE_INTERNAL',
        buckets: [bucket(0, 1, 101), bucket(20, 3, 103), bucket(40, 4, 105)],
      },
    ],
  })
  const periods = [1, 2, 3, 4, 5].map((seq) =>
    period(seq, BigInt(seq * 10 - 10), seq === 5 ? null : BigInt(seq * 10)),
  )
  const data = { moments: momentsOf(series), bucket: series.bucket, periods }
  const read = (time: bigint) => {
    const { seq, period, twaps, pair, difference } = readingAt(data, time)
    const twap = (source: 'external' | 'internal') => twaps[source]?.twap.last ?? null
    return [seq, period?.rate, twap('external'), twap('internal'), pair?.internal.seq, difference?.digits]
  }
  assert.deepEqual(read(5n), [1n, '0.1', '100', '101', 1n, 1n])
  // The external source has no point of period 3.
  assert.deepEqual(read(20n), [3n, '0.3', null, '103', undefined, undefined])
  assert.deepEqual(read(45n), [4n, '0.4', '104', '105', 4n, 1n])
  // Long after the last bucket the running period has no point yet.
  assert.deepEqual(read(70n), [5n, '0.5', null, null, undefined, undefined])
})

test('sums by day are asked for in parts that the API allows, and only if periods are too many', async () => {
  const asked: { from: bigint; to: bigint }[] = []
  const lyra = {
    fundingRates: async ({ from, to }: { from?: bigint; to?: bigint }) => {
      asked.push({ from: from!, to: to! })
      const buckets = [{ start: `${from}`, count: 2, sumOfRates: '0.3' }]
      return { edges: [{ node: { marketId: 'a', interval: '1d', buckets }, cursor: '' }], pageInfo: null }
    },
  }
  const whole = daysOf({ from: 5n, to: 3_000n * DAY_NS }, { from: 7n, to: 2_500n * DAY_NS + 4n })
  assert.deepEqual(whole, { from: 0n, to: 2_501n * DAY_NS })
  const days = await askDays(lyra as unknown as Parameters<typeof askDays>[0], 'a', whole)
  assert.deepEqual(
    asked.map(({ from, to }) => (to - from) / DAY_NS),
    [1_100n, 1_100n, 301n],
  )
  const values = (kind: Parameters<typeof dayValues>[2]) =>
    [...dayValues(days, { from: 5n, to: 1_500n * DAY_NS }, kind).values()].map(
      ({ digits, scale }) => Number(digits) / 10 ** scale,
    )
  assert.deepEqual(values('rate'), [0.3, 0.3])
  assert.deepEqual(values('8h'), [0.1, 0.1])
  assert.deepEqual(values('annualised'), [109.5, 109.5])
  assert.deepEqual(values('cumulative'), [0.3, 0.6])
  const list = Array.from({ length: 1_501 }, (_, index) => period(index, BigInt(index), BigInt(index + 1)))
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_501n }), true)
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_500n }), false)
  assert.equal(areTooMany(list.slice(0, 5), true, { from: -1n, to: 5n }), true)
})
