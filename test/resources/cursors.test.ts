import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { describe, test } from 'node:test'
import fc, { type Arbitrary } from 'fast-check'
import { sqlText } from '#core/model/node-sql'
import type { Key, KeyType, KeyValue, Resource, Selection } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { decodeCursor, encodeCursor } from '#core/resources/cursor'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { fundingPeriods } from '#core/resources/funding-periods/description'
import { instruments } from '#core/resources/instruments/description'
import { liquidityProviders } from '#core/resources/liquidity-providers/description'
import { RESOURCES } from '#core/resources/resources'
import { runsOf } from '../fixtures/sampling.ts'

const MARKET = 'a'.repeat(64)
const OTHER_MARKET = 'b'.repeat(64)
const MAX_INT64 = 2n ** 63n - 1n
const ALPHABET = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']

const hexId = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'))

/** Any text that a row can contain. */
const anyText = fc
  .oneof(
    hexId,
    fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.string({
      unit: fc.constantFrom('-', '_', '2', 'D', 'a', ' ', "'", '"', '\\', '\u0001', 'é'),
      maxLength: 6,
    }),
  )
  .filter((text) => text.isWellFormed() && !text.includes('\0'))

const VALUES: Record<KeyType, Arbitrary<KeyValue>> = {
  int64: fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: MAX_INT64 }),
    fc.bigInt({ min: 0n, max: MAX_INT64 / 1_000_000_000n }).map((seconds) => seconds * 1_000_000_000n),
    fc.constantFrom(0n, -1n, -(2n ** 63n), MAX_INT64),
  ),
  uint64: fc.oneof(fc.bigInt({ min: 0n, max: MAX_INT64 }), fc.constantFrom(0n, MAX_INT64)),
  index: fc.bigInt({ min: 0n, max: 2n ** 31n - 1n }),
  source: fc.bigInt({ min: 0n, max: 2n }),
  id: fc.oneof(hexId, fc.constant('network')),
  text: anyText,
}

/** Random keys of a resource. */
const keysOf = (resource: Resource): Arbitrary<Key> =>
  fc.tuple(...resource.key.map(({ type }) => VALUES[type]))

/** The selection that binds a resource's cursors to a market, if they are bound to one. */
const selectionOf = (resource: Resource, marketId: string = MARKET): Selection =>
  resource.scope === null ? {} : { marketId }

/**
 * Whether a changed cursor is detected. Cursors of points have check digits; those of other resources are plain
 * text, so that a changed one is a valid cursor of another key.
 */
const hasCheck = (resource: Resource) => resource === fundingPeriodDataPoints

for (const resource of RESOURCES) {
  describe(`cursors of ${resource.name}`, () => {
    const selection = selectionOf(resource)

    // Hence different keys have different cursors.
    test('a cursor decodes to the key that it was made from', () => {
      const property = fc.property(keysOf(resource), (key) => {
        const cursor = encodeCursor(resource, selection, key)
        assert.match(cursor, /^[A-Za-z0-9_-]+$/)
        assert.deepEqual(decodeCursor(resource, selection, cursor), key)
      })
      fc.assert(property, { seed: 1, numRuns: runsOf('call') })
    })

    test('a cursor with any one character changed, added or removed is refused, or is that of another key', () => {
      // An added or removed digit in a longer seq of a point goes undetected once in 9,000 times.
      const keys = fc.sample(
        keysOf(resource).map((key) => (hasCheck(resource) ? key.with(1, BigInt(key[1]!) % 900n) : key)),
        { seed: 3, numRuns: runsOf('seconds') },
      )
      for (const key of keys) {
        const cursor = encodeCursor(resource, selection, key)
        for (let at = 0; at <= cursor.length; at++) {
          const [before, after] = [cursor.slice(0, at), cursor.slice(at + 1)]
          const changed = [...ALPHABET, ''].map((character) => before + character + after)
          const added = ALPHABET.map((character) => before + character + cursor.slice(at))
          for (const garbled of [...changed, ...added]) {
            if (garbled === cursor) continue
            const read = decodeCursor(resource, selection, garbled)
            if (typeof read === 'string') continue
            assert.ok(!hasCheck(resource), garbled)
            assert.notDeepEqual(read, key, garbled)
            assert.equal(encodeCursor(resource, selection, read), garbled)
          }
        }
      }
    })

    test('whatever is not a valid cursor is refused', () => {
      const property = fc.property(
        fc.oneof(
          fc.string({ unit: 'binary', maxLength: 80 }),
          fc.base64String({ maxLength: 80 }),
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
        ),
        (text) => {
          const read = decodeCursor(resource, selection, text)
          if (typeof read === 'string') return
          assert.ok(!hasCheck(resource), text)
          assert.equal(encodeCursor(resource, selection, read), text)
        },
      )
      fc.assert(property, { seed: 4, numRuns: runsOf('call') })
      assert.equal(decodeCursor(resource, selection, ''), 'empty')
      for (const long of ['A', 'c', 'f', 'i', 'l', 'p', 'c0_']) {
        assert.equal(decodeCursor(resource, selection, long.padEnd(100_000, 'A')), 'garbled', long)
      }
    })

    test('a cursor of another resource is refused', () => {
      for (const other of RESOURCES.filter(({ name }) => name !== resource.name)) {
        for (const key of fc.sample(keysOf(other), { seed: 5, numRuns: 50 })) {
          const cursor = encodeCursor(other, selectionOf(other), key)
          assert.equal(decodeCursor(resource, selection, cursor), 'of another resource')
        }
      }
    })

    test('a cursor is bound to its market if the resource has one', () => {
      if (resource.scope === null) return
      for (const key of fc.sample(keysOf(resource), { seed: 6, numRuns: 50 })) {
        const cursor = encodeCursor(resource, selection, key)
        assert.equal(decodeCursor(resource, selectionOf(resource, OTHER_MARKET), cursor), 'of another market')
        // At least 6 bytes of the market's fingerprint.
        const fingerprint = Buffer.from(cursor.slice(1, 9), 'base64url')
        assert.deepEqual(fingerprint, hash('sha256', MARKET, 'buffer').subarray(0, 6))
      }
    })

    test('SQLite and the program write the same cursors', () => {
      const names = resource.key.map(({ column }) => column)
      const database = new DatabaseSync(':memory:')
      const isText = resource.key.map(({ type }) => type === 'id' || type === 'text')
      const types = names.map((name, index) => `${name} ${isText[index] ? 'text' : 'integer'} not null`)
      database.exec(`create table rows (${types.join(', ')}) strict`)
      const parts = resource.cursor
        .sql({})
        .map((part) => ('sql' in part ? part.sql : sqlText(part.constant(MARKET))))
      const insert = database.prepare(`insert into rows values (${names.map(() => '?').join(', ')})`)
      const read = database.prepare(`select concat(${parts.join(', ')}) as cursor from rows`)
      const property = fc.property(keysOf(resource), (key) => {
        database.exec('delete from rows')
        insert.run(...key)
        assert.equal(read.get()!.cursor, encodeCursor(resource, selection, key))
      })
      fc.assert(property, { seed: 7, numRuns: runsOf('call') })
      database.close()
    })
  })
}

test('the cursors of each resource begin with their own letter, and ids of streams with their own tag', () => {
  const letters = RESOURCES.map((resource) => {
    const [key] = fc.sample(keysOf(resource), { seed: 8, numRuns: 1 })
    return encodeCursor(resource, selectionOf(resource), key!)[0]
  })
  assert.equal(new Set(letters).size, RESOURCES.length)
  assert.equal(new Set(RESOURCES.map(({ tag }) => tag)).size, RESOURCES.length)
})

describe('cursors as text', () => {
  const ofMarket = { marketId: MARKET }
  const print = hash('sha256', MARKET, 'base64url').slice(0, 8)
  const cases: [resource: Resource, selection: Selection, key: Key, text: string][] = [
    [checkpoints, {}, [12n, 'aa'], 'c12_aa'],
    [checkpoints, {}, [0n, ''], 'c0_'],
    [checkpoints, {}, [MAX_INT64, '0A'], 'c9223372036854775807_0A'],
    [checkpoints, {}, [1n, ' '], 'c1_-20'],
    [checkpoints, {}, [1n, `'"\\`], 'c1_-27225C'],
    [checkpoints, {}, [1n, '\u0001\n\u007f'], 'c1_-010A7F'],
    [checkpoints, {}, [1n, 'é🙂'], 'c1_-C3A9F09F9982'],
    [checkpoints, {}, [1n, '-'], 'c1_-2D'],
    [checkpoints, {}, [1n, '_'], 'c1_-5F'],
    [checkpoints, {}, [1n, '-2D'], 'c1_-2D3244'],
    // A byte order mark is a text like any other.
    [checkpoints, {}, [1n, '\ufeff'], 'c1_-EFBBBF'],
    [liquidityProviders, {}, [MARKET, 'network'], `l${MARKET}_network`],
    [liquidityProviders, {}, [MARKET, OTHER_MARKET], `l${MARKET}_${OTHER_MARKET}`],
    [instruments, {}, [MARKET], `i${MARKET}`],
    [fundingPeriods, ofMarket, [1_700_000_000_000_000_000n, 19n], `f${print}1700000000000000000_19`],
    [fundingPeriods, ofMarket, [-1n, 0n], `f${print}-1_0`],
    // Data points have at most 32 characters, of whole seconds or nanoseconds.
    [
      fundingPeriodDataPoints,
      ofMarket,
      [4_102_444_800_000_000_000n, 99_999_999n, 2n],
      'p_-BU_nrg89954102444800I99999999',
    ],
    [fundingPeriodDataPoints, ofMarket, [MAX_INT64, 99n, 2n], 'p_-BU_nrg48537fffffffffffffffi99'],
  ]
  for (const [resource, selection, key, text] of cases) {
    test(`${resource.name}: ${text}`, () => {
      assert.equal(encodeCursor(resource, selection, key), text)
      assert.deepEqual(decodeCursor(resource, selection, text), key)
    })
  }

  /** Spellings that differ from a cursor by more than one character of its alphabet. */
  const garbled: [resource: Resource, text: string][] = [
    ...[
      ...'c c1 c_aa c+1_aa c1_-FF c1_-C3 c1_-EDA080 c1_-00 c1_-6161 c1_é c9223372036854775808_aa'.split(' '),
      'c1_-ED A080',
      'c1_ ',
      ' c1_aa',
      'c1_aa\n',
      `c1_${'a'.repeat(2_304)}`,
      // As version 0.1.0 wrote it.
      'AYQHBKsS09Nu',
    ].map((text): [Resource, string] => [checkpoints, text]),
    ...[`l${MARKET}`, `l${MARKET}_Network`, `l${MARKET}_${'B'.repeat(64)}`, 'l_network'].map(
      (text): [Resource, string] => [liquidityProviders, text],
    ),
    [instruments, `i${MARKET.toUpperCase()}`],
    [instruments, 'inetworks'],
    ...['-0_1', '1_-1', '9223372036854775808_1', '-9223372036854775809_1'].map((text): [Resource, string] => [
      fundingPeriods,
      `f${print}${text}`,
    ]),
  ]
  /** Keys that no row can have. */
  const impossible: [resource: Resource, key: Key][] = [
    ...[2n ** 63n, 2n ** 64n - 1n, -1n].map((height): [Resource, Key] => [checkpoints, [height, 'aa']]),
    [checkpoints, [1n, 'a\0b']],
    [fundingPeriodDataPoints, [1n, 2n ** 63n, 1n]],
    [fundingPeriods, [1n, 2n ** 63n]],
    [liquidityProviders, [MARKET, '\0']],
    [instruments, ['x'.repeat(64)]],
  ]
  test('other texts are no cursors', () => {
    const forged = impossible.map(
      ([resource, key]) => [resource, encodeCursor(resource, selectionOf(resource), key)] as const,
    )
    for (const [resource, text] of [...garbled, ...forged])
      assert.equal(decodeCursor(resource, selectionOf(resource), text), 'garbled', text)
  })
})
