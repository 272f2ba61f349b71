import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { readStoreHead } from '#core/store/queries/coverage'
import { walBytes } from '#core/store/sqlite/wal-check'
import { assertSays } from '../../fixtures/assert-says.ts'
import { restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { send, statusOf } from '../../fixtures/requests/http.ts'
import { assertFails, end, runWell, startService } from '../../fixtures/services/program.ts'
import { ingest, storeOf } from '../../fixtures/services/service.ts'
import { SAMPLE } from '../../fixtures/shared.ts'
import { createLiveStore, pointAt } from '../../fixtures/stores/live-store.ts'
import {
  ANY_STORE_KIND,
  describeOn,
  openStore,
  runSql,
  SQLITE,
  STORE_KINDS,
} from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const CHECKPOINTS = '/api/v2/checkpoints?pagination.first=1'

describeOn(STORE_KINDS, 'a service that only reads', (kind) => {
  test('waits for a store that is missing, creates nothing, and answers once there is one', async (t) => {
    const store = kind.create(t)
    const { service, base } = await startService(t, `--store ${store}`)
    const { status, text } = await send(base, '/ready')
    assert.equal(status, 503)
    assertSays(text, 'lyra migrate')
    assert.equal(await statusOf(base, CHECKPOINTS), 503)
    assert.equal(await openStore(store).schemaVersion(), 0)
    if (kind === SQLITE) assert.deepEqual(readdirSync(dirname(store)), [])
    await ingest(store, SAMPLE)
    await until(async () => (await send(base, '/ready')).status === 200, 'the reader is ready')
    assert.equal((await send(base, CHECKPOINTS)).headers['x-block-height'], '905')
    await end(service)
  })

  test('waits for an older schema to be upgraded, and ends once a newer program has upgraded it', async (t) => {
    const store = await restoreOldStore(t, kind)
    const before = await openStore(store).schemaVersion()
    const { service, base } = await startService(t, `--store ${store}`)
    const { status, text } = await send(base, '/ready')
    assert.equal(status, 503)
    assert.match(text, new RegExp(`its schema is version ${before}.*run lyra migrate`))
    assert.equal(await openStore(store).schemaVersion(), before)
    await runWell(t, `migrate --store ${store}`)
    await until(async () => (await send(base, CHECKPOINTS)).status === 200, 'the reader answers')
    await runSql(
      store,
      kind === SQLITE ? 'pragma user_version = 99' : 'update schema_version set version = 99',
    )
    const { code, stderr } = await service.outcome
    assert.equal(code, 1)
    assertSays(stderr, 'version 99 is newer than this version of Lyra supports')
    await assertFails(t, `serve --port 0 --store ${store}`, 'version 99 is newer', 1)
  })
})

test('a service that only reads a SQLite file leaves a long write-ahead log to the writer', async (t) => {
  if (SQLITE === undefined) return
  const { store, live } = await createLiveStore(t, SQLITE)
  await live.commit(1, [pointAt(1)])
  const [reader, other] = await Promise.all(
    [true, false].map((isReadOnly) => openStore(store).openReader({ isReadOnly })),
  )
  const snapshots = [await reader!.openSnapshot(), await other!.openSnapshot()]
  for (let height = 2; walBytes(store) <= 9 * 1024 * 1024; height += 5_000) {
    const heights = Array.from({ length: 5_000 }, (_, index) => height + index)
    await live.commitAll(heights.map((at) => ({ height: at, events: [pointAt(at)] })))
  }
  await snapshots[1]!.close()
  const long = walBytes(store)
  await snapshots[0]!.close()
  reader!.wal!.shorten()
  assert.equal(walBytes(store), long)
  other!.wal!.shorten()
  assert.equal(walBytes(store), 0)
  await Promise.all([reader!.close(), other!.close()])
})

for (const kind of ANY_STORE_KIND) {
  test(`a service that only reads is behind only if --max-behind says how old the last block may be (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    for (const [args, status] of [
      [[], 200],
      [['--max-behind', '60'], 503],
    ] as const) {
      const { base } = await startService(t, ['--store', store, ...args])
      const started = async () => !/starting|thread stopped/.test((await send(base, '/ready')).text)
      await until(started, 'all threads run')
      const answer = await send(base, '/ready')
      assert.equal(answer.status, status, answer.text)
      if (status === 503) assertSays(answer.text, 'behind by')
    }
  })
}

describeOn(STORE_KINDS, 'a reader that is closed', (kind) => {
  test('reads nothing any more, and opens nothing again', async (t) => {
    const { store } = await createLiveStore(t, kind)
    const reader = await openStore(store).openReader()
    await reader.read(readStoreHead)
    await reader.close()
    await assert.rejects(reader.read(readStoreHead), /the reader is closed/)
  })
})
