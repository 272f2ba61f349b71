import assert from 'node:assert/strict'
import { readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { StoreAwayError, StoreLockedError } from '#core/store/errors'
import { describeStatus } from '#tools/cli/describe-status'
import { statusOfStore } from '#tools/status/status'
import { fileOf, frame, markedBlocks } from '../../fixtures/events/event-stream.ts'
import { follow } from '../../fixtures/logs/follow-logs.ts'
import { writeBlocks } from '../../fixtures/logs/written-log.ts'
import { metricsOf } from '../../fixtures/requests/http.ts'
import { dial } from '../../fixtures/services/core.ts'
import {
  blocksOf,
  kill,
  type LiveService,
  readyOf,
  startLive,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from '../../fixtures/services/live.ts'
import { runWell } from '../../fixtures/services/program.ts'
import { storeOf } from '../../fixtures/services/service.ts'
import { SAMPLE } from '../../fixtures/shared.ts'
import { assertEqualStores } from '../../fixtures/stores/digest-store.ts'
import { describeOn, openStore, STORE_KINDS, temporaryFolder } from '../../fixtures/stores/stores.ts'
import { until } from '../../fixtures/until.ts'

const blocks = await blocksOf(SAMPLE)

const standbyOf = async ({ base }: LiveService) =>
  Number(/^lyra_standby (\d)$/m.exec(await metricsOf(base))![1])

const untilStandby = (service: LiveService, expected: number) =>
  until(async () => (await standbyOf(service)) === expected, `a standby: ${expected}`)

test('a store has one writer, also if a link names a file that the first one creates', async (t) => {
  const link = join(temporaryFolder(t), 'lyra.db')
  symlinkSync(join(temporaryFolder(t), 'new.db'), link)
  const writer = await openStore(link).openWriter()
  await assert.rejects(openStore(link).openWriter({ isImpatient: true }), StoreLockedError)
  await writer.close()
  await (await openStore(link).openWriter({ isImpatient: true })).close()
})

describeOn(STORE_KINDS, 'a service with a core, and one without', (kind) => {
  const start = async (t: Parameters<typeof startLive>[0]) => {
    const store = kind.create(t)
    const service = (name: string) => startLive(t, store, join(temporaryFolder(t), name))
    const first = await service('first')
    const core = await dial(first.corePort)
    await core.send(blocks.slice(0, 37))
    await untilHeight(first, 37)
    return { store, service, first, core, second: await service('second') }
  }

  test('a gap of the one ends when it is accepted or filled, although the other waits', async (t) => {
    const { store, first, second, core } = await start(t)
    await untilStandby(second, 1)
    assert.match(
      (await readyOf(second)).text,
      /"standby":\{"message":"another process is the writer","seconds":\d+\}/,
    )
    await core.send(blocks.slice(49, 99))
    await untilNotReady(first, 'blocks 38 to 49 missing')
    // Nobody is the writer now, and nobody becomes it.
    await untilStandby(second, 0)
    await runWell(t, `gap accept 38 49 --store ${store}`)
    await untilHeight(first, 99)
    await untilReady(first)
    await untilStandby(second, 1)
    await core.send(blocks.slice(119, 139))
    await untilNotReady(first, 'blocks 100 to 119 missing')
    const missing = join(temporaryFolder(t), 'missing.evts')
    writeFileSync(missing, frame(blocks.slice(99, 119).flat()))
    await runWell(t, `ingest ${missing} --store ${store}`)
    await untilHeight(first, 139)
    await untilReady(first)
    await untilStandby(first, 0)
    for (const running of [first, second]) await stop(running)
  })

  test('the other takes over when the core dials it, after the first has let go or was killed', async (t) => {
    const { store, service, first, second, core } = await start(t)
    await untilStandby(second, 1)
    assert.match(
      describeStatus(await statusOfStore(openStore(store))),
      kind.name === 'sqlite' ? /^writer +process \d+ on \S+$/m : /^writer +process \d+ on 127\.0\.0\.1$/m,
    )
    // The core alone ends: no service is a standby then, and each says that it has no core.
    await core.close()
    await untilStandby(second, 0)
    assert.match(await metricsOf(second.base), /^lyra_live_core_connected 0$/m)
    assert.match(describeStatus(await statusOfStore(openStore(store))), /^writer +none$/m)
    const moved = await dial(second.corePort)
    await moved.send(blocks.slice(37, 60))
    await untilHeight(second, 60)
    await untilStandby(first, 1)
    await kill(second)
    moved.socket.destroy()
    await untilStandby(first, 0)
    const back = await dial(first.corePort)
    await back.send(blocks.slice(60))
    await untilHeight(first, blocks.length)
    const third = await service('third')
    await untilStandby(third, 1)
    for (const running of [first, third]) await stop(running)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test('one that cannot read its log lets the other one write, which can read its own', async (t) => {
    const store = kind.create(t)
    const log = join(temporaryFolder(t), 'first')
    const first = await startLive(t, store, log)
    const core = await dial(first.corePort)
    await core.send(blocks.slice(0, 37))
    await untilHeight(first, 37)
    const second = await startLive(t, store, join(temporaryFolder(t), 'second'))
    const other = await dial(second.corePort)
    await other.send(blocks.slice(0, 37))
    await untilStandby(second, 1)
    const open = readdirSync(log).find((name) => name.endsWith('.open'))!
    // What is opened is a link to itself: an error, but not that the file is gone.
    renameSync(join(log, open), join(log, 'aside'))
    symlinkSync(open, join(log, open))
    for (const each of [core, other]) await each.send(blocks.slice(37, 60))
    await untilHeight(second, 60)
    await untilStandby(second, 0)
    await untilReady(second)
    for (const running of [first, second]) await stop(running)
  })

  test('a command writes beside a service that has no core, which then goes on from there', async (t) => {
    const store = kind.create(t)
    const service = await startLive(t, store, join(temporaryFolder(t), 'log'))
    const file = join(temporaryFolder(t), 'some.evts')
    writeFileSync(file, frame(blocks.slice(0, 50).flat()))
    await runWell(t, `ingest ${file} --store ${store}`)
    // It was the writer a moment ago.
    await untilStandby(service, 0)
    await (await dial(service.corePort)).send(blocks.slice(40))
    await untilHeight(service, blocks.length)
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
})

test('a standby is ready again once its store is, although another process stays the writer', async (t) => {
  const log = join(temporaryFolder(t), 'log')
  await writeBlocks(log, [1, 20])
  let isAway = true
  const { store, state, height } = await follow(t, [log], null, (real) => ({
    ...real,
    openWriter: async (options) => {
      if (isAway && options?.isImpatient !== true) throw new StoreAwayError('the server is away')
      return real.openWriter(options)
    },
  }))
  await until(() => `${state()?.failures}` === 'the server is away', 'a failure')
  const file = join(temporaryFolder(t), 'some.evts')
  writeFileSync(file, fileOf(...markedBlocks(1, 10)))
  await runWell(t, `ingest ${file} --store ${store}`)
  const other = await openStore(store).openWriter()
  t.after(() => other.close())
  isAway = false
  await until(
    () => state().otherWriterSince !== null && state().failures.length === 0,
    'a standby without a failure',
  )
  assert.equal(await height(), 10)
})
