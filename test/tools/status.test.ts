import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { describe, test } from 'node:test'
import { statusOfService } from '#tools/status/service-status'
import type { StatusReport } from '#tools/status/status'
import { statusOfStore } from '#tools/status/status'
import { dataPoint, fileOf, idOf } from '../fixtures/events/event-stream.ts'
import { eventsOf } from '../fixtures/services/core.ts'
import { startWithCore } from '../fixtures/services/live.ts'
import { runLyra, runWell } from '../fixtures/services/program.ts'
import { ingest, serve, storeOf } from '../fixtures/services/service.ts'
import { HEIGHT, MARKET, SAMPLE, TIMESTAMP } from '../fixtures/shared.ts'
import { describeOn, openStore, runSql, STORE_KINDS, sqlite } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

describeOn(STORE_KINDS, 'the status of a store', (kind) => {
  test('reports its content, its size, its schema and the age of its last block', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const { lastBlock, coverage, store: facts, service } = await statusOfStore(openStore(store))
    assert.deepEqual([lastBlock!.height, lastBlock!.timestamp], [HEIGHT, TIMESTAMP])
    const age = Date.now() / 1000 - Number(BigInt(TIMESTAMP) / 1_000_000_000n)
    assert.ok(Math.abs(lastBlock!.ageSeconds - age) < 5)
    assert.equal(coverage!.checkpoints.count, '36')
    assert.deepEqual(
      coverage!.fundingPeriodDataPoints.map(({ count }) => count),
      ['921', '931', '446'],
    )
    assert.equal(service, null)
    const { bytes, ...rest } = facts!
    assert.ok(bytes > 100_000 && bytes < 10_000_000, String(bytes))
    assert.deepEqual(rest, {
      kind: kind.name,
      schemaVersion: kind.schemaVersion,
      programSchemaVersion: kind.schemaVersion,
      hasWriter: false,
      writer: null,
    })
  })

  test('names the active writer', async (t) => {
    const store = kind.create(t)
    const writer = await openStore(store).openWriter()
    const during = await openStore(store).inspect()
    await writer.close()
    const after = await openStore(store).inspect()
    assert.deepEqual([during.hasWriter, after.hasWriter], [true, false])
    assert.equal(after.writer, null)
    // PostgreSQL knows the address of its client, and its own process for it.
    if (kind.name === 'sqlite') assert.deepEqual(during.writer, { host: hostname(), process: process.pid })
    else assert.deepEqual([during.writer!.host, during.writer!.process > 0], ['127.0.0.1', true])
  })

  test('a missing store is not created', async (t) => {
    const store = kind.create(t)
    const missing = { name: 'StoreError', message: /no such file|contains no store/ }
    await assert.rejects(openStore(store).inspect(), missing)
    if (kind.name === 'sqlite') assert.ok(!existsSync(store))
  })

  test('reports that it is empty, as does its service; a schema of a newer program is reported, not read', async (t) => {
    const store = kind.create(t)
    const { service, ...ofService } = await statusOfService(await serve(t, store))
    assert.deepEqual([ofService.lastBlock, ofService.coverage], [null, null])
    assert.deepEqual(
      service!.reasons.map(({ reason }) => reason),
      ['empty store'],
    )
    const { lastBlock, coverage, store: facts } = await statusOfStore(openStore(store))
    assert.deepEqual([lastBlock, coverage, facts!.schemaVersion], [null, null, kind.schemaVersion])
    await runSql(
      store,
      kind.name === 'sqlite' ? 'pragma user_version = 99' : 'update schema_version set version = 99',
    )
    await assert.rejects(statusOfStore(openStore(store)), /version 99.*upgrade Lyra/)
  })

  test('of a service over it reports readiness and gaps', async (t) => {
    const store = kind.create(t)
    const block = (height: number) => ({ height, events: [dataPoint({ timestamp: height })] })
    await ingest(store, fileOf(block(3), block(4), block(7)), { allowGap: true })
    const base = await serve(t, store)
    const { of, lastBlock, coverage, store: facts, service } = await statusOfService(`${base}/`)
    assert.deepEqual([of, lastBlock!.height, facts], [base, '7', null])
    assert.deepEqual(coverage!.blocks.gaps, [
      { from: '5', to: '6', kind: 'missing', start: '4000000000', end: '7000000000' },
    ])
    assert.deepEqual(service, {
      ready: true,
      reasons: [],
      live: null,
      upgrade: null,
      forward: null,
      cluster: [],
    })
  })
})

describe('lyra status', () => {
  test('prints a report, as text and as JSON', async (t) => {
    const kind = STORE_KINDS.at(-1)!
    const store = await storeOf(t, kind, SAMPLE)
    const people = await runWell(t, `status --store ${store}`)
    assert.match(people.stdout, /^chain +core-scenarios$/m)
    assert.match(people.stdout, /^last block +905, 2023-10-05T10:15:04Z, [\d,]+ days old$/m)
    assert.match(people.stdout, /^whole blocks +1 to 905$/m)
    assert.match(people.stdout, /^gaps +none$/m)
    assert.match(
      people.stdout,
      new RegExp(`^funding period data points +${MARKET} +931 +2023-10-05T10:00:03Z`, 'm'),
    )
    assert.match(people.stdout, new RegExp(`^funding periods +${MARKET} +\\d+ +2023-10-05T10:00:0`, 'm'))
    assert.match(people.stdout, /^instruments +0$/m)
    const machines = await runLyra(t, 'status --json', { env: { LYRA_STORE: store } })
    const report = JSON.parse(machines.stdout) as StatusReport
    assert.deepEqual([report.lastBlock!.height, report.store!.schemaVersion], [HEIGHT, kind.schemaVersion])
  })

  test('reports any number of markets', async (t) => {
    const store = await storeOf(t, sqlite, SAMPLE)
    await runSql(
      store,
      `insert into markets with recursive n(i) as (select 1000 union all select i + 1 from n where i < 140000)
        select i, printf('%064x', i) from n;
      insert into funding_period_spans select market, 1, 0, 0, 1 from markets where market >= 1000`,
    )
    const { stdout } = await runWell(t, `status --store ${store}`)
    assert.match(stdout, new RegExp(`^funding period data points +${idOf('0').slice(5)}222e0 +1 `, 'm'))
  })

  test('of a service shows the live ingestion', async (t) => {
    const {
      service: { base },
      core,
    } = await startWithCore(t, sqlite.create(t))
    t.after(() => core.close())
    const events = eventsOf(SAMPLE).slice(0, 500)
    await core.send(events)
    // The state of the ingestion is reported once a second.
    const liveOf = async () => (await statusOfService(base)).service!.live!
    await until(async () => (await liveOf())?.eventsReceived === events.length, 'all events')
    const { coreConnected, stopped, connectionFaults } = await liveOf()
    assert.deepEqual([coreConnected, stopped, connectionFaults], [true, false, {}])
    const { stdout } = await runLyra(t, `status --url ${base}`)
    assert.match(stdout, /^live ingestion +core connected, 500 events received, .* not stored yet$/m)
  })
})
