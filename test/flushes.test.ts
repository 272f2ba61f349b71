import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { describe, type TestContext, test } from 'node:test'
import { acceptGap } from '#core/store/admin/accept-gap'
import { copyStore } from '#core/store/admin/copy-store'
import { withSnapshot } from '#core/store/read-store'
import { exportFolder } from '#service/exports/export-folder'
import { takeFolder } from '#service/live/buffer-folder'
import { type BufferFollower, bufferPath, createEventBuffer, fileNumbers } from '#service/live/event-buffer'
import { startForwarding } from '#service/live/forward/start-forwarding'
import { repairLastFile } from '#service/live/repair'
import { writeOut } from '#tools/cli/export'
import { generateRecords } from '#tools/generate/generate'
import { fileOf, markedBlocks } from './fixtures/event-stream.ts'
import { noteFlushes } from './fixtures/flushes.ts'
import { restoreOldStore } from './fixtures/old-store.ts'
import { ingestWell, pruneBefore, SILENT } from './fixtures/service.ts'
import { openStore, SQLITE, temporaryFolder } from './fixtures/stores.ts'

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

describe('the buffer of a live service', { skip }, () => {
  const name = (number: number) => basename(bufferPath('', number))
  const events = fileOf(...markedBlocks(2, 4))

  /** A buffer folder with two files of a killed process. */
  function killedBuffer(t: TestContext): string {
    const folder = join(temporaryFolder(t), 'buffer')
    mkdirSync(folder)
    for (const number of [1, 2]) writeFileSync(bufferPath(folder, number), events)
    return folder
  }

  const openBuffer = (folder: string, archive: string | null, follower: BufferFollower | null = null) =>
    createEventBuffer({ folder, archive, maxFileBytes: 1 << 20, log: SILENT, follower })

  test('has flushed the files that a killed process left before anyone is told of them', (t) => {
    const folder = killedBuffer(t)
    const { calls } = noteFlushes(t)
    const follower = {
      lastNumber: 0,
      opened: () => {},
      grown: (number: number) => void calls.push(`grown ${number}`),
      makeRoom: () => false,
    }
    openBuffer(folder, null, follower)
    const expected = ['flush buffer', `flush ${name(1)}`, 'grown 1', `flush ${name(2)}`, 'grown 2']
    assert.deepEqual(calls, expected)
  })

  test('has flushed a file that it has cut, and before that the name of the rest', async (t) => {
    const folder = killedBuffer(t)
    const path = bufferPath(folder, 2)
    writeFileSync(path, Buffer.concat([events, Buffer.alloc(100)]))
    const { calls } = noteFlushes(t)
    await repairLastFile(path)
    assert.deepEqual(calls, ['flush buffer', `flush ${name(2)}`])
  })

  test('has flushed the folder of released files before the service goes on', (t) => {
    const folder = killedBuffer(t)
    const buffer = openBuffer(folder, join(folder, 'archive'))
    const { calls } = noteFlushes(t)
    buffer.release({ file: 3, offset: 0 })
    assert.deepEqual(calls, [`rename ${name(1)}`, `rename ${name(2)}`, 'flush archive'])
    assert.deepEqual(fileNumbers(join(folder, 'archive')), [1, 2])
  })

  test('has flushed the folders in which its own, and that of released files, are made', (t) => {
    const above = temporaryFolder(t)
    const folder = join(above, 'live', 'buffer')
    const { calls } = noteFlushes(t)
    t.after(takeFolder(folder))
    assert.deepEqual(calls, ['make buffer', 'flush live', `flush ${basename(above)}`])
    calls.length = 0
    openBuffer(folder, join(folder, 'archive'))
    assert.deepEqual(calls, ['make archive', 'flush buffer', 'flush archive', 'flush buffer'])
  })

  test('has flushed the folder of the files for a receiver once each is linked there, also for a killed process', async (t) => {
    const folder = killedBuffer(t)
    const settings = { host: '127.0.0.1', port: 1, limitBytes: 1 << 24 }
    const forwarding = startForwarding(settings, { buffer: folder, logLevel: 'silent', log: SILENT })
    t.after(() => forwarding.stop())
    const { calls } = noteFlushes(t)
    const linked = [`link ${name(1)}`, 'flush forward']
    forwarding.follower.opened(1, bufferPath(folder, 1))
    assert.deepEqual(calls, linked)
    forwarding.follower.opened(1, bufferPath(folder, 1))
    assert.deepEqual(calls, [...linked, 'flush forward'])
  })
})

describe('an export', { skip }, () => {
  test('of everything has flushed each folder before the whole gets its name, and then that', async (t) => {
    const store = SQLITE!.create(t)
    await ingestWell(t, store, Buffer.concat([...generateRecords({ blocks: 60, markets: 2, points: 2 })]))
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
