import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Instrument } from 'lyra-client'
import { axisFigure, axisTime } from '../web/src/charts/crosshair.ts'
import { readHeight } from '../web/src/checkpoints/find-height.ts'
import {
  describeExact,
  formatAmount,
  formatAmountWithUnit,
  placesOf,
  unitOf,
  whyNoUnit,
} from '../web/src/figures/amount.ts'
import {
  add,
  compare,
  parseDecimal,
  ratio,
  round,
  scaleBy,
  subtract,
  writeDecimal,
} from '../web/src/figures/decimal.ts'
import {
  formatBasisPoints,
  formatPercent,
  formatRate,
  groupDigits,
} from '../web/src/figures/format-figure.ts'
import { formatAge, formatSpan, formatTime, readTime } from '../web/src/figures/format-time.ts'
import { readUnits } from '../web/src/funding/units.ts'
import { meaningOf, pan, viewRange, zoom } from '../web/src/funding/view-range.ts'
import { csvOf } from '../web/src/parts/csv.ts'
import {
  annualised,
  areIrregular,
  cumulative,
  dueWithin,
  lengthOf,
  type Period,
  regularLength,
  whoPays,
  whyUnpaid,
  within,
} from '../web/src/periods/period.ts'

const of = (text: string) => parseDecimal(text)!

const SECOND = 1_000_000_000n
const HOUR = 3_600n * SECOND

describe("the explorer's figures", () => {
  test('keep every digit', () => {
    const cases: [shown: string | null, expected: string | null][] = [
      [groupDigits('0'), '0'],
      [groupDigits('999'), '999'],
      [groupDigits('1000'), '1,000'],
      [groupDigits('-1234567.1234567'), '-1,234,567.1234567'],
      [groupDigits('123456789012345678901234567890'), '123,456,789,012,345,678,901,234,567,890'],
      [groupDigits('1e-10'), '1e-10'],
      [groupDigits(''), ''],
      [formatPercent('1'), '100 %'],
      [formatPercent('0'), '0 %'],
      [formatPercent('0.0466666666666667'), '4.66666666666667 %'],
      [formatPercent('0.5'), '50 %'],
      [formatPercent('10.10'), '1,010 %'],
      [formatPercent(''), ''],
      [formatBasisPoints('10001', '10000'), '+1.00 bp'],
      [formatBasisPoints('9999', '10000'), '-1.00 bp'],
      [formatBasisPoints('1', '3'), '-6,666.66 bp'],
      [formatBasisPoints('5', '0'), null],
      [formatRate(of('-0.0358598172447733'), 4), '-3.5860 %'],
      [formatRate(of('0.00000049'), 4), '+0.000049 %'],
      [formatRate(of('-0.0000000004999'), 4), '-0.000000050 %'],
      [formatRate(of('-0.000'), 4), '0.0000 %'],
      [formatAmount('1', { symbol: 'A', decimals: 18 }), '0.000000000000000001'],
      [formatAmount('-1234', { symbol: 'A', decimals: 18 }, { places: 2 }), '-0.0000000000000012'],
      [formatAmount('0', { symbol: 'A', decimals: 18 }), '0.00'],
      [formatRate(of('12.5'), 2), '+1,250.00 %'],
      [formatRate(of('0'), 2), '0.00 %'],
    ]
    for (const [shown, expected] of cases) assert.equal(shown, expected)
  })

  test('are calculated exactly, whatever their scales', () => {
    assert.equal(writeDecimal(subtract(of('0.1'), of('0.0000000000000000001'))), '0.0999999999999999999')
    assert.equal(writeDecimal(subtract(of('-0.5'), of('+0.25'))), '-0.75')
    assert.equal(writeDecimal(add(of('0.1'), of('0.20'))), '0.30')
    assert.ok(compare(of('10'), of('9.999999999999999999')) > 0)
    assert.equal(compare(of('1.10'), of('1.1')), 0)
    assert.equal(writeDecimal(ratio(of('1'), of('8'), 0, 3)!), '0.125')
    assert.equal(writeDecimal(scaleBy(of('0.001'), 3n, 2n, 6)!), '0.001500')
    assert.equal(scaleBy(of('1'), 1n, 0n, 2), null)
    for (const [text, places, expected] of [
      ['1.005', 2, '1.01'],
      ['-1.005', 2, '-1.01'],
      ['1.0049', 2, '1.00'],
      ['0.5', 0, '1'],
      ['7', 3, '7'],
    ] as const) {
      assert.equal(writeDecimal(round(of(text), places)), expected, text)
    }
    for (const text of ['', ' 1', '1.', '.5', '1e5', 'NaN', '--1'])
      assert.equal(parseDecimal(text), null, text)
  })

  test("of an asset are read in the asset's decimals, exactly, whatever their size", () => {
    const usd = { symbol: 'USD', decimals: 5 }
    const great = { symbol: 'VEGA', decimals: 18 }
    const none = { symbol: 'KG', decimals: 0 }
    const cases: [text: string, unit: typeof usd | null, style: object, expected: string][] = [
      ['2947093000', usd, {}, '29,470.93 USD'],
      ['2938537411', usd, {}, '29,385.37411 USD'],
      ['-8555589', usd, { signed: true }, '-85.55589 USD'],
      ['28', usd, { signed: true }, '+0.00028 USD'],
      ['0', usd, { signed: true }, '0.00 USD'],
      ['2947090000', usd, {}, '29,470.90 USD'],
      ['832089950.1549170200762020', usd, { places: 2 }, '8,320.90 USD'],
      ['99999', usd, { places: 0 }, '1 USD'],
      ['90071992547409930000001', usd, {}, '900,719,925,474,099,300.00001 USD'],
      ['1000000000000000001', great, { places: 18 }, '1.000000000000000001 VEGA'],
      ['1000000000000000001', great, {}, '1.00 VEGA'],
      ['1234', none, {}, '1,234 KG'],
      ['2947093000', null, {}, '2,947,093,000'],
      ['1E+3', usd, {}, '1E+3 USD'],
      ['', null, {}, ''],
    ]
    for (const [text, unit, style, expected] of cases) {
      assert.equal(formatAmountWithUnit(text, unit, style), expected, text)
    }
    assert.equal(formatAmount('2947093000', usd), '29,470.93')
    // In a column each has as many decimals as the one with most, except for dust.
    for (const [column, style, expected] of [
      [['2947093000', '-28', null], {}, ['29,470.93000', '-0.00028']],
      [['2947093000', '-28'], { places: 2 }, ['29,470.93000', '-0.00028']],
      [['2947093000', '-2800000'], { places: 2, signed: true }, ['+29,470.93', '-28.00']],
      [['100000', 'none'], {}, ['1.00', 'none']],
    ] as const) {
      const least = placesOf(column, usd, style)
      const shown = column.flatMap((text) =>
        text === null ? [] : [formatAmount(text, usd, { ...style, least })],
      )
      assert.deepEqual(shown, expected)
    }
    assert.equal(placesOf(['1'], great), 8)
    assert.equal(placesOf(['1234', '5'], null), 0)
    assert.equal(describeExact('2947093000', usd), '2947093000 × 10⁻⁵ USD')
    assert.equal(describeExact('1', great), '1 × 10⁻¹⁸ VEGA')
    assert.equal(describeExact('2947093000', null), '2947093000')
  })

  test('have a unit, or the reason why not', () => {
    const asset = { id: 'c0de', symbol: 'USD', name: 'US dollar', decimals: '5' }
    const instrument = (settlementAsset: Instrument['settlementAsset']) =>
      ({ settlementAsset }) as unknown as Instrument
    assert.deepEqual(unitOf(instrument(asset)), { symbol: 'USD', decimals: 5 })
    assert.equal(whyNoUnit(instrument(asset)), null)
    const cases: [Instrument | null, RegExp][] = [
      [null, /the store has no market event for this market/],
      [instrument(null), /names no settlement asset/],
      [instrument({ ...asset, symbol: null, name: null, decimals: null }), /no event with the decimals/],
      [instrument({ ...asset, decimals: '18446744073709551615' }), /no event with the decimals/],
    ]
    for (const [given, words] of cases) {
      assert.equal(unitOf(given), null)
      assert.match(whyNoUnit(given)!, words)
    }
  })

  test('are written as CSV that keeps commas, quotes and line breaks', () => {
    const rows = csvOf(
      ['a', 'b'],
      [
        ['1', null],
        ['x,"y"', 'line\nbreak'],
      ],
    )
    assert.equal(rows, 'a,b\r\n1,\r\n"x,""y""","line\nbreak"\r\n')
  })
})

/** The beginning of a time that is written, Unix nanoseconds. */
function parseTime(text: string, last = 0n): bigint {
  const read = readTime(text, last)
  assert.ok('ns' in read, text)
  return read.ns
}

describe("the explorer's times", () => {
  test('are read as people write them, to the nanosecond', () => {
    const last = 1_700_000_000n * SECOND
    const cases: [text: string, ns: bigint][] = [
      ['2023-10-05 10:15:04', 1_696_500_904n * SECOND],
      ['2023-10-05T10:15:04.000000001Z', 1_696_500_904n * SECOND + 1n],
      ['2023-10-05T12:15:04+02:00', 1_696_500_904n * SECOND],
      ['2023-10-05 10:15', 1_696_500_900n * SECOND],
      ['2023-10-05', 1_696_464_000n * SECOND],
      ['1696500904000000001', 1_696_500_904n * SECOND + 1n],
      ['36h', last - 36n * HOUR],
      ['90d', last - 90n * 24n * HOUR],
      ['2w', last - 14n * 24n * HOUR],
      ['5.10.2023', 1_696_464_000n * SECOND],
      ['05.10.2023 10:15', 1_696_500_900n * SECOND],
    ]
    for (const [text, ns] of cases) assert.equal(parseTime(text, last), ns, text)
    assert.equal(formatTime('1696500904000000001'), '2023-10-05 10:15:04.000000001')
    assert.equal(formatTime(-1n), '1969-12-31 23:59:59.999999999')
    assert.equal(formatTime(2n ** 63n - 1n), '2262-04-11 23:47:16.854775807')
  })

  test('that cannot be read are refused in words', () => {
    const cases: [text: string, words: RegExp][] = [
      ['someday', /"someday" is not a time\. Write 2026-01-31/],
      ['31.2.2023', /There is no 2023-02-31/],
      ['5', /is not a time/],
      // Seconds and milliseconds, which would be nanoseconds of 1970.
      ['1696500904', /is not a time/],
      ['1696500904000', /is not a time/],
      ['2023-13-05', /There is no 2023-13-05/],
      ['2023-02-30', /There is no 2023-02-30/],
      ['2023-02-03 25:00', /There is no time 25:00:00/],
      ['2023-02-03 10:00:60', /There is no time 10:00:60/],
      ['2023-02-03T10:00:00+25:00', /There is no zone/],
    ]
    for (const [text, words] of cases) {
      const read = readTime(text, 0n)
      assert.ok('fault' in read, text)
      assert.match(read.fault, words)
    }
  })

  test('and values of a crosshair are as exact as its pixels', () => {
    const time = Date.UTC(2026, 0, 31, 12, 0, 5) / 1_000
    assert.equal(axisTime(time, 0.5), '2026-01-31 12:00:05')
    assert.equal(axisTime(time, 90), '2026-01-31 12:00')
    assert.equal(axisTime(time, 86_400), '2026-01-31')
    assert.equal(axisFigure(54_825.4, 9, ''), '54,825')
    assert.equal(axisFigure(0.02981, 0.0004, ' %'), '0.0298 %')
    assert.equal(axisFigure(-0.00001, 0.01, ' %'), '0.00 %')
  })

  test('of a span are in days, hours, minutes and seconds', () => {
    const spans: [ns: bigint, text: string][] = [
      [0n, '0 s'],
      [1_500_000_000n, '1 s'],
      [61n * SECOND, '1 min 1 s'],
      [90_061n * SECOND, '1 d 1 h'],
      [24n * HOUR * 800n, '2 y 70 d'],
      [-5n * SECOND, '-5 s'],
    ]
    for (const [ns, text] of spans) assert.equal(formatSpan(ns), text)
    assert.equal(formatAge(-5n * SECOND), '0 s')
    assert.equal(formatAge(27n * HOUR + 5n), '1 d 3 h')
  })
})

describe('text typed into the explorer', () => {
  test('as the size of a position is never read as another number: commas are refused', () => {
    const cases: [typed: string, read: string | RegExp][] = [
      ['2.5', '2.5'],
      [' -20 ', '-20'],
      ['2,5', /^Write 2\.5, without/],
      ['-0,5', /^Write -0\.5, without/],
      ['0,125', /^Write 0\.125, without/],
      ['1,234', /^Write 1234 or 1\.234, without/],
      ['1,234.5', /^Write 1234\.5, without/],
      ['1.234,5', /^Write 1234\.5, without/],
      ['1,234,567', /^Write 1234567, without/],
      ['a,b', /^Write a point for decimals, without/],
      ['abc', /such as 2\.5/],
      ['1e3', /such as 2\.5/],
      ['', /such as 2\.5/],
      ['.5', /such as 2\.5/],
      ['0', /0 units/],
      ['-0.00', /0 units/],
    ]
    for (const [typed, expected] of cases) {
      const read = readUnits(typed)
      if (typeof expected === 'string') assert.deepEqual(read, { units: expected }, typed)
      else assert.match('fault' in read ? read.fault : `read as ${read.units}`, expected, typed)
    }
  })

  test('as a height may have commas only between groups of three digits', () => {
    const cases = [
      ['1234', '1234'],
      ['1,234,567', '1234567'],
      ['12,5', null],
      ['1,2345', null],
      ['1.5', null],
      ['-1', null],
    ]
    for (const [typed, height] of cases) assert.equal(readHeight(typed!), height, typed!)
  })
})

describe("the explorer's ranges", () => {
  test('follow the latest point unless from or to is named', () => {
    const held = { from: 0n, to: 1_000n * HOUR }
    const none = { from: null, to: null, span: null }
    const last = held.to + HOUR
    assert.deepEqual([viewRange(none, held, last).span, viewRange(none, held, last).follows], ['1d', true])
    assert.equal(viewRange(none, { from: 0n, to: HOUR }, last).span, 'all')
    const hourly = viewRange({ ...none, span: '1h' }, held, last)
    assert.equal(hourly.from, held.to - HOUR)
    // None reaches into the time after the last point.
    for (const span of ['1h', 'all']) assert.equal(viewRange({ ...none, span }, held, last).to, held.to + 1n)
    const named = viewRange({ from: '1970-01-01', to: '1970-01-02', span: '1h' }, held, last)
    assert.deepEqual([named.from, named.to, named.follows, named.fault], [0n, 24n * HOUR, false, null])
    const aged = viewRange({ from: '2d', to: null, span: null }, held, last)
    assert.deepEqual([aged.from, aged.to], [last - 48n * HOUR, held.to + 1n])
    const range = { from: 0n, to: 1000n }
    assert.deepEqual(pan(range, 0.5), { from: 500n, to: 1500n })
    const near = zoom({ from: 0n, to: 8n * HOUR }, 0.5, 0.25)
    assert.deepEqual(near, { from: HOUR, to: 5n * HOUR })
  })

  test('are named by days and weeks, counted back from the last block, and say what that means', () => {
    const time = (text: string) => parseTime(text)
    // A Thursday.
    const last = time('2026-11-26 18:00')
    const held = { from: time('2026-01-01'), to: last }
    for (const [from, to, ...expected] of [
      ['last week', '', '2026-11-16', '2026-11-23'],
      ['Last  Week', 'last week', '2026-11-16', '2026-11-23'],
      ['this week', '', '2026-11-23', null],
      ['today', '', '2026-11-26', null],
      ['yesterday', '', '2026-11-25', '2026-11-26'],
      ['Monday', '', '2026-11-23', null],
      ['Monday', 'Wednesday', '2026-11-23', '2026-11-26'],
      ['mon', 'Thu', '2026-11-23', null],
      // Friday was last week, and so is the Monday before it.
      ['Monday', 'Friday', '2026-11-16', '2026-11-21'],
      ['Friday', 'Monday', '2026-11-20', '2026-11-24'],
      ['last week', 'Monday', '2026-11-16', '2026-11-24'],
      ['16.11.2026', 'Sunday', '2026-11-16', '2026-11-23'],
      ['16.11.2026', '18.11.2026', '2026-11-16', '2026-11-18'],
      ['', 'last week', '2026-01-01', '2026-11-23'],
    ] as const) {
      const range = viewRange({ from, to, span: null }, held, last)
      const [begin, end] = expected.map((text) => (text === null ? last + 1n : time(text)))
      assert.deepEqual([range.from, range.to, range.fault], [begin, end, null], `${from} to ${to}`)
    }
    assert.match(viewRange({ from: 'today', to: 'yesterday', span: null }, held, last).fault!, /ends before/)
    const range = { from: time('2026-11-23'), to: time('2026-11-26') }
    const text = '2026-11-23 00:00 to 2026-11-26 00:00 UTC'
    assert.equal(meaningOf('Monday', 'Wednesday', range, last), `${text}: Wednesday is included.`)
    assert.equal(meaningOf('Monday', '2026-11-26', range, last), `${text}: 2026-11-26 is not included.`)
    assert.equal(meaningOf(null, '26.11.2026', range, last), `${text}: 26.11.2026 is not included.`)
    assert.equal(meaningOf('Monday', null, range, last), `${text}.`)
    assert.equal(meaningOf('2026-11-23', null, range, last), null)
  })

  test('that cannot be read say why, and still show a span', () => {
    const held = { from: 0n, to: 1_000n * HOUR }
    for (const [from, to, words] of [
      ['x', '1970-01-02', /"x" is not a time/],
      ['1970-02-30', '1970-03-02', /There is no 1970-02-30/],
      ['1970-01-02', '1970-01-01', /ends before it begins/],
      ['1970-01-02', '1970-01-02', /ends before it begins/],
      ['-9000000000000000000', '9000000000000000000', null],
    ] as const) {
      const { fault, follows } = viewRange({ from, to, span: null }, held, held.to)
      if (words === null) assert.equal(fault, null)
      else assert.match(fault ?? '', words)
      assert.equal(follows, words !== null, from)
    }
  })
})

describe("the explorer's funding periods", () => {
  const period = (seq: number, start: bigint, end: bigint | null, fields: Partial<Period> = {}): Period => ({
    seq: BigInt(seq),
    start,
    end,
    payment: end === null ? null : '5',
    rate: end === null ? null : '0.001',
    internalTwap: null,
    externalTwap: null,
    ...fields,
  })

  test('are regular if the last ten with a duration are equally long', () => {
    const eight = 8n * HOUR
    const row = (count: number, length: bigint) =>
      Array.from({ length: count }, (_, index) =>
        period(index, BigInt(index) * length, BigInt(index + 1) * length),
      )
    assert.equal(regularLength(row(9, eight)), eight)
    assert.equal(regularLength(row(3, eight)), eight)
    // Two are too few to tell; they are not reported as irregular either.
    assert.equal(regularLength(row(2, eight)), null)
    const odd = period(3, 3n * eight, 3n * eight + 1n)
    assert.deepEqual([row(2, eight), [...row(1, eight), odd], [...row(2, eight), odd]].map(areIrregular), [
      false,
      false,
      true,
    ])
    assert.equal(regularLength(row(10, eight)), eight)
    assert.equal(regularLength([period(0, 0n, 1n), ...row(10, eight)]), eight)
    assert.equal(regularLength([...row(10, eight), period(11, 10n * eight, 11n * eight - 1n)]), null)
    // The running period and those of zero length do not count.
    assert.equal(
      regularLength([...row(10, eight), period(11, 10n * eight, 10n * eight), period(12, 10n * eight, null)]),
      eight,
    )
  })

  test('are due in the range that contains their end, if they were paid', () => {
    const paid = { rate: '0.1' }
    const all = [
      ...[
        period(0, 0n, 10n, paid),
        period(1, 10n, 20n, paid),
        period(2, 20n, 30n, { rate: null }),
        period(3, 30n, 40n, paid),
      ],
      period(4, 40n, null),
    ]
    const seqs = (from: bigint, to: bigint) => dueWithin(all, { from, to }).map(({ seq }) => Number(seq))
    assert.deepEqual(seqs(0n, 100n), [0, 1, 3])
    assert.deepEqual(seqs(10n, 40n), [0, 1])
    assert.deepEqual(seqs(11n, 41n), [1, 3])
    assert.deepEqual(seqs(5n, 6n), [])
  })

  test('are annualised by 365 days and added up, exactly', () => {
    assert.equal(writeDecimal(annualised('0.0001', 8n * HOUR)!), '0.109500000000000000')
    assert.equal(annualised('0.0001', null), null)
    assert.equal(annualised('0.0001', 0n), null)
    assert.equal(lengthOf(period(0, 5n, 9n)), 4n)
    const rates = ['0.1', '-0.0300000000000001', '0'].map((rate, seq) => period(seq, 0n, 1n, { rate }))
    assert.equal(
      writeDecimal(cumulative([...rates, period(4, 1n, 1n, { rate: null })])),
      '0.0699999999999999',
    )
  })

  test('say who pays whom, and why a period paid nothing', () => {
    assert.deepEqual(['5', '-5', '0', null].map(whoPays), [
      'longs pay shorts',
      'shorts pay longs',
      'nobody pays',
      'no payment',
    ])
    const unpaid = { payment: null, rate: null }
    assert.equal(whyUnpaid(period(0, 0n, 1n), false), null)
    assert.match(whyUnpaid(period(0, 5n, 5n, unpaid), false)!, /zero length/)
    assert.match(whyUnpaid(period(0, 5n, 6n, unpaid), false)!, /a source had no price/)
    assert.equal(whyUnpaid(period(0, 5n, null), true), 'running')
    assert.match(whyUnpaid(period(0, 5n, null), false)!, /missing blocks/)
  })

  test('of a range are those that overlap it', () => {
    const list = [
      period(0, 0n, 10n),
      period(1, 10n, 10n),
      period(2, 10n, null),
      period(3, 20n, 30n),
      period(4, 30n, null),
    ]
    const seqs = (from: bigint, to: bigint) => within(list, { from, to }).map(({ seq }) => Number(seq))
    assert.deepEqual(seqs(0n, 5n), [0])
    assert.deepEqual(seqs(10n, 11n), [1, 2])
    assert.deepEqual(seqs(11n, 20n), [2])
    assert.deepEqual(seqs(15n, 1000n), [2, 3, 4])
    assert.deepEqual(seqs(500n, 1000n), [4])
  })
})
