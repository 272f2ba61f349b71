import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MAX_INT64 } from '#core/domain/integers'
import { compareResourceKeys, type Key, type Selection } from '#core/model/resource'
import { checkpoints } from '#core/resources/checkpoints/description'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import type { PageQuery } from '#core/store/pages/page'
import { type Bound, type KeySpan, pageScans, type Scan, selectsNothing } from '#core/store/pages/scan'

/** Keys of checkpoints: a block and a hash. */
const key = (block: bigint | number, hash = ''): Key => [BigInt(block), hash]

const queryOf = (
  selection: Selection,
  { cursor = null, descending = false }: { cursor?: Key | null; descending?: boolean } = {},
): PageQuery => ({ resource: checkpoints, selection, descending, cursor, limit: 1 })

/** An end of a scan as text: `>= 1 a`. */
function said(end: 'lower' | 'upper', bound: Bound | null): string {
  if (bound === null) return 'open'
  const sign = end === 'lower' ? '>' : '<'
  return `${sign}${bound.inclusive ? '=' : ''} ${bound.key.join(' ')}`.trimEnd()
}

const endsOf = (scan: Scan | null) =>
  scan === null ? null : [said('lower', scan.lower), said('upper', scan.upper)]

type Case = [
  what: string,
  selection: Selection,
  from: { cursor?: Key; descending?: boolean; span?: KeySpan },
  page: [lower: string, upper: string],
  atOrBefore: [lower: string, upper: string] | null,
]

const CASES: Case[] = [
  ['everything', {}, {}, ['open', 'open'], null],
  ['a range of times', { from: 2n, to: 5n }, {}, ['>= 2', '< 5'], null],
  ['a range from newer to older rows', { from: 2n, to: 5n }, { descending: true }, ['>= 2', '< 5'], null],
  ['after a cursor', {}, { cursor: key(3, 'a') }, ['> 3 a', 'open'], ['open', '<= 3 a']],
  [
    'after a cursor, from newer to older rows',
    {},
    { cursor: key(3, 'a'), descending: true },
    ['open', '< 3 a'],
    ['>= 3 a', 'open'],
  ],
  [
    'after a cursor within a range',
    { from: 2n, to: 5n },
    { cursor: key(3, 'a') },
    ['> 3 a', '< 5'],
    ['>= 2', '<= 3 a'],
  ],
  [
    'after a cursor before the range',
    { from: 2n, to: 5n },
    { cursor: key(1, 'z') },
    ['>= 2', '< 5'],
    ['>= 2', '<= 1 z'],
  ],
  [
    'after a cursor behind the range',
    { from: 2n, to: 5n },
    { cursor: key(7) },
    ['> 7', '< 5'],
    ['>= 2', '< 5'],
  ],
  [
    'after the first key of the range, which is not read again',
    { from: 2n },
    { cursor: key(2) },
    ['> 2', 'open'],
    ['>= 2', '<= 2'],
  ],
  ['after the first key behind the range', { to: 5n }, { cursor: key(5) }, ['> 5', '< 5'], ['open', '< 5']],
  [
    'before the first key behind the range, from newer to older rows',
    { to: 5n },
    { cursor: key(5), descending: true },
    ['open', '< 5'],
    ['>= 5', '< 5'],
  ],
  [
    'before the first key of the range, from newer to older rows',
    { from: 2n },
    { cursor: key(2), descending: true },
    ['>= 2', '< 2'],
    ['>= 2', 'open'],
  ],
  ['the rows of a span', {}, { span: { first: 3n, last: 4n } }, ['>= 3', '< 5'], null],
  ['a span within a range', { from: 2n, to: 9n }, { span: { first: 3n, last: 4n } }, ['>= 3', '< 5'], null],
  ['a range within a span', { from: 4n, to: 5n }, { span: { first: 3n, last: 9n } }, ['>= 4', '< 5'], null],
  ['a span up to the last integer', {}, { span: { first: 3n, last: MAX_INT64 } }, ['>= 3', 'open'], null],
  [
    'a range and a span up to the last integer',
    { to: 5n },
    { span: { first: 3n, last: MAX_INT64 } },
    ['>= 3', '< 5'],
    null,
  ],
]

describe('The scans of a page', () => {
  for (const [what, selection, { span = null, ...from }, page, atOrBefore] of CASES) {
    test(`read ${what}`, () => {
      const scans = pageScans(queryOf(selection, from), span, null)
      assert.deepEqual(endsOf(scans.page), page)
      assert.deepEqual(endsOf(scans.atOrBefore), atOrBefore)
      assert.equal(scans.page.descending, from.descending ?? false)
    })
  }

  test('begin at the lowest key of a time, and have the market of rows that name it by a number', () => {
    const query: PageQuery = {
      ...queryOf({ marketId: 'a'.repeat(64), from: 7n }),
      resource: fundingPeriodDataPoints,
    }
    const { page } = pageScans(query, null, 3n)
    assert.equal(page.market, 3n)
    assert.equal(page.lower!.key.length, fundingPeriodDataPoints.key.length)
    assert.deepEqual(
      page.lower!.key,
      fundingPeriodDataPoints.key.map((_, index) => (index === 0 ? 7n : 0n)),
    )
  })

  test('find the rows of a plain list, for every range, span and cursor of a few keys', () => {
    const rows = Array.from({ length: 5 }, (_, block) =>
      ['', 'a', 'b'].map((hash) => key(block + 1, hash)),
    ).flat()
    const times = [undefined, 0n, 1n, 2n, 4n, 5n, 6n]
    const spans = [null, { first: 1n, last: 1n }, { first: 2n, last: 4n }, { first: 5n, last: MAX_INT64 }]
    const cursors = [null, key(0), ...rows, key(2, 'aa'), key(6)]
    let checked = 0
    for (const from of times)
      for (const to of times)
        for (const span of spans)
          for (const cursor of cursors)
            for (const descending of [false, true]) {
              const selection = { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
              const scans = pageScans(queryOf(selection, { cursor, descending }), span, null)
              const inRange = rows.filter(
                ([block]) =>
                  (from === undefined || (block as bigint) >= from) &&
                  (to === undefined || (block as bigint) < to) &&
                  (span === null || ((block as bigint) >= span.first && (block as bigint) <= span.last)),
              )
              const isAfter = (row: Key) =>
                cursor === null || compareResourceKeys(row, cursor) * (descending ? -1 : 1) > 0
              const where = JSON.stringify({ from, to, span, cursor, descending }, (_, value) =>
                typeof value === 'bigint' ? `${value}` : value,
              )
              assert.deepEqual(rowsIn(rows, scans.page), inRange.filter(isAfter), where)
              const passed = scans.atOrBefore === null ? [] : rowsIn(rows, scans.atOrBefore)
              assert.deepEqual(passed, cursor === null ? [] : inRange.filter((row) => !isAfter(row)), where)
              checked++
            }
    assert.equal(checked, 7 * 7 * 4 * 19 * 2)
  })
})

/** The rows of a list within the ends of a scan. */
function rowsIn(rows: readonly Key[], { lower, upper }: Scan): Key[] {
  return rows.filter((row) => {
    const fromLower = lower === null ? 1 : compareResourceKeys(row, lower.key)
    const fromUpper = upper === null ? -1 : compareResourceKeys(row, upper.key)
    return (
      (fromLower > 0 || (fromLower === 0 && lower!.inclusive)) &&
      (fromUpper < 0 || (fromUpper === 0 && upper!.inclusive))
    )
  })
}

describe('A selection matches nothing', () => {
  const cases: [what: string, selection: Selection, expected: boolean][] = [
    ['without a range', {}, false],
    ['with an empty range', { from: 5n, to: 5n }, true],
    ['with a reversed range', { from: 6n, to: 5n }, true],
    ['with a range of one time', { from: 5n, to: 6n }, false],
    ['with a period that can be', { seq: 1n }, false],
    ['with a period beyond any integer', { seq: MAX_INT64 + 1n }, true],
  ]
  for (const [what, selection, expected] of cases) {
    test(`${what}: ${expected}`, () => {
      assert.equal(selectsNothing(fundingPeriodDataPoints, selection), expected)
    })
  }
})
