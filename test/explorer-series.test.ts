import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type uPlot from 'uplot'
import type { ChartColours } from '../web/src/charts/chart-options.ts'
import { drawNumbers, drawShades, type Shade } from '../web/src/charts/draw.ts'
import { writeDecimal } from '../web/src/figures/decimal.ts'
import {
  breaksOf,
  drawn,
  lastAtOrBefore,
  momentsOf,
  periodBreaks,
  readSeries,
} from '../web/src/series/series.ts'

const bucket = (start: number, price: string, twap: string, count = 1, seq = 1) => {
  const same = (text: string) => ({ first: text, last: text, minimum: text, maximum: text })
  return { start: `${start}`, seq: `${seq}`, count: `${count}`, price: same(price), twap: same(twap) }
}

type Buckets = ReturnType<typeof bucket>[]

const seriesOf = (external: Buckets, internal: Buckets) =>
  readSeries({
    marketId: 'a',
    from: '0',
    to: '100',
    interval: '1s',
    bucketNanoseconds: '10',
    sources: [
      { dataPointType: 'SOURCE_UNSPECIFIED', buckets: [bucket(0, '9', '9')] },
      { dataPointType: 'SOURCE_EXTERNAL', buckets: external },
      { dataPointType: 'SOURCE_INTERNAL', buckets: internal },
    ],
  })

describe("the explorer's series", () => {
  test('have the exact last value of both sources at each bucket', () => {
    const great = '123456789012345678901234567890'
    const series = seriesOf(
      [bucket(0, great, great), bucket(30, '5', '4')],
      [bucket(10, '1', `${great}.5`), bucket(30, '6', '6')],
    )
    const moments = momentsOf(series)
    assert.deepEqual(
      moments.map(({ start, external, internal, difference }) => [
        Number(start),
        external?.twap.last ?? null,
        internal?.twap.last ?? null,
        difference === null ? null : writeDecimal(difference),
      ]),
      [
        [0, great, null, null],
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

  test('have no premium across funding periods, nor while a TWAP is 0, as in an auction', () => {
    const series = seriesOf(
      [
        bucket(0, '10', '10'),
        bucket(50, '10', '0', 1, 2),
        bucket(70, '10', '10', 1, 2),
        bucket(90, '5', '5', 1, 2),
      ],
      [bucket(20, '11', '11'), ...[40, 60, 80].map((start) => bucket(start, '11', '11', 1, 2))],
    )
    const moments = momentsOf(series)
    assert.deepEqual(
      moments.map(({ start, difference }) => [
        Number(start),
        difference === null ? null : writeDecimal(difference),
      ]),
      [
        [0, null],
        [20, '1'],
        [40, null],
        [50, null],
        [60, null],
        [70, null],
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

/** A chart of a second for each pixel of its plot, and what is drawn on it. */
function createCanvas(width: number) {
  Object.assign(globalThis, { devicePixelRatio: 1 })
  const boxes: { style: string; left: number; width: number; height: number }[] = []
  const texts: { text: string; left: number; align: string }[] = []
  const nothing = () => {}
  const ctx = {
    ...{ fillStyle: '', textAlign: 'right', save: nothing, restore: nothing, rect: nothing, clip: nothing },
    ...{ beginPath: nothing, moveTo: nothing, lineTo: nothing, stroke: nothing },
    measureText: () => ({ width: 20 }),
    fillRect: (left: number, _: number, width: number, height: number) =>
      boxes.push({ style: ctx.fillStyle, left, width, height }),
    fillText: (text: string, left: number) => texts.push({ text, left, align: ctx.textAlign }),
  }
  const bbox = { left: 0, top: 0, width, height: 100 }
  const chart = { ctx, bbox, valToPos: (seconds: number) => seconds } as unknown as uPlot
  const colours = { auction: 'auction', mark: 'mark', gap: 'gap' } as ChartColours
  return { chart, colours, boxes, texts }
}

const SECOND = 1_000_000_000n

describe("the explorer's charts", () => {
  test('tint no more of the plot than the market was in auction, however short each auction was', () => {
    const { chart, colours, boxes } = createCanvas(1_000)
    const shade = (kind: Shade['kind'], from: bigint, to: bigint): Shade => ({ kind, from, to })
    const short = Array.from({ length: 100 }, (_, index) => BigInt(index) * 10n * SECOND)
    drawShades(
      chart,
      short.map((from) => shade('auction', from, from + SECOND / 10n)),
      colours,
    )
    // Each is visible, in a strip.
    assert.deepEqual(boxes.length, 100)
    for (const box of boxes) assert.deepEqual([box.style, box.width, box.height], ['mark', 1, 7])
    boxes.length = 0
    drawShades(
      chart,
      [shade('auction', 50n * SECOND, 55n * SECOND), shade('gap', 990n * SECOND, 2_000n * SECOND)],
      colours,
    )
    // Those wide enough to be seen are shaded over their whole length.
    assert.deepEqual(boxes, [
      { style: 'auction', left: 50, width: 5, height: 100 },
      { style: 'gap', left: 990, width: 10, height: 100 },
    ])
  })

  test('write the number of a period whole or not at all', () => {
    const { chart, colours, texts } = createCanvas(100)
    const periods = [0, 10, 40, 40, 80].map((start, seq) => ({
      ...{ seq: BigInt(seq), start: BigInt(start) * SECOND, end: null },
      ...{ payment: null, rate: null, internalTwap: null, externalTwap: null },
    }))
    drawNumbers(chart, periods, { from: 0n, to: 100n * SECOND }, colours)
    // The second one would cover the first, the last one the edge; one has no length.
    assert.deepEqual(texts, [
      { text: '#0', left: 5, align: 'left' },
      { text: '#3', left: 45, align: 'left' },
    ])
  })
})
