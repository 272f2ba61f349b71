import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readStoreHead } from '#core/store/queries/coverage'
import { startLive, stop } from '../../fixtures/services/live.ts'
import { runLyra, runWell } from '../../fixtures/services/program.ts'
import { ingest } from '../../fixtures/services/service.ts'
import { NAMED_SAMPLE, SAMPLE } from '../../fixtures/shared.ts'
import { openStore, temporaryFolder } from '../../fixtures/stores/stores.ts'

/** The user of a service, whoever that is on this machine. */
const SERVICE = 65_534

const isRoot = process.getuid?.() === 0

test("what root does with a service's store leaves the lock to the service", { skip: !isRoot }, async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'lyra.db')
  await ingest(store, SAMPLE)
  rmSync(`${store}-lock`)
  for (const path of [folder, store]) chownSync(path, SERVICE, SERVICE)
  const { code, stderr } = await runLyra(t, `ingest ${NAMED_SAMPLE} --store ${store}`)
  assert.equal(code, 0, stderr)
  const { uid, gid, mode } = statSync(`${store}-lock`)
  assert.deepEqual([uid, gid, mode & 0o777], [SERVICE, SERVICE, 0o600])
})

test('whether a store has a writer is not known if its lock cannot be read, which makes no standby', async (t) => {
  const store = join(temporaryFolder(t), 'lyra.db')
  await ingest(store, SAMPLE)
  rmSync(`${store}-lock`)
  mkdirSync(`${store}-lock`)
  const { hasWriter, writer } = await openStore(store).inspect()
  assert.deepEqual([hasWriter, writer, await openStore(store).hasWriter()], [null, null, false])
})

test("root follows no link that a service's user has put in the place of the lock", {
  skip: !isRoot,
}, async (t) => {
  const [folder, elsewhere] = [temporaryFolder(t), join(temporaryFolder(t), 'secret')]
  const store = join(folder, 'lyra.db')
  await ingest(store, SAMPLE)
  rmSync(`${store}-lock`)
  writeFileSync(elsewhere, 'secret')
  chmodSync(elsewhere, 0o600)
  for (const [what, target] of [
    ['a file', elsewhere],
    ['nothing yet', `${elsewhere}-new`],
  ] as const) {
    symlinkSync(target, `${store}-lock`)
    const { code, stderr } = await runLyra(t, `ingest ${NAMED_SAMPLE} --store ${store}`)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /lyra\.db-lock cannot be locked \(it is a link\)/, what)
    rmSync(`${store}-lock`)
  }
  assert.equal(readFileSync(elsewhere, 'utf8'), 'secret')
  assert.equal(statSync(elsewhere).uid, 0)
  assert.ok(!existsSync(`${elsewhere}-new`))
})

test('Only the owner can read stores, their WAL files, backups and event logs', async (t) => {
  const folder = temporaryFolder(t)
  const path = (name: string) => join(folder, name)
  const modeOf = (name: string) => (statSync(path(name)).mode & 0o777).toString(8)
  const service = await startLive(t, path('lyra.db'), path('log'))
  for (const [name, mode] of [
    ['lyra.db', '600'],
    ['log', '700'],
    ['log/readers', '700'],
    ['log/head.json', '600'],
    ['log/receiver.json', '600'],
  ] as const) {
    assert.equal(modeOf(name), mode, name)
  }
  await stop(service)
  await ingest(path('other.db'), SAMPLE)
  const writer = await openStore(path('other.db')).openWriter()
  const reader = await openStore(path('other.db')).openReader()
  await reader.read(readStoreHead)
  for (const name of ['other.db', 'other.db-wal', 'other.db-shm', 'other.db-lock'])
    assert.equal(modeOf(name), '600', name)
  await reader.close()
  await writer.close()
  await runWell(t, ['backup', '--store', path('other.db'), path('backup.db')])
  assert.equal(modeOf('backup.db'), '600')
})
