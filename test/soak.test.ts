import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startLive, stop } from './fixtures/live.ts'
import { LONG, scaled } from './fixtures/sampling.ts'
import { soak } from './fixtures/soak.ts'
import { STORE_KINDS, temporaryFolder } from './fixtures/stores.ts'

/** `LYRA_SOAK_SECONDS=1800` is the half hour in docs/performance.md. */
const SECONDS = Number(process.env.LYRA_SOAK_SECONDS ?? scaled(3, 120))

for (const kind of STORE_KINDS) {
  test(`1,000 events and 200 requests a second, side by side (${kind.name})`, async (t) => {
    const service = await startLive(t, kind.create(t), temporaryFolder(t))
    const { events, blocks, requests, failures, lags, memory } = await soak(
      { ...service, pid: service.program.child.pid! },
      SECONDS,
    )
    const share = (part: number) => lags[Math.floor((lags.length - 1) * part)]!
    const third = (index: number) => {
      const readings = memory.slice((memory.length * index) / 3, (memory.length * (index + 1)) / 3)
      return readings.reduce((sum, bytes) => sum + bytes, 0) / readings.length
    }
    t.diagnostic(
      `${SECONDS} s: ${events} events in ${blocks} blocks, ${requests} requests; from the end of a block to readers p50 ${share(0.5).toFixed(1)} ms, p99 ${share(0.99).toFixed(1)} ms, longest ${share(1).toFixed(1)} ms; memory by thirds ${[0, 1, 2].map((index) => (third(index) / 1e6).toFixed(1)).join(', ')} MB`,
    )
    assert.deepEqual(failures, [])
    assert.ok(events >= SECONDS * 900, `${events} events`)
    assert.ok(lags.length >= blocks - 10, `${lags.length} of ${blocks} blocks were seen`)
    if (LONG) {
      assert.ok(share(0.99) < 250, `p99 of the lag: ${share(0.99)} ms`)
      // Within two minutes a heap is still growing to its size.
      const most = SECONDS >= 1_800 ? 1.05 : 1.2
      assert.ok(third(2) < third(1) * most, `memory grew from ${third(1)} to ${third(2)} bytes`)
    }
    await stop(service)
  })
}
