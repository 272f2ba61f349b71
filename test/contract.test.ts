import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertGoldenAnswers } from './fixtures/golden.ts'
import { sampled } from './fixtures/sampling.ts'
import { ingestWhole, serve } from './fixtures/service.ts'
import { goldenNames, readGolden, recordingPath, skip } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

/** Recordings with a variant that also contains market and asset events (`-named`): all answers are the same. */
const NAMED = ['perps-calm', 'perps-long']

/** Each variant of the recording of a golden file. */
function withVariants(name: string): [name: string, variant: '' | '-named'][] {
  const isNamed = NAMED.includes(name.split('/').at(-1)!)
  return isNamed
    ? [
        [name, ''],
        [name, '-named'],
      ]
    : [[name, '']]
}

test('the answers for funding periods all exist', () => {
  const names = goldenNames().filter((name) => name.startsWith('funding-periods/'))
  assert.deepEqual(
    names.map((name) => name.split('/')[1]),
    ['four-periods', 'perps-calm', 'perps-long', 'synthetic'],
  )
  assert.equal(
    names.reduce((sum, name) => sum + readGolden(name)!.cases.length, 0),
    8_429,
  )
})

for (const store of STORE_KINDS) {
  describe(`the expected answers on the recordings (${store.name})`, () => {
    for (const [name, variant] of goldenNames().flatMap(withVariants)) {
      test(`every case of ${name}${variant}`, async (t) => {
        const golden = readGolden(name)
        const recording =
          golden === null ? null : recordingPath(golden.events.replace('.evts.gz', `${variant}.evts.gz`))
        if (golden === null || recording === null) return skip(t, `the recording ${name} is missing`)
        const place = store.create(t)
        await ingestWhole(place, recording)
        const base = await serve(t, place)
        // All cases on one store; a sample on the other one and on variants.
        const isWhole = store === STORE_KINDS[0] && variant === ''
        const asked = new Set(isWhole ? golden.cases : sampled('answer', golden.cases))
        const count = await assertGoldenAnswers(base, golden, (one) => asked.has(one))
        assert.ok(count > 0 && (!isWhole || count === golden.cases.length))
      })
    }
  })
}
