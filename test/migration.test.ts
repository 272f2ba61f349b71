import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileOf } from './fixtures/event-stream.ts'
import { restoreOldStore } from './fixtures/old-store.ts'
import { runLyra, startLyra } from './fixtures/program.ts'
import { runSql } from './fixtures/raw-sql.ts'
import { SAMPLE, skip } from './fixtures/shared.ts'
import { mountSmallDisk } from './fixtures/small-disk.ts'
import { openStore, STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

const MARKET = '0'.repeat(64)

for (const kind of STORE_KINDS) {
  const newest = kind.migrations.length

  describe(`a store of an older schema (${kind.name})`, () => {
    test('is refused by every command but migrate, serve and ingest, and left as it is', async (t) => {
      const old = await restoreOldStore(t, kind)
      const other = join(temporaryFolder(t), 'new.db')
      writeFileSync(join(temporaryFolder(t), 'some.evts'), fileOf({ height: 1 }))
      const commands: string[][] = [
        ['status', '--store', old],
        ['status', '--json', '--store', old],
        ['check', '--store', old],
        ['verify', '--store', old],
        ['prune', '--store', old, '--before', '10'],
        ['export', 'funding-period-data-points', '--market', MARKET, '--store', old],
        ['copy', '--from', old, '--to', other],
      ]
      for (const args of commands) {
        const { code, stderr } = await runLyra(t, args)
        assert.equal(code, 1, `${args.join(' ')}: ${stderr}`)
        const expected = `schema is version 3, this program's ${newest}; run lyra migrate`
        assert.ok(stderr.includes(expected), `${args.join(' ')}: ${stderr}`)
      }
      assert.equal(await openStore(old).schemaVersion(), 3)
    })

    test('is backed up as it is, and said to be old by migrate --check', async (t) => {
      const old = await restoreOldStore(t, kind, '0.2.0')
      const before = await openStore(old).schemaVersion()
      const checked = await runLyra(t, ['migrate', '--check', '--store', old])
      assert.deepEqual([checked.code, await openStore(old).schemaVersion()], [3, before], checked.stderr)
      assert.match(
        checked.stdout,
        new RegExp(`schema is version ${before}, and lyra migrate would bring it to ${newest}`),
      )
      const file = join(temporaryFolder(t), 'backup.db')
      const backedUp = await runLyra(t, ['backup', '--store', old, file])
      if (kind.name === 'sqlite') {
        assert.equal(backedUp.code, 0, backedUp.stderr)
        assert.equal(await openStore(file).schemaVersion(), before)
        assert.equal((await runLyra(t, ['migrate', '--store', file])).code, 0)
        assert.equal((await runLyra(t, ['check', '--store', file])).code, 0)
      } else assert.match(backedUp.stderr, /pg_dump --format=custom/)
      assert.equal((await runLyra(t, ['migrate', '--store', old])).code, 0)
      assert.equal((await runLyra(t, ['migrate', '--check', '--store', old])).code, 0)
      assert.equal((await runLyra(t, ['migrate', '--check', '--store', kind.create(t)])).code, 0)
    })

    test('is not written to by a copy', async (t) => {
      const old = await restoreOldStore(t, kind)
      const source = kind.create(t)
      const ingested = await runLyra(t, ['ingest', '--store', source, SAMPLE])
      assert.equal(ingested.code, 0, ingested.stderr)
      const { code, stderr } = await runLyra(t, ['copy', '--from', source, '--to', old])
      assert.equal(code, 1)
      assert.match(stderr, /run lyra migrate/)
      assert.equal(await openStore(old).schemaVersion(), 3)
    })

    test('is brought up to date by migrate, by ingest, and by serve', async (t) => {
      for (const args of [['migrate'], ['ingest', SAMPLE]]) {
        const old = await restoreOldStore(t, kind)
        const { code, stderr } = await runLyra(t, [...args, '--store', old])
        assert.equal(code, 0, stderr)
        assert.equal(await openStore(old).schemaVersion(), newest)
        assert.equal((await runLyra(t, ['check', '--store', old])).code, 0)
      }
      const old = await restoreOldStore(t, kind)
      const service = startLyra(t, ['serve', '--store', old, '--port', '0'])
      await service.printed(/serving .* on http/)
      assert.equal(await openStore(old).schemaVersion(), newest)
      service.child.kill('SIGTERM')
      await service.outcome
    })
  })
}

test('a migration that the disk may have no room for is refused, and changes nothing', async (t) => {
  const sqlite = STORE_KINDS.find(({ name }) => name === 'sqlite')
  if (sqlite === undefined) return skip(t, 'SQLite is not asked for')
  const bytes = readFileSync(await restoreOldStore(t, sqlite))
  const disk = mountSmallDisk(t, bytes.length + 8 * 1024 * 1024)
  if (disk === null) return skip(t, 'no file system can be mounted')
  const store = join(disk.folder, 'lyra.db')
  writeFileSync(store, bytes)
  await runSql(store, 'pragma wal_checkpoint(truncate)')
  assert.ok(disk.resize(bytes.length + 600 * 1024))
  const { code, stderr } = await runLyra(t, ['migrate', '--store', store])
  assert.equal(code, 1)
  assert.match(stderr, /from version 3 to 8 may take \d+ bytes of disk .* has \d+ free; nothing is changed/)
  assert.equal(await openStore(store).schemaVersion(), 3)
  assert.ok(disk.resize(bytes.length + 64 * 1024 * 1024))
  assert.equal((await runLyra(t, ['migrate', '--store', store])).code, 0)
  assert.equal(await openStore(store).schemaVersion(), sqlite.migrations.length)
})
