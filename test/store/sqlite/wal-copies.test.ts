import assert from 'node:assert/strict'
import { closeSync, copyFileSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { generateRecords } from '#tools/generate/generate'
import { fileOf, markedBlocks } from '../../fixtures/events/event-stream.ts'
import { restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { createRandom, type Random } from '../../fixtures/random.ts'
import { send, statusOf } from '../../fixtures/requests/http.ts'
import { scaled } from '../../fixtures/sampling.ts'
import { capturedLog, ingest, pruneBefore, serve, tryIngest } from '../../fixtures/services/service.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { assertSameDump, dumpStore } from '../../fixtures/stores/dump-store.ts'
import { heightIn, openReader, openStore, SQLITE, temporaryFolder } from '../../fixtures/stores/stores.ts'

const skip = SQLITE === undefined && 'for SQLite only'

const PAGE_BYTES = 4096

/** Some disks write a page of 4,096 bytes in parts of this size. */
const SECTOR_BYTES = 512

/** A store whose WAL is to be copied: the file before and after, and the WAL. */
type Copying = { before: Buffer; after: Buffer; wal: Buffer }

/** Changes a store while a reader of an older snapshot keeps SQLite from copying the WAL, which stays beside the file. */
async function changeUncopied(store: string, change: () => unknown): Promise<Copying> {
  const reader = new DatabaseSync(store, { readOnly: true })
  reader.exec('begin; select * from sqlite_schema')
  const before = readFileSync(store)
  await change()
  const wal = readFileSync(`${store}-wal`)
  const copied = `${store}.copied`
  for (const ending of ['', '-wal']) copyFileSync(`${store}${ending}`, `${copied}${ending}`)
  reader.close()
  copyWal(copied)
  return { before, after: readFileSync(copied), wal }
}

function copyWal(store: string): void {
  const database = new DatabaseSync(store)
  database.exec('pragma wal_checkpoint(truncate)')
  database.close()
}

/** The file when the first parts of its new content are written: SQLite writes pages in their order. */
function cutAfter({ before, after }: Copying, parts: number, bytes: number): Buffer {
  const end = parts * bytes
  return Buffer.concat([after.subarray(0, end), before.subarray(end)])
}

/** The file when a loss of power has left any of the new parts, and any of the old ones. */
function tornFile({ before, after }: Copying, bytes: number, random: Random): Buffer {
  const isGrown = random.integer(2) === 1
  const torn = Buffer.alloc(isGrown ? Math.max(before.length, after.length) : before.length)
  before.copy(torn)
  for (let at = 0; at < after.length; at += bytes)
    if (random.integer(2) === 1) after.copy(torn, at, at, at + bytes)
  return torn
}

/** Files as an interrupted copy leaves them, beside the WAL. */
function* interrupted(
  copying: Copying,
  partBytes: number,
  random: Random,
): Generator<[what: string, file: Buffer]> {
  const parts = copying.after.length / partBytes
  const step = Math.max(1, Math.floor(parts / scaled(40, 400)))
  for (let done = 1; done < parts; done += done < 20 ? 1 : step)
    yield [`after ${done} of ${parts} parts`, cutAfter(copying, done, partBytes)]
  for (let image = 0; image < scaled(20, 200); image++)
    yield [`torn ${image}`, tornFile(copying, partBytes, random)]
}

/** Opens the store as every interrupted copy leaves it: it must be read, written and checked as if nothing had been. */
async function assertOpensAlways(test: TestContext, copying: Copying, partBytes: number): Promise<void> {
  const folder = temporaryFolder(test)
  const whole = join(folder, 'whole.db')
  writeFileSync(whole, copying.after)
  const expected = await dumpStore(whole)
  let images = 0
  for (const [what, file] of interrupted(copying, partBytes, createRandom(partBytes))) {
    const store = join(folder, `${images++}.db`)
    writeFileSync(store, file)
    writeFileSync(`${store}-wal`, copying.wal)
    try {
      assertSameDump(await dumpStore(store), expected, what)
      await openStore(store).migrate()
    } catch (error) {
      throw new Error(what, { cause: error })
    }
    if (images % 10 === 0) await assertSound(store)
    for (const ending of ['', '-wal', '-shm']) rmSync(`${store}${ending}`, { force: true })
  }
}

/** A store of many pages whose rows were deleted in part, so that `VACUUM` moves all others. */
async function createPruned(test: TestContext): Promise<string> {
  const store = SQLITE!.create(test)
  const stream = generateRecords({ blocks: 120, markets: 3, points: 3, parties: 10 })
  await tryIngest(store, Buffer.concat([...stream]))
  await pruneBefore(store, 100n)
  return store
}

function vacuum(store: string): void {
  const database = new DatabaseSync(store)
  database.exec('pragma wal_autocheckpoint = 0; vacuum')
  database.close()
}

describe('a store whose WAL was being copied when a program or the power ended', { skip }, () => {
  for (const [bytes, what] of [
    [PAGE_BYTES, 'whole pages'],
    [SECTOR_BYTES, 'parts of pages'],
  ] as const) {
    test(`opens with everything after VACUUM, if ${what} were written`, async (t) => {
      const store = await createPruned(t)
      await assertOpensAlways(t, await changeUncopied(store, () => vacuum(store)), bytes)
    })

    test(`opens with everything in an upgrade of its schema, if ${what} were written`, async (t) => {
      const store = await restoreOldStore(t, SQLITE!)
      const copying = await changeUncopied(store, () => openStore(store).migrate())
      await assertOpensAlways(t, copying, bytes)
    })

    test(`opens with everything at its first ingestions, if ${what} were written`, async (t) => {
      const store = SQLITE!.create(t)
      await openStore(store).migrate()
      for (const [from, to] of [
        [2, 4],
        [5, 7],
      ] as const) {
        const more = fileOf(...markedBlocks(from, to))
        await assertOpensAlways(t, await changeUncopied(store, () => tryIngest(store, more)), bytes)
        copyWal(store)
      }
    })
  }

  test('answers every request while another program copies the WAL after VACUUM', async (t) => {
    const store = await createPruned(t)
    const { logger, lines } = capturedLog('warn')
    const base = await serve(t, store, { logger, inThreads: true })
    const reader = await openReader(t, store)
    const copying = await changeUncopied(store, () => vacuum(store))
    const file = openSync(store, 'r+')
    t.after(() => closeSync(file))
    for (let at = 0; at < copying.after.length; at += PAGE_BYTES) {
      writeSync(file, copying.after, at, PAGE_BYTES, at)
      assert.equal(await statusOf(base, '/api/v2/checkpoints?pagination.first=5'), 200, `from ${at} on`)
      await reader.checkSchema()
    }
    assert.notEqual((await send(base, '/ready')).status, 503)
    assert.deepEqual(lines, [])
  })

  test('is refused if a whole store or another database has its place, with the advice to make a copy first', async (t) => {
    const folder = temporaryFolder(t)
    const path = (name: string) => join(folder, name)
    writeFileSync(path('other.evts'), fileOf(...markedBlocks(20, 22)))
    await ingest(path('other.db'), path('other.evts'))
    const store = await createPruned(t)
    const backup = path('backup.db')
    copyFileSync(store, backup)
    const more = Buffer.concat([...generateRecords({ blocks: 130, markets: 3, points: 3, parties: 10 })])
    await tryIngest(store, more)
    // A WAL with every page, so that SQLite could read it beside any file.
    const { wal } = await changeUncopied(store, async () => {
      await pruneBefore(store, 110n)
      vacuum(store)
    })
    const foreign = new DatabaseSync(path('foreign.db'))
    foreign.exec('create table some (value); insert into some values (1)')
    foreign.close()
    for (const name of ['other.db', 'backup.db', 'foreign.db']) {
      const left = readFileSync(path(name))
      writeFileSync(`${path(name)}-wal`, wal)
      await assert.rejects(openStore(path(name)).openWriter(), ({ message }: Error) => {
        assert.match(message, /-wal belongs to a different database/)
        assert.match(message, /make a copy of all three files.*delete/)
        return true
      })
      assert.deepEqual(readFileSync(path(name)), left, `${name} is as it was`)
    }
    assert.equal(await heightIn(store), 130)
  })
})
