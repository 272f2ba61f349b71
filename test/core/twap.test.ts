import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { FundingPeriodDataPointEvent, FundingPeriodEvent } from '#core/events/event'
import {
  type Auctions,
  enterAuction,
  forgetClosedAuctions,
  inAuction,
  leaveAuction,
  noAuctions,
  timeOutsideAuctions,
} from '#core/funding/auctions'
import { MarketVerifier, type TwapMethod } from '#core/funding/market-verifier'
import { createPlainTwap } from '#core/funding/plain-formula'
import { carriedOver, type PricePoint, placementOf } from '#core/funding/point-list'
import { RunningSum } from '#core/funding/running-sum'
import type { TwapPeriod } from '#core/funding/source-twap'
import { runsOf } from '../fixtures/sampling.ts'
import { periodEvent, pointAt } from '../fixtures/stores/live-store.ts'

const METHODS = {
  'plain-formula': createPlainTwap,
  'running-sum': (of: TwapPeriod) => new RunningSum(of),
} as const
const METHOD_NAMES = Object.keys(METHODS) as TwapMethod[]

/** Converts seconds to nanoseconds. */
const s = (seconds: number) => BigInt(seconds) * 1_000_000_000n
const point = (seconds: number, price: number): PricePoint => ({ time: s(seconds), price: BigInt(price) })
const period = (start: number, auctions: Auctions = noAuctions()): TwapPeriod => ({
  start: s(start),
  auctions,
})
/** A running sum of points in a period that starts at 0. */
function sumOf(...points: [seconds: number, price: number][]) {
  const sum = new RunningSum(period(0))
  for (const each of points) sum.add(point(...each))
  return sum
}

describe('the placement of an incoming point', () => {
  // The period starts at 100. Each case is a row of the core's table.
  const rows: [name: string, existing: number[], time: number, expected: ReturnType<typeof placementOf>][] = [
    ['in an empty list is the only one', [], 90, 'only'],
    ['later than all is appended', [100, 110], 120, 'last'],
    ['between two points is inserted', [100, 110], 105, 'between'],
    ["at the last point's time is refused", [100, 110], 110, 'duplicate'],
    ["at the first point's time is refused", [100, 110], 100, 'duplicate'],
    ["at a middle point's time is refused", [100, 105, 110], 105, 'duplicate'],
    ['before a first point of the period is prepended', [110, 120], 105, 'first'],
    ['at the period start, before a first point of the period, is prepended', [110], 100, 'first'],
    ['before the period start, before a first point of the period, is prepended', [110], 90, 'first'],
    ['not after the period start replaces an older first point', [90, 110], 100, 'instead-of-first'],
    ['before the period start replaces an older first point', [90], 95, 'instead-of-first'],
    ['older than a first point before the period is refused', [90, 110], 80, 'too-old'],
    ['older than a first point at the period start is refused', [100], 99, 'too-old'],
  ]
  for (const [name, existing, time, expected] of rows) {
    test(`a point ${name}`, () => {
      const points = existing.map((seconds) => point(seconds, 1))
      assert.equal(placementOf(points, s(100), s(time)), expected)
    })
  }
})

for (const method of METHOD_NAMES) {
  test(`means of prices beyond 2^64 are exact by the ${method}`, () => {
    const source = METHODS[method](period(0))
    source.add({ time: s(0), price: 10n ** 60n })
    source.add({ time: s(1), price: 10n ** 60n + 2n })
    assert.equal(source.meanAt(s(2)), 10n ** 60n + 1n)
  })
}

describe('auctions', () => {
  test('an auction left in the second in which it was entered has no effect', () => {
    const auctions = noAuctions()
    enterAuction(auctions, s(5))
    leaveAuction(auctions, s(5))
    assert.deepEqual(auctions, noAuctions())
  })

  test('an auction that is entered again while it is in progress keeps its start', () => {
    const auctions = noAuctions()
    enterAuction(auctions, s(1))
    enterAuction(auctions, s(4))
    assert.equal(auctions.open, s(1))
  })

  test('time counts outside closed auctions and before the one in progress', () => {
    const closed = [10, 30].map((start) => ({ start: s(start), end: s(start + 10) }))
    const auctions = { closed, open: s(50) }
    const rows: [from: number, to: number, outside: number][] = [
      [0, 10, 10],
      [0, 15, 10],
      [12, 18, 0],
      [15, 35, 10],
      [0, 60, 30],
      [55, 60, 0],
    ]
    for (const [from, to, outside] of rows) {
      assert.equal(timeOutsideAuctions(auctions, s(from), s(to)), s(outside), `${from} to ${to}`)
    }
    assert.deepEqual(
      [9, 10, 19, 20, 49, 50].map((seconds) => inAuction(auctions, s(seconds))),
      [false, true, true, false, false, true],
    )
  })
})

describe('the running sum differs from the plain formula, as the core does', () => {
  test('when an auction ends before a point dated later', () => {
    const auctions = noAuctions()
    const [sum, plain] = [new RunningSum(period(0, auctions)), createPlainTwap(period(0, auctions))]
    for (const source of [sum, plain]) source.add(point(0, 100))
    enterAuction(auctions, s(10))
    // The second from 11 to 12 is summed as auction time, but the auction ends at 11.
    for (const source of [sum, plain]) source.add(point(12, 100))
    leaveAuction(auctions, s(11))
    assert.equal(plain.add(point(14, 100)), 100n)
    assert.equal(sum.add(point(14, 100)), 1_200n / 13n)
  })

  test('when a mean is requested at a time after the last point, and then at one before it', () => {
    const [sum, plain] = [sumOf([0, 10], [10, 40]), createPlainTwap(period(0))]
    for (const each of sum.points) plain.add(each)
    for (const source of [sum, plain]) source.meanAt(s(12))
    assert.equal(plain.meanAt(s(8)), 10n)
    assert.equal(sum.meanAt(s(8)), (80n + 80n) / 8n)
  })

  test('but not once another point has been inserted or refused in between', () => {
    for (const incoming of [point(5, 10), point(4, 99)]) {
      const sum = sumOf([0, 10], [4, 10], [10, 40])
      sum.meanAt(s(12))
      sum.add(incoming)
      assert.equal(sum.meanAt(s(8)), 10n)
    }
  })
})

describe('the mean after a message that the core refused', () => {
  test('omits the time after the last point, and changes nothing', () => {
    const sum = sumOf([0, 10], [4, 10], [10, 40])
    sum.meanAt(s(12))
    assert.equal(sum.meanAfterRefusal!(s(8)), 10n)
    assert.equal(sum.meanAt(s(8)), (80n + 80n) / 8n)
  })

  test('does not exist if no message can have been refused, or if it would be the same', () => {
    const two = sumOf([0, 10], [10, 40])
    two.meanAt(s(12))
    assert.equal(two.meanAfterRefusal!(s(8)), null)
    const notCarried = sumOf([0, 10], [4, 10], [10, 40])
    assert.equal(notCarried.meanAfterRefusal!(s(8)), null)
    notCarried.meanAt(s(12))
    assert.equal(notCarried.meanAfterRefusal!(s(10)), null)
  })
})

/** A step of a source over time; `at` is an offset in seconds from now. */
type Step =
  | { do: 'point'; at: number; price: number }
  | { do: 'ask' }
  | { do: 'auction' }
  | { do: 'new-period' }
  | { do: 'wait'; seconds: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('point'), at: fc.integer({ min: -40, max: 8 }), price: fc.nat() }),
  },
  { weight: 3, arbitrary: fc.constant({ do: 'ask' }) },
  { weight: 1, arbitrary: fc.constant({ do: 'auction' }) },
  { weight: 1, arbitrary: fc.constant({ do: 'new-period' }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), seconds: fc.integer({ min: 1, max: 12 }) }) },
) as fc.Arbitrary<Step>

test('the running sum equals the plain formula while auctions begin and end after all points', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const auctions = noAuctions()
      let now = 1_000
      let sum = new RunningSum(period(now, auctions))
      let plain = createPlainTwap(period(now, auctions))
      const latest = () => plain.points.at(-1)?.time ?? 0n
      for (const each of steps) {
        switch (each.do) {
          case 'point': {
            const ahead = each.at > 0 && auctions.open !== null
            const incoming = point(now + (ahead ? -each.at : each.at), each.price)
            assert.equal(sum.add(incoming), plain.add(incoming))
            break
          }
          case 'ask':
            assert.equal(sum.meanAt(s(now)), plain.meanAt(s(now)))
            break
          case 'auction':
            if (auctions.open !== null) leaveAuction(auctions, s(now))
            else if (latest() <= s(now)) enterAuction(auctions, s(now))
            break
          case 'new-period': {
            assert.equal(sum.meanAt(s(now)), plain.meanAt(s(now)))
            const carried = carriedOver(plain.points, s(now)).toReversed()
            forgetClosedAuctions(auctions)
            sum = new RunningSum(period(now, auctions))
            plain = createPlainTwap(period(now, auctions))
            for (const incoming of carried) {
              assert.equal(sum.add(incoming), incoming.price)
              assert.equal(plain.add(incoming), incoming.price)
            }
            break
          }
          case 'wait':
            now += each.seconds
        }
      }
      assert.deepEqual(sum.points, plain.points)
    }),
    { numRuns: runsOf('call') },
  )
})

const sentPeriod = (seq: number, start: number, more: Partial<FundingPeriodEvent> = {}) =>
  periodEvent({ seq: BigInt(seq), start: s(start), ...more })

const sentPoint = (seq: number, source: 1 | 2, time: number, price: number | string, twap: number) => ({
  ...pointAt(0, { source }),
  seq: BigInt(seq),
  timestamp: s(time),
  price: String(price),
  twap: String(twap),
})

for (const method of METHOD_NAMES) {
  describe(`the verifier of a market, by the ${method}`, () => {
    /** A verifier after the opening of period 0 at 100 s. */
    const inPeriod = () => {
      const verifier = new MarketVerifier(method)
      verifier.period(sentPeriod(0, 100))
      return verifier
    }
    /** Passes points to a verifier; returns the expected TWAPs, null if it expects none. */
    const expectedOf = (verifier: MarketVerifier, ...events: FundingPeriodDataPointEvent[]) =>
      events.map((event) => verifier.point(event)?.expected ?? null)

    test('expects no event of a point that the core refuses', () => {
      const verifier = inPeriod()
      assert.deepEqual(expectedOf(verifier, sentPoint(0, 2, 100, 10, 10), sentPoint(0, 2, 100, 20, 10)), [
        '10',
        null,
      ])
    })

    test('counts internal points from before the first period in it', () => {
      const verifier = new MarketVerifier(method)
      verifier.point(sentPoint(0, 2, 90, 50, 50))
      verifier.point(sentPoint(0, 2, 95, 10, 50))
      verifier.point(sentPoint(0, 1, 96, 99, 99))
      verifier.period(sentPeriod(0, 100))
      assert.deepEqual(expectedOf(verifier, sentPoint(0, 2, 110, 20, 10), sentPoint(0, 1, 110, 7, 7)), [
        '10',
        '7',
      ])
    })

    test('expects nothing before the opening of a period, nor for points of another period', () => {
      const verifier = new MarketVerifier(method)
      assert.equal(verifier.point(sentPoint(4, 2, 90, 10, 10)), null)
      assert.equal(verifier.period(sentPeriod(4, 80, { end: s(100), internalTwap: '10' })), null)
      assert.equal(verifier.period(sentPeriod(5, 100)), null)
      assert.equal(verifier.point(sentPoint(4, 2, 110, 10, 10)), null)
      assert.notEqual(verifier.point(sentPoint(5, 2, 110, 10, 10)), null)
      // The end of another period, and an opening that does not follow.
      assert.equal(verifier.period(sentPeriod(4, 80, { end: s(120), internalTwap: '10' })), null)
      assert.equal(verifier.period(sentPeriod(7, 120, { internalTwap: '10' })), null)
    })

    test('expects nothing from an unusable event to the next period', () => {
      const verifier = inPeriod()
      verifier.period(sentPeriod(1, 120))
      assert.equal(verifier.point(sentPoint(1, 2, 125, '1.5', 10)), null)
      assert.equal(verifier.point(sentPoint(1, 2, 126, 10, 10)), null)
      verifier.period(sentPeriod(2, 130))
      assert.notEqual(verifier.point(sentPoint(2, 2, 131, 10, 10)), null)
    })
  })
}

test('market data advance the running sum, which affects a closing TWAP dated before a point', () => {
  const closingTwap = (asked: boolean) => {
    const verifier = new MarketVerifier('running-sum')
    verifier.period(sentPeriod(0, 100))
    verifier.point(sentPoint(0, 2, 100, 10, 10))
    verifier.point(sentPoint(0, 2, 110, 40, 10))
    if (asked) verifier.marketDataSent(s(112) + 999_999_999n)
    return verifier.period(sentPeriod(0, 100, { end: s(108) }))?.[2].expected
  }
  assert.equal(closingTwap(false), '10')
  assert.equal(closingTwap(true), '20')
})
