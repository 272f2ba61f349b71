import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Block } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import { BatchWriter } from '#core/ingest/batch-writer'
import type { LogReader } from '#core/log/read/log-reader'
import { acceptGap } from '#core/store/admin/accept-gap'
import { StoreError } from '#core/store/errors'
import { readCoverage } from '#core/store/queries/coverage'
import type { StoreAdmin } from '#core/store/store'
import { LogCommitter } from '#service/live/commit/log-committer'
import { eventsOf, frame, markedBlocks } from '../fixtures/events/event-stream.ts'
import { eventsOfBlock, eventsOfBlocks } from '../fixtures/logs/events-of-blocks.ts'
import { follow } from '../fixtures/logs/follow-logs.ts'
import { LOG_CHAIN, MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'
import { writeBlocks } from '../fixtures/logs/written-log.ts'
import { capturedLog, SILENT } from '../fixtures/services/service.ts'
import { openStore, readFrom, temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

/** A store whose first writer that commits durably cannot be closed. */
function failsToClose(store: StoreAdmin): StoreAdmin {
  let hasFailed = false
  return withWriters(store, async (options) => {
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
    const first = commitFrom(t, reader, store, {}, { allowGap: true })
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

  test('commits what it has once it is told to end, and a batch that is due at once', async (t) => {
    let later = 0
    t.mock.method(performance, 'now', () => later)
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    for (const first of [1, 4, 7]) log.seal(first, [first, first + 2], eventsOfBlocks(first, first + 2))
    const committed: bigint[] = []
    const ended = commitFrom(t, readLogs(t, log), store, {
      onCommit: ({ height }) => committed.push(height),
    })
    log.onRead = (name) => {
      if (name.includes('-4-6')) later += 400
      if (name.includes('-7-9')) void ended.end()
    }
    await until(async () => (await stored())?.height === 9n, 'the last blocks')
    assert.deepEqual(committed, [6n, 9n])
  })

  /** The clock of the committer, which a test may move forward. */
  const clockOf = (t: TestContext) => {
    const now = performance.now.bind(performance)
    const clock = { now, later: 0 }
    t.mock.method(performance, 'now', () => now() + clock.later)
    return clock
  }

  for (const [what, fault] of [
    ['cannot read its log', 'fault'],
    ['cannot list its log', 'listFault'],
  ] as const)
    test(`that ${what} lets the writer go after 5 s, although a core is connected`, async (t) => {
      const clock = clockOf(t)
      const { store } = await emptyStore(t)
      const log = new MemoryLog()
      log.seal(1, [1, 5], eventsOfBlocks(1, 5))
      const reader = readLogs(t, log)
      const { committer } = commitFrom(t, reader, store, {
        isCoreConnected: () => true,
        onCommit: () => {},
      })
      if (fault === 'listFault') await until(() => committer.bytesLeft === 0, 'the blocks')
      log[fault] = 'EIO'
      if (fault === 'listFault') await reader.logs[0]!.listAgain(reader.logs[0]!.segments[0]!)
      if (fault === 'fault') await until(() => committer.failure?.includes('EIO') === true, 'the fault')
      await sleep(1_100)
      clock.later += 2_800
      await sleep(1_100)
      assert.equal(committer.isWriter, true)
      clock.later += 2_000
      await until(() => !committer.isWriter, 'the end of writing')
      if (fault === 'listFault') return
      // For a second, another service may become the writer.
      const since = clock.now()
      assert.match(committer.failure!, /EIO/)
      await until(() => committer.isWriter, 'another attempt')
      assert.ok(clock.now() - since > 800, `${clock.now() - since}`)
    })

  test('is the writer for 5 s after the last block, or as long as a core is connected', async (t) => {
    const clock = clockOf(t)
    const { store } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 5], eventsOfBlocks(1, 5))
    let isCoreConnected = true
    const { committer } = commitFrom(t, readLogs(t, log), store, { isCoreConnected: () => isCoreConnected })
    await until(() => committer.isWriter && committer.bytesLeft === 0, 'the blocks')
    clock.later += 10_000
    await sleep(1_100)
    assert.equal(committer.isWriter, true)
    isCoreConnected = false
    clock.later += 3_000
    await sleep(1_100)
    assert.equal(committer.isWriter, true)
    clock.later += 2_000
    await until(() => !committer.isWriter, 'the end of writing')
  })

  test('stands by while another process is the writer, follows what that commits, and then goes on', async (t) => {
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 9], eventsOfBlocks(1, 9))
    const other = await store.openWriter()
    const seen: bigint[] = []
    const { logger, lines } = capturedLog('warn')
    const onCoverage = ({ height }: Coverage) => seen.push(height)
    const { committer } = commitFrom(t, readLogs(t, log), store, { onCoverage }, { logger })
    await until(() => lines.some((line) => line.includes('standing by')), 'the standby')
    const batch = new BatchWriter(other)
    const blocks = blocksOf(eventsOfBlocks(1, 4))
    for (const block of blocks.given) batch.add(block)
    await batch.commit(blocks.coverage)
    await until(() => seen.includes(4n), 'what the other one has committed')
    assert.deepEqual([committer.isWriter, committer.failure], [false, null])
    await other.close()
    await until(async () => (await stored())?.height === 9n, 'the rest')
  })

  test('is the writer while it makes the store ready', async (t) => {
    const { store } = await emptyStore(t)
    const through = withWriters(store, async (options) => {
      await sleep(100)
      return store.openWriter(options)
    })
    const { committer } = commitFrom(t, readLogs(t, new MemoryLog()), through)
    assert.equal(committer.isWriter, true)
    await until(() => !committer.isWriter, 'the end of writing')
  })

  test('does not become the writer again at a gap, before a missing block is there, nor for logs of two chains', async (t) => {
    const { store, stored } = await emptyStore(t)
    let opened = 0
    const through = withWriters(store, (options) => {
      opened++
      return store.openWriter(options)
    })
    const log = new MemoryLog()
    log.seal(1, [1, 4], eventsOfBlocks(1, 4))
    log.seal(2, [8, 9], eventsOfBlocks(8, 9))
    const reader = readLogs(t, log)
    const { committer, end } = commitFrom(t, reader, through)
    await until(() => committer.failure?.includes('lyra gap accept 5 7') === true, 'the gap')
    assert.equal(opened, 2)
    await sleep(2_500)
    assert.equal(opened, 2)
    // A part of a missing block does not close the gap.
    log.seal(4, [5, 5], eventsOfBlock(5).toSpliced(1, 1), { isPart: true })
    await reader.logs[0]!.listAgain(reader.segments.find(8n)!)
    await sleep(1_500)
    assert.equal(opened, 2)
    log.seal(3, [6, 6], eventsOfBlock(6))
    await reader.logs[0]!.listAgain(reader.segments.find(8n)!)
    await until(() => committer.failure?.includes('lyra gap accept 5 5') === true, 'what is missing still')
    await end()
    const another = new MemoryLog()
    another.seal(1, [5, 9], eventsOfBlocks(5, 9))
    another.nameChain('another-chain', 100)
    opened = 0
    const two = commitFrom(t, readLogs(t, log, another), through)
    await until(() => two.committer.failure?.includes('follow only logs of one chain') === true, 'a fault')
    await sleep(1_500)
    assert.deepEqual([opened, (await stored())?.height], [1, 4n])
  })

  test('that stands by has no fault of several chains any more, once the logs are of one', async (t) => {
    const { store } = await emptyStore(t)
    const [log, another] = [new MemoryLog(), new MemoryLog()]
    log.seal(1, [1, 4], eventsOfBlocks(1, 4))
    another.seal(1, [1, 4], eventsOfBlocks(1, 4))
    another.nameChain('another-chain', 100)
    const reader = readLogs(t, log, another)
    const { committer } = commitFrom(t, reader, store)
    await until(() => committer.failure?.includes('follow only logs of one chain') === true, 'the fault')
    const other = await store.openWriter()
    const batch = new BatchWriter(other)
    const { given, coverage } = blocksOf(eventsOfBlocks(1, 4))
    for (const block of given) batch.add(block)
    await batch.commit(coverage)
    another.nameChain(LOG_CHAIN, 101)
    // Others look at the logs each second.
    reader.refresh()
    await until(() => committer.failure === null, 'the end of the fault')
    await other.close()
  })

  test('ends if the store is of another chain than the required one', async (t) => {
    const { store, stored } = await emptyStore(t)
    const log = new MemoryLog()
    log.seal(1, [1, 5], eventsOfBlocks(1, 5))
    commitFrom(t, readLogs(t, log), store)
    await until(async () => (await stored())?.height === 5n, 'the blocks')
    const required = commitFrom(t, readLogs(t, log), store, {}, { chain: 'another-chain' })
    assert.match((await required.running)!.message, /--chain is "another-chain", but .* is of chain/)
  })
})

/** A store whose writers are opened by a function. */
const withWriters = (store: StoreAdmin, openWriter: StoreAdmin['openWriter']): StoreAdmin =>
  new Proxy(store, {
    get(target, name) {
      const value = name === 'openWriter' ? openWriter : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

/** The blocks of events, and the coverage of a store that has them. */
function blocksOf(events: readonly Buffer[]): { given: Block[]; coverage: Coverage | null } {
  const given: Block[] = []
  const assembler = new BlockAssembler({
    coverage: null,
    onBlock: (block) => given.push(block),
    onLeftOut: () => {},
    mayMiss: () => false,
    strict: false,
  })
  for (const [record, event] of events.entries())
    assembler.accept(event, 0, event.length, { source: 'events', record, offset: 0 })
  return { given, coverage: assembler.coverage }
}

/** A store of its own, without blocks yet, and what it has. */
async function emptyStore(t: TestContext) {
  const path = join(temporaryFolder(t), 'lyra.db')
  await openStore(path).migrate()
  return { store: openStore(path), stored: () => readFrom(path, readCoverage) }
}

type CommitterParameters = ConstructorParameters<typeof LogCommitter>

/** Commits the blocks of logs to a store, until the test or the caller ends it. */
function commitFrom(
  t: TestContext,
  reader: LogReader,
  store: StoreAdmin,
  listener: Partial<CommitterParameters[2]> = {},
  options: Partial<CommitterParameters[1]> = {},
) {
  const abort = new AbortController()
  const committer = new LogCommitter(
    reader,
    {
      store,
      chain: null,
      allowGap: false,
      strict: false,
      logger: SILENT,
      signal: abort.signal,
      ...options,
    },
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
  return { committer, running, end }
}
