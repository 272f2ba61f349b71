import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { takeLogFolder } from '#core/log/files/log-folder'
import { acceptGap } from '#core/store/admin/accept-gap'
import { copyStore } from '#core/store/admin/copy-store'
import { withSnapshot } from '#core/store/read-store'
import { exportFolder } from '#service/exports/folder/export-folder'
import { writeOut } from '#tools/cli/write-out'
import { generateRecords } from '#tools/generate/generate'
import { fileOf, markedBlocks } from '../../fixtures/events/event-stream.ts'
import { restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { ingest, pruneBefore } from '../../fixtures/services/service.ts'
import { noteFlushes } from '../../fixtures/stores/flushes.ts'
import { openStore, SQLITE, temporaryFolder } from '../../fixtures/stores/stores.ts'

const skip =
  process.platform === 'linux' ? SQLITE === undefined && 'for SQLite only' : 'files are named by /proc'

/** Reads a store's present state until the test ends, as a long export does: its WAL cannot be copied meanwhile. */
function readOn(test: TestContext, store: string): void {
  const reader = new DatabaseSync(store, { readOnly: true })
  reader.exec('begin; select * from sqlite_schema')
  test.after(() => reader.close())
}

describe('a command that has ended beside a long reader', { skip }, () => {
  const commands: [name: string, run: (store: string) => Promise<unknown>][] = [
    ['ingest', (store) => ingest(store, fileOf(...markedBlocks(7, 9)))],
    ['prune', (store) => pruneBefore(store, 5n)],
    ['gap accept', (store) => acceptGap(openStore(store), { from: 7n, to: 8n })],
  ]
  for (const [name, run] of commands) {
    test(`${name} has flushed the WAL with what it wrote, and the name of the WAL`, async (t) => {
      const store = SQLITE!.create(t)
      await ingest(store, fileOf(...markedBlocks(2, 6)))
      readOn(t, store)
      const { calls } = noteFlushes(t)
      await run(store)
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
    await ingest(from, fileOf(...markedBlocks(2, 6)))
    await openStore(to).migrate()
    readOn(t, to)
    const { calls } = noteFlushes(t)
    await copyStore(openStore(from), openStore(to))
    assert.ok(calls.includes(`flush ${basename(to)}-wal`), `${calls}`)
  })
})

describe('an event log', { skip }, () => {
  test('has flushed the folders in which its own are made', (t) => {
    const above = temporaryFolder(t)
    const folder = join(above, 'live', 'log')
    const { calls } = noteFlushes(t)
    t.after(takeLogFolder(folder))
    assert.deepEqual(calls, [
      'make log',
      'flush live',
      `flush ${basename(above)}`,
      'make readers',
      'flush log',
    ])
  })
})

describe('an export', { skip }, () => {
  test('of everything has flushed each folder before the whole gets its name, and then that', async (t) => {
    const store = SQLITE!.create(t)
    await ingest(store, Buffer.concat([...generateRecords({ blocks: 60, markets: 2, points: 2 })]))
    const above = temporaryFolder(t)
    const { calls } = noteFlushes(t)
    const out = join(above, 'made', 'everything')
    await withSnapshot(openStore(store), (snapshot) => exportFolder({ folder: out, snapshot }))
    const named = calls.indexOf('rename everything')
    const made = readdirSync(out, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name)
    assert.ok(made.length > 5)
    for (const folder of [...made, 'everything.new', basename(above)])
      assert.ok(calls.slice(0, named).includes(`flush ${folder}`), folder)
    assert.equal(calls[named + 1], 'flush made')
    calls.length = 0
    await withSnapshot(openStore(store), (snapshot) => exportFolder({ folder: out, snapshot }))
    assert.deepEqual(calls.slice(-4), [
      'rename everything.old',
      'flush made',
      'rename everything',
      'flush made',
    ])
  })

  test('into a file has flushed its folder once it has its name', async (t) => {
    const folder = temporaryFolder(t)
    const { calls } = noteFlushes(t)
    await writeOut(join(folder, 'some.csv'), Readable.from(['some text']))
    assert.deepEqual(calls, ['rename some.csv', `flush ${basename(folder)}`])
  })
})
