import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECIMAL } from '#core/domain/decimal'
import { statusOfService } from '#tools/status/service-status'
import { parseDecimal } from '../../web/src/figures/decimal.ts'
import { formatPercent, groupDigits } from '../../web/src/figures/format-figure.ts'
import { serveWith } from '../fixtures/services/port.ts'

/** Characters of a text that takes minutes if the time grows with their square. */
const LENGTH = 1_000_000

/** Far more than a linear pass takes, on any machine. */
const MAX_MS = 5_000

const long = (text: string) => text.repeat(LENGTH / text.length)

/** Texts whose end makes a regular expression backtrack. */
const HOSTILE: Record<string, string> = {
  'digits and an x': `${long('1')}x`,
  'digits, a point, digits and an x': `${long('1')}.${long('1')}x`,
  'an exponent and an x': `1e${long('1')}x`,
  points: long('.'),
  'points and digits': long('.1'),
  'zeros in the middle': `0.${long('0')}1`,
  digits: long('1'),
}

const FUNCTIONS: Record<string, (text: string) => unknown> = {
  'a price is checked': (text) => DECIMAL.test(text),
  'a figure is grouped': groupDigits,
  'a figure is read': parseDecimal,
}

for (const [what, run] of Object.entries(FUNCTIONS)) {
  for (const [text, value] of Object.entries(HOSTILE)) {
    test(`${what} in linear time: ${text}`, () => {
      const startedAt = performance.now()
      run(value)
      assert.ok(performance.now() - startedAt < MAX_MS)
    })
  }
}

test('a percentage of many zeros is written in linear time', () => {
  // Calculating so many digits takes longer than writing them: a tenth of the length is enough.
  const zeros = '0'.repeat(LENGTH / 10)
  const startedAt = performance.now()
  assert.equal(formatPercent(`0.${zeros}1${zeros}`).length, LENGTH / 10 + '0.1 %'.length - 2)
  assert.ok(performance.now() - startedAt < MAX_MS)
})

test('the metrics of a service are parsed in linear time', async (t) => {
  const base = await serveWith(t, (request, response) => {
    const ready = request.url === '/ready'
    if (!ready && request.url !== '/metrics') response.statusCode = 503
    response.end(ready ? '{"status":"ready"}' : `lyra_x{${long('a')}} 1\n`)
  })
  const startedAt = performance.now()
  const report = await statusOfService(base)
  assert.equal(report.service?.ready, true)
  assert.ok(performance.now() - startedAt < MAX_MS)
})
