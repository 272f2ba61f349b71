import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { LogReader } from '#core/log/read/log-reader'
import { acceptGap } from '#core/store/admin/accept-gap'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import type { StoreAdmin, WriterOptions } from '#core/store/store'
import { LogCommitter } from '#service/live/commit/log-committer'
import { eventsOf, frame, markedBlocks } from '../fixtures/events/event-stream.ts'
import { eventsOfBlock, eventsOfBlocks } from '../fixtures/logs/events-of-blocks.ts'
import { follow } from '../fixtures/logs/follow-logs.ts'
import { MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'
import { writeBlocks } from '../fixtures/logs/written-log.ts'
import { SILENT } from '../fixtures/services/service.ts'
import { openStore, readFrom, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** A store whose first writer that commits durably cannot be closed. */
const failsToClose = (store: StoreAdmin): StoreAdmin => {
  let hasFailed = false
  const openWriter = async (options?: WriterOptions) => {
    const writer = await store.openWriter(options)
    if (hasFailed || options?.durable !== true) return writer
    hasFailed = true
    const close = async () => {
      await writer.close()
      throw new StoreError('the disk is full')
    }
    return new Proxy(writer, {
      get(target, name) {
        const value = name === 'close' ? close : Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }
  return new Proxy(store, {
    get(target, name) {
      const value = name === 'openWriter' ? openWriter : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

describe('The committer of a log', () => {
  test('says that the store could not be closed, and goes on', async (t) => {
    const log = join(temporaryFolder(t), 'log')
    await writeBlocks(log, [1, 5])
    const service = await follow(t, [log], null, failsToClose)
    await until(async () => (await service.height()) === 5, 'the blocks')
    await until(() => service.state().failures.includes('the disk is full'), 'the fault')
    await writeBlocks(log, [6, 7])
    await until(async () => (await service.height()) === 7, 'more blocks')
    await until(() => service.state().failures.length === 0, 'the end of the fault')
  })

  for (const [what, damage, kind] of [
    ['whose first block cannot be read', (events: Buffer[]) => events[0]!.fill(0xff, 0, 8), 'missing'],
    ['whose first block lacks an event', (events: Buffer[]) => events.splice(1, 1), 'incomplete'],
  ] as const)
    test(`does not begin after a log ${what}, before that is accepted`, async (t) => {
      const log = temporaryFolder(t)
      const head = {
        version: 1,
        chain: 'test-chain',
        number: 9,
        first: null,
        last: null,
        bytes: 0,
        time: null,
      }
      writeFileSync(join(log, 'head.json'), JSON.stringify(head))
      const events = eventsOf(markedBlocks(8, 12))
      damage(events)
      writeFileSync(join(log, '0000000001-8-12.bevt'), frame(events, 0n))
      const service = await follow(t, [log])
      const says = () => service.state()?.failures.join() ?? ''
      await until(() => says().includes('lyra gap accept 8 8'), 'a gap')
      assert.equal(await service.height(), 0)
      await acceptGap(openStore(service.store), { from: 8n, to: 8n })
      await until(async () => (await service.height()) === 12, 'the other blocks')
      const coverage = await readFrom(service.store, readCoverage)
      assert.deepEqual(
        [coverage!.first, ...coverage!.gaps.map(({ from, to, kind }) => `${from} to ${to} ${kind}`)],
        [8n, `8 to 8 ${kind}`],
      )
      await until(() => says() === '', 'the end of the fault')
    })

  test('completes the last block of the store, although no log has a later one', async (t) => {
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 5], eventsOfBlocks(1, 5).toSpliced(-2, 1))
    const reader = readLogs(t, log)
    const first = commitFrom(t, reader, store, { allowGap: true })
    const kinds = async () => (await stored())?.gaps.map(({ from, kind }) => `${from} ${kind}`)
    await until(async () => (await stored())?.height === 5n, 'the blocks')
    await first.end()
    assert.deepEqual(await kinds(), ['5 incomplete'])
    log.seal(2, [5, 5], eventsOfBlock(5))
    commitFrom(t, readLogs(t, log), store)
    await until(async () => (await kinds())?.length === 0, 'the rest of block 5')
  })

  test('takes what a log has of a block, once an operator has accepted that it is incomplete', async (t) => {
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [2, 7], eventsOfBlocks(2, 7))
    log.seal(2, [8, 8], eventsOfBlock(8).toSpliced(1, 1), { isPart: true })
    log.seal(3, [9, 12], eventsOfBlocks(9, 12))
    const { committer } = commitFrom(t, readLogs(t, log), store)
    await until(() => committer.failure?.includes('lyra gap accept 8 8') === true, 'a gap')
    await acceptGap(store, { from: 8n, to: 8n })
    await until(async () => (await stored())?.height === 12n, 'the other blocks')
    const gaps = (await stored())?.gaps.map(({ from, to, kind }) => [from, to, kind])
    assert.deepEqual(gaps, [[8n, 8n, 'incomplete']])
  })

  test('commits the blocks before a segment that is gone, and then says so', async (t) => {
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 5], eventsOfBlocks(1, 5))
    log.seal(2, [6, 9], eventsOfBlocks(6, 9))
    log.onRead = (name) => name.includes('-6-9') && log.remove(2)
    const said: string[] = []
    const { committer } = commitFrom(t, readLogs(t, log), store, {
      onCommit: ({ height }) => said.push(`block ${height}`),
      onChange: () => said.push(committer.failure ?? 'nothing'),
    })
    await until(async () => (await stored())?.height === 5n, 'the blocks')
    await until(() => said.some((text) => text.includes('ENOENT')), 'the fault')
    assert.deepEqual(said.slice(0, 2), ['block 5', 'the event log cannot be read (ENOENT)'])
  })

  test('that cannot read its log lets the writer go after 5 s, for at least a second, although a core is connected', async (t) => {
    let later = 0
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + later)
    const { store } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 5], eventsOfBlocks(1, 5))
    log.fault = 'EIO'
    const { committer } = commitFrom(t, readLogs(t, log), store, { isCoreConnected: () => true })
    await until(() => committer.failure?.includes('EIO') === true, 'the fault')
    later += 3_000
    await sleep(1_100)
    assert.equal(committer.isWriter, true)
    later += 2_000
    await until(() => !committer.isWriter, 'the end of writing')
    const since = now()
    assert.match(committer.failure!, /EIO/)
    await until(() => committer.isWriter, 'another attempt')
    assert.ok(now() - since > 800, `${now() - since}`)
  })
})

/** A store of its own, without blocks yet, and what it has. */
async function emptyStore(t: TestContext) {
  const path = join(temporaryFolder(t), 'lyra.db')
  await openStore(path).migrate()
  return { store: openStore(path), stored: () => readFrom(path, readCoverage) }
}

/** Commits the blocks of logs to a store, until the test or the caller ends it. */
function commitFrom(
  t: TestContext,
  reader: LogReader,
  store: StoreAdmin,
  {
    allowGap = false,
    ...listener
  }: Partial<ConstructorParameters<typeof LogCommitter>[2]> & { allowGap?: boolean } = {},
) {
  const abort = new AbortController()
  const committer = new LogCommitter(
    reader,
    { store, chain: null, allowGap, strict: false, logger: SILENT, signal: abort.signal },
    {
      isCoreConnected: () => false,
      onCoverage: () => {},
      onCommit: () => {},
      onLeftOut: () => {},
      onChange: () => {},
      ...listener,
    },
  )
  const running = committer.run()
  const end = async () => {
    abort.abort()
    await running
  }
  t.after(end)
  return { committer, end }
}
