import assert from 'node:assert/strict'
import { chownSync, createWriteStream, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { after, before, beforeEach, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Coverage } from '#core/domain/coverage'
import { createBatch } from '#core/model/batch'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { explainPostgresError } from '#core/store/postgres/errors'
import { readCoverage, readStoreHead } from '#core/store/queries/coverage'
import { readStore } from '#core/store/read-store'
import { TABLES } from '#core/store/schema/tables'
import { generateRecords } from '#tools/generate/generate'
import { assertSays } from '../../fixtures/assert-says.ts'
import { mountSmallDisk } from '../../fixtures/faults/small-disk.ts'
import { createRandom } from '../../fixtures/random.ts'
import { metricsOf, statusOf } from '../../fixtures/requests/http.ts'
import { runsOf, scaled } from '../../fixtures/sampling.ts'
import { dial } from '../../fixtures/services/core.ts'
import {
  blocksOf,
  liveArgs,
  readyOf,
  startLive,
  startWithCore,
  stop,
  untilHeight,
  untilReady,
} from '../../fixtures/services/live.ts'
import { openServer } from '../../fixtures/services/port.ts'
import {
  assertFails,
  end,
  ended,
  type Outcome,
  runLyra,
  startLyra,
  startService,
} from '../../fixtures/services/program.ts'
import { FILE, ingest } from '../../fixtures/services/service.ts'
import { MARKET, SAMPLE, skip } from '../../fixtures/shared.ts'
import { assertEqualStores, digestStore } from '../../fixtures/stores/digest-store.ts'
import {
  type PostgresServer,
  startPostgresServer,
  withOwnServer,
} from '../../fixtures/stores/postgres-server.ts'
import { openReader, openStore, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const MB = 1024 * 1024

test('A lost connection is named in words of its own, not in those of the driver', () => {
  for (const [said, cause] of [
    ['Client has encountered a connection error and is not queryable', 'the connection was cut'],
    ['Connection terminated unexpectedly', 'the connection was cut'],
    ['Query read timeout', 'the server does not respond'],
  ]) {
    assert.equal(explainPostgresError('postgres://a', new Error(said)).message, `postgres://a: ${cause}`)
  }
})

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows as Record<string, unknown>[]
  } finally {
    await client.end()
  }
}

/** Kills the server as a crash would, and starts it again. */
async function crash(server: PostgresServer): Promise<void> {
  const pid = Number(readFileSync(join(server.folder, 'data/postmaster.pid'), 'utf8').split('\n')[0])
  process.kill(pid, 'SIGKILL')
  await start(server)
}

/** Starts a killed server; its child processes take a moment to notice and to release the shared memory. */
async function start(server: PostgresServer): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await sleep(200)
    try {
      server.control('start')
      return
    } catch (error) {
      if (attempt === 50) throw error
    }
  }
}

describe('failures of PostgreSQL', withOwnServer(), () => {
  let server: PostgresServer
  /** A stream that takes a few seconds to ingest, and its digests after an ingestion without faults. */
  let stream: string
  let expected: unknown
  let schemas = 0

  before(async () => {
    server = (await startPostgresServer())!
    const folder = temporaryFolder(FILE)
    stream = join(folder, 'stream.evts')
    const options = { blocks: scaled(2_000, 60_000), markets: 20, points: 20, events: 2 }
    await pipeline(Readable.from(generateRecords(options)), createWriteStream(stream))
    await ingest(join(folder, 'plain.db'), stream)
    expected = await digestStore(join(folder, 'plain.db'))
  })
  // A failed test may have left it killed.
  beforeEach(async () => {
    await query(server.url, 'select 1').catch(() => start(server))
  })
  after(() => server?.remove())

  const store = () => `${server.url}?schema=fault_${schemas++}`

  test('killed during ingestion: no row is lost or duplicated, readers get 503 at worst', async (t) => {
    const name = store()
    const { service, base } = await startService(t, `--store ${name} ${stream}`)
    // Only after the first blocks: a writer that finds no server at its start does not wait for one.
    while ((await statusOf(base, '/api/v2/checkpoints')) !== 200) await sleep(20)
    const statuses = new Set<number>()
    let asking = true
    const reading = (async () => {
      while (asking) {
        const answer = statusOf(base, '/api/v2/checkpoints?pagination.first=5')
        statuses.add(
          await answer.catch((error: unknown) => {
            throw new Error(`no answer:\n${service.output.stderr.slice(-3000)}`, { cause: error })
          }),
        )
        await sleep(20)
      }
    })()
    try {
      for (let round = 0; round < runsOf('seconds'); round++) {
        await sleep(700)
        await crash(server)
      }
      assert.equal((await service.printed(/ingestion (ended|stopped: .*)/))[1], 'ended')
    } finally {
      asking = false
    }
    await reading
    assert.deepEqual(
      [...statuses].filter((status) => status !== 200 && status !== 503),
      [],
    )
    assert.equal(await statusOf(base, '/api/v2/checkpoints'), 200)
    service.child.kill('SIGTERM')
    await service.outcome
    assert.deepEqual(await digestStore(name), expected)
  })

  test('connections cut again and again: no row is lost or duplicated', async (t) => {
    const name = store()
    const random = createRandom(3)
    const ingestion = startLyra(t, `ingest --store ${name} ${stream}`)
    // A writer whose first connection is cut does not open another one: only after the first blocks.
    const schema = new URL(name).searchParams.get('schema')
    const stored = () => query(server.url, `select 1 from ${schema}.stream`).catch(() => [])
    while ((await stored()).length === 0 && ingestion.child.exitCode === null) await sleep(20)
    for (let round = 0; ingestion.child.exitCode === null; round++) {
      // At growing intervals, because on a busy machine a commit may take over a second.
      await sleep(250 + random.integer(250) + round * 50)
      await query(
        server.url,
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lyra'",
      )
    }
    await ended(ingestion)
    assert.deepEqual(await digestStore(name), expected)
  })

  test('a closed reader opens no more connections', async () => {
    const name = store()
    await ingest(name, SAMPLE)
    const reader = await openStore(name).openReader()
    assert.equal((await reader.read(readStoreHead))!.height, '905')
    await reader.close()
    await assert.rejects(reader.read(readStoreHead))
    await assert.rejects(reader.read(readCoverage))
  })

  test('pages use one to four connections, as needed, and are read again if these are cut', async (t) => {
    const name = store()
    await ingest(name, SAMPLE)
    // Hooks run in the order of their registration: a reader that is closed first would wait for the lock.
    const holder = new Client({ connectionString: server.url })
    await holder.connect()
    t.after(() => holder.end())
    const reader = await openReader(t, name)
    const pageOf = (limit: number) =>
      reader.page({
        resource: fundingPeriodDataPoints,
        selection: { marketId: MARKET },
        descending: true,
        cursor: null,
        limit,
      })
    const expected = await pageOf(40)
    const schema = new URL(name).searchParams.get('schema')
    const waiting = `from pg_stat_activity where application_name = 'lyra' and wait_event_type = 'Lock'`
    const untilWaiting = async (count: number) => {
      let found: unknown[] = []
      for (let waited = 0; found.length < count && waited < 20_000; waited += 20) {
        await sleep(20)
        found = await query(server.url, `select pid ${waiting}`)
      }
      assert.ok(found.length >= count, `${found.length} connections wait`)
      return found
    }
    await holder.query(`begin; lock table ${schema}.stream in access exclusive mode`)
    const pages: ReturnType<typeof pageOf>[] = []
    const askAtOnce = (count: number) => {
      for (let index = 0; index < count; index++) pages.push(pageOf(pages.length + 1))
    }
    askAtOnce(12)
    // When its process is found, each has been waited for at least once, for longer than the limit.
    let first = await untilWaiting(1)
    // At most one more, if the machine paused between two.
    assert.ok(first.length <= 2, `${first.length} connections wait`)
    for (const connections of [2, 3, 4, 4]) {
      askAtOnce(1)
      first = await untilWaiting(connections)
    }
    assert.equal(first.length, 4)
    const ofLyra = "select from pg_stat_activity where application_name = 'lyra'"
    assert.equal((await query(server.url, ofLyra)).length, 4)
    await query(server.url, `select pg_terminate_backend(pid) ${waiting}`)
    // A process that is ended is listed for a moment.
    const isGone = (process: unknown, listed: unknown[]) =>
      !JSON.stringify(listed).includes(JSON.stringify(process))
    await until(async () => {
      const listed = await query(server.url, `select pid ${waiting}`)
      return first.every((process) => isGone(process, listed))
    }, 'the end of the processes')
    const second = await untilWaiting(1)
    assert.ok(first.every((process) => isGone(process, second)))
    await holder.query('rollback')
    for (const [index, { rows, storeHead, more }] of (await Promise.all(pages)).entries()) {
      assert.deepEqual(rows, expected.rows.slice(0, index + 1))
      assert.deepEqual([storeHead, more], [expected.storeHead, true])
    }
  })

  test('all connections cut, each noticed on its next use: readers get answers from new ones', async (t) => {
    const name = store()
    await ingest(name, SAMPLE)
    const address = new URL(name)
    /** Connections that break at the next byte sent on them. */
    const doomed = new Set<Socket>()
    const open = new Set<Socket>()
    const proxy = createServer((socket) => {
      const upstream = connect(server.port, '127.0.0.1')
      open.add(socket)
      const end = () => {
        open.delete(socket)
        upstream.destroy()
        socket.destroy()
      }
      for (const one of [socket, upstream]) one.on('error', end).on('close', end)
      socket.on('data', (bytes) => (doomed.has(socket) ? socket.resetAndDestroy() : upstream.write(bytes)))
      upstream.on('data', (bytes) => socket.write(bytes))
    })
    address.host = await openServer(t, proxy)
    t.after(() => {
      for (const socket of open) socket.destroy()
    })
    const reader = await openReader(t, address.href)
    const expected = await reader.read(readCoverage)
    await Promise.all(Array.from({ length: 6 }, () => reader.read(readCoverage)))
    assert.ok(open.size >= 5, `${open.size} connections`)
    for (const socket of open) doomed.add(socket)
    assert.deepEqual(await reader.read(readCoverage), expected)
  })

  test('stopped for a while: the core continues, and everything is stored once the server is back', async (t) => {
    const plain = store()
    await ingest(plain, SAMPLE)
    const blocks = await blocksOf(SAMPLE)
    const name = store()
    const { service, core } = await startWithCore(t, name)
    await core.send(blocks.slice(0, 300))
    await untilHeight(service, 300)
    server.control('stop', '-m', 'fast')
    const stoppedAt = performance.now()
    await core.send(blocks.slice(300))
    await core.close()
    while (performance.now() - stoppedAt < scaled(3_000, 60_000)) {
      assert.equal(await statusOf(service.base, '/api/v2/checkpoints'), 503)
      await sleep(100)
    }
    server.control('start')
    await untilHeight(service, blocks.length)
    await stop(service)
    await assertEqualStores(name, plain)
  })

  test('a full disk pauses ingestion with one line until there is space; readers are answered', async (t) => {
    const disk = mountSmallDisk(t, 9 * MB)
    if (disk === null) return skip(t, 'cannot mount a file system')
    const location = join(disk.folder, 'tables')
    mkdirSync(location)
    chownSync(location, ...server.owner)
    await query(server.url, `create tablespace small location '${location}'`)
    await query(server.url, 'create database on_small tablespace small')
    const name = server.url.replace('/postgres', '/on_small')
    const { service, base } = await startService(t, `--store ${name} ${stream}`)
    await service.printed("the server's disk is full")
    // Earlier commits can be read; there may be none yet.
    assert.ok([200, 503].includes(await statusOf(base, '/api/v2/checkpoints')))
    disk.resize(512 * MB)
    assert.equal((await service.printed(/ingestion (ended|stopped: .*)/))[1], 'ended')
    service.child.kill('SIGTERM')
    await service.outcome
    assert.deepEqual(await digestStore(name), expected)
    await query(server.url, 'drop database on_small')
    await query(server.url, 'drop tablespace small')
  })

  test('a second writer stands by, which its metrics show, and takes over when the first is killed', async (t) => {
    const name = store()
    const schema = new URL(name).searchParams.get('schema')
    const heightNow = async () =>
      (await query(server.url, `select height from ${schema}.stream`))[0]?.height as string | undefined
    const first = startLyra(t, `ingest --store ${name} ${stream}`)
    while ((await heightNow().catch(() => undefined)) === undefined) await sleep(10)
    // Paused, so that it stays the writer until the second one has started.
    first.child.kill('SIGSTOP')
    const { service: second, base } = await startService(t, `--store ${name} ${stream}`)
    const untilStandby = (value: number) =>
      until(async () => (await metricsOf(base)).includes(`\nlyra_standby ${value}\n`), `standby ${value}`)
    await second.printed('another writer is active; standing by')
    await untilStandby(1)
    assert.equal(first.child.exitCode, null, 'the first one is still running')
    first.child.kill('SIGKILL')
    const height = await heightNow()
    await until(async () => (await heightNow()) !== height, 'the standby', 5)
    await untilStandby(0)
    await second.printed('ingestion ended')
    await end(second)
    assert.deepEqual(await digestStore(name), expected)
  })

  test('a writer that has lost its place notices any blocks that another one has added meanwhile', async () => {
    const coverage = (first: bigint, height: bigint, gaps: Coverage['gaps'] = []): Coverage => {
      const rest = { firstTimestamp: null, blockOne: null, timestamp: 1n, since: [], imported: [] }
      return { chainId: 'chain', first, began: 10n, height, gaps, ...rest }
    }
    const gap = { from: 11n, to: 11n, kind: 'missing', start: null, end: null } as const
    const before = coverage(10n, 12n, [gap])
    for (const added of [coverage(10n, 13n, [gap]), coverage(5n, 12n, [gap]), coverage(10n, 12n)]) {
      const name = store()
      const opened = openStore(name)
      await opened.migrate(() => {})
      const first = await opened.openWriter()
      await first.coverage()
      await first.commit(createBatch(), before)
      await query(
        server.url,
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'lyra'`,
      )
      const second = await opened.openWriter()
      await second.coverage()
      await second.commit(createBatch(), added)
      await second.close()
      await assert.rejects(first.commit(createBatch(), coverage(10n, 14n, [gap])), /another writer took over/)
      await first.close()
      const { first: lowest, height, gaps } = (await readStore(opened, readCoverage))!
      assert.deepEqual([lowest, height, gaps.length], [added.first, added.height, added.gaps.length])
    }
  })

  test('a database unreachable at the start is reported in one line, without its password', async (t) => {
    const name = 'postgres://lyra:secret-word@127.0.0.1:1/postgres'
    for (const command of [`ingest ${SAMPLE}`, 'serve --keep 1h', 'migrate']) {
      const { code, stdout, stderr } = await runLyra(t, `${command} --store ${name}`)
      const said = 'lyra: postgres://lyra@127.0.0.1:1/postgres?schema=lyra: nothing listens there\n'
      assert.deepEqual([code, stderr], [1, said])
      assert.doesNotMatch(stdout, /secret-word/)
    }
  })

  test('at the connection limit pages are read on open connections, and one line reports it', async (t) => {
    const name = store()
    await ingest(name, SAMPLE)
    await query(server.url, 'create role few login connection limit 20; grant pg_read_all_data to few')
    const { service, base } = await startService(t, ['--store', name.replace('//lyra@', '//few@')])
    const paths = [
      '/api/v2/checkpoints?pagination.first=100',
      '/api/v2/coverage',
      `/api/v2/funding-periods/data-points/${MARKET}?pagination.first=1000`,
      `/api/v2/funding-periods/data-points/${MARKET}?seq=1&pagination.first=3000`,
      '/api/v2/market-summaries?pagination.first=100',
    ]
    const statuses = async (readers: number, rounds: number) => {
      const found = new Set<number>()
      const reading = Array.from({ length: readers }, async (_, reader) => {
        for (let round = 0; round < rounds; round++) {
          // Pages that were never requested, so that each is read.
          const path = paths[(reader + round) % paths.length]!.replace(/\d+$/, (most) => `${+most - reader}`)
          found.add(await statusOf(base, path))
        }
      })
      await Promise.all(reading)
      return [...found]
    }
    for (const limit of [1, 3]) {
      await query(
        server.url,
        `alter role few connection limit ${limit};
        select pg_terminate_backend(pid) from pg_stat_activity where usename = 'few'`,
      )
      // Until then they count.
      const open = "select from pg_stat_activity where usename = 'few'"
      await until(async () => (await query(server.url, open)).length === 0, 'their end')
      // They may count for a moment longer.
      await until(
        async () => (await statusOf(base, `/api/v2/checkpoints?pagination.first=${200 + limit}`)) === 200,
        'a connection',
      )
      assert.deepEqual(await statuses(32, 4), [200], `at most ${limit} connections`)
    }
    // A request that was refused meanwhile, above, is another line.
    assert.equal(service.output.stderr.split('too many connections; continuing with those').length, 2)
    await query(server.url, 'alter role few connection limit -1')
    assert.deepEqual(await statuses(32, 1), [200])
  })

  test('unreachable at the start: the core is accepted, and its blocks are written later', async (t) => {
    const plain = store()
    await ingest(plain, SAMPLE)
    const blocks = await blocksOf(SAMPLE)
    for (const [comes, args] of [
      ['started', []],
      ['let in', ['--chain', 'core-scenarios']],
    ] as const) {
      const name = store()
      const role = `waits_${schemas}`
      await query(server.url, `create role ${role} login superuser connection limit 0`)
      await query(server.url, `alter role ${role} nosuperuser; grant create on database postgres to ${role}`)
      if (comes === 'started') server.control('stop', '-m', 'fast')
      const address = comes === 'started' ? name : name.replace('//lyra@', `//${role}@`)
      const service = await startLive(t, address, temporaryFolder(t), [...args])
      const core = await dial(service.corePort)
      await core.send(blocks.slice(0, 300))
      const { status, text } = await readyOf(service)
      assert.equal(status, 503)
      assertSays(text, 'store unreachable')
      assert.equal(await statusOf(service.base, '/api/v2/checkpoints'), 503)
      if (comes === 'started') server.control('start')
      else await query(server.url, `alter role ${role} connection limit -1`)
      await untilHeight(service, 300)
      await core.send(blocks.slice(300))
      await untilHeight(service, blocks.length)
      await core.close()
      await untilReady(service)
      await stop(service)
      await assertEqualStores(name, plain)
    }
  })

  test('a permanent refusal makes the service exit, at its start and later', async (t) => {
    await query(
      server.url,
      "create role locked login password 'right'; create role poor login; create role reads login; grant pg_read_all_data to reads",
    )
    const rules = join(server.folder, 'data/pg_hba.conf')
    writeFileSync(rules, `host all locked 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`)
    server.control('reload')
    const name = store()
    await ingest(name, SAMPLE)
    const as = (user: string) => name.replace('//lyra@', `//${user}@`)
    const cases: [store: string, reason: string][] = [
      [as('locked:wrong'), 'rejects this user or password'],
      [as('locked'), 'asks for a password: give it by PGPASSWORD'],
      [as('nobody'), 'rejects this user or password'],
      [name.replace('/postgres?', '/elsewhere?'), 'there is no such database'],
      [store().replace('//lyra@', '//poor@'), 'permission denied'],
      [as('reads'), 'this user may only read'],
    ]
    const assertRefused = ({ code, stderr }: Outcome, reason: string) => {
      assert.equal(code, 1, stderr)
      assertSays(stderr, reason)
      assert.doesNotMatch(stderr, /unexpected error/)
    }
    for (const [refused, reason] of cases) {
      const outcome = await runLyra(t, liveArgs(refused, temporaryFolder(t)))
      assertRefused(outcome, reason)
      assert.equal(outcome.stderr.split(reason).length, 2, outcome.stderr)
    }
    // Nothing is older than block 1.
    for (const before of ['500', '1']) {
      const prune = `prune --log-level error --store ${as('reads')} --before ${before}`
      await assertFails(t, prune, /^lyra: postgres:[^\n]+permission denied[^\n]+\n$/, 1)
    }
    server.control('stop', '-m', 'fast')
    const later = await Promise.all(
      cases.map(async ([refused, reason]) => {
        const service = await startLive(t, refused, temporaryFolder(t))
        return { service, reason }
      }),
    )
    server.control('start')
    for (const { service, reason } of later) {
      assertRefused(await service.program.outcome, reason)
    }
  })

  test('every unique key of a distributed table contains the distribution column', async () => {
    const name = store()
    await openStore(name).migrate()
    const schema = new URL(name).searchParams.get('schema')
    const distributed = TABLES.filter(
      ({ distribution }) => distribution !== 'nowhere' && distribution !== 'everywhere',
    )
    assert.ok(distributed.length >= 7)
    for (const { name: table, distribution: column } of distributed) {
      const keys = await query(
        server.url,
        `select indexrelid::regclass::text as name,
           array(select attname::text from pg_attribute
                 where attrelid = indrelid and attnum = any ((indkey::int2[])[0:indnkeyatts - 1])) as columns
         from pg_index where indisunique and indrelid = '${schema}.${table}'::regclass`,
      )
      assert.ok(keys.length > 0, table)
      for (const key of keys) assert.ok((key.columns as string[]).includes(column!), `${key.name as string}`)
    }
  })
})
