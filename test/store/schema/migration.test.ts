import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { MAKE_UNPUBLISHED } from '#core/store/postgres/cluster/cluster'
import { readStoreHead } from '#core/store/queries/coverage'
import { assertSays } from '../../fixtures/assert-says.ts'
import { fileOf, message, partOf, perpetual, readRecording } from '../../fixtures/events/event-stream.ts'
import { mountSmallDisk } from '../../fixtures/faults/small-disk.ts'
import { blocksOf, importBlocks } from '../../fixtures/imports/import-blocks.ts'
import {
  distributeOldTables,
  dropViews,
  restoreOldStore,
  takeBack,
  unknownTo,
} from '../../fixtures/old-stores/old-store.ts'
import { assertFails, runLyra, runWell, startLyra } from '../../fixtures/services/program.ts'
import { ingest, storeOf, storeOfBytes } from '../../fixtures/services/service.ts'
import { SAMPLE, skip } from '../../fixtures/shared.ts'
import { assertSound } from '../../fixtures/stores/check.ts'
import { assertSameDump, dumpStore } from '../../fixtures/stores/dump-store.ts'
import { readSchema } from '../../fixtures/stores/read-schema.ts'
import {
  openStore,
  readFrom,
  runSql,
  SQLITE,
  STORE_KINDS,
  type StoreKind,
  temporaryFolder,
} from '../../fixtures/stores/stores.ts'

const MARKET = '0'.repeat(64)

for (const kind of STORE_KINDS) {
  const newest = kind.schemaVersion

  describe(`a store of an older schema (${kind.name})`, () => {
    test('is refused by every command but migrate, serve and ingest, backed up unchanged, and upgraded by migrate', async (t) => {
      const [old, made] = [await restoreOldStore(t, kind), await storeOf(t, kind, SAMPLE)]
      const before = await openStore(old).schemaVersion()
      const file = join(temporaryFolder(t), 'other.db')
      const reading = ['status', 'status --json', 'check', 'verify', 'prune --before 10']
      const exporting = `export funding-period-data-points --market ${MARKET}`
      for (const command of [
        ...[...reading, exporting].map((command) => `${command} --store ${old}`),
        `copy --from ${old} --to ${file}`,
        `copy --from ${made} --to ${old}`,
      ]) {
        const { code, stderr } = await runLyra(t, command)
        assert.equal(code, 1, `${command}: ${stderr}`)
        assertSays(stderr, `schema is version ${before}, this program's ${newest}; run lyra migrate`)
      }
      const checked = await runLyra(t, `migrate --check --store ${old}`)
      assert.equal(checked.code, 3, checked.stderr)
      assertSays(checked.stdout, `schema is version ${before}; lyra migrate would upgrade it to ${newest}`)
      const backedUp = await runLyra(t, `backup --store ${old} ${file}`)
      if (kind.name === 'sqlite') {
        assert.equal(backedUp.code, 0, backedUp.stderr)
        assert.equal(await openStore(file).schemaVersion(), before)
        await runWell(t, `migrate --store ${file}`)
        await runWell(t, `check --store ${file}`)
      } else assertSays(backedUp.stderr, 'pg_dump --format=custom')
      assert.equal(await openStore(old).schemaVersion(), before)
      const upgraded = await runWell(t, `migrate --store ${old}`)
      assert.match(
        upgraded.stdout,
        new RegExp(`upgraded the schema from version ${before} to ${newest}$`, 'm'),
      )
      assert.match(
        upgraded.stdout,
        /^\w+: stored from block \d+ on\nto have it in all blocks, ingest the event files into a new store/m,
      )
      if (kind.name === 'citus') {
        const status = () => runWell(t, `status --store ${old}`)
        assertSays(
          (await status()).stdout,
          'not distributed: ...funding_payments, ...run lyra migrate --citus',
        )
        assertSays((await runWell(t, `migrate --citus --store ${old}`)).stdout, 'its tables are distributed')
        assert.doesNotMatch((await status()).stdout, /not distributed/)
      }
      const again = await runWell(t, `migrate --store ${old}`)
      assert.match(again.stdout, new RegExp(`the schema is up to date, version ${newest}$`, 'm'))
      await runWell(t, `migrate --check --store ${old}`)
      await runWell(t, ['migrate', '--check', '--store', kind.create(t)])
      await runWell(t, `check --store ${old}`)
    })

    test('is upgraded by ingest, and by serve', async (t) => {
      const ingested = await restoreOldStore(t, kind)
      await runWell(t, `ingest ${SAMPLE} --store ${ingested}`)
      await distributeNewTables(kind, ingested)
      await runWell(t, `check --store ${ingested}`)
      const old = await restoreOldStore(t, kind)
      const service = startLyra(t, `serve --store ${old} --port 0 --keep 9999d`)
      await service.printed('serving ... on http')
      assert.equal(await openStore(old).schemaVersion(), newest)
      service.child.kill('SIGTERM')
      await service.outcome
    })

    test('is upgraded once, by any number of processes at a time, and has the tables of a new one', async (t) => {
      const old = await restoreOldStore(t, kind)
      await Promise.all([1, 2, 3].map(() => openStore(old).migrate()))
      assert.equal(await openStore(old).schemaVersion(), newest)
      const made = kind.create(t)
      await openStore(made).migrate()
      assert.deepEqual(await readSchema(old), await readSchema(made))
    })

    test('keeps rows of a file of instruments until an event replaces them', async (t) => {
      const old = await restoreOldStore(t, kind)
      await runSql(old, `update instruments set code = 'FILE', height = 0, event_index = 3`)
      await openStore(old).migrate()
      await distributeNewTables(kind, old)
      await assertSound(old)
      const rowsOf = async () => (await dumpStore(old)).instruments!.map((row) => JSON.parse(row) as string[])
      const held = await rowsOf()
      assert.ok(held.length > 0 && held.every(([, code]) => code === 'FILE'))
      const { height } = (await readFrom(old, readStoreHead))!
      const events = [perpetual({ marketId: held[0]![0]!, code: 'EVENT' })]
      await ingest(old, fileOf({ chain: 'core-scenarios', height: Number(height) + 1, events }))
      assert.ok((await rowsOf()).some(([, code]) => code === 'EVENT'))
    })

    test('has gaps with the times of the nearest checkpoints before and after', async (t) => {
      const old = await restoreOldStore(t, kind)
      // It has a checkpoint each 25 blocks, which are a second apart.
      await runSql(
        old,
        `insert into gaps values (10, 12, 'missing'), (30, 30, 'incomplete'), (902, 903, 'missing')`,
      )
      await openStore(old).migrate()
      const { gaps } = await dumpStore(old)
      const time = (height: number) => String(1_696_499_999_000_000_000n + BigInt(height) * 1_000_000_000n)
      assert.deepEqual(
        gaps!.map((row) => JSON.parse(row)),
        [
          ['10', '12', 'missing', null, time(25)],
          ['30', '30', 'incomplete', time(25), time(50)],
          ['902', '903', 'missing', time(900), time(905)],
        ],
      )
    })

    test('with imported blocks is upgraded to the tables of today', async (t) => {
      const store = kind.create(t)
      await ingest(
        store,
        partOf(SAMPLE, (height) => height > 430),
      )
      await importBlocks(store, blocksOf(readRecording(SAMPLE)), { from: 1n, to: 430n })
      const before = await dumpStore(store)
      await beforeFinalImports(kind, store)
      // One row for each source and 64 blocks with imported points; events have points in the last of these, too.
      await runSql(
        store,
        `insert into funding_period_imported_spans
        select market, source, height / 64, min(timestamp), max(timestamp)
        from funding_period_data_points where height <= 430 group by market, source, height / 64;
        delete from funding_period_block_spans where blocks <= 6;
        insert into funding_period_block_spans
        select market, 6, min(timestamp), max(timestamp)
        from funding_period_data_points where height > 430 and height < 448 group by market;
        insert into kept_from values ('liquidityProviderHistory', 1, 431), ('instruments', 1, 431),
          ('checkpoints', 431, 440), ('marketData', 1, 500)`,
      )
      await runWell(t, `migrate --store ${store}`)
      const expected = {
        imported: ['["1","430","instruments liquidityProviderHistory marketData"]'],
        old_positions: ['["liquidityProviders","905"]'],
        since: [
          '["checkpoints","440","1696500449000000000"]',
          '["marketData","500","1696500499000000000"]',
          ...fromNextBlock(BEFORE_FINAL_IMPORTS),
        ].sort(),
      }
      assertSameDump(await dumpStore(store), { ...before, ...expected }, 'upgraded')
      await distributeNewTables(kind, store)
      assertSameDump(await dumpStore(store), { ...before, ...expected }, 'distributed')
      await assertSound(store)
    })

    test('whose series depend on the starts of periods has them computed anew, with what was stale', async (t) => {
      const store = await restoreOldStore(t, kind, 'store-series')
      const { stdout } = await runWell(t, `migrate --store ${store}`)
      assertSays(stdout, 'upgraded the schema')
      // The dump compares all series with the points.
      await dumpStore(store)
      const countOf = (table: string) =>
        readFrom(store, function* () {
          const [row] = yield { text: `select count(*) from ${table} where market = $1`, values: [1n] }
          return Number(row![0])
        })
      // Of two sources, each with 100 buckets of half a minute, and of longer ones.
      assert.ok((await countOf('funding_period_series')) > 200)
      assert.equal(await countOf('funding_period_series_stale'), 0)
      await distributeNewTables(kind, store)
      await assertSound(store)
      const made = kind.create(t)
      await openStore(made).migrate()
      assert.deepEqual(await readSchema(store), await readSchema(made))
    })

    test('knows the highest seq that its latest market data name', async (t) => {
      const store = await storeOf(t, kind, SAMPLE)
      const before = await dumpStore(store)
      const seqs = before.market_data!.map((row) => BigInt((JSON.parse(row) as string[]).at(-3)!))
      assert.ok(seqs.length > 1 && seqs.some((seq) => seq > 0n), seqs.join())
      await runEach(
        store,
        `alter table market_data drop column highest_seq; alter table pruned drop column sums_from_day; ${beforeSeriesOfRows(kind)}`,
      )
      await takeBack(kind, store, BEFORE_HIGHEST_SEQ)
      await runWell(t, `migrate --store ${store}`)
      assertSameDump(
        await dumpStore(store),
        { ...before, since: fromNextBlock(BEFORE_HIGHEST_SEQ) },
        'upgraded',
      )
    })

    // Only a server's writer is killed between the two (cluster/publication.ts).
    const skip = kind.name === 'sqlite'
    test('has rows that an older version had not published when it was killed', { skip }, async (t) => {
      const old = await restoreOldStore(t, kind)
      const publication = {
        stream: ['core-scenarios', '1', '1', null, '906', '1696503904000000000'],
        ranges: { imported: [['7', '9']], gaps: [], resourceGaps: [['checkpoints', '3', '5']] },
        changes: [{ resource: 'checkpoints', scope: null }],
      }
      const keep = `insert into unpublished values (1, '${JSON.stringify(publication)}', 0)`
      await runSql(old, MAKE_UNPUBLISHED, keep)
      await openStore(old).migrate()
      const { stream, imported, since } = await dumpStore(old)
      assert.equal(JSON.parse(stream![0]!)[3], '906')
      assert.deepEqual(imported, ['["7","9",""]'])
      for (const row of ['["checkpoints","5",', '["fundingPayments","907","1696503904000000000"'])
        assert.ok(
          since!.some((found) => found.startsWith(row)),
          since!.join(' '),
        )
    })

    test('without schedules and SLA parameters says so, also after its files are ingested again', async (t) => {
      const events = [perpetual({}, { 7: YEARLY })]
      const blocks = [{ height: 1 }, { height: 2, events }]
      const old = await storeOfBytes(t, kind, fileOf(...blocks))
      await beforeFinalImports(kind, old, BEFORE_TERMS)
      await openStore(old).migrate()
      const lacked = unknownTo(BEFORE_TERMS).map((name) => JSON.stringify([name, '3', '2000000000']))
      for (const isAgain of [false, true]) {
        if (isAgain) await ingest(old, fileOf(...blocks, { height: 3 }))
        const { since, instrument_terms: terms } = await dumpStore(old)
        assert.deepEqual([since, terms], [lacked, []])
      }
    })
  })

  test(`a store of version 0.1.0 is refused, with what to do, and left unchanged (${kind.name})`, async (t) => {
    const store = kind.create(t)
    await openStore(store).migrate()
    await runSql(
      store,
      kind.name === 'sqlite' ? 'pragma user_version = 3' : 'update schema_version set version = 3',
    )
    const refusal =
      /: this store was written by Lyra 0\.1\.0; upgrade it with Lyra 0\.2\.0 first .*Nothing was changed\n$/
    // Each is refused, because the commands before it left the store unchanged.
    for (const command of ['migrate', 'migrate --check', 'status', `ingest ${SAMPLE}`, 'serve --port 0'])
      await assertFails(t, `${command} --store ${store}`, refusal, 1)
  })
}

test('a migration for which the disk may be too small is refused, and changes nothing', async (t) => {
  if (SQLITE === undefined) return skip(t, 'SQLite is not requested')
  const bytes = readFileSync(await restoreOldStore(t, SQLITE))
  const disk = mountSmallDisk(t, bytes.length + 8 * 1024 * 1024)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const store = join(disk.folder, 'lyra.db')
  writeFileSync(store, bytes)
  await runSql(store, 'pragma wal_checkpoint(truncate)')
  assert.ok(disk.resize(bytes.length + 600 * 1024))
  await assertFails(
    t,
    `migrate --store ${store}`,
    /from version 7 to \d+ may need \d+ bytes of disk .* has \d+ free; nothing was changed/,
    1,
  )
  assert.equal(await openStore(store).schemaVersion(), 7)
  assert.ok(disk.resize(bytes.length + 64 * 1024 * 1024))
  await runWell(t, `migrate --store ${store}`)
  assert.equal(await openStore(store).schemaVersion(), SQLITE.schemaVersion)
})

/** A `DataSourceSpec` with a trigger every 365 days. */
const YEARLY = [2, 2, 1, 4].reduce((inner, field) => message({ [field]: inner }), message({ 2: 31_536_000 }))

/** On a cluster, distributes the tables that an upgrade has added. */
async function distributeNewTables(kind: StoreKind, store: string): Promise<void> {
  if (kind.name === 'citus') await openStore(store).distribute!()
}

/** How many schema steps after 0.2.0 a store has from before schedules and SLA parameters were stored. */
const BEFORE_TERMS = 1

/** The same, from before imported blocks were final. */
const BEFORE_FINAL_IMPORTS = 4

/** The same, from before the highest seq of market data was stored. */
const BEFORE_HIGHEST_SEQ = 11

/** What an upgraded store of the sample says of the data that its version did not know. */
const fromNextBlock = (upgrades: number) =>
  unknownTo(upgrades).map((name) => `["${name}","906","1696500904000000000"]`)

/** Runs the statements of a text one by one: a cluster takes no more of those that change tables. */
const runEach = (store: string, sql: string) => runSql(store, ...sql.split(';'))

/** Takes a store back to where series depended on the starts of periods. */
const beforeSeriesOfRows = ({ name }: StoreKind) => `
  alter table funding_period_spans add column start_timestamp ${name === 'sqlite' ? 'integer' : 'bigint'};
  create index funding_period_spans_by_start on funding_period_spans (market, start_timestamp)`

/** Takes a store back to a version before imported blocks were final. */
async function beforeFinalImports(
  kind: StoreKind,
  store: string,
  upgrades = BEFORE_FINAL_IMPORTS,
): Promise<void> {
  await dropViews(store)
  await runEach(
    store,
    `create table funding_period_imported_spans (market bigint not null, source smallint not null,
      blocks bigint not null, first_timestamp bigint not null, last_timestamp bigint not null,
      primary key (market, source, blocks));
    create table kept_from (resource text not null, missing_from bigint not null, height bigint not null,
      primary key (resource, missing_from));
    drop index funding_periods_by_height;
    drop index funding_period_block_spans_by_blocks;
    alter table liquidity_providers drop column list_height;
    alter table liquidity_providers drop column list_index;
    alter table market_data drop column highest_seq;
    alter table liquidity_provider_history drop column has_figures;
    alter table imported drop column lacks;
    alter table gaps drop column start_timestamp;
    alter table gaps drop column end_timestamp;
    alter table pruned drop column sums_from_day;
    ${beforeSeriesOfRows(kind)}`,
  )
  if (kind.name === 'citus') await distributeOldTables(store)
  await takeBack(kind, store, upgrades)
}
