import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Instrument } from 'lyra-client'
import { axisFigure, axisTime } from '../../web/src/charts/crosshair.ts'
import { readHeight } from '../../web/src/checkpoints/find-height.ts'
import {
  type AmountStyle,
  describeExact,
  exactAmount,
  formatAmount,
  formatAmountWithUnit,
  placesOf,
  unitOf,
  whyNoUnit,
} from '../../web/src/figures/amount.ts'
import {
  add,
  compare,
  parseDecimal,
  ratio,
  round,
  scaleBy,
  subtract,
  writeDecimal,
} from '../../web/src/figures/decimal.ts'
import {
  formatBasisPoints,
  formatPercent,
  formatRate,
  groupDigits,
} from '../../web/src/figures/format-figure.ts'
import {
  formatAge,
  formatSpan,
  formatTime,
  readTime,
  TIMES_ALLOWED,
} from '../../web/src/figures/format-time.ts'
import { readUnits } from '../../web/src/funding/data/units.ts'
import { csvOf } from '../../web/src/parts/csv/csv.ts'
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
} from '../../web/src/periods/period.ts'
import { meaningOf, pan, viewRange, zoom } from '../../web/src/range/view-range.ts'
import { madePeriod } from '../fixtures/explorer/explorer-series.ts'

const of = (text: string) => parseDecimal(text)!

const SECOND = 1_000_000_000n
const HOUR = 3_600n * SECOND

/** Fails if a function does not give the expected result for each text. */
function assertEach<Result>(run: (text: string) => Result, expected: Record<string, Result>): void {
  for (const [text, result] of Object.entries(expected)) assert.deepEqual(run(text), result, text)
}

describe("the explorer's figures", () => {
  test('keep every digit', () => {
    assertEach(groupDigits, {
      '0': '0',
      '999': '999',
      '1000': '1,000',
      '-1234567.1234567': '-1,234,567.1234567',
      '123456789012345678901234567890': '123,456,789,012,345,678,901,234,567,890',
      '1e-10': '1e-10',
      '': '',
    })
    assertEach(formatPercent, {
      '1': '100 %',
      '0': '0 %',
      '0.0466666666666667': '4.66666666666667 %',
      '0.5': '50 %',
      '10.10': '1,010 %',
      '': '',
    })
    assertEach((text) => formatRate(of(text), 4), {
      '-0.0358598172447733': '-3.5860 %',
      '0.00000049': '+0.000049 %',
      '-0.0000000004999': '-0.000000050 %',
      '-0.000': '0.0000 %',
      '12.5': '+1,250.0000 %',
    })
    assert.equal(formatRate(of('0'), 2), '0.00 %')
    assertEach((text) => formatBasisPoints(text, '10000'), { '10001': '+1.00 bp', '9999': '-1.00 bp' })
    assert.equal(formatBasisPoints('1', '3'), '-6,666.66 bp')
    assert.equal(formatBasisPoints('5', '0'), null)
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
    const rounded = { '1.005': '1.01', '-1.005': '-1.01', '1.0049': '1.00', '7': '7' }
    assertEach((text) => writeDecimal(round(of(text), 2)), rounded)
    assert.equal(writeDecimal(round(of('0.5'), 0)), '1')
    for (const text of ['', ' 1', '1.', '.5', '1e5', 'NaN', '--1'])
      assert.equal(parseDecimal(text), null, text)
  })

  test("of an asset are read in the asset's decimals, exactly, whatever their size", () => {
    const usd = { symbol: 'USD', decimals: 5 }
    const great = { symbol: 'VEGA', decimals: 18 }
    const inUnit = (unit: typeof usd | null, expected: Record<string, string>, style: AmountStyle = {}) =>
      assertEach((text) => formatAmountWithUnit(text, unit, style), expected)
    inUnit(usd, {
      '2947093000': '29,470.93 USD',
      '2938537411': '29,385.37411 USD',
      '2947090000': '29,470.90 USD',
      '90071992547409930000001': '900,719,925,474,099,300.00001 USD',
      '1E+3': '1E+3 USD',
    })
    inUnit(usd, { '-8555589': '-85.55589 USD', '28': '+0.00028 USD', '0': '0.00 USD' }, { signed: true })
    inUnit(usd, { '832089950.1549170200762020': '8,320.90 USD' }, { places: 2 })
    inUnit(usd, { '99999': '1 USD' }, { places: 0 })
    inUnit(great, { '1': '0.000000000000000001 VEGA', '1000000000000000001': '1.00 VEGA', '0': '0.00 VEGA' })
    inUnit(great, { '-1234': '-0.0000000000000012 VEGA' }, { places: 2 })
    inUnit(great, { '1000000000000000001': '1.000000000000000001 VEGA' }, { places: 18 })
    inUnit({ symbol: 'KG', decimals: 0 }, { '1234': '1,234 KG' })
    inUnit(null, { '2947093000': '2,947,093,000', '': '' })
    // In a column each has as many decimals as the one with most, except for dust.
    for (const [column, style, expected] of [
      [['2947093000', '-28', null], {}, ['29,470.93000', '-0.00028']],
      [['2947093000', '-28'], { places: 2 }, ['29,470.93000', '-0.00028']],
      [['2947093000', '-2800000'], { places: 2, signed: true }, ['+29,470.93', '-28.00']],
      [['100000', 'none'], {}, ['1.00', 'none']],
      // None is rounded to fewer decimals than are shown of it.
      [['-413302', '1', null], { places: 2, signed: true }, ['-4.13302', '+0.00001']],
    ] as const) {
      const least = placesOf(column, usd, style)
      const shown = column
        .filter((text) => text !== null)
        .map((text) => formatAmount(text, usd, { ...style, least }))
      assert.deepEqual(shown, expected)
    }
    assert.equal(placesOf(['1'], great), 8)
    assert.equal(placesOf(['1234', '5'], null), 0)
    assert.equal(describeExact('2947093000', usd), '29,470.93 USD')
    assert.equal(describeExact('-897418771069444444440', great), '-897.41877106944444444 VEGA')
    assert.equal(exactAmount('-897418771069444444440', great), '-897.41877106944444444')
    assert.equal(exactAmount('100000', usd), '1')
    assert.equal(exactAmount('1E+3', usd), '1E+3')
    assert.equal(describeExact('2947093000', null), '2947093000')
  })

  test('have a unit, or the reason why not', () => {
    const asset = { id: 'c0de', symbol: 'USD', name: 'US dollar', decimals: '5' }
    const unknown = "the store has no event with the decimals of this market's settlement asset"
    for (const [settlementAsset, unit, why] of [
      [asset, { symbol: 'USD', decimals: 5 }, null],
      [null, null, 'this market names no settlement asset'],
      [{ ...asset, symbol: null, name: null, decimals: null }, null, unknown],
      [{ ...asset, decimals: '18446744073709551615' }, null, unknown],
    ] as const) {
      const instrument = { settlementAsset } as unknown as Instrument
      assert.deepEqual([unitOf(instrument), whyNoUnit(instrument)], [unit, why])
    }
    assert.equal(unitOf(null), null)
    assert.equal(whyNoUnit(null), 'the store has no market event for this market')
  })

  test('are written as CSV that keeps commas, quotes and line breaks', () => {
    const rows = [
      ['1', null],
      ['x,"y"', 'line\nbreak'],
    ]
    assert.equal(csvOf(['a', 'b'], rows), 'a,b\r\n1,\r\n"x,""y""","line\nbreak"\r\n')
  })
})

describe("the explorer's times", () => {
  test('are read as people write them, to the nanosecond, and refused in words', () => {
    const last = 1_700_000_000n * SECOND
    const time = 1_696_500_904n * SECOND
    const day = 1_696_464_000n * SECOND
    const noTime = (text: string) => `"${text}" is not a time. Write ${TIMES_ALLOWED}.`
    const read = (text: string) => {
      const result = readTime(text, last)
      return 'ns' in result ? result.ns : result.fault
    }
    assertEach<bigint | string>(read, {
      '2023-10-05 10:15:04': time,
      '2023-10-05T10:15:04.000000001Z': time + 1n,
      '2023-10-05T12:15:04+02:00': time,
      '2023-10-05 10:15': time - 4n * SECOND,
      '2023-10-05': day,
      '1696500904000000001': time + 1n,
      '36h': last - 36n * HOUR,
      '90d': last - 90n * 24n * HOUR,
      '2w': last - 14n * 24n * HOUR,
      '5.10.2023': day,
      '05.10.2023 10:15': time - 4n * SECOND,
      someday: noTime('someday'),
      '5': noTime('5'),
      // Seconds and milliseconds, which would be nanoseconds of 1970.
      '1696500904': noTime('1696500904'),
      '1696500904000': noTime('1696500904000'),
      '31.2.2023': 'There is no 2023-02-31.',
      '2023-13-05': 'There is no 2023-13-05.',
      '2023-02-30': 'There is no 2023-02-30.',
      '2023-02-03 25:00': 'There is no time 25:00:00.',
      '2023-02-03 10:00:60': 'There is no time 10:00:60.',
      constructor: noTime('constructor'),
      toString: noTime('toString'),
      '-9223372036854775808': -(2n ** 63n),
      '-9223372036854775809': '"-9223372036854775809" is not a time from 1677-09-22 to 2262-04-11.',
      '9223372036854775808': '"9223372036854775808" is not a time from 1677-09-22 to 2262-04-11.',
      '9999-01-01': '"9999-01-01" is not a time from 1677-09-22 to 2262-04-11.',
      '999999w': '"999999w" is not a time from 1677-09-22 to 2262-04-11.',
      '2023-02-03T10:00:00+25:00': 'There is no zone +25:00.',
    })
    assert.equal(read('__proto__'), noTime('__proto__'))
    assert.equal(formatTime('1696500904000000001'), '2023-10-05 10:15:04.000000001')
    assert.equal(formatTime(-1n), '1969-12-31 23:59:59.999999999')
    assert.equal(formatTime(2n ** 63n - 1n), '2262-04-11 23:47:16.854775807')
  })

  test('and values of a crosshair are as exact as its pixels', () => {
    const time = Date.UTC(2026, 0, 31, 12, 0, 5) / 1_000
    assertEach((perPixel) => axisTime(time, Number(perPixel)), {
      '0.5': '2026-01-31 12:00:05',
      '90': '2026-01-31 12:00',
      '86400': '2026-01-31',
    })
    assert.equal(axisFigure(54_825.4, 9, ''), '54,825')
    assert.equal(axisFigure(0.02981, 0.0004, ' %'), '0.0298 %')
    assert.equal(axisFigure(-0.00001, 0.01, ' %'), '0.00 %')
  })

  test('of a span are in days, hours, minutes and seconds', () => {
    assertEach((seconds) => formatSpan(BigInt(seconds) * SECOND), {
      '0': '0 s',
      '61': '1 min 1 s',
      '90061': '1 d 1 h',
      '69120000': '2 y 70 d',
      '-5': '-5 s',
    })
    assert.equal(formatSpan(1_500_000_000n), '1 s')
    assert.equal(formatAge(-5n * SECOND), '0 s')
    assert.equal(formatAge(27n * HOUR + 5n), '1 d 3 h')
  })
})

describe('text typed into the explorer', () => {
  test('as the size of a position is never read as another number: commas are refused', () => {
    const fault = 'Write a decimal number, such as 2.5, or -2.5 for a short position.'
    const zero = 'A position of 0 units has no payments. Write another size.'
    const write = (instead: string) => `Write ${instead}, without a comma.`
    const read = (typed: string) => {
      const result = readUnits(typed)
      return 'fault' in result ? result.fault : `units: ${result.units}`
    }
    assertEach(read, {
      '2.5': 'units: 2.5',
      ' -20 ': 'units: -20',
      '2,5': write('2.5'),
      '-0,5': write('-0.5'),
      '0,125': write('0.125'),
      '1,234': write('1234 or 1.234'),
      '1,234.5': write('1234.5'),
      '1.234,5': write('1234.5'),
      '1,234,567': write('1234567'),
      'a,b': write('a point for decimals'),
      abc: fault,
      '1e3': fault,
      '': fault,
      '.5': 'units: 0.5',
      '-.5': 'units: -0.5',
      '5.': 'units: 5',
      '+2': 'units: 2',
      '\u22122.5': 'units: -2.5',
      '2.5 BTC': 'units: 2.5',
      '2.5BTC2': fault,
      '.': fault,
      '0': zero,
      '-0.00': zero,
    })
  })

  test('as a height may have commas only between groups of three digits', () => {
    const refused = { '12,5': null, '1,2345': null, '1.5': null, '-1': null }
    assertEach(readHeight, { '1234': '1234', '1,234,567': '1234567', ...refused })
  })
})

describe("the explorer's ranges", () => {
  test('follow the latest point unless from or to is named', () => {
    const held = { from: 0n, to: 1_000n * HOUR }
    const last = held.to + HOUR
    const none = { from: null, to: null, span: null }
    // None reaches into the time after the last point.
    const following = { to: held.to + 1n, follows: true, fault: null }
    for (const [given, expected] of [
      [{}, { ...following, from: held.to + 1n - 24n * HOUR, span: '1d' }],
      [{ span: '1h' }, { ...following, from: held.to + 1n - HOUR, span: '1h' }],
      [{ span: 'all' }, { ...following, from: 0n, span: 'all' }],
      [
        { from: '1970-01-01', to: '1970-01-02', span: '1h' },
        { from: 0n, to: 24n * HOUR, follows: false, span: null, fault: null },
      ],
      [{ from: '2d' }, { ...following, from: last - 48n * HOUR, follows: false, span: null }],
    ] as const) {
      assert.deepEqual(viewRange({ ...none, ...given }, held, last), expected)
    }
    assert.equal(viewRange(none, { from: 0n, to: HOUR }, last).span, 'all')
    // A day of an hourly market has 24 payments, also if one is due at its very end.
    const hours = Array.from({ length: 1_000 }, (_, index) =>
      madePeriod(index, BigInt(index) * HOUR, BigInt(index + 1) * HOUR),
    )
    assert.equal(dueWithin(hours, viewRange(none, held, last)).length, 24)
    assert.deepEqual(pan({ from: 0n, to: 1000n }, 0.5), { from: 500n, to: 1500n })
    assert.deepEqual(zoom({ from: 0n, to: 8n * HOUR }, 0.5, 0.25), { from: HOUR, to: 5n * HOUR })
    // To all times that the API takes, and no further.
    const all = { from: -(2n ** 63n), to: 2n ** 63n - 1n }
    assert.deepEqual(zoom({ from: 0n, to: 2n ** 62n }, 99), all)
    assert.deepEqual(pan(all, 0.5), { from: -1n, to: all.to })
  })

  test('are named by days and weeks, counted back from the last block, and say what that means', () => {
    const time = (text: string) => BigInt(Date.parse(`${text}Z`)) * 1_000_000n
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
      // The week from a Tuesday: the end of Monday is the start of this week's Tuesday.
      ['Tuesday', 'Monday', '2026-11-17', '2026-11-24'],
      ['last week', 'Monday', '2026-11-16', '2026-11-24'],
      ['16.11.2026', 'Sunday', '2026-11-16', '2026-11-23'],
      ['16.11.2026', '18.11.2026', '2026-11-16', '2026-11-18'],
      ['', 'last week', '2026-01-01', '2026-11-23'],
      ['last month', '', '2026-10-01', '2026-11-01'],
      ['this month', '', '2026-11-01', null],
      ['2026-09', '', '2026-09-01', '2026-10-01'],
      ['2025-12', '2026-01', '2025-12-01', '2026-02-01'],
      ['2026-11', '', '2026-11-01', null],
    ] as const) {
      const range = viewRange({ from, to, span: null }, held, last)
      const [begin, end] = expected.map((text) => (text === null ? last + 1n : time(text)))
      assert.deepEqual([range.from, range.to, range.fault], [begin, end, null], `${from} to ${to}`)
    }
    const range = { from: time('2026-11-23'), to: time('2026-11-26') }
    for (const [from, to, meaning] of [
      ['Monday', 'Wednesday', ': Wednesday is included.'],
      ['Monday', '2026-11-26', ': 2026-11-26 is not included.'],
      [null, '26.11.2026', ': 26.11.2026 is not included.'],
      ['Monday', null, '.'],
    ] as const) {
      const said = `2026-11-23 00:00 to 2026-11-26 00:00 UTC${meaning}`
      assert.equal(meaningOf(from, to, range, last), said)
    }
    assert.equal(meaningOf('2026-11-23', null, range, last), null)
  })

  test('that cannot be read say why, and still show a span', () => {
    const held = { from: 0n, to: 1_000n * HOUR }
    const backwards = 'The range ends before it begins.'
    for (const [from, to, expected] of [
      ['x', '1970-01-02', `"x" is not a time. Write ${TIMES_ALLOWED}.`],
      ['1970-02-30', '1970-03-02', 'There is no 1970-02-30.'],
      ['1970-13', '1971-01', `"1970-13" is not a time. Write ${TIMES_ALLOWED}.`],
      ['1970-01-02', '1970-01-01', backwards],
      ['1970-01-02', '1970-01-02', backwards],
      ['today', 'yesterday', backwards],
      ['-9000000000000000000', '9000000000000000000', null],
    ] as const) {
      const { fault, follows } = viewRange({ from, to, span: null }, held, held.to)
      assert.deepEqual([fault, follows], [expected, expected !== null], from)
    }
  })
})

describe("the explorer's funding periods", () => {
  const seqsOf = (periods: readonly Period[]) => periods.map(({ seq }) => Number(seq)).join(' ')

  test('are regular if the last ten with a duration are equally long', () => {
    const eight = 8n * HOUR
    const row = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        madePeriod(index, BigInt(index) * eight, BigInt(index + 1) * eight),
      )
    const odd = madePeriod(11, 10n * eight, 11n * eight - 1n)
    // The running period and those of zero length do not count.
    const others = [madePeriod(11, 10n * eight, 10n * eight), madePeriod(12, 10n * eight, null)]
    for (const [periods, length, isIrregular] of [
      [row(9), eight, false],
      [row(3), eight, false],
      // Two are too few to tell; they are not reported as irregular either.
      [row(2), null, false],
      [[...row(1), odd], null, false],
      [[...row(2), odd], null, true],
      [row(10), eight, false],
      [[madePeriod(0, 0n, 1n), ...row(10)], eight, false],
      [[...row(10), odd], null, true],
      [[...row(10), ...others], eight, false],
    ] as const) {
      assert.deepEqual([regularLength(periods), areIrregular(periods)], [length, isIrregular])
    }
  })

  test('are due in the range that contains their end, if they were paid, and part of each that they overlap', () => {
    const all = [
      madePeriod(0, 0n, 10n),
      madePeriod(1, 10n, 20n),
      madePeriod(2, 20n, 30n, { rate: null }),
      madePeriod(3, 30n, 40n),
      madePeriod(4, 40n, null),
    ]
    for (const [from, to, expected] of [
      [0n, 100n, '0 1 3'],
      [10n, 40n, '0 1'],
      [11n, 41n, '1 3'],
      [5n, 6n, ''],
    ] as const) {
      assert.equal(seqsOf(dueWithin(all, { from, to })), expected)
    }
    const list = [
      madePeriod(0, 0n, 10n),
      madePeriod(1, 10n, 10n),
      madePeriod(2, 10n, null),
      madePeriod(3, 20n, 30n),
      madePeriod(4, 30n, null),
    ]
    for (const [from, to, expected] of [
      [0n, 5n, '0'],
      [10n, 11n, '1 2'],
      [11n, 20n, '2'],
      [15n, 1000n, '2 3 4'],
      [500n, 1000n, '4'],
    ] as const) {
      assert.equal(seqsOf(within(list, { from, to })), expected)
    }
  })

  test('are annualised by 365 days and added up, exactly', () => {
    assert.equal(writeDecimal(annualised('0.0001', 8n * HOUR)!), '0.109500000000000000')
    assert.equal(annualised('0.0001', null), null)
    assert.equal(annualised('0.0001', 0n), null)
    assert.equal(lengthOf(madePeriod(0, 5n, 9n)), 4n)
    const rates = ['0.1', '-0.0300000000000001', '0', null]
    assert.equal(
      writeDecimal(cumulative(rates.map((rate, seq) => madePeriod(seq, 0n, 1n, { rate })))),
      '0.0699999999999999',
    )
  })

  test('say who pays whom, and why a period paid nothing', () => {
    assertEach(whoPays, { '5': 'longs pay shorts', '-5': 'shorts pay longs', '0': 'nobody pays' })
    assert.equal(whoPays(null), 'no payment')
    const unpaid = { payment: null, rate: null }
    for (const [given, isLast, expected] of [
      [madePeriod(0, 0n, 1n), false, null],
      [madePeriod(0, 5n, 5n, unpaid), false, 'no payment: zero length'],
      [madePeriod(0, 5n, 6n, unpaid), false, 'no payment: a source had no price before its end'],
      [madePeriod(0, 5n, null), true, 'running'],
      [madePeriod(0, 5n, null), false, 'its end lies in missing blocks'],
    ] as const) {
      assert.equal(whyUnpaid(given, isLast), expected)
    }
  })
})
