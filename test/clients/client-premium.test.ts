import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  externalBeside,
  type Premium,
  premiumsOf,
  type Series,
  type SeriesBucket,
} from '../../client/src/index.ts'

const same = (text: string) => ({ first: text, last: text, minimum: text, maximum: text })

type Made = [start: number, seq: number, price: string, twap: string]

const bucketsOf = (made: readonly Made[]): SeriesBucket[] =>
  made.map(([start, seq, price, twap]) => ({
    start: `${start}`,
    seq: `${seq}`,
    count: '1',
    price: { ...same('1'), last: price },
    twap: { ...same('1'), last: twap },
  }))

const seriesOf = (external: readonly Made[], internal: readonly Made[]): Pick<Series, 'sources'> => ({
  sources: [
    { dataPointType: 'SOURCE_EXTERNAL', buckets: bucketsOf(external) },
    { dataPointType: 'SOURCE_INTERNAL', buckets: bucketsOf(internal) },
  ],
})

const said = ({ start, seq, internalTwap, externalTwap, premium }: Premium) =>
  `${start}: ${seq} ${internalTwap} ${externalTwap} ${premium}`

const CASES: [what: string, external: Made[], internal: Made[], expected: string[]][] = [
  ['of the same bucket', [[10, 1, '90', '100']], [[10, 1, '95', '110']], ['10: 1 110 100 0.1']],
  [
    'with the latest external bucket before',
    [
      [0, 1, '90', '100'],
      [10, 1, '90', '120'],
      [30, 1, '90', '200'],
    ],
    [[20, 1, '95', '90']],
    ['20: 1 90 120 -0.25'],
  ],
  ['without an external bucket before: none', [[30, 1, '90', '100']], [[20, 1, '95', '90']], []],
  [
    'with the last external price, carried over into a period without one of its own',
    [[0, 1, '80', '100']],
    [
      [10, 1, '95', '100'],
      [20, 2, '95', '100'],
      [30, 3, '95', '120'],
    ],
    ['10: 1 100 100 0', '20: 2 100 80 0.25', '30: 3 120 80 0.5'],
  ],
  [
    'with an external bucket that is not of a later period',
    [
      [0, 1, '80', '100'],
      [10, 2, '85', '90'],
    ],
    [[10, 1, '95', '110']],
    ['10: 1 110 100 0.1'],
  ],
  ['of later periods alone: none', [[10, 2, '85', '90']], [[10, 1, '95', '110']], []],
  [
    'of an auction since the start of a period: null',
    [
      [0, 1, '80', '0'],
      [10, 1, '80', '100'],
    ],
    [
      [0, 1, '95', '110'],
      [10, 1, '95', '0'],
    ],
    ['0: 1 110 0 null', '10: 1 0 100 null'],
  ],
]

describe('Premiums of a series', () => {
  for (const [what, external, internal, expected] of CASES) {
    test(what, () => {
      assert.deepEqual(premiumsOf(seriesOf(external, internal)).map(said), expected)
    })
  }

  test('have as many digits as are asked for, and none without internal points', () => {
    const series = seriesOf([[0, 1, '80', '3']], [[0, 1, '95', '4']])
    assert.equal(premiumsOf(series, 4)[0]!.premium, '0.3333')
    assert.deepEqual(premiumsOf({ sources: [] }), [])
    assert.deepEqual(premiumsOf(seriesOf([[0, 1, '80', '3']], [])), [])
  })

  test('find the external bucket beside one among many', () => {
    const external = Array.from({ length: 1_000 }, (_, index) => ({
      start: BigInt(10 * index),
      seq: BigInt(Math.floor(index / 100)),
      price: same('1'),
      twap: same(`${index}`),
    }))
    for (const at of [0, 1, 9, 10, 11, 4_999, 5_000, 9_990, 20_000]) {
      const beside = externalBeside(external, {
        start: BigInt(at),
        seq: 10n,
        price: same('1'),
        twap: same('1'),
      })
      assert.equal(beside?.start, BigInt(Math.min(9_990, 10 * Math.floor(at / 10))))
      assert.equal(beside?.seq, 10n)
    }
  })
})
