import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { Client } from 'pg'
import { parsePostgresAddress } from '#core/store/postgres/address'
import { runSchemaSteps } from '#core/store/postgres/admin/migrate'
import { explainPostgresError } from '#core/store/postgres/errors'
import { POSTGRES_SCHEMA } from '#core/store/postgres/schema'
import { VIEWS } from '#core/store/views/views'
import { assertSays } from '../../fixtures/assert-says.ts'
import { restoreOldStore } from '../../fixtures/old-stores/old-store.ts'
import { send } from '../../fixtures/requests/http.ts'
import { readyOf, startLive, stop, untilReady } from '../../fixtures/services/live.ts'
import { freePort, openServer } from '../../fixtures/services/port.ts'
import { end, runLyra, runWell, startService } from '../../fixtures/services/program.ts'
import { storeOf } from '../../fixtures/services/service.ts'
import { SAMPLE, skip } from '../../fixtures/shared.ts'
import { serverOfFile, withOwnServer } from '../../fixtures/stores/postgres-server.ts'
import { describeOn, openStore, STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const SERVERS = STORE_KINDS.filter(({ name }) => name !== 'sqlite')

/** Runs statements on the database of a store, as its owner. */
async function query(store: string, ...statements: string[]): Promise<void> {
  const url = new URL(store)
  url.search = ''
  const client = new Client({ connectionString: url.toString() })
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

const schemaOf = (store: string) => new URL(store).searchParams.get('schema')!

let users = 0

/** A user with rights on all tables of a store, as docs/scale.md gives them; returns the address as this user. */
async function withUser(
  t: TestContext,
  store: string,
  rights: string,
): Promise<{ user: string; address: string }> {
  const user = `least_${process.pid}_${users++}`
  const schema = schemaOf(store)
  await query(
    store,
    `create role ${user} login`,
    `grant usage on schema ${schema} to ${user}`,
    `grant ${rights} on all tables in schema ${schema} to ${user}`,
  )
  t.after(() => query(store, `drop owned by ${user}`, `drop role ${user}`).catch(() => {}))
  const address = new URL(store)
  address.username = user
  return { user, address: address.toString() }
}

test('a schema is made by one statement a query, since a cluster hands only one on to its machines', async () => {
  const sent: string[] = []
  const client = {
    query: async (text: string) => {
      sent.push(text)
      return { rows: [] }
    },
  }
  await runSchemaSteps(client as unknown as Client, POSTGRES_SCHEMA.steps)
  assert.ok(sent.length > 30)
  for (const statement of sent) {
    assert.match(statement, /^(create|alter|drop|insert|update|delete|truncate)\s/)
    assert.doesNotMatch(statement, /;|--/)
  }
})

test('a fault of TLS, of the address or of the user is explained by its message', () => {
  const fault = (code: string, message = 'of the driver') =>
    explainPostgresError('postgres://a', Object.assign(new Error(message), { code })).message
  for (const code of [
    'SELF_SIGNED_CERT_IN_CHAIN',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])
    assertSays(fault(code), "name the authority's certificate with sslrootcert=FILE")
  assertSays(fault('ERR_TLS_CERT_ALTNAME_INVALID'), 'is for another host')
  assertSays(fault('28P01', 'password authentication failed'), 'rejects this user or password')
  const demand =
    'pg_hba.conf rejects connection for host "10.0.0.7", user "lyra", database "markets", no encryption'
  assertSays(fault('28000', demand), 'host "10.0.0.7"...demands TLS: add sslmode=verify-full')
  assertSays(fault('28000', 'role "nobody" does not exist'), 'role "nobody" does not exist')
  assert.throws(() => parsePostgresAddress('postgres://u:a#b@c/d@host:x/markets'), /write @ : .* as %40 %3A/)
  assert.equal(
    decodeURIComponent(
      new URL(String(parsePostgresAddress('postgres://u:a%23b%40c@host/m').config.connectionString)).password,
    ),
    'a#b@c',
  )
})

test('of an address only parameters that are known to be harmless are shown', () => {
  const { name, publicName } = parsePostgresAddress(
    'postgres://u:one@host/m?user=lyra&password=two&sslpassword=three&sslmode=require&passfile=four&other=five',
  )
  for (const secret of ['one', 'two', 'three', 'four', 'five']) {
    assert.ok(!name.includes(secret) && !publicName.includes(secret), `${secret}: ${name}`)
  }
  assertSays(name, 'user=lyra&sslmode=require&schema=lyra')
})

describeOn(SERVERS, 'a user with the least rights', (kind) => {
  test('has its rights on the tables that an upgrade adds, and may read the views if it may read the tables', async (t) => {
    const store = await restoreOldStore(t, kind)
    const writer = await withUser(t, store, 'select, insert, update, delete')
    const reader = await withUser(t, store, 'select')
    // One with rights on some tables only gets no others.
    const some = `some_${process.pid}`
    await query(store, `create role ${some}`, `grant select on ${schemaOf(store)}.checkpoints to ${some}`)
    t.after(() => query(store, `drop owned by ${some}`, `drop role ${some}`))
    const { stdout, stderr } = await runWell(t, `migrate --store ${store}`)
    const granted = new RegExp(`granted delete, insert, select, update on the new tables to ${writer.user}`)
    assert.match(stdout + stderr, granted)
    assert.doesNotMatch(stdout + stderr, new RegExp(some))
    for (const { user, address } of [writer, reader]) {
      assertSays(stdout + stderr, `granted select on the new views to ${user}`)
      for (const { name } of VIEWS) await query(address, `select * from ${schemaOf(store)}.${name} limit 1`)
    }
    const changing = query(writer.address, `delete from ${schemaOf(store)}.v_checkpoints`)
    await assert.rejects(changing, /permission denied for view v_checkpoints/)
    if (kind.name === 'citus') await runWell(t, `migrate --citus --store ${store}`)
    await runWell(t, `status --store ${reader.address}`)
    await runWell(t, `ingest ${SAMPLE} --store ${writer.address}`)
    const { service, base } = await startService(t, `--store ${reader.address}`)
    for (const path of ['/ready', '/api/v2/coverage', '/api/v2/instruments']) {
      assert.equal((await send(base, path)).status, 200, path)
    }
    await end(service)
  })

  test('has its rights on a store that is distributed later', { skip: kind.name !== 'citus' }, async (t) => {
    const store = kind.reserve(t)
    await runWell(t, `migrate --store ${store}`)
    const { address } = await withUser(t, store, 'select, insert, update, delete')
    await runWell(t, `migrate --citus --store ${store}`)
    await runWell(t, `ingest ${SAMPLE} --store ${address}`)
    await runWell(t, `check --store ${address}`)
  })

  test('that lacks the right to a table is told which one, and the service is not ready', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { user, address } = await withUser(t, store, 'select, insert, update, delete')
    const { service, base } = await startService(t, `--store ${address}`)
    await untilReady({ base })
    await query(store, `revoke all on ${schemaOf(store)}.since from ${user}`)
    await until(async () => (await send(base, '/ready')).status === 503, 'that it is not ready')
    assertSays(
      (await send(base, '/ready')).text,
      'store unreachable...permission denied for table since; grant select',
    )
    await end(service)
    const status = await runLyra(t, `status --store ${address}`)
    assert.equal(status.code, 1)
    assertSays(status.stderr, 'permission denied for table since')
    for (const command of [`ingest ${SAMPLE}`, 'check']) {
      const { code, stderr } = await runLyra(t, `${command} --store ${address}`)
      assert.notEqual(code, 0, `${command}: ${stderr}`)
      assert.doesNotMatch(stderr, /unexpected error|at .*\.ts:/, command)
    }
  })

  test('that lacks the right to a table ends live ingestion in one line', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { user, address } = await withUser(t, store, 'select, insert, update, delete')
    await query(store, `revoke all on ${schemaOf(store)}.since from ${user}`)
    const { code, stderr } = await runLyra(
      t,
      `serve --port 0 --listen 127.0.0.1:0 --event-log ${temporaryFolder(t)}/log --store ${address}`,
    )
    assert.equal(code, 1)
    assertSays(stderr, 'permission denied for table since')
    assert.doesNotMatch(stderr, /unexpected error|at .*\.ts:/)
  })
})

/** A server that speaks as much of PostgreSQL's protocol as it takes to ask for the process, which `processOf` gives. */
async function fakeServer(t: TestContext, processOf: (connection: number, asked: number) => number) {
  let connections = 0
  const message = (type: string, ...parts: (Buffer | string)[]) => {
    const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
    const head = Buffer.alloc(5)
    head.write(type, 0, 'latin1')
    head.writeInt32BE(body.length + 4, 1)
    return Buffer.concat([head, body])
  }
  const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
  const int32 = (value: number) => Buffer.concat([int16(0), int16(value)])
  const ready = message('Z', 'I')
  const answer = (value: string) => [
    message('T', int16(1), 'pid\0', int32(0), int16(0), int32(25), int16(-1 & 0xffff), int32(0), int16(0)),
    message('D', int16(1), int32(value.length), value),
    message('C', 'SELECT 1\0'),
    ready,
  ]
  const server = createServer((socket: Socket) => {
    const connection = connections++
    let asked = 0
    let hasBegun = false
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      if (!hasBegun) {
        hasBegun = true
        socket.write(Buffer.concat([message('R', int32(0)), ready]))
      } else if (bytes[0] === 0x51 && bytes.includes('pg_backend_pid')) {
        socket.write(Buffer.concat(answer(String(processOf(connection, asked++)))))
      } else socket.destroy()
    })
  })
  return openServer(t, server)
}

describe('a pooler in front of PostgreSQL', () => {
  const REFUSED = 'a pooler in transaction or statement mode answers there'
  const cases: [what: string, processOf: (connection: number, asked: number) => number][] = [
    ['one session for both connections', () => 7],
    ['another session from some time on', (connection, asked) => 10 * connection + (asked > 3 ? 1 : 0)],
    [
      'the sessions of a pool in turn',
      (() => {
        let next = 0
        return () => next++ % 2
      })(),
    ],
  ]
  for (const [what, processOf] of cases) {
    test(`that gives ${what} is refused before anything is set`, async (t) => {
      const address = await fakeServer(t, processOf)
      await assert.rejects(openStore(`postgres://lyra@${address}/markets`).schemaVersion(), (error: Error) =>
        error.message.includes(REFUSED),
      )
    })
  }

  const ownServer = serverOfFile()
  for (const mode of ['transaction', 'statement', 'session'] as const) {
    test(
      `pgbouncer in ${mode} mode ${mode === 'session' ? 'is as good as the server' : 'is refused, and leaves its sessions as they were'}`,
      withOwnServer(),
      async (t) => {
        const server = ownServer(t)
        if (server === null) return
        const address = await startPgbouncer(t, server, mode)
        if (address === null) return
        const store = `${address}?schema=pooled_${mode}`
        const { code, stderr } = await runLyra(t, `ingest ${SAMPLE} --store ${store}`)
        if (mode === 'session') {
          assert.equal(code, 0, stderr)
          const service = await startLive(t, store, join(temporaryFolder(t), 'log'))
          await until(async () => (await readyOf(service)).status === 200, 'readiness')
          await stop(service)
          return
        }
        assert.equal(code, 1)
        assertSays(stderr, REFUSED)
        const client = new Client({ connectionString: address })
        await client.connect()
        const { rows } = await client.query('show search_path')
        assert.equal(rows[0].search_path, '"$user", public')
        await client.end()
      },
    )
  }
})

/** Runs pgbouncer in front of a server until the test ends; null if it is not installed. */
async function startPgbouncer(t: TestContext, server: string, mode: string): Promise<string | null> {
  if (spawnSync('pgbouncer', ['--version']).error !== undefined) {
    skip(t, 'pgbouncer is not installed')
    return null
  }
  const folder = temporaryFolder(t)
  const port = await freePort()
  const { port: serverPort } = new URL(server)
  writeFileSync(join(folder, 'users'), '"lyra" ""\n')
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
postgres = host=127.0.0.1 port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${folder}/users
pool_mode = ${mode}
ignore_startup_parameters = extra_float_digits
`,
  )
  const isRoot = process.getuid?.() === 0
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres'], { encoding: 'utf8' }).stdout)
  if (isRoot)
    for (const path of [folder, join(folder, 'users'), join(folder, 'pgbouncer.ini')])
      chownSync(path, id('-u'), id('-g'))
  const user = isRoot ? { uid: id('-u'), gid: id('-g') } : {}
  const program = spawn('pgbouncer', ['-q', join(folder, 'pgbouncer.ini')], { stdio: 'ignore', ...user })
  t.after(() => program.kill('SIGKILL'))
  const address = `postgres://lyra@127.0.0.1:${port}/postgres`
  const answers = async () => {
    const client = new Client({ connectionString: address })
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
  await until(answers, 'pgbouncer')
  return address
}
