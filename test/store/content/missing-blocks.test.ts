import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type CoverageEnds, extended, spanOf, startsAt } from '#core/domain/coverage'
import { GapList } from '#core/domain/gap-list'
import { createLyraClient, missingIn } from '../../../client/src/index.ts'
import { dataPoint, fileOf } from '../../fixtures/events/event-stream.ts'
import { ingest, serve } from '../../fixtures/services/service.ts'
import { describeOn, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const timeAt = (height: number | bigint) => BigInt(height) * 10n

/** The gaps after blocks that arrive in some order, each whole or not, all in one run. */
function gapsAfter(blocks: readonly { height: number; isIncomplete: boolean }[]) {
  const gaps: GapList = new GapList([])
  let ends: CoverageEnds | null = null
  for (const { height, isIncomplete } of blocks) {
    const at = BigInt(height)
    const span = spanOf(ends, gaps, at)
    ends = extended(ends ?? startsAt(at), gaps, at, timeAt(at))
    if (isIncomplete) gaps.add({ from: at, to: at, kind: 'incomplete', ...span })
  }
  return gaps.all
}

describe('The times of gaps', () => {
  test('are those of the stored blocks about them, in whatever order blocks arrive', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 1, max: 12 }), { minLength: 1, maxLength: 12 }),
        (heights) => {
          const stored = heights.toSorted((a, b) => a - b)
          const expected = stored.slice(1).flatMap((height, index) => {
            const before = stored[index]!
            if (before + 1 === height) return []
            return [
              {
                from: BigInt(before + 1),
                to: BigInt(height - 1),
                kind: 'missing',
                start: timeAt(before),
                end: timeAt(height),
              },
            ]
          })
          assert.deepEqual(gapsAfter(heights.map((height) => ({ height, isIncomplete: false }))), expected)
        },
      ),
    )
  })

  test('of an incomplete block are those of its neighbours, once they are there', () => {
    const block = (height: number, isIncomplete = false) => ({ height, isIncomplete })
    const incomplete = (at: bigint, start: bigint | null, end: bigint | null, to = at) => ({
      from: at,
      to,
      kind: 'incomplete',
      start,
      end,
    })
    assert.deepEqual(gapsAfter([block(1, true)]), [incomplete(1n, null, null)])
    assert.deepEqual(gapsAfter([block(1), block(2, true)]), [incomplete(2n, 10n, null)])
    assert.deepEqual(gapsAfter([block(1), block(2, true), block(3)]), [incomplete(2n, 10n, 30n)])
    assert.deepEqual(gapsAfter([block(1), block(2, true), block(3, true), block(4)]), [
      incomplete(2n, 10n, 40n, 3n),
    ])
    assert.deepEqual(gapsAfter([block(5), block(3, true)]), [
      incomplete(3n, null, 50n),
      { from: 4n, to: 4n, kind: 'missing', start: 30n, end: 50n },
    ])
    assert.deepEqual(gapsAfter([block(1), block(5), block(3, true)]), [
      { from: 2n, to: 2n, kind: 'missing', start: 10n, end: 30n },
      incomplete(3n, 10n, 50n),
      { from: 4n, to: 4n, kind: 'missing', start: 30n, end: 50n },
    ])
  })
})

describe('missingIn of the client', () => {
  const gap = (from: number, to: number, start: number | null, end: number | null) => ({
    from: `${from}`,
    to: `${to}`,
    kind: 'missing' as const,
    start: start === null ? null : `${start}`,
    end: end === null ? null : `${end}`,
  })
  const coverage = {
    blocks: {
      gaps: [gap(5, 7, 40, 80), gap(20, 20, 190, null)],
      imported: [{ from: '1', to: '3', lacks: ['instruments'] }],
    },
    since: [
      { resource: 'fundingPayments', height: '10', start: '100' },
      { resource: 'instrumentTerms', height: '10', start: null },
    ],
  }
  const heightsIn = (resource: string, from: bigint | string | null, to: bigint | string | null) =>
    missingIn(coverage, resource, from, to).missing.map(({ from, to }) => `${from}-${to}`)

  test('names the blocks that lie within a range, and those that may', () => {
    for (const [from, to, expected] of [
      [null, null, ['5-7', '20-20']],
      [0n, 40n, []],
      [0n, 41n, ['5-7']],
      ['79', '80', ['5-7']],
      [80n, 190n, []],
      [80n, 191n, ['20-20']],
      // The gap is open towards the future.
      [9_999n, null, ['20-20']],
    ] as const)
      assert.deepEqual(heightsIn('checkpoints', from, to), expected, `${from} ${to}`)
    // Of imported blocks no time is known.
    assert.deepEqual(heightsIn('instruments', 80n, 190n), ['1-3'])
  })

  test('names from where a resource is complete, unless the range begins later', () => {
    const since = { height: '10', start: '100' }
    assert.deepEqual(missingIn(coverage, 'fundingPayments', null, null).since, since)
    assert.deepEqual(missingIn(coverage, 'fundingPayments', 99n, 500n).since, since)
    assert.equal(missingIn(coverage, 'fundingPayments', 100n, 500n).since, null)
    assert.deepEqual(missingIn(coverage, 'instrumentTerms', 9_999n, null).since, {
      height: '10',
      start: null,
    })
    assert.equal(missingIn(coverage, 'checkpoints', null, null).since, null)
  })
})

describeOn(STORE_KINDS, 'missing blocks of a service', (kind) => {
  test('are named for the times of its rows', async (t) => {
    const store = kind.create(t)
    const block = (height: number) => ({ height, events: [dataPoint({ timestamp: height })] })
    await ingest(store, fileOf(block(20), block(21)), { allowGap: true })
    await ingest(store, fileOf(block(5), block(6), block(9)), { allowGap: true })
    const client = createLyraClient({ url: await serve(t, store) })
    const coverage = await client.coverage()
    const second = 1_000_000_000n
    const missing = missingIn(coverage, 'fundingPeriodDataPoints', 7n * second, 9n * second)
    assert.deepEqual(missing, {
      missing: [{ from: '7', to: '8', start: `${6n * second}`, end: `${9n * second}` }],
      since: null,
    })
    assert.deepEqual(missingIn(coverage, 'fundingPeriodDataPoints', 5n * second, 6n * second).missing, [])
    const all = missingIn(coverage, 'fundingPeriodDataPoints', null, null).missing
    assert.deepEqual(
      all.map(({ from, to }) => `${from}-${to}`),
      ['7-8', '10-19'],
    )
  })
})
