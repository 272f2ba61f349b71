import assert from 'node:assert/strict'
import { test } from 'node:test'
import { siege } from '../../fixtures/siege/siege.ts'
import { ANY_STORE_KIND, temporaryFolder } from '../../fixtures/stores/stores.ts'

// The full siege is `npm run siege`, on PostgreSQL with `--postgres`.
for (const kind of ANY_STORE_KIND) {
  test(`A service under all attacks at once answers other clients and loses nothing (${kind.name})`, async (t) => {
    const report = await siege(t, temporaryFolder(t), {
      ...(kind.name === 'sqlite' ? {} : { store: kind.create(t) }),
      blocks: 4_000,
      seconds: 6,
      scale: 0.1,
      attacksLiveSocket: true,
    })
    const { requests, p50, p99, longest, memoryMb, blocksSent, reconnects, exports } = report
    t.diagnostic(
      `${requests} pages: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${longest.toFixed(1)} ms; ${exports} exports, ${blocksSent} blocks, ${reconnects} reconnects; ${Math.round(memoryMb)} MB`,
    )
    for (const [name, { opened, closed, bytes }] of Object.entries(report.attacks)) {
      t.diagnostic(`${name}: ${opened} connections, ${closed} closed, ${bytes} bytes`)
    }
    assert.deepEqual(report.failures, [])
    assert.deepEqual(report.rowsLost, [])
    assert.deepEqual(report.rowsNotFollowed, [])
    assert.ok(requests >= 200, `${requests} pages`)
    assert.ok(blocksSent >= 10, `${blocksSent} blocks`)
    for (const [name, { opened }] of Object.entries(report.attacks))
      assert.ok(opened > 0, `${name} did not happen`)
  })
}
