import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { Client } from 'pg'
import { openPostgresSource } from '#tools/import/database/postgres-source'
import { importHistory } from '#tools/import/import-history'
import type { ImportSource } from '#tools/import/source'
import { HISTORY, STATE } from '#tools/import/tables'
import { importInto, importWhole } from '../fixtures/imports/import.ts'
import { loadReferenceTables, runSql } from '../fixtures/imports/reference-database.ts'
import { referencePath } from '../fixtures/shared.ts'
import { assertSameDump, dumpStore, emptyDump } from '../fixtures/stores/dump-store.ts'
import { serverOfFile } from '../fixtures/stores/postgres-server.ts'
import { describeOn, openStore, STORE_KINDS } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const TABLES = referencePath('tables/synthetic.tables.sql.gz')!

const serverFor = serverOfFile()

/** Loads the tables of `synthetic` and changes them by statements; returns the address. */
async function load(t: TestContext, ...statements: string[]): Promise<string> {
  const address = await loadReferenceTables(t, serverFor(t)!, TABLES)
  await runSql(address, ...statements)
  return address
}

/** An address with another user and a password. */
function as(address: string, user: string): string {
  const url = new URL(address)
  url.username = user
  url.password = 'secret'
  return url.toString()
}

/** Databases that are refused, or the statements that turn `synthetic` into one, and the error. */
const REFUSED: [
  what: string,
  make: string[] | ((t: TestContext) => Promise<string | string[]>),
  says: RegExp,
][] = [
  [
    'an unreachable server',
    async () => 'postgres://lyra:secret@127.0.0.1:1/x',
    /lyra@127.*: nothing listens there/,
  ],
  ['a malformed address', async () => 'postgres://[', /database address is malformed/],
  [
    'a missing database',
    async (t) => serverFor(t)!.replace(/postgres$/, 'nothing'),
    /there is no such database/,
  ],
  [
    'an empty database',
    async (t) => serverFor(t)!,
    /not the database of a Vega data node: it has no table chain/,
  ],
  ['no blocks', ['drop table blocks'], /it has no table blocks/],
  ['no block', ['delete from blocks'], /contains no blocks/],
  [
    'no times of blocks',
    ['alter table blocks rename vega_time to x'],
    /no column vega_time in its table blocks/,
  ],
  ['no chain', ['delete from chain'], /its table chain is empty/],
  ['no schema version', ['drop table goose_db_version'], /no table goose_db_version/],
  [
    'schema version 53',
    ['delete from goose_db_version where version_id > 53', VERSION(53)],
    /version 53 is older/,
  ],
  ['schema version 124', [VERSION(124)], /version 124 is newer .* --force/],
  [
    'a block at no time',
    ["update blocks set vega_time = 'infinity' where height = 7"],
    /has block 7 at infinity, which is not a time/,
  ],
  ['a height twice', ['update blocks set height = 8 where height = 7'], /has block 8 twice/],
  [
    'a user without rights',
    async (t) => {
      const address = await load(t, 'drop role if exists guest', 'create role guest login')
      t.after(() => runSql(serverFor(t)!, 'drop role if exists guest'))
      return as(address, 'guest')
    },
    /guest@.*: permission denied for table .*\. Grant it to the user: grant usage/,
  ],
  ['two databases', async (t) => [await load(t), serverFor(t)!], /name either one database or segments/],
]

/** Gives a database another schema version. */
function VERSION(version: number): string {
  return `insert into goose_db_version values (9999, ${version}, true, now())`
}

describeOn(STORE_KINDS, 'databases', (kind) => {
  test('with too large a row of state are refused when it is read', async (t) => {
    if (serverFor(t) === null) return
    const source = await load(
      t,
      "update current_market_data set liquidity_provider_fee_shares = to_jsonb(repeat('x', 3000000))",
    )
    const { failure } = await importInto(kind.create(t), source)
    assert.match(failure!.message, /its table current_market_data has a row of 30\d+ bytes/)
  })

  for (const [what, make, says] of REFUSED) {
    test(`with ${what} are refused, and nothing is written`, async (t) => {
      if (serverFor(t) === null) return
      const store = kind.create(t)
      const source = await (typeof make === 'function' ? make(t) : load(t, ...make))
      await assert.rejects(
        async () => {
          const { failure } = await importInto(store, source)
          if (failure !== null) throw failure
        },
        (error: Error) => {
          assert.match(error.message, says)
          assert.doesNotMatch(error.message, /secret/)
          return true
        },
      )
      await openStore(store).migrate()
      assertSameDump(await dumpStore(store), emptyDump(), what)
    })
  }

  test('are read as of one moment, while their node writes', async (t) => {
    if (serverFor(t) === null) return
    const address = await load(t)
    const [whole, store] = [kind.create(t), kind.create(t)]
    await importWhole(whole, address)
    const source = await openPostgresSource(address)
    const writer = await openStore(store).openWriter()
    try {
      await runSql(
        address,
        "insert into blocks values ('2023-08-01 00:01:01.5+00', 61, '\\x00')",
        'delete from funding_period_data_points',
        'delete from checkpoints',
      )
      const { failure } = await importHistory({ source, writer, allowGap: false })
      assert.equal(failure, null)
    } finally {
      await writer.close()
      await source.close()
    }
    assertSameDump(await dumpStore(store), await dumpStore(whole), 'while the node writes')
  })

  test('without a table or column have no rows of its resource; rows without a block are skipped', async (t) => {
    if (serverFor(t) === null) return
    const address = await load(
      t,
      'drop table checkpoints',
      'alter table current_market_data drop column liquidity_provider_sla',
      "update funding_period_data_points set vega_time = vega_time - interval '1 year' where funding_period_seq = 0",
    )
    const store = kind.create(t)
    const { report } = await importWhole(store, address)
    assert.deepEqual(
      report.notImported.map(({ resource, reason }) => [resource, reason.replace(/^.* has /, '')]),
      [
        ['checkpoints', 'no table checkpoints'],
        ['fundingPayments', 'no table funding_payment'],
        ['epochs', 'no table epochs'],
        ['liquidityProviderHistory', 'no table epochs'],
        ['paidLiquidityFees', 'no table paid_liquidity_fees'],
        ['paidLiquidityFeesStats', 'no table paid_liquidity_fees'],
        ['liquidityProviders', 'no column liquidity_provider_sla in its table current_market_data'],
        ['instruments', 'no table markets_current'],
        ['instrumentTerms', 'no table markets_current'],
      ],
    )
    assert.deepEqual(
      report.imported.map(({ lacks }) => lacks),
      [
        [
          'checkpoints',
          'epochs',
          'fundingPayments',
          'instrumentTerms',
          'instruments',
          'liquidityProviderHistory',
          'liquidityProviders',
          'paidLiquidityFees',
          'paidLiquidityFeesStats',
        ],
      ],
    )
    assert.equal(report.leftOut['its block is not in the source'], 1)
  })
})

test('An import that is interrupted leaves no query running on the server', async (t) => {
  if (serverFor(t) === null) return
  const address = await load(
    t,
    'alter table checkpoints rename to slow_checkpoints',
    'create view checkpoints as select slow_checkpoints.* from slow_checkpoints, lateral (select pg_sleep(1000)) as slept',
  )
  const interrupted = new AbortController()
  const source = await openPostgresSource(address, { signal: interrupted.signal })
  const reading = source.parts[0]!.history(HISTORY.checkpoints, 0, () => true)
    [Symbol.asyncIterator]()
    .next()
  reading.catch(() => {})
  const client = new Client({ connectionString: serverFor(t)! })
  await client.connect()
  t.after(() => client.end())
  const running = async () => {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where application_name = 'lyra import' and state = 'active' and query like 'fetch%'`,
    )
    return rows.length
  }
  await until(async () => (await running()) === 1, 'the query')
  interrupted.abort()
  await assert.rejects(reading, { name: 'AbortError' })
  await source.close()
  await until(async () => (await running()) === 0, 'no query')
})

describe('a table that is emptied, or loses a part, while it is imported', () => {
  const reads = {
    periods: (source: ImportSource) => source.state(STATE.periods),
    checkpoints: (source: ImportSource) => source.parts[0]!.history(HISTORY.checkpoints, 0, () => true),
  }
  const chunk = [
    'create table chunk () inherits (checkpoints)',
    'with gone as (delete from only checkpoints returning *) insert into chunk select * from gone',
  ]
  const cases: [what: string, before: string[], meanwhile: string, read: keyof typeof reads][] = [
    ['truncated', [], 'truncate funding_period', 'periods'],
    ['a chunk dropped', chunk, 'drop table chunk', 'checkpoints'],
    ['a chunk truncated', chunk, 'truncate chunk', 'checkpoints'],
  ]
  for (const [what, before, meanwhile, name] of cases) {
    test(`${what}: the import says so; once its reading has begun, that waits for the import`, async (t) => {
      if (serverFor(t) === null) return
      const address = await load(t, ...before)
      const [begun, late] = [await openPostgresSource(address), await openPostgresSource(address)]
      t.after(() => late.close())
      const reading = reads[name](begun)[Symbol.asyncIterator]()
      const { value } = await reading.next()
      assert.ok((value as unknown[]).length > 0)
      await assert.rejects(runSql(address, "set lock_timeout = '100ms'", meanwhile), { code: '55P03' })
      for (let next = await reading.next(); !next.done; ) next = await reading.next()
      await begun.close()
      await runSql(address, meanwhile)
      await assert.rejects(reads[name](late)[Symbol.asyncIterator]().next(), {
        name: 'ImportError',
        message:
          /its table (?:funding_period|checkpoints) was emptied, rewritten, or has lost a part .*import again/,
      })
    })
  }
})

test('several tables are read at once without warnings from the driver', async (t) => {
  if (serverFor(t) === null) return
  const warnings: string[] = []
  const warn = ({ message }: Error) => warnings.push(message)
  process.on('warning', warn)
  t.after(() => process.off('warning', warn))
  const source = await openPostgresSource(await load(t))
  const [part] = source.parts
  const there = Object.values(HISTORY).filter((query) => part!.whyUnreadable(query) === null)
  assert.equal(there.length, 3)
  const readings = there.map((query) => part!.history(query, 0, () => true)[Symbol.asyncIterator]())
  await Promise.all(readings.map((rows) => rows.next()))
  await source.close()
  await setImmediate()
  assert.deepEqual(warnings, [])
})
