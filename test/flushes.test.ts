import assert from 'node:assert/strict'
import { basename } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { acceptGap } from '#core/store/accept-gap'
import { copyStore } from '#core/store/copy-store'
import { fileOf, markedBlocks } from './fixtures/event-stream.ts'
import { noteFlushes } from './fixtures/flushes.ts'
import { restoreOldStore } from './fixtures/old-store.ts'
import { ingestWell, pruneBefore } from './fixtures/service.ts'
import { openStore, SQLITE } from './fixtures/stores.ts'

const skip =
  process.platform === 'linux' ? SQLITE === undefined && 'for SQLite only' : 'files are named by /proc'

/** Reads a store's present state until the test ends, as a long export does: its WAL cannot be copied meanwhile. */
function readOn(test: TestContext, store: string): void {
  const reader = new DatabaseSync(store, { readOnly: true })
  reader.exec('begin; select * from sqlite_schema')
  test.after(() => reader.close())
}

describe('a command that has ended beside a long reader', { skip }, () => {
  const commands: [name: string, run: (test: TestContext, store: string) => Promise<unknown>][] = [
    ['ingest', (t, store) => ingestWell(t, store, fileOf(...markedBlocks(7, 9)))],
    ['prune', (_, store) => pruneBefore(store, 5n)],
    ['gap accept', (_, store) => acceptGap(openStore(store), { from: 7n, to: 8n })],
  ]
  for (const [name, run] of commands) {
    test(`${name} has flushed the WAL with what it wrote, and the name of the WAL`, async (t) => {
      const store = SQLITE!.create(t)
      await ingestWell(t, store, fileOf(...markedBlocks(2, 6)))
      readOn(t, store)
      const { calls } = noteFlushes(t)
      await run(t, store)
      assert.ok(calls.includes(`flush ${basename(store)}-wal`), `${calls}`)
    })
  }

  test('migrate has flushed the WAL with the new schema', async (t) => {
    const store = await restoreOldStore(t, SQLITE!)
    readOn(t, store)
    const { calls } = noteFlushes(t)
    await openStore(store).migrate()
    assert.ok(calls.includes(`flush ${basename(store)}-wal`), `${calls}`)
  })

  test('copy has flushed the WAL with the rows that it copied', async (t) => {
    const [from, to] = [SQLITE!.create(t), SQLITE!.create(t)]
    await ingestWell(t, from, fileOf(...markedBlocks(2, 6)))
    await openStore(to).migrate()
    readOn(t, to)
    const { calls } = noteFlushes(t)
    await copyStore(openStore(from), openStore(to))
    assert.ok(calls.includes(`flush ${basename(to)}-wal`), `${calls}`)
  })
})
