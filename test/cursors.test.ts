import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { checkpoints } from '../src/resources/checkpoints.ts'
import { decodeCursor, encodeCursor } from '../src/resources/cursor.ts'
import { fundingPeriodDataPoints } from '../src/resources/funding-period-data-points.ts'
import { liquidityProviders } from '../src/resources/liquidity-providers.ts'
import type { Key, KeyType, KeyValue, Resource } from '../src/resources/resource.ts'
import { RESOURCES } from '../src/resources/resources.ts'
import { scaled } from './fixtures/scale.ts'

const MARKET = 'a'.repeat(64)
const OTHER_MARKET = 'b'.repeat(64)
const MAX_INT64 = 2n ** 63n - 1n
const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

const hexId = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'))

const VALUES: Record<KeyType, Arbitrary<KeyValue>> = {
  int64: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: MAX_INT64 }),
    fc.bigInt({ min: 0n, max: MAX_INT64 / 1_000_000_000n }).map((seconds) => seconds * 1_000_000_000n),
  ),
  uint64: fc.bigInt({ min: 0n, max: MAX_INT64 }),
  source: fc.bigInt({ min: 0n, max: 2n }),
  id: fc.oneof(hexId, fc.constant('network')),
  text: fc.oneof(
    hexId,
    fc
      .string({ unit: 'grapheme', maxLength: 60 })
      .filter((text) => text.isWellFormed() && !text.includes('\0')),
  ),
}

/** Keys of a resource. */
const keysOf = (resource: Resource): Arbitrary<Key> =>
  fc.tuple(...resource.key.map(({ type }) => VALUES[type]))

const scopeOf = (resource: Resource, market: string = MARKET): string | null =>
  resource.scope === null ? null : market

for (const resource of Object.values<Resource>(RESOURCES)) {
  describe(`cursors of ${resource.name}`, () => {
    test('a cursor gives back the key that it was made from', () => {
      const property = fc.property(keysOf(resource), (key) => {
        const cursor = encodeCursor(resource, scopeOf(resource), key)
        assert.match(cursor, /^[A-Za-z0-9_-]+$/)
        assert.deepEqual(decodeCursor(resource, scopeOf(resource), cursor), key)
      })
      fc.assert(property, { seed: 1, numRuns: scaled(1000, 50_000) })
    })

    test('different keys have different cursors', () => {
      const property = fc.property(keysOf(resource), keysOf(resource), (one, other) => {
        fc.pre(one.some((value, index) => value !== other[index]))
        assert.notEqual(
          encodeCursor(resource, scopeOf(resource), one),
          encodeCursor(resource, scopeOf(resource), other),
        )
      })
      fc.assert(property, { seed: 2, numRuns: scaled(1000, 50_000) })
    })

    test('a cursor with any one character changed, added or taken away is refused', () => {
      // A digit more or less of a longer seq is found out but for one time in 9,000.
      const keys = fc.sample(
        keysOf(resource).map((key) =>
          key.with(1, resource.scope === null ? key[1]! : BigInt(key[1]!) % 900n),
        ),
        { seed: 3, numRuns: scaled(3, 30) },
      )
      for (const key of keys) {
        const cursor = encodeCursor(resource, scopeOf(resource), key)
        for (let at = 0; at <= cursor.length; at++) {
          const [before, after] = [cursor.slice(0, at), cursor.slice(at + 1)]
          const changed = [...ALPHABET, ''].map((character) => before + character + after)
          const added = ALPHABET.map((character) => before + character + cursor.slice(at))
          for (const garbled of [...changed, ...added]) {
            if (garbled === cursor) continue
            assert.equal(typeof decodeCursor(resource, scopeOf(resource), garbled), 'string', garbled)
          }
        }
      }
    })

    test('whatever is no cursor is refused', () => {
      const property = fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 80 }),
          fc.base64String({ maxLength: 80 }),
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
        ),
        (text) => assert.equal(typeof decodeCursor(resource, scopeOf(resource), text), 'string'),
      )
      fc.assert(property, { seed: 4, numRuns: scaled(1000, 50_000) })
      assert.equal(decodeCursor(resource, scopeOf(resource), ''), 'empty')
      assert.equal(decodeCursor(resource, scopeOf(resource), 'A'.repeat(100_000)), 'garbled')
    })

    test('a cursor of another resource is refused', () => {
      for (const other of Object.values<Resource>(RESOURCES).filter(({ name }) => name !== resource.name)) {
        for (const key of fc.sample(keysOf(other), { seed: 5, numRuns: 50 })) {
          const cursor = encodeCursor(other, scopeOf(other), key)
          assert.equal(decodeCursor(resource, scopeOf(resource), cursor), 'of another resource')
        }
      }
    })
  })
}

describe('cursors of data points', () => {
  const points = fundingPeriodDataPoints
  const time = 1_724_932_800_123_456_789n

  test('a cursor is bound to its market', () => {
    const cursor = encodeCursor(points, MARKET, [time, 1n, 2n])
    assert.equal(decodeCursor(points, OTHER_MARKET, cursor), 'of another market')
  })

  test('a cursor holds at least 6 bytes of its market’s fingerprint', () => {
    const cursor = encodeCursor(points, MARKET, [time, 1n, 2n])
    const fingerprint = Buffer.from(cursor.slice(1, 9), 'base64url')
    assert.deepEqual(fingerprint, hash('sha256', MARKET, 'buffer').subarray(0, 6))
  })

  for (const [what, times, seqs] of [
    ['whole seconds', [1_600_000_000_000_000_000n, 4_102_444_800_000_000_000n], [0n, 9n, 999n, 99_999_999n]],
    ['nanoseconds', [1n, time, MAX_INT64], [0n, 99n]],
  ] as const) {
    test(`a cursor of a time in ${what} has at most 32 characters`, () => {
      for (const timestamp of times) {
        for (const seq of seqs) {
          const cursor = encodeCursor(points, MARKET, [timestamp, seq, 2n])
          assert.ok(cursor.length <= 32, cursor)
        }
      }
    })
  }
})

describe('cursors made by someone else, with a right check sum', () => {
  const cases: [what: string, resource: Resource, key: Key][] = [
    ['a height of 2^63', checkpoints, [2n ** 63n, 'aa']],
    ['a height of 2^64 - 1', checkpoints, [2n ** 64n - 1n, 'aa']],
    ['a hash with a NUL', checkpoints, [1n, 'a\0b']],
    ['a seq of 2^63', fundingPeriodDataPoints, [1n, 2n ** 63n, 1n]],
    ['a party with a NUL', liquidityProviders, [MARKET, '\0']],
  ]
  for (const [what, resource, key] of cases) {
    test(`${what}, which no row can have, is refused`, () => {
      assert.equal(
        decodeCursor(resource, scopeOf(resource), encodeCursor(resource, scopeOf(resource), key)),
        'garbled',
      )
    })
  }
})
