import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { type LiveState, startLiveIngestion } from '#service/live/live-ingestion'
import { assertSays } from './fixtures/assert-says.ts'
import { keptLog } from './fixtures/service.ts'
import { heightIn, openStore, temporaryFolder } from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'
import { writeBlocks, writeReceiver } from './fixtures/written-log.ts'

/** Follows logs that other processes write, with a new store. */
async function follow(
  t: TestContext,
  logs: readonly string[],
): Promise<{ state: () => LiveState; height: () => Promise<number>; said: () => string }> {
  const store = join(temporaryFolder(t), 'lyra.db')
  await openStore(store).migrate()
  const abort = new AbortController()
  const { log, lines } = keptLog('info')
  const states: LiveState[] = []
  const ingestion = await startLiveIngestion({
    store: openStore(store),
    logs,
    receiver: null,
    reader: 'store',
    chain: null,
    forward: null,
    allowGap: false,
    strict: false,
    log,
    logLevel: 'silent',
    signal: abort.signal,
    onState: (state) => states.push(state),
    onCommit: () => {},
    onLeftOut: () => {},
  })
  const running = ingestion.run()
  t.after(async () => {
    abort.abort()
    await running
  })
  return {
    state: () => states.at(-1)!,
    height: () => heightIn(store),
    said: () => lines.map((line) => JSON.parse(line).msg).join('\n'),
  }
}

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
})
