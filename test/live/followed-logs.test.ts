import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { NODE_DISK } from '#core/log/files/log-disk'
import { readReader } from '#core/log/files/reader-files'
import type { ForwardState } from '#service/live/forward/forward-state'
import { Forwarder } from '#service/live/forward/forwarder'
import { assertSays } from '../fixtures/assert-says.ts'
import { fileOf, markedBlocks } from '../fixtures/events/event-stream.ts'
import { follow } from '../fixtures/logs/follow-logs.ts'
import { writeBlocks, writeMade, writeReceiver } from '../fixtures/logs/written-log.ts'
import { startReceiver, type TestReceiver } from '../fixtures/services/receiver.ts'
import { capturedLog, ingest } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const foldersOf = (t: TestContext, ...names: string[]) => names.map((name) => join(temporaryFolder(t), name))

describe('A service that follows two logs', () => {
  test('is not silent as long as one receiver goes on, whose blocks it commits', async (t) => {
    const [one, two] = foldersOf(t, 'one', 'two')
    await writeBlocks(one!, [1, 20])
    await writeBlocks(two!, [1, 10])
    writeReceiver(one!, 0)
    writeReceiver(two!, 60)
    const service = await follow(t, [one!, two!])
    await until(async () => (await service.height()) === 20, 'the blocks')
    await until(() => service.said().includes('log 2'), 'a line about the silent receiver')
    assert.deepEqual([service.state().silence, service.state().failures], [null, []])
    assertSays(service.said(), `${two}: the receiver of log 2 has been silent for`)
    writeReceiver(one!, 70)
    await until(() => service.state().silence !== null, 'silence')
    assert.match(service.state().silence!, /^the receiver of log 1 has been silent for/)
  })

  test('has no fault of a receiver that has ended, whatever it said last', async (t) => {
    const [one, two] = foldersOf(t, 'one', 'two')
    await writeBlocks(one!, [1, 20])
    await writeBlocks(two!, [1, 10])
    const upgrade = { height: '5', since: 1, waitsFor: 'block' as const }
    const last = { failures: ['the event log cannot be written (ENOSPC)'], queueSeconds: 0, upgrade }
    writeReceiver(one!, 0)
    writeReceiver(two!, 0, last)
    const service = await follow(t, [one!, two!])
    await until(() => service.state()?.failures.length === 1 && service.state().queueSeconds === 0, 'a fault')
    writeReceiver(one!, 0)
    writeReceiver(two!, 60, last)
    await until(() => service.state().failures.length === 0, 'the end of the fault')
    assert.deepEqual([service.state().queueSeconds, service.state().upgrade], [undefined, null])
  })

  test('follows what others write to its store although its log has events of another chain', async (t) => {
    const [log] = foldersOf(t, 'log')
    await writeBlocks(log!, [1, 20])
    const service = await follow(t, [log!], 'other-chain')
    await until(() => service.state()?.failures.length === 1, 'a refusal')
    const noted = () => readReader(NODE_DISK, log!, 'store')?.height ?? null
    assert.equal(noted(), null)
    const others = markedBlocks(1, 30).map((block) => ({ ...block, chain: 'other-chain' }))
    const file = join(temporaryFolder(t), 'others.bevt')
    writeFileSync(file, fileOf(...others))
    await ingest(service.store, file)
    await until(() => noted() === 30n, 'the height of the store in the log')
    assert.equal(service.state().failures.length, 1)
  })

  test('refuses logs of two chains, also if one of them gets its chain later', async (t) => {
    const [one, two, empty] = foldersOf(t, 'one', 'two', 'empty')
    const other = markedBlocks(1, 20).map((block) => ({ ...block, chain: 'other-chain' }))
    await writeBlocks(one!, [1, 10])
    await writeMade(two!, other)
    const both = 'log 1 is of chain "test-chain", log 2 of chain "other-chain"'
    const service = await follow(t, [one!, two!])
    await until(() => service.state()?.failures.some((failure) => failure.includes(both)), 'a refusal')
    assert.equal(await service.height(), 0)
    await writeBlocks(empty!)
    const later = await follow(t, [one!, empty!])
    await until(async () => (await later.height()) === 10, 'the blocks')
    await writeMade(empty!, other)
    await until(() => later.state().failures.some((failure) => failure.includes(both)), 'a refusal')
    assertSays(later.said(), `${one} is of chain "test-chain", ${empty} of chain "other-chain"`)
    assert.equal(await later.height(), 10)
  })
})

/** Forwards logs to a receiver. */
async function forward(
  t: TestContext,
  logs: string[],
): Promise<{ target: TestReceiver; state: () => ForwardState; said: () => string }> {
  const target = await startReceiver(t)
  const abort = new AbortController()
  const { logger, lines } = capturedLog('info')
  const states: ForwardState[] = []
  const task = { host: '127.0.0.1', port: target.port, logs, repeatBytes: 1024 ** 2, logLevel: 'silent' }
  const running = new Forwarder(task, logger, (state) => states.push(state)).run(abort.signal)
  t.after(async () => {
    abort.abort()
    await running
  })
  return {
    target,
    state: () => states.at(-1)!,
    said: () => lines.map((line) => JSON.parse(line).msg).join('\n'),
  }
}

describe('A forwarder', () => {
  test('of two logs sends nothing while they are of two chains, and says which', async (t) => {
    const [one, two] = foldersOf(t, 'one', 'two')
    await writeBlocks(one!, [1, 10])
    await writeMade(two!, [{ height: 11, chain: 'other-chain' }])
    const { target, state, said } = await forward(t, [one!, two!])
    await until(() => state()?.failure?.startsWith('log 1 is of chain') ?? false, 'the fault')
    assertSays(said(), `${one} is of chain "test-chain", ${two} of chain "other-chain"`)
    assert.deepEqual(
      target.connections.flatMap(({ messages }) => messages),
      [],
    )
  })
})
