import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type Decimal, ONE, parseDecimal, textOfDecimal } from '#core/domain/decimal'
import { feePenalty, ownFeePenalty } from '#core/domain/fee-penalty'
import { readRecording, recordsOf } from '../fixtures/events/event-stream.ts'
import { fieldsOf, textIn, textsIn } from '../fixtures/events/wire-fields.ts'
import { MONTH } from '../fixtures/shared.ts'

const decimal = (text: string): Decimal => parseDecimal(text)!

const TERMS = { minimum: decimal('0.75'), competitionFactor: decimal('0.3') }

/** A fraction with four digits. */
const fractions = fc.integer({ min: 0, max: 10_000 }).map((digits) => ({ digits: BigInt(digits), scale: 4 }))

/** A provider's figures for an epoch: what the core said before it ended, and at its end. */
type Ended = { timeOnBook: string; penalty: string; earlier: string[]; minimum: string; factor: string }

/** The ends of epochs in a recording of which a provider has figures, read by an independent decoder. */
function endedIn(recording: string): Ended[] {
  const terms = new Map<string, { minimum: string; factor: string }>()
  const earlier = new Map<string, string[]>()
  const ended: Ended[] = []
  let endedAt = -1
  const told = new Set<string>()
  for (const { kind, bytes, height } of recordsOf(readRecording(recording))) {
    if (![111, 116, 125, 131].includes(kind)) continue
    const fields = fieldsOf(fieldsOf(bytes.subarray(12)).get(kind)![0] as Uint8Array)
    if (kind === 131 && fields.get(2)?.at(-1) === 2n) {
      endedAt = height
      told.clear()
    }
    for (const sla of fields.get(kind === 111 ? 32 : 18) ?? []) {
      const own = fieldsOf(sla as Uint8Array)
      if (kind !== 111) {
        terms.set(textIn(fields, 1), { minimum: textIn(own, 2), factor: textIn(own, 5) })
        continue
      }
      const market = textIn(fields, 12)
      const provider = `${market} ${textIn(own, 1)}`
      const [timeOnBook, penalty] = [textIn(own, 3), textIn(own, 4)]
      if (height === endedAt && !told.has(provider) && timeOnBook !== '')
        ended.push({ timeOnBook, penalty, earlier: earlier.get(provider) ?? [], ...terms.get(market)! })
      told.add(provider)
      earlier.set(provider, textsIn(own, 6))
    }
  }
  return ended
}

/** The penalty by doubles, from the rule in words. */
function expectedPenalty({ timeOnBook, earlier, minimum, factor }: Ended): number {
  const [time, least] = [Number(timeOnBook), Number(minimum)]
  const own = time < least ? 1 : time === 1 ? 0 : ((1 - time) / (1 - least)) * Number(factor)
  let sum = 0
  for (const one of earlier) sum += Number(one)
  return Math.max(own, earlier.length === 0 ? 0 : sum / earlier.length)
}

describe('the fee penalty of an epoch', () => {
  test('is that of the core at each end of an epoch in month, to the last digit', () => {
    const ended = endedIn(MONTH)
    assert.equal(ended.length, 560)
    for (const one of ended) {
      const { timeOnBook, penalty, earlier, minimum, factor } = one
      const terms = { minimum: decimal(minimum), competitionFactor: decimal(factor) }
      assert.equal(textOfDecimal(feePenalty(decimal(timeOnBook), earlier.map(decimal), terms)), penalty)
      assert.ok(Math.abs(expectedPenalty(one) - Number(penalty)) < 1e-12, JSON.stringify(one))
    }
  })

  test('is 1 below the minimum, and falls from the competition factor to 0 above it', () => {
    const cases: [timeOnBook: string, minimum: string, factor: string, expected: string][] = [
      ['0', '0.75', '0.3', '1'],
      ['0.7499999999999999', '0.75', '0.3', '1'],
      ['0.75', '0.75', '0.3', '0.3'],
      ['0.875', '0.75', '0.3', '0.15'],
      ['1', '0.75', '0.3', '0'],
      ['0.5', '0.5', '1', '1'],
      // Without a minimum it begins at once, and a minimum of all leaves nothing between 1 and 0.
      ['0', '0', '0.3', '0.3'],
      ['0.5', '0', '0.3', '0.15'],
      ['0.9999', '1', '0.3', '1'],
      ['1', '1', '0.3', '0'],
      ['0.8', '0.75', '0', '0'],
    ]
    for (const [timeOnBook, minimum, factor, expected] of cases) {
      const terms = { minimum: decimal(minimum), competitionFactor: decimal(factor) }
      assert.equal(
        textOfDecimal(ownFeePenalty(decimal(timeOnBook), terms)),
        expected,
        `${timeOnBook} of ${minimum}`,
      )
    }
  })

  test('is at least the mean of earlier ones, which are a ring, and whose order is no matter', () => {
    const ring = fc.array(fractions, { minLength: 1, maxLength: 6 })
    fc.assert(
      fc.property(fractions, ring, fc.nat(), (timeOnBook, earlier, turn) => {
        const at = turn % earlier.length
        const turned = [...earlier.slice(at), ...earlier.slice(0, at)]
        const penalty = textOfDecimal(feePenalty(timeOnBook, earlier, TERMS))
        for (const other of [turned, turned.toReversed()])
          assert.equal(textOfDecimal(feePenalty(timeOnBook, other, TERMS)), penalty)
        const sum = earlier.reduce((all, { digits }) => all + digits, 0n)
        const mean = Number(sum) / 10_000 / earlier.length
        const own = Number(textOfDecimal(ownFeePenalty(timeOnBook, TERMS)))
        assert.ok(Math.abs(Number(penalty) - Math.max(own, mean)) < 1e-12)
      }),
    )
    assert.equal(textOfDecimal(feePenalty(ONE, [], TERMS)), '0')
    assert.equal(textOfDecimal(feePenalty(ONE, ['1', '0', '0'].map(decimal), TERMS)), '0.3333333333333333')
  })
})
