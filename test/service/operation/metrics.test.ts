import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Histogram, Registry } from 'prom-client'
import { LEFT_OUT_REASONS } from '#core/events/left-out'
import { RESOURCES } from '#core/resources/resources'
import { CONNECTION_FAULTS } from '#service/live/receive/connection-faults'
import { createMetrics } from '#service/metrics'
import { metricsOf, send } from '../../fixtures/requests/http.ts'
import { serve, storeOf } from '../../fixtures/services/service.ts'
import { NAMED_SAMPLE } from '../../fixtures/shared.ts'
import { createLiveStore } from '../../fixtures/stores/live-store.ts'
import { runSql, STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'

const MONITOR_PAGE = readFileSync(join(import.meta.dirname, '../../../docs/monitor.md'), 'utf8')

for (const kind of STORE_KINDS) {
  test(`every known label is 0 from the start (${kind.name})`, async (t) => {
    const { store, live } = await createLiveStore(t, kind)
    await live.commit(1, [])
    const base = await serve(t, store, { marketMetrics: true })
    const text = `${await metricsOf(base)}${(await send(base, '/metrics/markets')).text}`
    for (const reason of LEFT_OUT_REASONS) {
      assert.ok(text.includes(`lyra_events_left_out_total{reason="${reason}"} 0\n`), reason)
    }
    for (const reason of CONNECTION_FAULTS) {
      assert.ok(text.includes(`lyra_live_connection_faults{reason="${reason}"} 0\n`), reason)
    }
    for (const { name } of RESOURCES) {
      assert.ok(text.includes(`lyra_streams{resource="${name}"} 0\n`), name)
    }
    const named = MONITOR_PAGE.matchAll(/`((?:lyra|process)_\w+)`/g)
    const missing = [...named].map(([, name]) => name!).filter((name) => !text.includes(`# HELP ${name} `))
    assert.deepEqual(missing, kind.name === 'sqlite' ? [] : ['lyra_store_wal_bytes'])
    // Node would list every connection for these.
    assert.doesNotMatch(text, /nodejs_active_/)
    assert.match(text, /^lyra_checkpoint_timestamp_seconds 0$/m)
    for (const name of ['forward_enabled', 'forward_missing_blocks', 'standby', 'prune_failed']) {
      assert.match(text, new RegExp(`^lyra_${name} 0$`, 'm'))
    }
  })

  test(`the last checkpoint, and the last points of markets that have not ended (${kind.name})`, async (t) => {
    const store = await storeOf(t, kind, NAMED_SAMPLE)
    const folder = temporaryFolder(t)
    const base = await serve(t, store, { disks: { 'event log': folder, gone: `${folder}/gone` } })
    const figures = async (name: string) => {
      const text = await metricsOf(base)
      return [...text.matchAll(new RegExp(`^${name}(\\{.*\\})? (.*)$`, 'gm'))].map(([, labels, value]) => ({
        labels: labels ?? '',
        value: Number(value),
      }))
    }
    const [checkpoint] = await figures('lyra_checkpoint_timestamp_seconds')
    const [block] = await figures('lyra_block_timestamp_seconds')
    assert.ok(checkpoint!.value > block!.value - 60 && checkpoint!.value <= block!.value)
    const points = await figures('lyra_market_point_timestamp_seconds')
    assert.ok(points.length >= 2 && points.every(({ value }) => value > block!.value - 1_000))
    assert.ok(points.some(({ labels }) => labels.includes('source="external"')))
    assert.deepEqual(
      (await figures('lyra_disk_free_bytes')).map(({ labels, value }) => [labels, value > 0]),
      [['{of="event log"}', true]],
    )
    await runSql(store, 'update instruments set state = 9')
    assert.deepEqual(await figures('lyra_market_point_timestamp_seconds'), [])
  })
}

test('durations are written as the histogram of prom-client writes them', async () => {
  const [registry, own] = [new Registry(), createMetrics()]
  const labelNames = ['route', 'method', 'status']
  const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]
  const peer = new Histogram({ name: 'a_seconds', help: 'Help.', labelNames, buckets, registers: [registry] })
  const observe = own.durations('a_seconds', 'Help.', labelNames)
  for (const labels of [
    ['/a', 'GET', '200'],
    ['/a"\\\n', 'HEAD', '200'],
    ['/a', 'GET', '304'],
  ]) {
    for (const seconds of [0, ...buckets, 0.0123, 2.6, 1_000]) {
      observe(seconds, ...labels)
      peer.labels(...labels).observe(seconds)
    }
  }
  const text = await own.text()
  assert.ok(text.endsWith(await registry.metrics()), text)
})

test('a tally shows its number, and what it has risen by since', async () => {
  const metrics = createMetrics()
  let count = 3
  metrics.tally('a_total', 'Help.', () => count)
  assert.match(await metrics.text(), /^a_total 3$/m)
  count = 5
  assert.match(await metrics.text(), /^a_total 5$/m)
})
