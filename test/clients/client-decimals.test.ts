import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  addDecimals,
  annualised,
  compareDecimals,
  divideDecimals,
  multiplyDecimals,
  rateOver,
  subtractDecimals,
  toSmallestUnits,
  toWholeUnits,
} from '../../client/src/decimals.ts'
import { runsOf } from '../fixtures/sampling.ts'

/** A number as a fraction over 10^60, parsed without the client's code. */
function fractionOf(text: string): bigint {
  const negative = text.startsWith('-')
  const [whole, fraction = ''] = text.replace('-', '').split('.')
  const value = BigInt(whole!) * 10n ** 60n + BigInt(fraction.padEnd(60, '0'))
  return negative ? -value : value
}

const number = fc
  .tuple(fc.boolean(), fc.bigInt(0n, 10n ** 30n), fc.stringMatching(/^\d{0,20}$/))
  .map(([minus, whole, fraction]) => `${minus ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`)

const ONE = 10n ** 60n
const runs = { numRuns: runsOf('call'), seed: 1 }

describe('the decimals of the client', () => {
  test('are exact: sums, differences, products and order', () => {
    fc.assert(
      fc.property(number, number, (a, b) => {
        const [x, y] = [fractionOf(a), fractionOf(b)]
        assert.equal(fractionOf(addDecimals(a, b)), x + y)
        assert.equal(fractionOf(subtractDecimals(a, b)), x - y)
        assert.equal(fractionOf(multiplyDecimals(a, b)) * ONE, x * y)
        assert.equal(Math.sign(compareDecimals(a, b)), x < y ? -1 : x > y ? 1 : 0)
        for (const text of [addDecimals(a, b), multiplyDecimals(a, b)]) {
          assert.match(text, /^-?(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
          assert.notEqual(text, '-0')
        }
      }),
      runs,
    )
  })

  test('divide to 16 digits after the point, half away from zero', () => {
    fc.assert(
      fc.property(number, number, (a, b) => {
        const [x, y] = [fractionOf(a), fractionOf(b)]
        if (y === 0n) return assert.throws(() => divideDecimals(a, b), RangeError)
        // Twice the remainder is at most the divisor, so no number with 16 digits is nearer.
        const rest = x * 10n ** 16n * ONE - fractionOf(divideDecimals(a, b)) * 10n ** 16n * y
        const [left, divisor] = [rest < 0n ? -rest : rest, (y < 0n ? -y : y) * ONE]
        assert.ok(2n * left <= divisor)
      }),
      runs,
    )
    for (const [a, b, places, expected] of [
      ['1', '2', 0, '1'],
      ['-1', '2', 0, '-1'],
      ['1', '3', 4, '0.3333'],
      ['-2', '3', 4, '-0.6667'],
      ['1', '20000000000000000', 16, '0.0000000000000001'],
      ['-1', '20000000000000001', 16, '0'],
      ['0', '-5', 16, '0'],
    ] as const)
      assert.equal(divideDecimals(a, b, places), expected, `${a} / ${b}`)
  })

  test('convert the rate of a period to other lengths of time', () => {
    const hour = { start: '1696500000000000000', end: '1696503600000000000' }
    assert.equal(annualised('0.0001', hour), '0.876')
    assert.equal(rateOver('-0.00012', hour, 8), '-0.00096')
    assert.equal(rateOver('0.0001', { start: 0n, end: 8n * 3_600_000_000_000n }, 8), '0.0001')
    assert.equal(rateOver('0.0001', hour, 0.5), '0.00005')
    // A third of a year: 2,920 hours.
    assert.equal(annualised('0.1', { start: 0n, end: 2_920n * 3_600_000_000_000n }), '0.3')
    assert.throws(() => annualised('0.1', { start: '5', end: '5' }), RangeError)
    assert.throws(() => annualised('0.1', { start: '5', end: undefined }), RangeError)
  })

  test('turn smallest units into whole ones and back', () => {
    assert.equal(toWholeUnits('2947093000', '5'), '29470.93')
    assert.equal(toWholeUnits(-5n, 18), '-0.000000000000000005')
    assert.equal(toSmallestUnits('29470.93', 5n), '2947093000')
    assert.equal(toWholeUnits('1e3', 0), '1000')
  })

  for (const text of ['', ' 1', '1 ', '.', '-', 'e5', '0x5', '1,5', 'NaN', '1e99999']) {
    test(`refuse ${JSON.stringify(text)}`, () => {
      assert.throws(() => addDecimals(text, '1'), {
        name: 'TypeError',
        message: `${JSON.stringify(text)} is not a decimal number`,
      })
    })
  }
})
