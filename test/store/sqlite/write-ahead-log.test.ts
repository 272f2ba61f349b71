import assert from 'node:assert/strict'
import { statSync, truncateSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { SHORTEN_INTERVAL_MS } from '#service/exports/wal-limit'
import { assertSays } from '../../fixtures/assert-says.ts'
import { metricsOf, send, statusOf } from '../../fixtures/requests/http.ts'
import { runWell } from '../../fixtures/services/program.ts'
import { capturedLog, NO_FILES, serve } from '../../fixtures/services/service.ts'
import {
  checkpointAt,
  createLiveStore,
  LIVE_MARKET,
  type LiveStore,
  openLiveStore,
  pointAt,
  timeOf,
} from '../../fixtures/stores/live-store.ts'
import { SQLITE, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const MB = 1024 * 1024
const POINTS = 60_000
const TARGET = `/api/v2/funding-periods/data-points/${LIVE_MARKET}?format=ndjson`

const skip = SQLITE === undefined && 'for SQLite only'

const walBytes = (store: string) => statSync(`${store}-wal`).size

/** Extends the WAL of a store as if more had been written: SQLite ignores bytes it did not write. */
function lengthen(store: string, bytes: number): void {
  truncateSync(`${store}-wal`, bytes)
}

/** A store with enough points that an export has to wait for a client that does not read. */
async function openStoreOfPoints(t: TestContext, store: string): Promise<LiveStore> {
  const live = await openLiveStore(t, store)
  const points = Array.from({ length: POINTS }, (_, index) => ({
    ...pointAt(1),
    timestamp: timeOf(1) + BigInt(index),
  }))
  await live.commit(1, points)
  return live
}

/** An export whose client reads only on request. */
type SlowExport = { status: number; isCut: boolean; take(): string }

function openSlowExport(base: string): Promise<SlowExport> {
  return new Promise((resolve) => {
    get(`${base}${TARGET}`, { agent: false }, (response: IncomingMessage) => {
      const opened = {
        status: response.statusCode!,
        isCut: false,
        take: () => String(response.read() ?? ''),
      }
      response.once('readable', () => resolve(opened))
      response.on('error', () => {
        opened.isCut = true
      })
    })
  })
}

describe('the WAL of a store that is written to during exports', { skip }, () => {
  test('blocks new exports once it is long, cuts off the oldest ones, and is then emptied', async (t) => {
    const store = SQLITE!.create(t)
    const live = await openStoreOfPoints(t, store)
    const { logger, lines } = capturedLog('warn')
    const base = await serve(t, store, { logger, inThreads: true, limits: NO_FILES })
    const oldest = await openSlowExport(base)
    const second = await openSlowExport(base)
    assert.deepEqual([oldest.status, second.status], [200, 200])
    const had = oldest.take()
    await live.commit(2, [])

    lengthen(store, 300 * MB)
    const figures = await metricsOf(base)
    assert.ok(Number(/^lyra_store_wal_bytes (\S+)$/m.exec(figures)![1]) >= 300 * MB)
    const refused = await send(base, TARGET)
    assert.equal(refused.status, 503)
    assert.equal(refused.headers['retry-after'], '10')
    assertSays(refused.text, 'exports are paused while')
    const ownPage = await send(base, TARGET.replace('format=ndjson', ''))
    assert.equal(ownPage.status, 200)
    await until(() => lines.length === 1, 'the oldest export is cut off')
    assert.match(
      lines[0]!,
      /the store's write-ahead log is 31\d MB and cannot be emptied during the export; resume with the last cursor/,
    )
    await sleep(2_500)
    assert.equal(lines.length, 1, 'the other one continues while the WAL does not grow')

    lengthen(store, 340 * MB)
    await until(() => lines.length === 2, 'the next one is cut off after further writes')
    await until(() => walBytes(store) < 8 * MB, 'the WAL is emptied')
    await live.commit(3, [])
    await live.commit(4, [])
    assert.ok(walBytes(store) < 8 * MB)

    const whole = had.slice(0, had.lastIndexOf('\n') + 1)
    const { cursor } = JSON.parse(whole.trimEnd().split('\n').at(-1)!)
    const rest = await send(base, `${TARGET}&pagination.after=${cursor}`)
    assert.equal(rest.status, 200)
    assert.equal((whole + rest.text).split('\n').length - 1, POINTS)
    await runWell(t, `check --store ${store}`)
    for (const slow of [oldest, second])
      await until(() => slow.take() === '' && slow.isCut, 'the client is notified')
  })

  test('is emptied if nobody reads, before an export is refused', async (t) => {
    const store = SQLITE!.create(t)
    const live = await openStoreOfPoints(t, store)
    await live.commit(2, [])
    const base = await serve(t, store, { inThreads: true })
    lengthen(store, 300 * MB)
    assert.equal(await statusOf(base, `${TARGET}&source=SOURCE_EXTERNAL`), 200)
    assert.ok(walBytes(store) < 8 * MB)
  })

  test('is reported as held by another program if no export of the service holds it', async (t) => {
    const store = SQLITE!.create(t)
    const live = await openStoreOfPoints(t, store)
    const other = new DatabaseSync(store, { readOnly: true })
    t.after(() => other.close())
    other.exec('begin; select * from stream')
    await live.commit(2, [])
    const { logger, lines } = capturedLog('warn')
    const base = await serve(t, store, { logger, inThreads: true, limits: NO_FILES })
    lengthen(store, 300 * MB)
    const start = performance.now()
    for (let time = 0; time < 3; time++) assert.equal(await statusOf(base, TARGET), 503)
    const mostLines = 1 + Math.floor((performance.now() - start) / SHORTEN_INTERVAL_MS)
    assert.ok(lines.length >= 1 && lines.length <= mostLines, 'not for every request')
    assert.match(
      lines[0]!,
      /the store's write-ahead log is 31\d MB, and another program prevents it from being emptied/,
    )
  })

  test('is emptied by its writer after the readers are gone, even if little is written', async (t) => {
    const { store, live } = await createLiveStore(t, SQLITE!)
    await live.commit(1, [checkpointAt(1)])
    const other = new DatabaseSync(store, { readOnly: true })
    other.exec('begin; select * from stream')
    lengthen(store, 300 * MB)
    await live.commit(2, [checkpointAt(2)])
    await live.commit(3, [checkpointAt(3)])
    assert.ok(walBytes(store) >= 300 * MB)
    other.close()
    let height = 4
    await until(async () => {
      await live.commit(height++, [])
      return walBytes(store) < 8 * MB
    }, 'the writer empties it')
  })

  test('makes long-running commands warn, and is emptied at their end', async (t) => {
    const { store, live } = await createLiveStore(t, SQLITE!)
    await live.commit(1, [checkpointAt(1), pointAt(1)])
    const folder = temporaryFolder(t)
    const exported = `export checkpoints --out ${join(folder, 'checkpoints.ndjson')}`
    for (const command of [exported, 'check', `backup ${join(folder, 'copy.db')}`, 'verify']) {
      await live.commit(live.height + 1, [])
      lengthen(store, 300 * MB)
      const { stderr } = await runWell(t, `${command} --store ${store}`)
      assert.match(
        stderr,
        /its write-ahead log is 31\d MB and cannot be emptied while this command reads/,
        command,
      )
      assert.ok(walBytes(store) < 8 * MB, command)
    }
  })
})
