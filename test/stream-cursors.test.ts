import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Coverage, Gap } from '../src/domain/coverage.ts'
import { advance, heldOf, isBefore, type Lacks, type Place } from '../src/domain/lacks.ts'
import { checkpoints } from '../src/resources/checkpoints.ts'
import { fundingPeriodDataPoints } from '../src/resources/funding-period-data-points.ts'
import { liquidityProviders } from '../src/resources/liquidity-providers.ts'
import { decodeStreamCursor, encodeStreamCursor } from '../src/stream/stream-cursor.ts'
import { idOf } from './fixtures/event-stream.ts'
import { scaled } from './fixtures/scale.ts'

const EVENTS_OF_BLOCK = 3
const HEIGHTS = 24

/** The first block that comes: others come above it, below it, and into gaps. */
const BEGAN = 12n

/** What a store holds that has taken these blocks in. */
function coverageOf(held: ReadonlySet<number>): Coverage {
  const heights = [...held].sort((a, b) => a - b)
  const gaps: Gap[] = []
  for (const [index, height] of heights.entries()) {
    const before = heights[index - 1] ?? height - 1
    if (before + 1 < height) gaps.push({ from: BigInt(before + 1), to: BigInt(height - 1), kind: 'missing' })
  }
  const height = BigInt(heights.at(-1)!)
  const first = BigInt(heights[0]!)
  return { chainId: 'c', first, began: BEGAN, blockOne: null, height, timestamp: height, gaps }
}

/** The events that are held and lacked, in their order. */
function eventsOf(lacks: Lacks, held: ReadonlySet<number>): Place[] {
  return heldOf(lacks, coverageOf(held)).flatMap((range) =>
    [...held]
      .sort((a, b) => a - b)
      .flatMap((height) =>
        Array.from({ length: EVENTS_OF_BLOCK }, (_, index) => ({ height: BigInt(height), index: index + 1 })),
      )
      .filter((place) => isBefore(range, place) && place.height <= range.to),
  )
}

const nameOf = ({ height, index }: Place) => `${height}-${index}`

describe('the cursor of a stream', () => {
  test('leads to every event once, in whatever order blocks come and wherever the stream is cut', () => {
    // In each step a block comes, on top, below or into a gap, and some of what is lacked is read.
    const steps = fc.array(
      fc.record({ block: fc.integer({ min: 1, max: HEIGHTS }), read: fc.integer({ min: 0, max: 12 }) }),
      { minLength: 5, maxLength: 60 },
    )
    fc.assert(
      fc.property(steps, (list) => {
        const held = new Set([Number(BEGAN)])
        const had: string[] = []
        let lacks: Lacks = { first: BEGAN, gaps: [], tail: { height: BEGAN, index: 0 } }
        const read = (count: number) => {
          const events = eventsOf(lacks, held)
          const taken = events.slice(0, count)
          had.push(...taken.map(nameOf))
          if (taken.length === events.length) lacks = advance(lacks, coverageOf(held), null)
          else if (taken.length > 0) lacks = advance(lacks, coverageOf(held), taken.at(-1)!)
          const cursor = encodeStreamCursor(checkpoints, {}, { lacks })
          assert.deepEqual(decodeStreamCursor(checkpoints, {}, cursor), { lacks })
        }
        for (const step of list) {
          held.add(step.block)
          read(step.read)
        }
        read(Number.POSITIVE_INFINITY)
        assert.equal(new Set(had).size, had.length, 'none twice')
        assert.equal(had.length, held.size * EVENTS_OF_BLOCK, 'all of them')
        assert.deepEqual(eventsOf(lacks, held), [])
      }),
      { numRuns: scaled(500, 50_000), seed: 1 },
    )
  })

  test('without a first height, as version 0.1.0 gave it, lacks all below where the store began', () => {
    const held = new Set([1, 2, Number(BEGAN), Number(BEGAN) + 1])
    const lacks: Lacks = { first: null, gaps: [], tail: { height: BEGAN + 1n, index: 0 } }
    const cursor = encodeStreamCursor(checkpoints, {}, { lacks })
    assert.deepEqual(decodeStreamCursor(checkpoints, {}, cursor), { lacks })
    assert.deepEqual(
      heldOf(lacks, coverageOf(held)).map(({ height, to }) => [height, to]),
      [
        [1n, 2n],
        [BEGAN + 1n, BEGAN + 1n],
      ],
    )
  })

  test('is of one resource and market, and of the characters of all cursors', () => {
    const place: Lacks = {
      first: 3n,
      gaps: [{ height: 5n, index: 2, to: 9n }],
      tail: { height: 2n ** 63n - 1n, index: 70_000 },
    }
    const rows = new Set(['abcdefg-', '_bcdefgh'])
    const [market, other] = [{ marketId: idOf('a') }, { marketId: idOf('b') }]
    const cases = [
      [checkpoints, {}, { lacks: place }],
      [fundingPeriodDataPoints, market, { lacks: place }],
      [liquidityProviders, market, { height: 7n, rows }],
      [liquidityProviders, market, { height: 7n, rows: new Set<string>() }],
      [liquidityProviders, market, { height: 7n, rows: null }],
    ] as const
    for (const [resource, selection, progress] of cases) {
      const cursor = encodeStreamCursor(resource, selection, progress)
      assert.match(cursor, /^[A-Za-z0-9_-]+$/)
      assert.deepEqual(decodeStreamCursor(resource, selection, cursor), progress)
      for (const foreign of [checkpoints, fundingPeriodDataPoints, liquidityProviders]) {
        if (foreign !== resource) assert.equal(decodeStreamCursor(foreign, market, cursor), null)
      }
      for (let at = 0; at < cursor.length; at++) {
        const changed = `${cursor.slice(0, at)}${cursor[at] === 'x' ? 'y' : 'x'}${cursor.slice(at + 1)}`
        assert.equal(decodeStreamCursor(resource, selection, changed), null, changed)
        assert.equal(decodeStreamCursor(resource, selection, cursor.slice(0, at)), null)
      }
    }
    const ofMarket = encodeStreamCursor(fundingPeriodDataPoints, market, { lacks: place })
    assert.equal(decodeStreamCursor(fundingPeriodDataPoints, other, ofMarket), null)
  })
})
