import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeCluster } from '#core/store/inspection'
import { metricsOf, send } from '../../fixtures/requests/http.ts'
import { runLyra, runWell } from '../../fixtures/services/program.ts'
import { serve, serveFile, storeOf } from '../../fixtures/services/service.ts'
import { SAMPLE } from '../../fixtures/shared.ts'
import { runSql, STORE_KINDS } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

test('only operators see the address of a worker that is down', () => {
  const faults = { localTables: [], workersDown: [{ node: 2, address: 'db-2.example:5432' }] }
  assert.match(
    describeCluster(faults, { withAddresses: true })[0]!,
    /^worker 2 \(db-2\.example:5432\) cannot/,
  )
  assert.match(describeCluster(faults, { withAddresses: false })[0]!, /^worker 2 cannot/)
})

for (const kind of STORE_KINDS.filter(({ name }) => name !== 'citus')) {
  test(`a cluster is not mentioned if there is none (${kind.name})`, async () => {
    const base = await serveFile(kind, SAMPLE)
    assert.deepEqual(JSON.parse((await send(base, '/ready')).text), { status: 'ready' })
    assert.match(await metricsOf(base), /^lyra_cluster_faults 0$/m)
  })
}

for (const kind of STORE_KINDS.filter(({ name }) => name === 'citus')) {
  test('tables that are no longer distributed are named until they are distributed again', async (t) => {
    const store = await storeOf(t, kind, SAMPLE)
    const base = await serve(t, store)
    const schema = new URL(store).searchParams.get('schema')!
    const ready = async () => (await send(base, '/ready')).text
    const status = async () => (await runLyra(t, `status --store ${store}`)).stdout
    const check = () => runLyra(t, `check --store ${store}`)
    assert.doesNotMatch(await ready(), /cluster/)
    // As pg_restore --clean leaves it.
    await runSql(store, `select undistribute_table('${schema}.funding_periods')`)
    const named = /not distributed: funding_periods; .*lyra migrate --citus/
    await until(async () => named.test(await ready()), 'named in /ready')
    assert.match(await status(), named)
    assert.match((await check()).stdout, named)
    const backup = await runLyra(t, `backup b.dump --store ${store}`)
    assert.match(backup.stderr, /pg_dump .*pg_restore --clean .*lyra migrate --citus --store /)
    await runWell(t, `migrate --citus --store ${store}`)
    await until(async () => !/cluster/.test(await ready()), 'all is well')
    assert.doesNotMatch(await status(), /not distributed/)
    assert.equal((await check()).code, 0)
  })
}
