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
import { runLyra } from '../fixtures/services/program.ts'
import { ingestWhole } from '../fixtures/services/service.ts'
import { NAMED_SAMPLE, SAMPLE } from '../fixtures/shared.ts'
import { openStore, temporaryFolder } from '../fixtures/stores/stores.ts'

/** The user of a service, whoever that is on this machine. */
const SERVICE = 65_534

const isRoot = process.getuid?.() === 0

test("what root does with a service's store leaves the lock to the service", { skip: !isRoot }, async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'lyra.db')
  await ingestWhole(store, SAMPLE)
  rmSync(`${store}-lock`)
  for (const path of [folder, store]) chownSync(path, SERVICE, SERVICE)
  const { code, stderr } = await runLyra(t, `ingest ${NAMED_SAMPLE} --store ${store}`)
  assert.equal(code, 0, stderr)
  const { uid, gid, mode } = statSync(`${store}-lock`)
  assert.deepEqual([uid, gid, mode & 0o777], [SERVICE, SERVICE, 0o600])
})

test('whether a store has a writer is not known if its lock cannot be read, which makes no standby', async (t) => {
  const store = join(temporaryFolder(t), 'lyra.db')
  await ingestWhole(store, SAMPLE)
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
  await ingestWhole(store, SAMPLE)
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
