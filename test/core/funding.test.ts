import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  add,
  compareDecimals,
  divide,
  multiply,
  ofInteger,
  parseDecimal,
  textOfDecimal,
} from '#core/domain/decimal'
import type { FundingParameters } from '#core/events/event'
import {
  enterAuction,
  leaveAuction,
  noAuctions,
  timeOutsideAuctions,
  timesOutsideAuctions,
} from '#core/funding/auctions'
import { type FundingPayment, fundingPayment, fundingTerms, type PeriodFacts } from '#core/funding/payment'

const HOUR = 3_600_000_000_000n
const START = 1_700_000_000_000_000_000n

const NONE: FundingParameters = {
  interestRate: '',
  clampLowerBound: '',
  clampUpperBound: '',
  scalingFactor: null,
  lowerBound: null,
  upperBound: null,
}

/** A period of eight hours with both TWAPs at 1,000, unless given otherwise. */
const facts = (given: Partial<PeriodFacts> = {}): PeriodFacts => ({
  internalTwap: 1_000n,
  externalTwap: 1_000n,
  start: START,
  end: START + 8n * HOUR,
  timeInAuctions: 0n,
  ...given,
})

function paid(period: Partial<PeriodFacts>, parameters: Partial<FundingParameters> = {}): FundingPayment {
  const terms = fundingTerms({ ...NONE, ...parameters })
  assert.ok(terms !== null)
  return fundingPayment(facts(period), terms)
}

const wide = { interestRate: '0.1', clampLowerBound: '-1', clampUpperBound: '1' }
const narrow = { interestRate: '0.1', clampLowerBound: '-0.0001', clampUpperBound: '0.0001' }
const even = { internalTwap: 1_000_000_000n, externalTwap: 1_000_000_000n }

describe('a payment and its rate', () => {
  const rows: [
    name: string,
    period: Partial<PeriodFacts>,
    parameters: Partial<FundingParameters>,
    payment: string,
    rate: string,
  ][] = [
    ['are internal minus external TWAP', { internalTwap: 1_500n }, {}, '500', '0.5'],
    ['are below zero if shorts pay', { internalTwap: 999n }, {}, '-1', '-0.001'],
    [
      'are exact beyond 2^64',
      { internalTwap: 3n * 10n ** 30n + 7n, externalTwap: 10n ** 30n },
      {},
      `2${'0'.repeat(29)}7`,
      '2',
    ],
    ['have no rate if the external TWAP is 0', { externalTwap: 0n }, {}, '1000', '0'],
    ['have no interest at a rate of 0', even, { ...narrow, interestRate: '0.000' }, '0', '0'],
    // 8 h are 0.0009132420091324 years.
    ['add interest within its clamps', even, narrow, '91324', '0.0000913242009132'],
    [
      'cut interest to its upper clamp, a part of the external TWAP',
      { ...even, internalTwap: 999_000_000n },
      { ...narrow, interestRate: '1' },
      '-900000',
      '-0.0009',
    ],
    [
      'cut interest to its lower clamp, a part of the external TWAP',
      { ...even, internalTwap: 1_001_000_000n },
      { ...narrow, interestRate: '-1' },
      '900000',
      '0.0009',
    ],
    ['have no interest if clamps are empty', even, { interestRate: '0.1' }, '0', '0'],
    ['of zero length have no interest yet', { ...even, end: START }, wide, '0', '0'],
    [
      'are reduced by the share of time in auctions, with 16 digits',
      { internalTwap: 1_100n, end: START + 3n * HOUR, timeInAuctions: HOUR },
      {},
      '66',
      '0.0666666666666667',
    ],
    [
      'are truncated towards zero, also negative ones',
      { internalTwap: 900n, end: START + 3n * HOUR, timeInAuctions: HOUR },
      {},
      '-66',
      '-0.0666666666666667',
    ],
    ['are zero in an auction', { internalTwap: 2_000n, timeInAuctions: 8n * HOUR }, {}, '0', '0'],
    ['are scaled', { internalTwap: 1_001n }, { scalingFactor: '2.5' }, '2', '0.0025'],
    ['are limited above', { internalTwap: 1_500n }, { upperBound: '0.2510' }, '251', '0.251'],
    ['are limited below', { internalTwap: 500n }, { lowerBound: '-0.25' }, '-250', '-0.25'],
    // The payment calculated from the limit would be truncated to 0.
    [
      'stay unchanged at the upper limit',
      { internalTwap: 4n, externalTwap: 3n },
      { upperBound: '0.3333333333333333' },
      '1',
      '0.3333333333333333',
    ],
    [
      'stay unchanged at the lower limit',
      { internalTwap: 2n, externalTwap: 3n },
      { lowerBound: '-0.3333333333333333' },
      '-1',
      '-0.3333333333333333',
    ],
    [
      'are limited after scaling',
      { internalTwap: 1_100n },
      { scalingFactor: '10', upperBound: '0.5' },
      '500',
      '0.5',
    ],
    ['have no limit if its text is empty', { internalTwap: 1_500n }, { upperBound: '' }, '500', '0.5'],
  ]
  for (const [name, period, parameters, payment, rate] of rows) {
    test(name, () => {
      assert.deepEqual(paid(period, parameters), { fundingPayment: payment, fundingRate: rate })
    })
  }

  const numbers: [text: string, isNumber: boolean][] = [
    ['', true],
    ['-0.0001', true],
    ['.5', true],
    ['1e-4', true],
    ['0x1', false],
    ['1e99999', false],
    ['1e257', false],
    ['1'.repeat(257), false],
    ['∞', false],
  ]
  for (const [text, isNumber] of numbers) {
    const shown = text.length > 20 ? `a number of ${text.length} digits` : `"${text}"`
    test(`${isNumber ? 'can' : 'cannot'} be calculated with a parameter of ${shown}`, () => {
      for (const name of Object.keys(NONE)) {
        assert.equal(fundingTerms({ ...NONE, [name]: text }) !== null, isNumber, name)
      }
    })
  }
})

describe('decimals', () => {
  const numbers = fc.tuple(
    fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
    fc.integer({ min: 0, max: 30 }),
  )

  test('quotients are rounded to 16 digits, half away from zero', () => {
    fc.assert(
      fc.property(
        numbers,
        numbers.filter(([digits]) => digits !== 0n),
        ([a, scaleA], [b, scaleB]) => {
          const { digits: quotient } = divide({ digits: a, scale: scaleA }, { digits: b, scale: scaleB })
          // Remainder and divisor, both multiplied by 10^(scaleA + scaleB + 16).
          const over = a * 10n ** BigInt(scaleB + 16) - quotient * b * 10n ** BigInt(scaleA)
          const by = b * 10n ** BigInt(scaleA)
          const magnitude = (value: bigint) => (value < 0n ? -value : value)
          assert.ok(2n * magnitude(over) <= magnitude(by))
          if (2n * magnitude(over) === magnitude(by)) {
            assert.ok(quotient !== 0n && magnitude(quotient * by) > magnitude(a * 10n ** BigInt(scaleB + 16)))
          }
        },
      ),
    )
    const half = 10n ** 16n * 2n
    assert.equal(textOfDecimal(divide(ofInteger(1n), ofInteger(half))), '0.0000000000000001')
    assert.equal(textOfDecimal(divide(ofInteger(-1n), ofInteger(half))), '-0.0000000000000001')
    assert.equal(textOfDecimal(divide(ofInteger(-1n), ofInteger(half + 1n))), '0')
  })

  test('are read and written', () => {
    const rows = [
      ['+1.50', '1.5'],
      ['-.5', '-0.5'],
      ['5.', '5'],
      ['1.25e1', '12.5'],
      ['12e-3', '0.012'],
      ['1E3', '1000'],
      ['-0.0', '0'],
      ['-12345678901234567890.12345678901234567890', '-12345678901234567890.1234567890123456789'],
    ]
    for (const [text, expected] of rows) assert.equal(textOfDecimal(parseDecimal(text!)!), expected)
  })

  test('are added, multiplied and compared exactly', () => {
    const tenth = parseDecimal('0.1')!
    assert.equal(textOfDecimal(add(tenth, parseDecimal('0.20')!)), '0.3')
    assert.equal(textOfDecimal(multiply(tenth, parseDecimal('-0.1')!)), '-0.01')
    assert.deepEqual(
      [compareDecimals(tenth, parseDecimal('0.10')!), compareDecimals(tenth, parseDecimal('0.2')!)],
      [0, -1],
    )
  })
})

const second = (seconds: number) => START + BigInt(seconds) * 1_000_000_000n

test('time outside auctions reads each auction a bounded number of times', () => {
  const auctions = noAuctions()
  for (let auction = 0; auction < 20_000; auction++) {
    enterAuction(auctions, second(4 * auction + 1))
    leaveAuction(auctions, second(4 * auction + 2))
  }
  let looks = 0
  const counted = new Proxy(auctions.closed, {
    get(target, property) {
      if (typeof property === 'string' && /^\d+$/.test(property)) looks++
      return Reflect.get(target, property)
    },
  })
  const outsideOf = timesOutsideAuctions({ closed: counted, open: null })
  let sum = 0n
  for (let span = 0; span < 80_000; span++) sum += outsideOf(second(span), second(span + 1))
  assert.equal(sum, timeOutsideAuctions(auctions, second(0), second(80_000)))
  assert.ok(looks < 10 * (80_000 + 20_000), `${looks} looks`)
})
test('consecutive spans have the same time outside auctions as each one alone', () => {
  const steps = fc.array(fc.bigInt({ min: 0n, max: 5n }), { minLength: 2, maxLength: 40 })
  fc.assert(
    fc.property(steps, steps, fc.boolean(), (spans, boundaries, isOpen) => {
      const auctions = noAuctions()
      let time = 0n
      boundaries.forEach((step, index) => {
        time += step
        if (index % 2 === 0) enterAuction(auctions, time)
        else leaveAuction(auctions, time)
      })
      if (!isOpen) leaveAuction(auctions, time + 3n)
      const outsideOf = timesOutsideAuctions(auctions)
      let from = 0n
      for (const step of spans) {
        assert.equal(outsideOf(from, from + step + 2n), timeOutsideAuctions(auctions, from, from + step + 2n))
        from += step
      }
    }),
  )
})
