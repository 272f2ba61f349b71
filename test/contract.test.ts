import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assertGoldenAnswers } from './fixtures/golden.ts'
import { query, send } from './fixtures/http.ts'
import { sampled } from './fixtures/sampling.ts'
import { serve, serveFile, storeOf } from './fixtures/service.ts'
import {
  type GoldenCase,
  type GoldenValue,
  goldenNames,
  readGolden,
  recordingPath,
  skip,
} from './fixtures/shared.ts'
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

describe('the stores', () => {
  test('give the same bytes for the same requests, including cursors', async (t) => {
    if (STORE_KINDS.length < 2) {
      // The choice of stores is deliberate, so this is no skip, which CI would refuse.
      t.diagnostic('only one store is chosen by LYRA_TEST_STORE')
      return
    }
    let compared = 0
    for (const name of ['synthetic', 'perps-calm']) {
      const golden = readGolden(name)!
      const bases = await Promise.all(
        STORE_KINDS.map(async (kind) => {
          const store = await storeOf(t, kind, recordingPath(golden.events)!)
          return serve(t, store)
        }),
      )
      const cursors = new Map<string, string[]>()
      const textOf = (value: GoldenValue) =>
        typeof value === 'string' ? value : cursors.get(value.cursorOf[0])!.at(value.cursorOf[1])!
      for (const asked of golden.cases) {
        const target = `${asked.path}${query(asked.params.map(([key, value]) => [key, textOf(value)]))}`
        const answers = await Promise.all(bases.map((base) => send(base, target)))
        for (const answer of answers.slice(1)) {
          assert.equal(answer.status, answers[0]!.status, target)
          assert.equal(answer.text, answers[0]!.text, target)
          assert.equal(answer.headers.etag, answers[0]!.headers.etag, target)
          compared++
        }
        cursors.set(
          asked.id,
          [...answers[0]!.text.matchAll(/"cursor":"([^"]+)"/g)].map(([, cursor]) => cursor!),
        )
      }
    }
    assert.ok(compared > 2_000)
  })
})
