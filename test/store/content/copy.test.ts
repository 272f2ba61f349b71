import assert from 'node:assert/strict'
import { symlinkSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, test } from 'node:test'
import { copyStore, replaceRows } from '#core/store/admin/copy-store'
import { StoreError } from '#core/store/errors'
import { readStoreHead } from '#core/store/queries/coverage'
import { TABLES } from '#core/store/schema/tables'
import { partOf } from '../../fixtures/events/event-stream.ts'
import { assertFails, runWell } from '../../fixtures/services/program.ts'
import { ingest, storeOf } from '../../fixtures/services/service.ts'
import { recorded, SAMPLE } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { digestStore } from '../../fixtures/stores/digest-store.ts'
import { openStore, readFrom, STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'

for (const fromKind of STORE_KINDS) {
  for (const toKind of STORE_KINDS) {
    describe(`a copy from ${fromKind.name} to ${toKind.name}`, () => {
      test('that was interrupted continues, corrects rows that differ by then, and can be ingested into', async (t) => {
        const from = await storeOf(t, fromKind, SAMPLE)
        const to = toKind.create(t)
        const stop = new AbortController()
        await assert.rejects(
          copyStore(openStore(from), openStore(to), {
            signal: stop.signal,
            onProgress: ({ table }) => {
              if (table === 'funding_period_data_points') stop.abort()
            },
          }),
          { name: 'AbortError' },
        )
        assert.equal(await readFrom(to, readStoreHead), null, 'an incomplete copy counts as an empty store')
        const upkeep = await openStore(to).openUpkeep()
        await replaceRows(upkeep, TABLES[0]!, { after: null, upTo: null }, [])
        await upkeep.close()
        await copyStore(openStore(from), openStore(to))
        assert.deepEqual(await digestStore(to, true), await digestStore(from, true))
        const report = await ingest(to, SAMPLE)
        assert.equal(report.heldBlocks, 905)
      })

      for (const before of ['an empty store', 'an older store']) {
        test(`that was interrupted into ${before} must be whole before anything else is written`, async (t) => {
          const from = await storeOf(t, fromKind, SAMPLE)
          const to = toKind.create(t)
          if (before === 'an older store')
            await ingest(
              to,
              partOf(SAMPLE, (height) => height < 300),
            )
          for (const last of ['funding_period_data_points', 'funding_payments', 'gaps']) {
            const stop = new AbortController()
            const copying = copyStore(openStore(from), openStore(to), {
              signal: stop.signal,
              onProgress: ({ table }) => {
                if (table === last) stop.abort()
              },
            })
            await assert.rejects(copying, { name: 'AbortError' })
            assert.equal(await readFrom(to, readStoreHead), null)
            await assert.rejects(ingest(to, SAMPLE), /contains only a part of another store, because lyra/)
          }
          await copyStore(openStore(from), openStore(to))
          await ingest(to, SAMPLE)
          await assertSound(to)
        })
      }

      test('is refused if it would mix chains or go back in height', async (t) => {
        const [empty, from] = [fromKind.create(t), await storeOf(t, fromKind, SAMPLE)]
        const to = toKind.create(t)
        await assert.rejects(copyStore(openStore(empty), openStore(to)), StoreError)
        await ingest(to, recorded('synthetic'))
        await assert.rejects(copyStore(openStore(from), openStore(to)), /is of chain testnet-001/)
        await assert.rejects(copyStore(openStore(from), openStore(from)), /is the store to copy/)
      })
    })
  }
}

test('lyra copy prints counts and digests', async (t) => {
  const [kind] = STORE_KINDS
  const from = await storeOf(t, kind!, SAMPLE)
  const to = kind!.create(t)
  const { stdout } = await runWell(t, `copy --from ${from} --to ${to}`)
  assert.match(stdout, /funding_period_data_points: 2,298 rows, sha256 [0-9a-f]{64}/)
  const same = kind!.name === 'sqlite' ? relative('', from) : from
  await assertFails(t, `copy --from ${from} --to ${same}`, 'is the store to copy; copy to another store', 1)
  if (kind!.name !== 'sqlite') return
  const link = join(temporaryFolder(t), 'link.db')
  symlinkSync(from, link)
  await assertFails(t, `copy --from ${from} --to ${link}`, 'is the store to copy; copy to another store', 1)
})
