import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type uPlot from 'uplot'
import type { ChartColours } from '../../web/src/charts/chart-options.ts'
import { drawBars, drawNumbers, drawShades, type Shade } from '../../web/src/charts/draw.ts'
import { approximate, parseDecimal, writeDecimal } from '../../web/src/figures/decimal.ts'
import { areTooMany, askDays, daysOf, dayValues } from '../../web/src/funding/data/days.ts'
import { readingAt } from '../../web/src/funding/data/reading.ts'
import { breaksOf, drawn, lastAtOrBefore, periodBreaks } from '../../web/src/series/series.ts'
import { madePeriod, madeSeries } from '../fixtures/explorer/explorer-series.ts'
import { render, textOf } from '../fixtures/explorer/render.ts'

const { priceColumns } = await import('../../web/src/funding/charts/chart-columns.ts')
const { Readout, tipLines } = await import('../../web/src/funding/charts/readout.tsx')

const SECOND = 1_000_000_000n
const DAY = 86_400n * SECOND

describe("the explorer's series", () => {
  test('have the exact last value of both sources at each bucket', () => {
    const great = '123456789012345678901234567890'
    const { moments } = madeSeries(
      10,
      [
        [0, great],
        [30, '4'],
      ],
      [
        [10, `${great}.5`],
        [30, '6'],
      ],
    )
    assert.deepEqual(
      moments.map(({ start, external, internal, difference }) => [
        Number(start),
        external?.twap.last,
        internal?.twap.last,
        difference && writeDecimal(difference),
      ]),
      [
        [0, great, undefined, null],
        [10, great, `${great}.5`, '0.5'],
        [30, '4', '6', '2'],
      ],
    )
    assert.equal(writeDecimal(moments[2]!.premium!), '0.500000000000')
    assert.deepEqual(
      [-1n, 0n, 29n, 30n].map((time) => lastAtOrBefore(moments, time)),
      [-1, 0, 1, 2],
    )
  })

  test('hold the last price of a source to the end of the other one', () => {
    const { moments, bucket } = madeSeries(
      10,
      [[0, '1']],
      [
        [10, '1'],
        [20, '1'],
      ],
    )
    const columns = priceColumns({ moments, bucket, periods: null, shades: [], decimals: 0 })
    assert.deepEqual(columns[3], [9, undefined, 9])
    assert.deepEqual(columns[7], [undefined, 9, 9])
    assert.deepEqual(columns[4], [1, undefined, undefined])
  })

  test('break where blocks are missing between two buckets, not within one', () => {
    const moments = [0n, 10n, 20n, 60n, 70n].map((start) => ({ start }))
    for (const [from, to, breaks] of [
      [25n, 60n, [2]],
      [29n, 61n, [2]],
      [21n, 28n, []],
      [0n, 65n, [0]],
      [70n, 75n, []],
      [75n, 90n, []],
      [-5n, 0n, []],
    ] as const) {
      assert.deepEqual([...breaksOf(moments, 10n, [{ from, to }])], breaks, `${from} ${to}`)
    }
  })

  test('have lines of TWAPs that break at the ends of periods, unless one would vanish', () => {
    for (const [seqs, breaks] of [
      [[1, 1, 2, 2], [1]],
      // Between two values of a source the other one may have its own.
      [
        [1, null, 1, null, 2, 2, 2, 3, 3],
        [3, 6],
      ],
      // One value alone is no line.
      [[1, 1, 2, 3, 3], []],
      [[1, 2, 3, 4], []],
      [[1, 1, 2], []],
      [[], []],
    ] as [(number | null)[], number[]][]) {
      const found = periodBreaks(seqs.map((seq) => (seq === null ? null : BigInt(seq))))
      assert.deepEqual([...found], breaks, seqs.join())
    }
  })

  test('have the premium of the external price that was carried over into a period, and none while a TWAP is 0, as in an auction', () => {
    const { moments } = madeSeries(
      10,
      [
        [0, '10'],
        [50, '0', 2],
        [70, '10', 2],
        [90, '5', 2],
      ],
      [
        [20, '11'],
        [40, '11', 2],
        [60, '11', 2],
        [80, '11', 2],
      ],
    )
    assert.deepEqual(
      moments.flatMap(({ start, difference }) =>
        difference ? [[Number(start), writeDecimal(difference)]] : [],
      ),
      [
        [20, '1'],
        // No external point of this period has come: its TWAP is the last external price, 9.
        [40, '2'],
        [50, '2'],
        [80, '1'],
        // An external point alone changes nothing: the premium stays that of the last internal bucket.
        [90, '1'],
      ],
    )
  })

  test('are drawn in whole units of the asset', () => {
    assert.equal(drawn('2947093000', 5), 29_470.93)
    assert.equal(drawn('x', 5), null)
    assert.equal(drawn(undefined, 0), null)
  })
})

test('a reading is of the period that its bucket names', () => {
  const series = madeSeries(
    20,
    [
      [0, '100'],
      [20, '102', 2],
      [40, '104', 4],
    ],
    [
      [0, '101'],
      [20, '103', 3],
      [40, '105', 4],
    ],
  )
  const periods = [1, 2, 3, 4, 5].map((seq) =>
    madePeriod(seq, BigInt(seq * 10 - 10), seq === 5 ? null : BigInt(seq * 10)),
  )
  const at = (time: bigint) => readingAt({ ...series, periods }, time)
  const rates = { kind: 'rate' as const, values: new Map() }
  for (const [time, expected] of [
    [
      5n,
      '00:00:00 UTC period 1: +10.0000 %, longs pay shorts External TWAP 100 price 9 Internal TWAP 101 price 9 TWAP difference +1 internal − external; premium +100.00 bp',
    ],
    // The external source has no point of period 3: its last price was carried over.
    [
      20n,
      '00:00:00.00000002 UTC period 3: +30.0000 %, longs pay shorts External TWAP 9 price 9 Internal TWAP 103 price 9 TWAP difference +94 internal − external; premium +104,444.44 bp',
    ],
    [
      45n,
      '00:00:00.00000004 UTC period 4: +40.0000 %, longs pay shorts External TWAP 104 price 9 Internal TWAP 105 price 9 TWAP difference +1 internal − external; premium +96.15 bp',
    ],
    // Long after the last bucket the running period has no point yet.
    [
      70n,
      '00:00:00.00000004 UTC period 5: running External TWAP – price 9, of an earlier period Internal TWAP – price 9, of an earlier period TWAP difference – one source has no point in this period yet',
    ],
  ] as const) {
    const props = { reading: at(time), bars: rates, days: null, cumulative: null, unit: null, interval: '' }
    assert.equal(textOf(render(Readout, { ...props, pointed: true })), `At 1970-01-01 ${expected}`)
  }
  // The same in a few lines beside the pointer.
  const values = (seq: bigint, value: string) => new Map([[seq, parseDecimal(value)!]])
  assert.deepEqual(tipLines(at(20n), { kind: 'annualised', values: values(3n, '0.3') }, null, null), [
    '1970-01-01 00:00:00.00000002 UTC, period 3',
    'Annualised +30.0000 %, longs pay shorts',
    'External 9, TWAP 9',
    'Internal 9, TWAP 103',
    'Premium +104,444.44 bp',
  ])
  const running = { kind: 'cumulative' as const, values: values(5n, '-0.5') }
  assert.deepEqual(tipLines(at(70n), running, null, null).slice(0, 2), [
    '1970-01-01 00:00:00.00000004 UTC, period 5',
    'Cumulative -50.0000 %, estimate',
  ])
  const days = [{ start: 0n, count: 1, sum: parseDecimal('0.1')! }]
  assert.deepEqual(tipLines(at(5n), { kind: 'rate', values: values(0n, '0.1') }, days, null), [
    '1970-01-01 00:00:00 UTC',
    'Rate, by day +10.0000 %, longs pay shorts',
    'External 9, TWAP 100',
    'Internal 9, TWAP 101',
    'Premium +100.00 bp',
  ])
})

test('sums by day are asked for in parts that the API allows, and only if periods are too many', async () => {
  const asked: bigint[] = []
  const lyra = {
    fundingRates: async ({ from, to }: { from: bigint; to: bigint }) => {
      asked.push((to - from) / DAY)
      const buckets = [{ start: `${from}`, count: 2, sumOfRates: '0.3' }]
      return { edges: [{ node: { buckets } }] }
    },
  }
  const whole = daysOf({ from: 5n, to: 3_000n * DAY }, { from: 7n, to: 2_500n * DAY + 4n })
  assert.deepEqual(whole, { from: 0n, to: 2_501n * DAY })
  const days = await askDays(lyra as unknown as Parameters<typeof askDays>[0], 'a', whole)
  assert.deepEqual(asked, [1_100n, 1_100n, 301n])
  for (const [kind, ...expected] of [
    ['rate', 0.3, 0.3],
    ['8h', 0.1, 0.1],
    ['annualised', 109.5, 109.5],
    ['cumulative', 0.3, 0.6],
  ] as const) {
    const values = dayValues(days, { from: 5n, to: 1_500n * DAY }, kind).values()
    assert.deepEqual([...values].map(approximate), expected)
  }
  const list = Array.from({ length: 1_501 }, (_, index) =>
    madePeriod(index, BigInt(index), BigInt(index + 1)),
  )
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_501n }), true)
  assert.equal(areTooMany(list, false, { from: 0n, to: 1_500n }), false)
  assert.equal(areTooMany(list.slice(0, 5), true, { from: -1n, to: 5n }), true)
})

/** A chart of a second for each pixel of its plot, and what is drawn on it. */
function createCanvas(width: number) {
  Object.assign(globalThis, { devicePixelRatio: 1 })
  const drawn: (string | number)[][] = []
  const nothing = () => {}
  const ctx = {
    fillStyle: '',
    textAlign: 'right',
    save: nothing,
    restore: nothing,
    rect: nothing,
    clip: nothing,
    beginPath: nothing,
    moveTo: nothing,
    lineTo: nothing,
    stroke: nothing,
    setLineDash: nothing,
    strokeRect: (...box: number[]) => drawn.push(['outline', ...box]),
    measureText: () => ({ width: 20 }),
    fillRect: (...box: number[]) => drawn.push([ctx.fillStyle, ...box]),
    fillText: (text: string, left: number) => drawn.push([ctx.textAlign, left, text]),
  }
  const bbox = { left: 0, top: 0, width, height: 100 }
  const chart = {
    ctx,
    bbox,
    valToPos: (at: number, scale: string) => (scale === 'x' ? at : 50 - at),
  } as unknown as uPlot
  return { chart, drawn }
}

describe("the explorer's charts", () => {
  const colours = {
    auction: 'auction',
    mark: 'mark',
    gap: 'gap',
    longs: 'longs',
    shorts: 'shorts',
  } as ChartColours

  test('tint no more of the plot than the market was in auction, however short each auction was', () => {
    const { chart, drawn } = createCanvas(1_000)
    const shade = (kind: Shade['kind'], from: number, seconds: number): Shade => ({
      kind,
      from: BigInt(from) * SECOND,
      to: BigInt((from + seconds) * 1e9),
    })
    const shades = [shade('auction', 10, 0.1), shade('auction', 20, 2.5), shade('auction', 50, 5)]
    drawShades(chart, [...shades, shade('gap', 990, 100)], colours)
    assert.deepEqual(drawn, [
      // Short ones are visible, in a strip; others are shaded over their whole length.
      ['mark', 10, 93, 1, 7],
      ['mark', 20, 93, 2.5, 7],
      ['auction', 50, 0, 5, 100],
      ['gap', 990, 0, 10, 100],
    ])
  })

  test('have a bar for each payment, from the first to the last, in the colour of those who pay', () => {
    const { chart, drawn } = createCanvas(100)
    const bar = (from: number, to: number, value: number, estimate = false) => ({
      from: BigInt(from) * SECOND,
      to: BigInt(to) * SECOND,
      value,
      estimate,
    })
    drawBars(chart, [bar(0, 10, 20), bar(10, 40, -30), bar(40, 40, 5), bar(90, 200, 10, true)], colours)
    assert.deepEqual(drawn, [
      ['longs', 0, 30, 9, 20],
      ['shorts', 10, 50, 29, 30],
      // One too narrow to be seen is a pixel wide.
      ['longs', 40, 45, 1, 5],
      ['longs', 90, 40, 9, 10],
      ['outline', 90, 40, 9, 10],
    ])
  })

  test('write the number of a period whole or not at all', () => {
    const { chart, drawn } = createCanvas(100)
    const periods = [0, 10, 40, 40, 80].map((start, seq) => madePeriod(seq, BigInt(start) * SECOND, null))
    drawNumbers(chart, periods, { from: 0n, to: 100n * SECOND }, colours)
    // The second one would cover the first, the last one the edge; one has no length.
    assert.deepEqual(drawn, [
      ['left', 5, '#0'],
      ['left', 45, '#3'],
    ])
  })
})
