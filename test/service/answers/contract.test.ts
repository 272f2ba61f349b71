import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertGoldenAnswers } from '../../fixtures/requests/golden.ts'
import { sampled } from '../../fixtures/sampling.ts'
import { serveFile } from '../../fixtures/services/service.ts'
import { type GoldenCase, goldenNames, readGolden, recordingPath, skip } from '../../fixtures/shared.ts'
import { STORE_KINDS } from '../../fixtures/stores/stores.ts'

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

/** Whether a case needs a cursor from another one. */
const isFurther = ({ params }: GoldenCase) => params.some(([, value]) => typeof value !== 'string')

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
        const base = await serveFile(store, recording)
        // Pages that follow one that is requested are requested as well.
        const isWhole = store === STORE_KINDS[0] && variant === ''
        const starts = golden.cases.filter((one) => !isFurther(one))
        const asked = new Set(sampled(isWhole ? 'request' : 'answer', starts))
        assert.ok((await assertGoldenAnswers(base, golden, (one) => isFurther(one) || asked.has(one))) > 0)
      })
    }
  })
}
