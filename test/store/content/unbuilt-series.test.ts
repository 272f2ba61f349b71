import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkStore } from '#tools/check/check-store'
import { ingest } from '../../fixtures/services/service.ts'
import { SAMPLE } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { describeOn, openStore, runSql, STORE_KINDS } from '../../fixtures/stores/stores.ts'

const buckets = async (store: string) =>
  Number((await checkStore(openStore(store))).rows.funding_period_series)

describeOn(STORE_KINDS, 'series that an interrupted command left unbuilt', (kind) => {
  test('are built by the next one, although it finds nothing new to write', async (t) => {
    const store = kind.create(t)
    await ingest(store, SAMPLE)
    const whole = await buckets(store)
    assert.ok(whole > 100)
    // As a store is after its last commit, before series are built: no bucket, and each run begun.
    await runSql(
      store,
      'delete from funding_period_series; update funding_period_series_made set made_to = -9000000000',
    )
    assert.equal(await buckets(store), 0)
    const report = await ingest(store, SAMPLE)
    assert.equal(report.blocks, 0)
    assert.equal(await buckets(store), whole)
    await assertSound(store)
  })
})
