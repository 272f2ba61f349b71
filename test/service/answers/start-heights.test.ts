import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { CoverageBody } from '#service/questions/coverage-body'
import {
  asset,
  type Content,
  checkpoint,
  dataPoint,
  fileOf,
  idOf,
  type MadeBlock,
  perpetual,
  provision,
} from '../../fixtures/events/event-stream.ts'
import { restoreOldStore, unknownTo } from '../../fixtures/old-stores/old-store.ts'
import { getJson } from '../../fixtures/requests/http.ts'
import { listen } from '../../fixtures/requests/listen.ts'
import { addressOf, runWell, startLyra } from '../../fixtures/services/program.ts'
import { ingest, serve } from '../../fixtures/services/service.ts'
import { checkWithFiles } from '../../fixtures/stores/check.ts'
import { assertSameDump, dumpStore, type StoreDump } from '../../fixtures/stores/dump-store.ts'
import {
  describeOn,
  fileWith,
  openStore,
  runSql,
  STORE_KINDS,
  type StoreKind,
} from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

/** Eight blocks with rows of other resources in each, and instruments that change over time. */
const BLOCKS: readonly MadeBlock[] = Array.from({ length: 8 }, (_, index): MadeBlock => {
  const height = index + 1
  const named: Content[] = [
    perpetual({ code: `CODE-${height}` }),
    ...(height % 3 === 0
      ? [asset({ symbol: `S${height}` }), perpetual({ marketId: idOf(`${height}`) })]
      : []),
  ]
  return {
    height,
    events: [
      checkpoint({ atBlock: height, hash: `c${height}` }),
      ...named,
      dataPoint({ timestamp: height }),
      provision({ provisionId: idOf(`${height}`) }),
    ],
  }
})

const heights = (from: number, to: number) => BLOCKS.slice(from - 1, to)

/** A store that ingested blocks before it supported instruments. */
async function storeWithout(t: TestContext, kind: StoreKind, blocks: readonly MadeBlock[]): Promise<string> {
  const store = kind.create(t)
  await ingest(store, fileOf(...blocks), { allowGap: true })
  await runSql(
    store,
    `delete from instruments; delete from instrument_terms; delete from assets;
    insert into since select 'instruments', height + 1, timestamp from stream
    union all select 'instrumentTerms', height + 1, timestamp from stream`,
  )
  return store
}

const namesIn = ({ instruments }: StoreDump) => instruments!.map((row) => JSON.parse(row)[1])

describeOn(STORE_KINDS, 'the height since which a store has a resource', (kind) => {
  test('stays, also if blocks below it come later, which have the resource and reach followers', {
    timeout: 30_000,
  }, async (t) => {
    const store = await storeWithout(t, kind, [...heights(2, 3), ...heights(6, 7)])
    await ingest(store, fileOf(...heights(8, 8)))
    assert.deepEqual(namesIn(await dumpStore(store)), ['CODE-8'])
    const base = await serve(t, store)
    const { events, cut } = await listen(base, '/api/v2/stream/instruments?afterBlock=8')
    t.after(cut)
    await ingest(store, fileOf({ height: 5, events: [perpetual({ marketId: idOf('5') })] }), {
      allowGap: true,
    })
    await until(() => events.some(({ data }) => data.includes(idOf('5'))), 'the instrument of block 5')
    assert.equal((await dumpStore(store)).since![1], '["instruments","8","7000000000"]')
  })

  test('is reported by coverage, status, migrate and the log at the start, and stays if files are ingested again', async (t) => {
    const store = await storeWithout(t, kind, BLOCKS)
    const before = await dumpStore(store)
    assert.equal(before.since![1], '["instruments","9","8000000000"]')
    const file = fileWith(t, fileOf(...BLOCKS))
    const report = await ingest(store, file)
    assert.deepEqual([report.blocks, report.heldBlocks], [0, 8])
    assertSameDump(await dumpStore(store), before, 'ingested again')
    assert.deepEqual((await checkWithFiles(store, file)).told, [])
    const said =
      /instruments:? +stored from block 9 on\n.*to have it in all blocks, ingest the event files into a new store/m
    assert.match((await runWell(t, `status --store ${store}`)).stdout, said)
    assert.match((await runWell(t, `migrate --store ${store}`)).stdout, said)
    const service = startLyra(t, `serve --store ${store} --port 0`)
    const [base] = await Promise.all([
      addressOf(service),
      service.printed('instruments: stored from block 9 on'),
    ])
    const { coverage } = await getJson<CoverageBody>(base, '/api/v2/coverage')
    assert.deepEqual(coverage.since[1], { resource: 'instruments', height: '9', start: '8000000000' })
    assert.match((await runWell(t, `status --url ${base}`)).stdout, said)
  })

  // Version 0.2.0's dump has tables that are not distributed over a cluster.
  test('is the next block for what version 0.2.0 did not know', {
    skip: kind.name === 'citus',
  }, async (t) => {
    const old = await restoreOldStore(t, kind)
    await openStore(old).migrate()
    const { since, stream } = await dumpStore(old)
    const [, , , height, timestamp] = JSON.parse(stream![0]!)
    const next = `${BigInt(height) + 1n}`
    const unknown = unknownTo(0)
    for (const name of ['fundingPayments', 'instrumentTerms', 'liquidityProviderHistory', 'marketData'])
      assert.ok(unknown.includes(name), name)
    assert.deepEqual(
      since,
      unknown.map((name) => JSON.stringify([name, next, timestamp])),
    )
  })
})
