import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLyraClient } from '../client/src/index.ts'
import { compare, parseDecimal, ratio, subtract, writeDecimal } from '../web/src/figures/decimal.ts'
import {
  formatBasisPoints,
  formatDifference,
  formatPercent,
  groupDigits,
} from '../web/src/figures/format-figure.ts'
import { formatSpan, formatTime, parseTime } from '../web/src/figures/format-time.ts'
import { SOURCES } from '../web/src/funding/point.ts'
import { createPointLoader } from '../web/src/funding/point-loader.ts'
import { momentsOf } from '../web/src/funding/series.ts'
import { partsOf, tilesOf } from '../web/src/funding/tiles.ts'
import { pan, viewRange, zoom } from '../web/src/funding/view-range.ts'
import { LIVE_MARKET, openLiveStore, pointAt, timeOf } from './fixtures/live-store.ts'
import { serve } from './fixtures/service.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

const POINTS = 20_000

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
      [formatDifference('9007199254740993', '9007199254740992'), '+1'],
      [formatDifference('1.5', '2.25'), '-0.75'],
      [formatDifference('7', '7'), '0'],
      [formatDifference('x', '7'), null],
      [formatBasisPoints('10001', '10000'), '+1.00 bp'],
      [formatBasisPoints('9999', '10000'), '-1.00 bp'],
      [formatBasisPoints('1', '3'), '-6,666.66 bp'],
      [formatBasisPoints('5', '0'), null],
    ]
    for (const [shown, expected] of cases) assert.equal(shown, expected)
  })

  test('are reckoned with exactly, whatever their scales', () => {
    const of = (text: string) => parseDecimal(text)!
    assert.equal(writeDecimal(subtract(of('0.1'), of('0.0000000000000000001'))), '0.0999999999999999999')
    assert.equal(writeDecimal(subtract(of('-0.5'), of('+0.25'))), '-0.75')
    assert.ok(compare(of('10'), of('9.999999999999999999')) > 0)
    assert.equal(compare(of('1.10'), of('1.1')), 0)
    assert.equal(writeDecimal(ratio(of('1'), of('8'), 0, 3)!), '0.125')
    for (const text of ['', ' 1', '1.', '.5', '1e5', 'NaN', '--1'])
      assert.equal(parseDecimal(text), null, text)
  })

  test('of time are read and written to the nanosecond', () => {
    const cases: [text: string, ns: bigint | null][] = [
      ['2023-10-05 10:15:04', 1_696_500_904_000_000_000n],
      ['2023-10-05T10:15:04.000000001Z', 1_696_500_904_000_000_001n],
      ['2023-10-05 10:15', 1_696_500_900_000_000_000n],
      ['2023-10-05', 1_696_464_000_000_000_000n],
      ['1696500904000000001', 1_696_500_904_000_000_001n],
      ['yesterday', null],
      ['2023-13-05', null],
      ['5', null],
    ]
    for (const [text, ns] of cases) assert.equal(parseTime(text), ns, text)
    assert.equal(formatTime('1696500904000000001'), '2023-10-05 10:15:04.000000001')
    assert.equal(formatTime(-1n), '1969-12-31 23:59:59.999999999')
    assert.equal(formatTime(2n ** 63n - 1n), '2262-04-11 23:47:16.854775807')
    const spans: [ns: bigint, text: string][] = [
      [0n, '0 s'],
      [1_500_000_000n, '1 s'],
      [61_000_000_000n, '1 min 1 s'],
      [90_061_000_000_000n, '1 d 1 h'],
      [-5_000_000_000n, '-5 s'],
    ]
    for (const [ns, text] of spans) assert.equal(formatSpan(ns), text)
  })
})

describe("the explorer's ranges", () => {
  test('are covered by few tiles, which a range near by shares', () => {
    for (const [from, to] of [
      [0n, 1n],
      [-5n, 7n],
      [1_700_000_000_000_000_000n, 1_731_536_000_000_000_000n],
    ] as const) {
      const tiles = tilesOf({ from, to })
      assert.ok(tiles.length <= 7, `${tiles.length}`)
      assert.ok(tiles[0]!.from <= from && tiles.at(-1)!.to >= to)
      for (const [index, tile] of tiles.entries()) {
        if (index > 0) assert.equal(tile.from, tiles[index - 1]!.to)
      }
    }
    const whole = { from: 1_700_000_000_000_000_000n, to: 1_700_003_600_000_000_000n }
    const names = (range: typeof whole) => tilesOf(range).map(({ from, to }) => `${from} ${to}`)
    const shared = names(pan(whole, 0.1)).filter((name) => names(whole).includes(name))
    assert.ok(shared.length >= names(whole).length - 2)
  })

  test('are cut into parts that lose and share nothing', () => {
    for (const [length, count] of [
      [64n, 64],
      [1000n, 64],
      [3n, 64],
    ] as const) {
      const parts = partsOf({ from: 10n, to: 10n + length }, count)
      assert.equal(
        parts.reduce((sum, { from, to }) => sum + to - from, 0n),
        length,
      )
      for (const [index, part] of parts.entries()) {
        assert.ok(part.from < part.to)
        if (index > 0) assert.equal(part.from, parts[index - 1]!.to)
      }
    }
  })

  test('follow the latest point unless from and to are named', () => {
    const hour = 3_600_000_000_000n
    const held = { from: 0n, to: 1_000n * hour }
    const none = { from: null, to: null, span: null }
    assert.deepEqual([viewRange(none, held).span, viewRange(none, held).follows], ['1d', true])
    assert.equal(viewRange(none, { from: 0n, to: hour }).span, 'all')
    const hourly = viewRange({ ...none, span: '1h' }, held)
    assert.equal(hourly.from, held.to - hour)
    assert.ok(hourly.to > held.to)
    const named = viewRange({ from: '1970-01-01', to: '1970-01-02', span: '1h' }, held)
    assert.deepEqual([named.from, named.to, named.follows], [0n, 24n * hour, false])
    for (const [from, to] of [
      ['x', '1970-01-02'],
      ['1970-01-02', '1970-01-01'],
    ] as const) {
      assert.equal(viewRange({ from, to, span: null }, held).follows, true, from)
    }
    const range = { from: 0n, to: 1000n }
    assert.deepEqual(pan(range, 0.5), { from: 500n, to: 1500n })
    const near = zoom({ from: 0n, to: 8n * hour }, 0.5, 0.25)
    assert.deepEqual(near, { from: hour, to: 5n * hour })
  })
})

describe("the explorer's points", () => {
  test('are all of them where they are few, else the last of each part, by a bounded number of requests', async (t) => {
    const store = STORE_KINDS[0]!.create(t)
    const live = await openLiveStore(t, store)
    const heights = Array.from({ length: POINTS }, (_, index) => index + 1)
    const internal = heights.map((height) => pointAt(height))
    const external = heights
      .filter((height) => height % 100 === 0)
      .map((height) => pointAt(height, { source: 1 }))
    await live.commit(POINTS, [...internal, ...external])
    let requests = 0
    const base = await serve(t, store)
    const lyra = createLyraClient({
      url: base,
      fetch: (...args) => {
        requests++
        return fetch(...args)
      },
    })
    const loader = createPointLoader(lyra, LIVE_MARKET, SOURCES)
    const load = async (range: { from: bigint; to: bigint }) => {
      requests = 0
      const progress: number[] = []
      await loader.load(range, AbortSignal.timeout(60_000), (done, of) => progress.push(done / of))
      assert.equal(progress.at(-1), 1)
      const [outside, inside] = SOURCES.map((source) => loader.known(source, range))
      return { external: outside!, internal: inside!, requests }
    }

    const whole = { from: timeOf(1), to: timeOf(POINTS + 1) }
    const far = await load(whole)
    assert.ok(far.requests <= 2 * (1 + 7 * 65), `${far.requests} requests`)
    assert.equal(far.external.sampleStep, null)
    assert.equal(far.external.points.length, external.length)
    assert.ok(far.internal.sampleStep !== null)
    const known = new Map(internal.map((point) => [point.timestamp, point]))
    for (const point of far.internal.points) {
      assert.equal(point.price, known.get(point.timestamp)!.price)
    }
    // Every part has its last point: no two that follow each other are further apart than two parts.
    for (const [index, { timestamp }] of far.internal.points.entries()) {
      if (index > 0) {
        assert.ok(timestamp - far.internal.points[index - 1]!.timestamp <= 2n * far.internal.sampleStep!)
      }
    }
    assert.ok((await load(whole)).requests === 0, 'what is known is not asked for again')

    const near = { from: timeOf(10_000), to: timeOf(11_000) }
    const close = await load(near)
    assert.equal(close.internal.sampleStep, null)
    const shown = close.internal.points.filter(
      ({ timestamp }) => timestamp >= near.from && timestamp < near.to,
    )
    assert.deepEqual(
      shown.map(({ price }) => price),
      internal
        .filter(({ timestamp }) => timestamp >= near.from && timestamp < near.to)
        .map(({ price }) => price),
    )

    const moments = momentsOf(close.external.points, close.internal.points)
    for (const { external: left, internal: right, difference } of moments) {
      const expected =
        left !== null && right !== null && left.seq === right.seq
          ? BigInt(right.twap) - BigInt(left.twap)
          : null
      assert.equal(difference?.digits ?? null, expected)
    }
  })
})
