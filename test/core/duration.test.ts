import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDuration } from '#core/domain/duration'

test('a duration is written in its two largest units', () => {
  const cases: [seconds: number, text: string][] = [
    [-5, '0 s'],
    [0, '0 s'],
    [0.4, '0 s'],
    [59.4, '59 s'],
    [59.6, '1 min'],
    [60, '1 min'],
    [303, '5 min 3 s'],
    [3_600, '1 h'],
    [3_601, '1 h'],
    [12_000, '3 h 20 min'],
    [86_399, '23 h 59 min'],
    [86_400, '1 day'],
    [86_400 + 180, '1 day'],
    [2 * 86_400 + 5 * 3_600 + 59, '2 days 5 h'],
    [10 * 86_400 + 5 * 3_600, '10 days'],
    [1_000 * 86_400, '1,000 days'],
  ]
  for (const [seconds, text] of cases) assert.equal(describeDuration(seconds), text)
})
