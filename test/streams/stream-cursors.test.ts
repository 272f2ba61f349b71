import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Coverage } from '#core/domain/coverage'
import { type EventPosition, isBefore } from '#core/domain/event-position'
import type { Gap } from '#core/domain/gap-list'
import { advance, storedPartsOf, type Unseen } from '#core/domain/unseen'
import { checkpoints } from '#core/resources/checkpoints/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { RESOURCES } from '#core/resources/resources'
import { decodeStreamCursor, encodeStreamCursor } from '#service/streams/stream-cursor'
import { printedByName } from '../fixtures/assert-property.ts'
import { idOf } from '../fixtures/events/event-stream.ts'
import { runsOf } from '../fixtures/sampling.ts'

const EVENTS_OF_BLOCK = 3
const HEIGHTS = 24

/** The market of the ids below, which version 0.1.0 wrote. */
const OLD_MARKET = '669608f2ba72421efa379b5272a55095ee2803ba2c885cc95bd5acf37d7bd08c'

/** The first block that arrives: others arrive above it, below it, and in gaps. */
const BEGAN = 12n

/** The coverage of a store with these blocks. */
function coverageOf(held: ReadonlySet<number>): Coverage {
  const heights = [...held].sort((a, b) => a - b)
  const gaps: Gap[] = []
  for (const [index, height] of heights.entries()) {
    const before = heights[index - 1] ?? height - 1
    if (before + 1 < height) {
      const [start, end] = [BigInt(before), BigInt(height)]
      gaps.push({ from: start + 1n, to: end - 1n, kind: 'missing', start, end })
    }
  }
  const height = BigInt(heights.at(-1)!)
  const first = BigInt(heights[0]!)
  return {
    chainId: 'c',
    first,
    firstTimestamp: first,
    began: BEGAN,
    blockOne: null,
    height,
    timestamp: height,
    gaps,
    since: [],
    imported: [],
  }
}

/** The positions after the rows of a block; each of its events has three, of which the last completes it. */
function positionsOf(height: number): EventPosition[] {
  return Array.from({ length: EVENTS_OF_BLOCK }, (_, index) => [
    ...['a', 'b'].map((party) => ({ height: BigInt(height), index, within: [idOf('c'), idOf(party)] })),
    { height: BigInt(height), index: index + 1 },
  ]).flat()
}

/** The positions after the stored rows that the cursor has not received, in order. */
function lackedRows(unseen: Unseen, held: ReadonlySet<number>): EventPosition[] {
  return storedPartsOf(unseen, coverageOf(held)).flatMap((range) =>
    [...held]
      .sort((a, b) => a - b)
      .flatMap(positionsOf)
      .filter((place) => isBefore(range, place) && place.height <= range.to),
  )
}

const nameOf = ({ height, index, within = [] }: EventPosition) => [height, index, ...within].join('-')

describe('the cursor of a stream', () => {
  // In each step a block arrives, above, below or in a gap, and a part of the missing events is read.
  test('leads to every row once, in whatever order blocks arrive and wherever the stream is cut', () => {
    const steps = fc.array(
      fc.record({ block: fc.integer({ min: 1, max: HEIGHTS }), read: fc.integer({ min: 0, max: 12 }) }),
      { minLength: 5, maxLength: 60 },
    )
    fc.assert(
      fc.property(steps, (list) => {
        const held = new Set([Number(BEGAN)])
        const had: string[] = []
        let unseen: Unseen = { first: BEGAN, gaps: [], tail: { height: BEGAN, index: 0 } }
        const read = (count: number) => {
          const rows = lackedRows(unseen, held)
          const taken = rows.slice(0, count)
          had.push(...taken.map(nameOf))
          const last = taken.at(-1)
          if (taken.length === rows.length) unseen = advance(unseen, coverageOf(held), null)
          else if (last !== undefined) unseen = advance(unseen, coverageOf(held), last)
          const cursor = encodeStreamCursor(liquidityProviders, {}, unseen)
          assert.deepEqual(decodeStreamCursor(liquidityProviders, {}, cursor), unseen)
        }
        for (const { block, read: count } of list) {
          held.add(block)
          read(count)
        }
        read(Number.POSITIVE_INFINITY)
        const all = [...held].flatMap(positionsOf).map(nameOf)
        assert.equal(new Set(had).size, had.length, 'none twice')
        assert.deepEqual(
          all.filter((name) => !had.includes(name)),
          [],
          'all rows',
        )
        assert.deepEqual(lackedRows(unseen, held), [])
      }),
      { numRuns: runsOf('call'), seed: 1 },
    )
  })

  test('of version 0.2 that names imported blocks has had these', () => {
    const id = 's1_b_u-1_c-0-1-1_k-0-2_p-2-1-1_-JvI'
    const unseen = { first: 11n, gaps: [{ height: 20n, index: 0, to: 22n }], tail: { height: 30n, index: 1 } }
    assert.deepEqual(decodeStreamCursor(checkpoints, {}, id), unseen)
    assert.notEqual(encodeStreamCursor(checkpoints, {}, unseen), id)
  })

  test('belongs to one resource and market, or to all markets, and uses the characters of all cursors', () => {
    const place: Unseen = {
      first: 3n,
      gaps: [{ height: 5n, index: 2, to: 9n }],
      tail: { height: 2n ** 63n - 1n, index: 70_000 },
    }
    const [market, other] = [{ marketId: idOf('a') }, { marketId: idOf('b') }]
    const streams = RESOURCES.flatMap((resource) =>
      (resource.scope === null ? [{}] : [market, {}]).map((selection) => ({ resource, selection })),
    )
    for (const { resource, selection } of streams) {
      const cursor = encodeStreamCursor(resource, selection, place)
      assert.match(cursor, /^[A-Za-z0-9_-]+$/)
      assert.deepEqual(decodeStreamCursor(resource, selection, cursor), place)
      for (const foreign of RESOURCES) {
        if (foreign === resource) continue
        for (const one of [market, {}]) assert.equal(decodeStreamCursor(foreign, one, cursor), null)
      }
      for (const one of resource.scope === null ? [] : [market, other, {}]) {
        const isSame = JSON.stringify(one) === JSON.stringify(selection)
        assert.deepEqual(decodeStreamCursor(resource, one, cursor), isSame ? place : null)
      }
      for (let at = 0; at < cursor.length; at++) {
        const changed = `${cursor.slice(0, at)}${cursor[at] === 'x' ? 'y' : 'x'}${cursor.slice(at + 1)}`
        assert.equal(decodeStreamCursor(resource, selection, changed), null, changed)
        assert.equal(decodeStreamCursor(resource, selection, cursor.slice(0, at)), null)
      }
    }
  })

  // Versions up to 0.2 know no stream of all markets: they read only the beginning of an id, up to its ranges.
  test('of all markets is none of those that earlier versions took', () => {
    const unseen: Unseen = { first: 3n, gaps: [], tail: { height: 30n, index: 1 } }
    for (const resource of RESOURCES.filter(({ scope }) => scope !== null)) {
      const id = encodeStreamCursor(resource, {}, unseen)
      assert.equal(id, { 2: 's2a_3_u-1_6QUu', 4: 's4a_3_u-1_MZ8k' }[resource.tag])
      for (const { tag } of RESOURCES) assert.ok(!id.startsWith(`s${tag}_`))
    }
  })

  test('is invalid in the forms of version 0.1.0: without a first height, or with hashes of rows', () => {
    for (const resource of RESOURCES) {
      for (const id of ['s1_p-9_zFA2', 's2_fmi9OZol_8d-6_3Elz', 's3_0_r5vA9Ua_o_wK_S'])
        assert.equal(decodeStreamCursor(resource, { marketId: OLD_MARKET }, id), null, id)
    }
  })

  const market = { marketId: idOf('a') }
  const gap = (height: bigint, to: bigint, index = 0) => ({ height, index, to })

  test('is invalid with too many, overlapping or unordered gaps, or with numbers that no row has', () => {
    const tail = { height: 1_000n, index: 0 }
    const first = 0n
    const lawful = Array.from({ length: 64 }, (_, n) => gap(BigInt(2 * n), BigInt(2 * n)))
    assert.notEqual(decodeStreamCursor(checkpoints, {}, forged({ first, gaps: lawful, tail })), null)
    for (const [what, unseen] of [
      ['65 gaps', { first, gaps: [...lawful, gap(500n, 500n)], tail }],
      ['the same gap twice', { first, gaps: [gap(5n, 9n), gap(5n, 9n)], tail }],
      ['overlapping gaps', { first, gaps: [gap(5n, 9n), gap(9n, 12n)], tail }],
      ['descending gaps', { first, gaps: [gap(50n, 60n), gap(5n, 9n)], tail }],
      ['a gap that reaches the tail', { first, gaps: [gap(5n, 1_000n)], tail }],
      ['a tail above any block', { first, gaps: [], tail: { height: 2n ** 63n + 1n, index: 0 } }],
      ['a tail beyond any event', { first, gaps: [], tail: { height: 5n, index: 2 ** 31 } }],
      ['a gap beyond any event', { first, gaps: [gap(5n, 9n, 2 ** 31)], tail }],
      ['a gap below the first height', { first: 6n, gaps: [gap(5n, 9n)], tail }],
      ['a first height above the tail', { first: 1_001n, gaps: [], tail }],
    ] as [string, Unseen][]) {
      assert.equal(decodeStreamCursor(checkpoints, {}, forged(unseen)), null, what)
    }
  })

  test('with a valid check sum is either invalid or can be followed', () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('0', '1', 'z', 'Z', '-', '_', 'r', '.', '%', 'é'), maxLength: 40 }),
      fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }).map((value) => value.toString(36)),
      fc.tuple(fc.nat(), fc.nat(), fc.nat()).map((values) => values.map((n) => n.toString(36)).join('-')),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...RESOURCES.map(printedByName)),
        fc.array(part, { maxLength: 70 }),
        (resource, parts) => {
          const [head] = encodeStreamCursor(resource, market, {
            first: 0n,
            gaps: [],
            tail: { height: 0n, index: 0 },
          }).split('_0_0-0_')
          const unseen = decodeStreamCursor(resource, market, summed([head, ...parts].join('_')))
          if (unseen === null) return
          const { gaps, tail } = unseen
          assert.ok(gaps.length <= 64)
          for (const [index, { height, to }] of gaps.entries()) {
            assert.ok(height <= to && to < (gaps[index + 1]?.height ?? tail.height))
          }
        },
      ),
      { numRuns: runsOf('call'), seed: 1 },
    )
  })

  /** A text with a valid check sum. */
  function summed(text: string): string {
    return `${text}_${hash('sha256', `stream cursor ${text}`, 'base64url').slice(0, 4)}`
  }

  /** A cursor for any state, whether or not a stream could reach it. */
  function forged(unseen: Unseen): string {
    return encodeStreamCursor(checkpoints, {}, unseen)
  }
})
