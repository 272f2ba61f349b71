import assert from 'node:assert/strict'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { Row } from '#core/model/resource'
import { fundingPeriodDataPoints } from '#core/resources/funding-period-data-points/description'
import { RESOURCES } from '#core/resources/resources'
import { parsePostgresAddress } from '#core/store/postgres/address'
import { MAKE_UNPUBLISHED } from '#core/store/postgres/cluster/cluster'
import { isConnectionLost, isPassing, withFreshConnections } from '#core/store/postgres/errors'
import { readEstimate } from '#core/store/queries/estimates/funding-estimate'
import { readSeries } from '#core/store/queries/series/series'
import { readUnseenRows } from '#core/store/queries/unseen/unseen-rows'
import { TABLES } from '#core/store/schema/tables'
import { generateRecords } from '#tools/generate/generate'
import { documentedPages } from '../../fixtures/documentation.ts'
import { readRecording } from '../../fixtures/events/event-stream.ts'
import { blocksOf, importBlocks } from '../../fixtures/imports/import-blocks.ts'
import { startLyra } from '../../fixtures/services/program.ts'
import { ingest, pruneBefore, storeOf } from '../../fixtures/services/service.ts'
import { HEIGHT, MARKET, recorded, SAMPLE, TIMESTAMP } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { assertEqualStores, digestStore } from '../../fixtures/stores/digest-store.ts'
import {
  openReader,
  openStore,
  runSql,
  STORE_KINDS,
  type StoreKind,
  sqlite,
  temporaryFolder,
} from '../../fixtures/stores/stores.ts'

/*
 * Tests the statements of docs/scale.md about large stores. Stores distributed over a Citus cluster are tested on
 * plain PostgreSQL, with one written like a cluster's, and on a cluster if LYRA_TEST_STORE requests one.
 */

const SERVERS = STORE_KINDS.filter(({ name }) => name !== 'sqlite')

/** Creates an empty store that is written and read like one on a cluster. */
async function createDistributed(t: TestContext, kind: StoreKind): Promise<string> {
  const store = kind.create(t)
  await openStore(store).migrate()
  if (kind.name !== 'citus') await runSql(store, MAKE_UNPUBLISHED)
  return store
}

async function rowsOf(store: string, text: string): Promise<Row[]> {
  const { config, schema } = parsePostgresAddress(store)
  const client = new Client({ ...config, options: `-c search_path=${schema}` })
  await client.connect()
  try {
    const { rows } = await client.query({ text, rowMode: 'array' })
    return rows as Row[]
  } finally {
    await client.end()
  }
}

const count = async (store: string, table: string) =>
  Number((await rowsOf(store, `select count(*) from ${table}`))[0]![0])

/** Collects the statements sent to servers from now on. */
function listen(t: TestContext): string[] {
  const heard: string[] = []
  const { query } = Client.prototype
  t.mock.method(Client.prototype, 'query', function (this: Client, ...args: unknown[]) {
    const [asked] = args as [string | { text: string }]
    heard.push((typeof asked === 'string' ? asked : asked.text).replaceAll(/\s+/g, ' ').trim())
    return (query as (...args: unknown[]) => unknown).apply(this, args)
  })
  return heard
}

const names = (isNamed: (distribution: string | undefined) => boolean) =>
  TABLES.filter(({ distribution }) => isNamed(distribution)).map(({ name }) => name)

/** Whether a statement names one of the given tables. */
const naming = (tables: readonly string[]) => {
  const pattern = new RegExp(`\\b(?:${tables.join('|')})\\b`)
  return (text: string) => pattern.test(text)
}
const namesNumbered = naming(names((distribution) => distribution === 'market'))
const namesDistributed = naming(names((distribution) => distribution !== 'nowhere'))
const namesUndistributed = naming([
  ...names((distribution) => distribution === 'nowhere'),
  'changes',
  'unpublished',
])

describe('a store distributed over a cluster', { skip: SERVERS.length === 0 }, () => {
  for (const kind of SERVERS) {
    test(`each statement names its market, and no table of the coordinator alone (${kind.name})`, async (t) => {
      const store = await createDistributed(t, kind)
      const recording = recorded('perps-calm-named')
      const made = blocksOf(readRecording(recording))
      const heard = listen(t)
      // Twice, because existing points are written in another way.
      for (const from of [200n, 100n])
        await importBlocks(store, made, { from, to: 300n, blocksOfCommit: 100 })
      await ingest(store, recording)
      await pruneBefore(store, BigInt(TIMESTAMP) - 300_000_000_000n, 'time')
      await pruneBefore(store, 700n)
      const reader = await openStore(store).openReader()
      try {
        const unseen = { first: 0n, gaps: [], tail: { height: 700n, index: 0 } }
        for (const resource of RESOURCES) {
          const selection = { marketId: MARKET }
          const page = { resource, selection, descending: true, limit: 5 }
          const { rows } = await reader.page({ ...page, cursor: null })
          if (resource === fundingPeriodDataPoints) {
            assert.equal(rows.length, 5)
            const [timestamp, seq, source] = rows[4]!.map((cell) => BigInt(cell ?? 0))
            await reader.page({ ...page, cursor: [timestamp!, seq!, source!] })
            await reader.page({ ...page, selection: { ...selection, seq: seq! }, cursor: null })
          }
          await reader.read(() =>
            readUnseenRows({ resource, selection, unseen, asOf: null, limit: 100, pass: null }),
          )
        }
        const query = { marketId: MARKET, start: null, end: null, source: null, by: { buckets: 100n } }
        assert.ok((await reader.read(() => readSeries(query)))!.series !== null)
        await reader.read(() => readEstimate(MARKET))
      } finally {
        await reader.close()
      }
      t.mock.restoreAll()
      // An empty store is asked whether it has any row.
      const asked = heard.filter((text) => !text.startsWith('select 1 where (exists'))
      const numbered = asked.filter(namesNumbered)
      for (const part of ['select', 'insert', 'update', 'delete'])
        assert.ok(
          numbered.some((text) => text.startsWith(part)),
          part,
        )
      for (const text of numbered) {
        if (text.startsWith('insert') || text.startsWith('with written')) continue
        assert.match(text, /\bmarket = \$\d/, text)
        assert.doesNotMatch(text, /\bmarket = (?!\$)/, text)
      }
      for (const text of asked.filter(namesDistributed)) {
        assert.ok(!namesUndistributed(text), text)
        assert.doesNotMatch(text, /\bvalues\b.*\(\s*select\b/, text)
        assert.doesNotMatch(text, /\bon conflict\b.*\bselect\b(?!.* from written )/, text)
      }
      assert.ok(
        asked.some((text) => /^insert into \w+ \([^)]*\) values/.test(text)),
        'few rows',
      )
      await assertSound(store)
    })

    test(`imports and events result in the same tables as on one machine (${kind.name})`, async (t) => {
      const made = blocksOf(readRecording(SAMPLE))
      const stores = [sqlite.create(t), await createDistributed(t, kind)]
      const digests: unknown[] = []
      for (const store of stores) {
        await importBlocks(store, made, { from: 200n, to: 500n, blocksOfCommit: 100 })
        digests.push(await digestStore(store))
        await ingest(store, SAMPLE)
        await pruneBefore(store, 400n)
        digests.push(await digestStore(store))
      }
      assert.deepEqual(digests.slice(2), digests.slice(0, 2))
    })

    for (const way of ['killed', 'cut off'] as const) {
      test(`a writer that is ${way} between rows and position loses no rows (${kind.name})`, async (t) => {
        const expected = await storeOf(t, sqlite, SAMPLE)
        const store = await createDistributed(t, kind)
        const { config, schema } = parsePostgresAddress(store)
        const holder = new Client({ ...config, options: `-c search_path=${schema}` })
        await holder.connect()
        // Only the second transaction writes it.
        await holder.query('begin')
        await holder.query('lock table changes in exclusive mode')
        const ingestion = startLyra(t, `ingest --store ${store} ${SAMPLE}`)
        try {
          while ((await count(store, 'unpublished')) === 0) await sleep(20)
          assert.ok((await count(store, 'funding_period_data_points')) > 0)
          assert.equal(await count(store, 'stream'), 0)
          const reader = await openStore(store).openReader()
          const { storeHead } = await reader.page({
            resource: fundingPeriodDataPoints,
            selection: { marketId: MARKET },
            descending: true,
            cursor: null,
            limit: 5,
          })
          await reader.close()
          assert.equal(storeHead, null)
          if (way === 'killed') ingestion.child.kill('SIGKILL')
          else {
            await rowsOf(
              store,
              `select pg_terminate_backend(pid) from pg_stat_activity
                where application_name = 'lyra' and wait_event_type = 'Lock'`,
            )
          }
        } finally {
          await holder.query('rollback')
          await holder.end()
        }
        const { code, stderr } = await ingestion.outcome
        if (way === 'killed') {
          // The next writer first publishes the rows that are already written.
          const writer = await openStore(store).openWriter()
          const coverage = await writer.coverage()
          await writer.close()
          const [[height]] = (await rowsOf(store, 'select cast(max(height) as text) from checkpoints')) as [
            [string],
          ]
          assert.ok(coverage !== null && coverage.height >= BigInt(height))
          await ingest(store, SAMPLE)
        } else assert.equal(code, 0, stderr)
        assert.equal(await count(store, 'unpublished'), 0)
        await assertEqualStores(store, expected)
      })
    }

    test(`the error that ended a snapshot is returned for each of its later reads (${kind.name})`, async (t) => {
      const store = await createDistributed(t, kind)
      const reader = await openReader(t, store)
      const snapshot = await reader.openSnapshot()
      t.after(() => snapshot.close())
      for (const text of ['select 1 / 0', 'select 1']) {
        const reading = (function* () {
          yield { text, values: [] }
        })()
        await assert.rejects(snapshot.read(reading), /division by zero/, text)
      }
    })

    test(`a worker, which has no position, is refused as one (${kind.name})`, async (t) => {
      const store = kind.create(t)
      const schema = `${new URL(store).searchParams.get('schema')}_worker`
      const worker = new URL(store)
      worker.searchParams.set('schema', schema)
      await runSql(store, `create schema ${schema}; create table ${schema}.markets (market integer)`)
      t.after(() => runSql(store, `drop schema ${schema} cascade`))
      await assert.rejects(
        openStore(worker.toString()).openReader(),
        /is a Citus worker; give the address of the coordinator/,
      )
      await assert.rejects(openStore(worker.toString()).inspect(), /is a Citus worker/)
    })
  }

  test("errors about a lost worker are temporary, and leave the coordinator's connection open", () => {
    const error = (code: string, severity: string, message = 'x') =>
      Object.assign(new Error(message), { code, severity })
    for (const lost of [
      error('58030', 'ERROR', 'could not write to connection'),
      error('XX000', 'ERROR', 'failure on connection marked as essential: localhost:9701'),
      error('XX000', 'ERROR', 'SSL SYSCALL error: EOF detected'),
      error('08006', 'ERROR', 'connection to the remote node localhost:9701 failed'),
      error('25P02', 'ERROR', 'current transaction is aborted'),
    ]) {
      assert.ok(isPassing(lost), lost.message)
      assert.ok(!isConnectionLost(lost), lost.message)
    }
    assert.ok(!isPassing(error('XX000', 'ERROR', 'cache lookup failed for relation 1')))
    assert.ok(isConnectionLost(error('57P01', 'FATAL')))
  })
})

test('a server that is not there is reported at once; one that cuts the connection is tried again', async () => {
  const codes = ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ETIMEDOUT'].map((code) => [code, 1] as const)
  for (const [code, expected] of [...codes, ['ECONNRESET', 5] as const]) {
    let attempts = 0
    const work = async () => {
      attempts++
      throw Object.assign(new Error(code), { code })
    }
    await assert.rejects(withFreshConnections(work), { code })
    assert.equal(attempts, expected, code)
  }
})

describe('points in partitions', { skip: !process.env.LYRA_TEST_POSTGRES }, () => {
  test('created by the commands of docs/scale.md contain the same rows as one table', async (t) => {
    const page = documentedPages().find(({ path }) => path === 'docs/scale.md')!
    const block = page.blocks.find(({ language, text }) => language === 'sql' && /partition by/.test(text))!
    const name = `partitions_${process.pid}`
    const address = new URL(process.env.LYRA_TEST_POSTGRES!)
    await runSql(address.toString(), `create database ${name}`)
    t.after(() => runSql(process.env.LYRA_TEST_POSTGRES!, `drop database ${name} with (force)`))
    address.pathname = `/${name}`
    const store = address.toString()
    await openStore(store).migrate()
    await runSql(store, block.text)
    const folder = temporaryFolder(t)
    // A few minutes before and after the end of 2026.
    const path = join(folder, 'new-year.evts')
    const start = 1_798_761_600 - 1_704_067_200 - 200
    await pipeline(
      Readable.from(generateRecords({ blocks: 400, markets: 3, events: 0, start })),
      createWriteStream(path),
    )
    const expected = join(folder, 'expected.db')
    // Twice, because existing rows are counted in another way.
    for (const time of ['once', 'again']) {
      for (const one of [expected, store]) await ingest(one, path)
      assert.deepEqual(await digestStore(store), await digestStore(expected), time)
    }
    for (const partition of ['points_until_2027', 'points_2027'])
      assert.ok((await count(store, partition)) > 100, partition)
    await assertSound(store)
  })
})

describe('a Citus cluster', { skip: !SERVERS.some(({ name }) => name === 'citus') }, () => {
  const kind = SERVERS.find(({ name }) => name === 'citus')!

  /** A schema on the coordinator that is not distributed yet. */
  function createPlain(t: TestContext): string {
    const url = new URL(process.env.LYRA_TEST_CITUS!)
    const schema = `plain_${process.pid}_${t.name.length}`
    url.searchParams.set('schema', schema)
    t.after(() => runSql(process.env.LYRA_TEST_CITUS!, `drop schema if exists ${schema} cascade`))
    return url.toString()
  }

  test('existing rows are all moved, and several processes may distribute the tables at once', async (t) => {
    const store = createPlain(t)
    await ingest(store, SAMPLE)
    const expected = await digestStore(store)
    await Promise.all([1, 2, 3].map(() => openStore(store).distribute!()))
    assert.deepEqual(await digestStore(store), expected)
    for (const { name } of TABLES.filter(({ distribution }) => distribution !== 'nowhere')) {
      const [[bytes]] = (await rowsOf(store, `select cast(pg_relation_size('${name}') as integer)`)) as [
        [number],
      ]
      assert.equal(bytes, 0, `${name}: hidden rows on the coordinator`)
    }
    await ingest(store, SAMPLE)
    assert.deepEqual(await digestStore(store), expected)
  })

  test('tables are not distributed while a writer is connected', async (t) => {
    const store = createPlain(t)
    const writer = await openStore(store).openWriter()
    await assert.rejects(openStore(store).distribute!(), /while a writer is connected/)
    await writer.close()
    await openStore(store).distribute!()
    const other = await openStore(store).openWriter()
    await openStore(store).distribute!()
    await other.close()
  })

  test('its size is the sum over all machines', async (t) => {
    const store = kind.create(t)
    const { bytes: empty } = await openStore(store).inspect()
    await ingest(store, SAMPLE)
    const { bytes } = await openStore(store).inspect()
    const points = await count(store, 'funding_period_data_points')
    assert.ok(bytes - empty > 100 * points, `${bytes - empty} bytes for ${points} points`)
  })

  test('a page of points is one task on one machine', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const heard = listen(t)
    const reader = await openStore(store).openReader()
    const page = await reader.page({
      resource: fundingPeriodDataPoints,
      selection: { marketId: MARKET },
      descending: true,
      cursor: [1_696_500_800_000_000_000n, 0n, 0n],
      limit: 5,
    })
    await reader.close()
    t.mock.restoreAll()
    assert.equal(page.storeHead?.height, HEIGHT)
    const text = heard.find((sent) => /json_agg|string_agg/.test(sent))!
    const values = new Map([...text.matchAll(/\$(\d+)/g)].map(([found]) => [found, '1']))
    const plain = text.replaceAll(/\$\d+/g, (found) => values.get(found)!)
    const plan = (await rowsOf(store, `explain (verbose, costs off) ${plain}`)).flat().join('\n')
    assert.match(plan, /Task Count: 1\b/, plan)
    assert.doesNotMatch(plan, /Subplan/, plan)
  })
})
