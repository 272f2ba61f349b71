import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createBatch } from '#core/model/batch'
import { checkpoints } from '#core/resources/checkpoints/description'
import { StoreError, StoreUnavailableError } from '#core/store/errors'
import { TABLES } from '#core/store/schema/tables'
import { assertSays } from '../../fixtures/assert-says.ts'
import { fileOf, joinRecords, markedBlocks, recordsOf } from '../../fixtures/events/event-stream.ts'
import { writeLargeStream } from '../../fixtures/events/large-stream.ts'
import { mountSmallDisk } from '../../fixtures/faults/small-disk.ts'
import { removeAfterLook } from '../../fixtures/faults/vanishing-file.ts'
import { send, statusOf } from '../../fixtures/requests/http.ts'
import { sampled, scaled } from '../../fixtures/sampling.ts'
import { inScope } from '../../fixtures/scope.ts'
import { asNobody } from '../../fixtures/services/nobody.ts'
import {
  assertFails,
  end,
  ended,
  MAIN,
  type Outcome,
  runLyra,
  runWell,
  startLyra,
  startProgram,
  startService,
} from '../../fixtures/services/program.ts'
import { capturedLog, ingest, serve } from '../../fixtures/services/service.ts'
import { assertSameDump, dumpStore, type StoreDump } from '../../fixtures/stores/dump-store.ts'
import {
  heightIn,
  openReader,
  openStore,
  STORE_KINDS,
  sqlite,
  temporaryFolder,
} from '../../fixtures/stores/stores.ts'

/** For SQLite only. */
const options = { skip: !STORE_KINDS.some(({ name }) => name === 'sqlite') }

const CHECKPOINTS = '/api/v2/checkpoints?pagination.first=5'

type Folder = { folder: string; path: (name: string) => string }

/** The original of {@link storeFolder}. */
const original = mkdtempSync(join(tmpdir(), 'lyra-original-'))
before(async () => {
  for (const [name, from, to] of [
    ['lyra', 2, 6],
    ['other', 20, 22],
  ] as const) {
    const file = join(original, `${name}.evts`)
    writeFileSync(file, fileOf(...markedBlocks(from, to)))
    await ingest(join(original, `${name}.db`), file)
  }
  writeFileSync(join(original, 'more.evts'), fileOf(...markedBlocks(7, 9)))
})
after(() => rmSync(original, { recursive: true }))

/** A folder with a store of blocks 2 to 6, a file of the next three, and another store, of blocks 20 to 22. */
function storeFolder(test: TestContext): Folder {
  const folder = temporaryFolder(test)
  cpSync(original, folder, { recursive: true })
  return { folder, path: (name: string) => join(folder, name) }
}

const COMMANDS = {
  ingest: 'ingest --store lyra.db more.evts',
  serve: 'serve --port 0 --store lyra.db',
  'serve --listen': 'serve --port 0 --store lyra.db --listen 127.0.0.1:0',
  prune: 'prune --store lyra.db --before 3',
  backup: 'backup --store lyra.db copy.db',
}

/** Runs a command that must fail before serve would be up. */
async function assertRefused(
  test: TestContext,
  command: keyof typeof COMMANDS,
  { folder }: Folder,
  message: string | RegExp,
  user: object = {},
): Promise<void> {
  const typed = `${COMMANDS[command]} --log-level error`
  const { code, stderr } = await runLyra(test, typed, { cwd: folder, ...user })
  assertSays(stderr, message)
  // A service reports faults found after its start as a line of its log.
  assert.match(stderr, command === 'serve --listen' ? /^[^\n]+\n$/ : /^lyra: [^\n]+\n$/, 'one line')
  assert.equal(code, 1)
}

/** Checks that both ways to open a store refuse it for the same reason, in one line. */
async function assertUnusable(store: string, message: string | RegExp): Promise<void> {
  const isExpected = (error: unknown) => {
    assert.ok(error instanceof StoreError, String(error))
    assertSays(error.message, message)
    assert.doesNotMatch(error.message, /\n/)
    return true
  }
  await assert.rejects(openStore(store).openWriter(), isExpected)
  await assert.rejects(openStore(store).openReader(), isExpected)
}

/** Replaces a store by a database made with SQL. */
function replaceByAltered(store: string, sql: string): void {
  const database = new DatabaseSync(`${store}.new`)
  database.exec(sql)
  database.close()
  renameSync(`${store}.new`, store)
}

/** Keeps a store locked by another program until the function returned is called. */
async function holdLocked(test: TestContext, store: string, sql: string): Promise<() => Promise<unknown>> {
  const script = join(import.meta.dirname, '../../fixtures/programs/hold-lock.ts')
  const program = startProgram(test, process.execPath, [script, store, sql])
  await program.printed('locked')
  return () => {
    program.child.kill('SIGKILL')
    return program.outcome
  }
}

/** What a loss of power may leave of a first start: the name of a deleted journal, the file of one page, and the WAL. */
async function leftByFirstStart(store: string): Promise<{ page: Buffer; journal: Buffer; wal: Buffer }> {
  const database = new DatabaseSync(store)
  database.exec('pragma journal_mode = wal')
  const page = readFileSync(store)
  // Keeps the WAL of the first tables from being copied.
  database.exec('begin; select * from sqlite_schema')
  await openStore(store).migrate()
  const wal = readFileSync(`${store}-wal`)
  database.close()
  // Its beginning, no pages as there were none before, a number, sizes of the file, of a sector and of a page.
  const journal = Buffer.alloc(512)
  Buffer.from('d9d505f920a163d7', 'hex').copy(journal)
  for (const [index, number] of [0, 7, 0, 512, page.length].entries())
    journal.writeUInt32BE(number, 8 + 4 * index)
  return { page, journal, wal }
}

/** Ingests a file into a store and leaves the WAL beside it, as a killed process does. */
async function leaveLog(store: string, file: string): Promise<void> {
  // An open reader keeps the writer from moving the WAL into the file when it closes.
  const reader = await openStore(store).openTableReader()
  await reader.read(TABLES[0]!, { after: null, upTo: null }, 1)
  await ingest(store, file)
  const files = [store, `${store}-wal`, `${store}-shm`]
  for (const path of files) copyFileSync(path, `${path}.left`)
  await reader.close()
  for (const path of files) renameSync(`${path}.left`, path)
}

/** Ways to spoil a store file, and the reason for which it cannot be opened; null if it can, as an empty store. */
const HARMS: [what: string, harm: (store: string) => void, message: string | null][] = [
  ['of another program', (store) => replaceByAltered(store, 'create table t (a)'), 'of another program'],
  ['overwritten with text', (store) => writeFileSync(store, 'text'.repeat(9999)), 'is not a SQLite database'],
  ['cut in half', (store) => truncateSync(store, 30_000), 'the file is damaged'],
  ['cut to a few bytes', (store) => truncateSync(store, 50), 'the file is damaged'],
  ['cut to zero bytes', (store) => truncateSync(store, 0), null],
  ['that is removed', (store) => rmSync(store), null],
  [
    'of a newer schema',
    (store) => replaceByAltered(store, 'pragma user_version = 99'),
    'version 99...upgrade Lyra',
  ],
  [
    'replaced by a folder',
    (store) => {
      rmSync(store)
      mkdirSync(store)
    },
    'is a folder',
  ],
]

describe('an unusable store file', options, () => {
  for (const [what, harm, message] of HARMS) {
    if (message === null) continue
    test(`a file ${what} is reported in one line, and left unchanged`, async (t) => {
      const store = storeFolder(t).path('lyra.db')
      harm(store)
      const { size } = statSync(store)
      await assertUnusable(store, message)
      assert.equal(statSync(store).size, size)
    })
  }

  test('a change cut off by a kill is reported with what to do', async (t) => {
    const { path } = storeFolder(t)
    const store = new DatabaseSync(path('half.db'))
    store.exec('create table some (value); pragma cache_size = 1; begin')
    const insert = store.prepare('insert into some values (randomblob(1000))')
    for (let row = 0; row < 3_000; row++) insert.run()
    for (const end of ['', '-journal']) copyFileSync(path(`half.db${end}`), path(`killed.db${end}`))
    store.close()
    const killed = 'a program was killed ...run lyra migrate'
    await assertFails(t, `status --store ${path('killed.db')}`, killed, 1)
    // As the message says: the change is undone, and what is left turns out to be another program's.
    await assertFails(t, `migrate --store ${path('killed.db')}`, 'a database of another program', 1)
  })

  test('a first start cut short by a loss of power, with a journal and a WAL, is opened by whoever writes', async (t) => {
    const { path } = storeFolder(t)
    const { page, journal, wal } = await leftByFirstStart(path('first.db'))
    for (const command of ['ingest more.evts', 'migrate', 'serve --port 0 more.evts']) {
      const store = path(`${command.split(' ')[0]}.db`)
      writeFileSync(store, page)
      writeFileSync(`${store}-journal`, journal)
      writeFileSync(`${store}-wal`, wal)
      await assertFails(t, `status --store ${store}`, 'a program was killed ...run lyra migrate', 1)
      const program = startLyra(t, `${command} --store ${store}`, { cwd: path('') })
      if (command.startsWith('serve')) {
        await program.printed('ingestion ended')
        await end(program)
      } else await ended(program)
      if (command !== 'migrate') assert.equal(await heightIn(store), 9)
      await runWell(t, `check --store ${store}`)
    }
  })

  test('damaged pages end an ingestion with one line', async (t) => {
    const folder = storeFolder(t)
    const store = folder.path('lyra.db')
    writeFileSync(store, readFileSync(store).fill(0xee, 4096))
    await assertRefused(t, 'ingest', folder, 'lyra.db: the file is damaged')
  })

  test('a damaged page is not copied by a backup', async (t) => {
    const folder = storeFolder(t)
    const store = folder.path('lyra.db')
    const pages = readFileSync(store)
    writeFileSync(store, pages.fill(0xee, pages.length - 4096))
    await assertRefused(t, 'backup', folder, 'lyra.db: the file is damaged')
    assert.equal(existsSync(folder.path('copy.db')), false)
  })

  for (const [what, command, mode] of [
    ['file', 'ingest', 0o444],
    ['file', 'serve --listen', 0o444],
    ['file', 'prune', 0o444],
    ['folder', 'ingest', 0o555],
    ['folder', 'serve', 0o555],
  ] as const) {
    test(`a read-only ${what} is reported in one line by ${command}, and left unchanged`, async (t) => {
      const folder = storeFolder(t)
      const nobody = asNobody(t, folder.folder)
      if (nobody === null) return
      const before = await dumpStore(folder.path('lyra.db'))
      // With a WAL, even an empty one, a store could be read without writing.
      for (const end of ['-wal', '-shm']) rmSync(folder.path(`lyra.db${end}`), { force: true })
      // Created with access for its owner only, which here is not nobody.
      chmodSync(folder.path('lyra.db'), 0o644)
      const closed = what === 'file' ? folder.path('lyra.db') : folder.folder
      chmodSync(closed, mode)
      try {
        const message =
          command === 'serve'
            ? "lyra.db: this user may not write ...-shm, which SQLite requires for reading too; run as the store's user"
            : /lyra\.db: it cannot be written to|lyra\.db: this user may not write/
        await assertRefused(t, command, folder, message, nobody)
      } finally {
        chmodSync(closed, 0o755)
      }
      assertSameDump(await dumpStore(folder.path('lyra.db')), before, 'read-only')
    })
  }

  test('ingest waits for another program’s lock, then reports it in one line; readers continue', async (t) => {
    const folder = storeFolder(t)
    const store = folder.path('lyra.db')
    const unlock = await holdLocked(t, store, 'begin exclusive')
    const base = await serve(t, store, { inThreads: true })
    const refused = assertRefused(t, 'ingest', folder, 'lyra.db: another program has locked it')
    assert.equal(await heightServed(base), '6')
    await refused
    await unlock()
    assert.equal((await runLyra(t, COMMANDS.ingest, { cwd: folder.folder })).code, 0)
    assert.equal(await heightServed(base), '9')
  })

  test('a store that another program has opened exclusively is reported in one line', async (t) => {
    const folder = storeFolder(t)
    // If it is opened like this from the start, the WAL is exclusive as well.
    await holdLocked(t, folder.path('lyra.db'), 'pragma locking_mode = exclusive; begin exclusive')
    await assertRefused(t, 'serve', folder, 'lyra.db: another program has locked it')
  })
})

async function heightServed(base: string): Promise<string> {
  const { status, headers } = await send(base, CHECKPOINTS)
  return status === 200 ? String(headers['x-block-height']) : `status ${status}`
}

describe('a store file that changes under a service', options, () => {
  test('a replaced store answers no later request, however many it answered before', async (t) => {
    const { path } = storeFolder(t)
    const reader = await openReader(t, path('lyra.db'))
    const list = { resource: checkpoints, selection: {}, descending: true, cursor: null, limit: 1 }
    const heightRequestedAt = async (requestedAt: bigint) =>
      (await reader.page({ ...list, requestedAt })).storeHead?.height
    const before = process.hrtime.bigint()
    assert.equal(await heightRequestedAt(before), '6')
    renameSync(path('other.db'), path('lyra.db'))
    assert.equal(await heightRequestedAt(before), '6', 'the file was checked after this request')
    const after = process.hrtime.bigint()
    assert.equal(await heightRequestedAt(after), '22')
    assert.equal(await heightRequestedAt(before), '22')
  })

  const replacements: [what: string, replace: (from: string, to: string) => void][] = [
    ['moved into its place', renameSync],
    ['copied over it', copyFileSync],
  ]
  for (const [what, replace] of replacements) {
    test(`a store ${what} is served from then on`, async (t) => {
      const { path } = storeFolder(t)
      const base = await serve(t, path('lyra.db'), { inThreads: true })
      // A page cached before must not be answered from the cache afterwards.
      const before = (await send(base, CHECKPOINTS)).text
      replace(path('other.db'), path('lyra.db'))
      const after = await send(base, CHECKPOINTS)
      assert.equal(after.status, 200)
      assert.equal(after.headers['x-block-height'], '22')
      assert.notEqual(after.text, before)
      assert.deepEqual(
        [...after.text.matchAll(/"atBlock":"(\d+)"/g)].map(([, height]) => height),
        ['22', '21', '20'],
      )
    })
  }

  for (const [what, harm] of HARMS) {
    test(`a store ${what} is answered with 503, without its path, until it is fixed`, async (t) => {
      const { path } = storeFolder(t)
      copyFileSync(path('lyra.db'), path('backup.db'))
      const { logger, lines } = capturedLog('info')
      const base = await serve(t, path('lyra.db'), { logger, inThreads: true })
      assert.equal(await heightServed(base), '6')
      harm(path('lyra.db'))
      assert.equal(await heightServed(base), 'status 503')
      await statusOf(base, '/ready')
      const { status, text } = await send(base, '/ready')
      assert.equal(status, 503)
      const named = lines.filter((line) => line.includes(`store unreachable: ${path('lyra.db')}`))
      assert.equal(named.length, 1, lines.join(''))
      assert.match(
        text,
        /"store unreachable","message":"(the store cannot be read; see the log|(?:contains no store|no such file); [^"]*)"/,
      )
      assert.doesNotMatch(text, /lyra\.db/)
      assert.equal(await statusOf(base, '/health'), 200)
      rmSync(path('lyra.db'), { recursive: true, force: true })
      renameSync(path('backup.db'), path('lyra.db'))
      assert.equal(await heightServed(base), '6')
    })
  }

  test('a reading process survives repeated cuts and restores of its store', async (t) => {
    const folder = temporaryFolder(t)
    const [store, backup] = [join(folder, 'lyra.db'), join(folder, 'backup.db')]
    await ingest(store, writeLargeStream(folder, 1_000))
    copyFileSync(store, backup)
    const { funding_period_data_points: points } = await dumpStore(store)
    const [marketId] = JSON.parse(points![0]!) as string[]
    const { base } = await startService(t, `--log-level info --store ${store}`)
    const seen = new Set<number>()
    const path = `/api/v2/funding-periods/data-points/${marketId}?pagination.first=5000`
    for (let round = 0; round < scaled(15, 100); round++) {
      const asked = Array.from({ length: 4 }, () => send(base, path))
      for (let cut = 0; cut < 10; cut++) {
        truncateSync(store, 8192)
        copyFileSync(backup, store)
        await delay(1)
      }
      for (const { status } of await Promise.all(asked)) seen.add(status)
    }
    assert.deepEqual(
      [...seen].filter((status) => status !== 200 && status !== 503),
      [],
    )
    assert.equal(await statusOf(base, path), 200)
  })

  test('an ingestion whose store is removed stops, and creates no other', async (t) => {
    const { folder, path } = storeFolder(t)
    const command = 'ingest --log-level error --store lyra.db -'
    const run = startLyra(t, command, { cwd: folder, stdio: ['pipe', 'pipe', 'pipe'] })
    const stream = fileOf(...markedBlocks(7, 506))
    run.child.stdin!.on('error', () => {})
    run.child.stdin!.write(stream.subarray(0, stream.length / 2))
    while (!existsSync(path('lyra.db-wal'))) await delay(20)
    rmSync(path('lyra.db'))
    run.child.stdin!.end(stream.subarray(stream.length / 2))
    const { code, stderr } = await run.outcome
    assert.equal(code, 1)
    assert.match(stderr, /^lyra: [^\n]*lyra\.db: the store was deleted or replaced while in use[^\n]*\n$/)
    assert.ok(!existsSync(path('lyra.db')))
  })
})

/** What commands and a service do with a store beside its writer. */
const USES: [what: string, use: (store: string) => Promise<unknown>][] = [
  ['read', heightIn],
  [
    'read in a snapshot',
    async (store) => {
      const reader = await openStore(store).openReader()
      try {
        await (await reader.openSnapshot()).close()
      } finally {
        await reader.close()
      }
    },
  ],
  ['read by table', async (store) => (await openStore(store).openTableReader()).close()],
  [
    'changed beside a writer',
    async (store) => {
      const upkeep = await openStore(store).openUpkeep()
      try {
        await upkeep.read({ text: 'select 1', values: [] })
      } finally {
        await upkeep.close()
      }
    },
  ],
  ['asked for its schema', (store) => openStore(store).schemaVersion()],
  ['inspected', (store) => openStore(store).inspect()],
  ['checked', (store) => openStore(store).checkDatabase()],
  ['copied', (store) => openStore(store).backup!(`${dirname(store)}/copy`, { force: true })],
]

describe('a store that is removed between a look at it and its use', options, () => {
  /** Tries each moment, with a store that was closed and one that was killed, of which one file is removed or all. */
  async function tryEach(
    t: TestContext,
    work: (store: string, when: string, isLastLook: () => boolean) => Promise<void>,
  ): Promise<void> {
    for (const isKilled of [false, true]) {
      const from = storeFolder(t)
      if (isKilled) await leaveLog(from.path('lyra.db'), from.path('more.evts'))
      for (const endings of [[''], ['', '-wal', '-shm', '-lock', '-writer']]) {
        for (let step = 1, isRemoved = true; isRemoved; step++) {
          const store = join(temporaryFolder(t), 'lyra.db')
          cpSync(from.folder, dirname(store), { recursive: true })
          const files = endings.map((ending) => `${store}${ending}`)
          const when = `look ${step}, ${isKilled ? 'killed' : 'closed'}, ${files.length} files`
          isRemoved = await removeAfterLook(files, step, (looks) => work(store, when, () => looks() === step))
          assert.ok(isRemoved || step > 3, 'looks are counted')
        }
      }
    }
  }

  test('is written to no more by its writer, which says so', async (t) => {
    await tryEach(t, async (store, when, isLastLook) => {
      const said = `${store}: the store was deleted or replaced while in use; nothing more is written. Restart`
      const notices: string[] = []
      const commitTwice = async () => {
        const writer = await openStore(store).openWriter({ onNotice: (notice) => notices.push(notice) })
        try {
          const coverage = await writer.coverage()
          // Removed before it was opened: a new one was created.
          if (coverage === null) return
          for (let commit = 0; commit < 2; commit++) {
            await writer.commit(createBatch(), coverage)
            assert.ok(isLastLook() || existsSync(store), `${when}: the commit is in no file`)
          }
        } finally {
          await writer.close()
        }
      }
      await commitTwice().catch((error) => assert.equal(`${error}`, `StoreError: ${said}`, when))
      assert.deepEqual(notices, [], when)
    })
  })

  for (const [what, use] of USES) {
    test(`is missing, and not created, when it is ${what}`, async (t) => {
      await tryEach(t, async (store, when) => {
        try {
          await use(store)
        } catch (error) {
          assert.ok(
            error instanceof StoreError || error instanceof StoreUnavailableError,
            `${when}: ${error}`,
          )
          assert.match(error.message, /^[^ ]*lyra\.db: (no such file|the store was deleted)/, when)
        }
      })
    })
  }
})

describe('a WAL left beside a store', options, () => {
  test('contains the commits of a killed process, also for a copy of both and for the store from before it began', async (t) => {
    const { path } = storeFolder(t)
    copyFileSync(path('lyra.db'), path('backup.db'))
    await leaveLog(path('lyra.db'), path('more.evts'))
    for (const [copy, store] of [
      ['copy.db', 'lyra.db'],
      ['older.db', 'backup.db'],
    ] as const) {
      copyFileSync(path(store), path(copy))
      copyFileSync(path('lyra.db-wal'), path(`${copy}-wal`))
      assert.equal(await heightIn(path(copy)), 9, copy)
    }
    assert.equal(await heightIn(path('lyra.db')), 9)
    await ingest(path('lyra.db'), path('more.evts'))
    assert.equal(await heightIn(path('lyra.db')), 9)
  })

  test('of another, a replaced or a later store is reported in one line, and changes nothing', async (t) => {
    const { path } = storeFolder(t)
    copyFileSync(path('lyra.db'), path('backup.db'))
    // Checkpointed at the end, so that the next WAL has none of these blocks.
    await ingest(path('lyra.db'), path('more.evts'))
    writeFileSync(path('later.evts'), fileOf(...markedBlocks(10, 11)))
    await leaveLog(path('lyra.db'), path('later.evts'))
    for (const end of ['-wal', '-shm']) copyFileSync(path(`lyra.db${end}`), path(`left${end}`))
    const others: [height: number, replace: () => void][] = [
      [22, () => copyFileSync(path('other.db'), path('lyra.db'))],
      [22, () => renameSync(path('other.db'), path('lyra.db'))],
      [6, () => renameSync(path('backup.db'), path('lyra.db'))],
    ]
    for (const [height, replace] of others) {
      replace()
      await assertUnusable(path('lyra.db'), '-wal belongs to a different database')
      for (const end of ['-wal', '-shm']) rmSync(path(`lyra.db${end}`))
      assert.equal(await heightIn(path('lyra.db')), height)
      for (const end of ['-wal', '-shm']) copyFileSync(path(`left${end}`), path(`lyra.db${end}`))
    }
  })
})

/** Ingests a file in a process whose files cannot be larger than a number of bytes. */
function ingestLimited(t: TestContext, store: string, file: string, bytes: number): Promise<Outcome> {
  const command = `${MAIN} ingest --log-level error --store ${store} ${file}`.split(' ')
  return startProgram(t, 'prlimit', [`--fsize=${bytes}`, process.execPath, ...command]).outcome
}

describe('a full disk', options, () => {
  const folder = mkdtempSync(join(tmpdir(), 'lyra-full-'))
  let file: string
  let expected: StoreDump
  let wholeSize: number

  before(async () => {
    file = writeLargeStream(folder, scaled(1_500, 5_000))
    const store = join(folder, 'whole.db')
    await ingest(store, file)
    expected = await dumpStore(store)
    wholeSize = statSync(store).size
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  test('a limit on the size of files: one line, no damage, and ingestion continues without it', async (t) => {
    if (spawnSync('prlimit', ['--version']).status !== 0) return t.skip('prlimit is not installed')
    const store = sqlite.create(t)
    for (const share of sampled('seconds', [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])) {
      const { code, stderr } = await ingestLimited(t, store, file, Math.floor(wholeSize * share))
      assert.equal(code, 1, `with space for ${share}: ${stderr}`)
      assert.match(
        stderr,
        /^lyra: [^\n]*lyra\.db: it cannot be read or written to; check for a full [^\n]*disk[^\n]*\n$/,
      )
    }
    await ingest(store, file)
    assertSameDump(await dumpStore(store), expected, 'without it')
  })

  for (const [what, rest] of [
    ['a failed last flush', Buffer.alloc(0)],
    ['a failed last flush after an unreadable record', Buffer.alloc(20, 0xff)],
  ] as const)
    test(`${what}: one line, exit status 1, and the commits are there without the limit`, async (t) => {
      if (spawnSync('prlimit', ['--version']).status !== 0) return t.skip('prlimit is not installed')
      const [first, second] = [join(folder, 'first.evts'), join(folder, 'second.evts')]
      const records = recordsOf(readFileSync(file))
      const half = records.findIndex(({ height }) => height === Math.floor(records.at(-1)!.height * 0.9))
      writeFileSync(first, joinRecords(records.slice(0, half)))
      writeFileSync(second, Buffer.concat([joinRecords(records.slice(half)), rest]))
      const store = sqlite.create(t)
      await ingest(store, first)
      // The WAL of the added blocks is smaller than the limit, which keeps the file from growing.
      const { code, stderr } = await ingestLimited(t, store, second, statSync(store).size)
      assert.equal(code, 1)
      assert.match(stderr, /^lyra: [^\n]+lyra\.db: it cannot be read or written to[^\n]+\n$/)
      // A slow machine makes several commits of the rest, of which the limit may refuse one, too.
      if (rest.length === 0) assertSameDump(await dumpStore(store), expected, 'without the limit')
    })

  test('a backup onto a full file system leaves nothing there', async (t) => {
    const store = sqlite.create(t)
    await ingest(store, file)
    await inScope(async (scope) => {
      const disk = mountSmallDisk(scope, wholeSize / 2)
      if (disk === null) return t.skip('cannot mount a file system')
      const full = /^lyra: [^\n]*copy\.db: [^\n]*the disk is full[^\n]*\n$/
      await assertFails(t, `backup --store ${store} ${disk.folder}/copy.db`, full, 1)
      assert.deepEqual(readdirSync(disk.folder), [])
    })
  })
})
