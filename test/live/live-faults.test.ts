import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CoreQueue, describeQueue } from '#service/live/receive/core-queue'
import { startReceiver } from '#service/live/receive/start-receiver'
import { startIngestionThread } from '#service/live/start-ingestion'
import { frame, recordsOf } from '../fixtures/events/event-stream.ts'
import { mountSmallDisk } from '../fixtures/faults/small-disk.ts'
import { bufferPath } from '../fixtures/logs/old-buffer.ts'
import { metricsOf } from '../fixtures/requests/http.ts'
import { HANDSHAKE } from '../fixtures/services/core.ts'
import {
  blocksOf,
  kill,
  liveArgs,
  startLive,
  startWithCore,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from '../fixtures/services/live.ts'
import { startIngestion } from '../fixtures/services/live-ingestion.ts'
import { assertFails, ended } from '../fixtures/services/program.ts'
import { storeOf } from '../fixtures/services/service.ts'
import { SAMPLE, skip } from '../fixtures/shared.ts'
import { assertEqualStores } from '../fixtures/stores/digest-store.ts'
import {
  ANY_STORE_KIND,
  heightIn,
  openStore,
  SQLITE,
  type StoreKind,
  temporaryFolder,
} from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const MB = 1024 * 1024

const blocks = await blocksOf(SAMPLE)

/** A service whose core has filled the disk under its buffer; null if no disk can be mounted. */
async function startOnFullDisk(t: TestContext, kind: StoreKind) {
  const disk = mountSmallDisk(t, MB)
  if (disk === null) return null
  const [store, eventLog] = [kind.create(t), join(disk.folder, 'log')]
  const { service, core } = await startWithCore(t, store, eventLog)
  void core.send(blocks).catch(() => {})
  await service.program.printed('the event log cannot be written')
  return { disk, store, eventLog, service, core }
}

for (const kind of ANY_STORE_KIND) {
  test(`a full disk under the event log: the core keeps its events, and continues once there is space (${kind.name})`, async (t) => {
    const full = await startOnFullDisk(t, kind)
    if (full === null) return skip(t, 'cannot mount a file system')
    const { disk, store, eventLog } = full
    const message =
      '(ENOSPC): free disk space for it; the core keeps its events in memory meanwhile, and ends'
    await untilNotReady(full.service, `intake stopped...the event log cannot be written ${message}`)
    // Killed while it waits: the core only repeats blocks that the store does not have.
    await kill(full.service)
    full.core.socket.destroy()
    const from = await heightIn(store)
    const { service, core } = await startWithCore(t, store, eventLog)
    const sent = core.send(blocks.slice(from))
    await service.program.printed('the event log cannot be written')
    disk.resize(64 * MB)
    await service.program.printed('"level":30,...the event log can be written again')
    await sent
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test(`a segment that cannot be read: the core stays connected, and ingestion resumes once it can (${kind.name})`, async (t) => {
    const [store, eventLog] = [kind.create(t), join(temporaryFolder(t), 'log')]
    // The service waits while there is another writer.
    const writer = await openStore(store).openWriter()
    const { service, core } = await startWithCore(t, store, eventLog)
    await core.send(blocks.slice(0, 300))
    const hasEvents = async () => !/^lyra_live_buffer_bytes 0$/m.test(await metricsOf(service.base))
    await until(hasEvents, 'the first events')
    const name = readdirSync(eventLog).find((name) => name.endsWith('.open'))!
    renameSync(join(eventLog, name), join(eventLog, `${name}-away`))
    await writer.close()
    await untilNotReady(service, 'the event log cannot be read (ENOENT)')
    await core.send(blocks.slice(300, 600))
    renameSync(join(eventLog, `${name}-away`), join(eventLog, name))
    await core.send(blocks.slice(600))
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test(`a full disk under the event log of a service that is stopped: it ends once there is space, with all that the core had sent (${kind.name})`, async (t) => {
    const full = await startOnFullDisk(t, kind)
    if (full === null) return skip(t, 'cannot mount a file system')
    const { disk, store, eventLog } = full
    const { program } = full.service
    program.child.kill('SIGTERM')
    await program.printed('ends once the event log can be written')
    // Longer than a core has to end its side.
    await sleep(2_500)
    disk.resize(64 * MB)
    await ended(program)
    // The core may have been cut off within a block: it sends that again, as after a disk fault nothing of it counts.
    const { bytesWritten, writableLength } = full.core.socket
    let sent = bytesWritten - writableLength - HANDSHAKE.length
    const left = blocks.filter((events) => {
      // A message on the wire has its length in 8 bytes before it.
      for (const event of events) sent -= 8 + event.length
      return sent < 0
    })
    const { service, core } = await startWithCore(t, store, eventLog)
    await core.send(left)
    await untilHeight(service, blocks.length)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })
}

test("the seconds that are left of a core's queue follow from the rate before", () => {
  const queue = new CoreQueue()
  const message = (seconds: number | null) => describeQueue(seconds)
  // Blocked before anything was seen.
  queue.sample(0, true, 0)
  assert.equal(queue.secondsLeft, Infinity)
  assert.match(message(Infinity), /ends when they are about a million$/)
  // 100 events a second, then for the last minute 500.
  let received = 0
  for (let second = 0; second <= 200; second++) {
    queue.sample(received, false, second * 1000)
    received += second < 100 ? 100 : 500
  }
  assert.equal(queue.secondsLeft, null)
  for (const [waited, left] of [
    [1, 2_000],
    [501, 1_500],
    [2_001, 0],
    [9_000, 0],
  ] as const) {
    queue.sample(received, true, (200 + waited) * 1000)
    assert.equal(queue.secondsLeft, left, `after ${waited} s`)
  }
  assert.match(message(2_000), /at the usual rate in 33 min 20 s$/)
  assert.match(message(0), /it may have ended$/)
  queue.sample(received, false, 10_000_000)
  assert.equal(queue.secondsLeft, null)
})

test('a full disk under a SQLite store: the core continues; the fault is reported, and repaired once there is space', async (t) => {
  if (SQLITE === undefined) return
  const disk = mountSmallDisk(t, 64 * MB)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const store = join(disk.folder, 'lyra.db')
  const { service, core } = await startWithCore(t, store)
  const { blocks: size, bfree, bsize } = statfsSync(disk.folder)
  assert.equal(disk.resize((size - bfree) * bsize + MB / 64), true)
  await core.send(blocks)
  await untilNotReady(service, /disk is full|check for a full/)
  await core.close()
  assert.equal(disk.resize(64 * MB), true)
  await untilHeight(service, blocks.length)
  await untilReady(service)
  await stop(service)
  await assertEqualStores(store, await storeOf(t, SQLITE, SAMPLE))
})

test('a full disk under store and event log: both faults are reported', async (t) => {
  if (SQLITE === undefined) return
  const disk = mountSmallDisk(t, 64 * MB)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const { service, core } = await startWithCore(t, join(disk.folder, 'lyra.db'), join(disk.folder, 'log'))
  const { blocks: size, bfree, bsize } = statfsSync(disk.folder)
  assert.equal(disk.resize((size - bfree) * bsize + MB / 8), true)
  // Little enough for the log, too much for the store.
  await core.send(blocks.slice(0, 5))
  await untilNotReady(service, /disk is full|check for a full/)
  void core.send(blocks.slice(5)).catch(() => {})
  await untilNotReady(service, /(disk is full|check for a full).*the event log cannot be written \(ENOSPC/)
  assert.match(await metricsOf(service.base), /^lyra_unready\{reason="intake stopped"\} 1$/m)
  assert.equal(disk.resize(64 * MB), true)
  await untilHeight(service, blocks.length)
  await untilReady(service)
})

describe('the buffer of a version before 0.3', () => {
  /** The events of blocks 1 to 3 and 4 to 6, as two processes have left them. */
  const one = frame(blocks.slice(0, 3).flat(), 0n)
  const two = frame(blocks.slice(3, 6).flat(), 0n)

  async function start(t: TestContext, contents: readonly Buffer[]) {
    const folder = temporaryFolder(t)
    const buffer = join(folder, 'buffer')
    mkdirSync(buffer)
    for (const [index, bytes] of contents.entries()) writeFileSync(bufferPath(buffer, index + 1), bytes)
    const ingestion = await startIngestion(t, { folder, buffer })
    return { ingestion, left: () => readdirSync(buffer), store: join(folder, 'lyra.db') }
  }

  test('is moved to the event log, also a block that begins in one file and ends in the next', async (t) => {
    const cut = frame(blocks.slice(0, 3).flat().concat(blocks[3]!.slice(0, 4)), 0n)
    const rest = frame([...blocks[3]!.slice(4), ...blocks.slice(4, 6).flat()], 0n)
    const { store, left } = await start(t, [cut, rest])
    await until(async () => (await heightIn(store)) === 6, 'the store')
    assert.deepEqual(left(), [])
  })

  test('that was damaged within a file is read up to there, and after it; the file is kept', async (t) => {
    const damaged = Buffer.from(one)
    const [, second] = recordsOf(one).filter(({ index }) => index === 2)
    damaged[second!.offset] = 0x80
    const { ingestion, left, store } = await start(t, [damaged, two])
    const says = /blocks 2 to 3 missing .*lyra gap accept 2 3/
    await until(() => says.test(`${ingestion.live.failures}`), 'its failure')
    assert.equal(await heightIn(store), 1)
    assert.deepEqual(left(), ['lyra-buffer-0000000000000001.bevt.damaged'])
    await ingestion.core.send(blocks.slice(0, 9))
    await until(async () => (await heightIn(store)) === 9, 'the blocks of a core started again')
  })

  const second = ['lyra-buffer-0000000000000002.bevt.damaged']
  const tails: [what: string, tail: Buffer, left: string[]][] = [
    // A killed process leaves that.
    ['part of a record', two.subarray(0, recordsOf(two)[1]!.offset - 3), []],
    ['zeros', Buffer.alloc(5_000), second],
    ['garbage', Buffer.alloc(5_000, 0xa7), second],
  ]
  for (const [what, tail, kept] of tails) {
    test(`is moved with all its blocks if ${what} follow them`, async (t) => {
      const { store, left } = await start(t, [one, Buffer.concat([two, tail])])
      await until(async () => (await heightIn(store)) === 6, 'the store')
      assert.deepEqual(left(), kept)
    })
  }
})

test('A folder of events that cannot be made, or is of another receiver, is refused, and free once that is killed', async (t) => {
  const folder = temporaryFolder(t)
  const [store, eventLog] = [join(folder, 'a.db'), join(folder, 'log')]
  const { service, core } = await startWithCore(t, store, eventLog)
  await core.send(blocks.slice(0, 10))
  const refusal = /^lyra: \S+log: another process receives into this event log; .*--event-log\n$/
  await assertFails(t, liveArgs(join(folder, 'b.db'), eventLog), refusal, 1)
  const nowhere = liveArgs(join(folder, 'b.db'), join(store, 'log'))
  await assertFails(t, nowhere, /^lyra: \S+a\.db\/log: no such file or directory\n$/, 1)
  await core.send(blocks.slice(10, 20))
  await untilHeight(service, 20)
  await kill(service)
  await stop(await startLive(t, store, eventLog))
})

test('a store that is no database ends a service that waits for a core, with one line', async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'b.db')
  writeFileSync(store, 'no database at all, but a text that is long enough')
  const args = [...liveArgs(store, join(folder, 'log')), '--log-level', 'warn']
  await assertFails(t, args, 'b.db: the file is not a SQLite database', 1)
})

test('a thread that fails is reported once, and stopping it waits only for its end', async () => {
  const failed = Promise.withResolvers<Error>()
  const ingestion = startIngestionThread(null as never, { onMessage: () => {}, onFailed: failed.resolve })
  await ingestion.stop()
  await failed.promise
  await assert.rejects(
    startReceiver(null as never, () => {}),
    TypeError,
  )
})
