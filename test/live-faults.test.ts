import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { CoreQueue, describeQueue } from '#service/live/core-queue'
import { bufferPaths, createEventBuffer } from '#service/live/event-buffer'
import { startReceiver } from '#service/live/receiver'
import { startIngestionWorker } from '#service/live/start-worker'
import { assertSays, patternOf } from './fixtures/assert-says.ts'
import { HANDSHAKE } from './fixtures/core.ts'
import { assertEqualStores } from './fixtures/digest-store.ts'
import { fileOf, frame, recordsOf } from './fixtures/event-stream.ts'
import { metricsOf } from './fixtures/http.ts'
import {
  blocksOf,
  kill,
  type LiveService,
  liveArgs,
  startLive,
  startWithCore,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from './fixtures/live.ts'
import { startIngestion } from './fixtures/live-ingestion.ts'
import { assertFails, ended } from './fixtures/program.ts'
import { storeOf } from './fixtures/service.ts'
import { SAMPLE, skip } from './fixtures/shared.ts'
import { mountSmallDisk } from './fixtures/small-disk.ts'
import {
  ANY_STORE_KIND,
  heightIn,
  openStore,
  SQLITE,
  type StoreKind,
  temporaryFolder,
} from './fixtures/stores.ts'
import { until } from './fixtures/until.ts'

const MB = 1024 * 1024

const blocks = await blocksOf(SAMPLE)

/** A service whose core has filled the disk under its buffer; null if no disk can be mounted. */
async function startOnFullDisk(t: TestContext, kind: StoreKind) {
  const disk = mountSmallDisk(t, MB)
  if (disk === null) return null
  const [store, buffer] = [kind.create(t), join(disk.folder, 'buffer')]
  const { service, core } = await startWithCore(t, store, buffer)
  void core.send(blocks).catch(() => {})
  await service.program.printed('the event buffer cannot be written')
  return { disk, store, buffer, service, core }
}

for (const kind of ANY_STORE_KIND) {
  test(`a full disk under the buffer: the core keeps its events, and continues once there is space (${kind.name})`, async (t) => {
    const full = await startOnFullDisk(t, kind)
    if (full === null) return skip(t, 'cannot mount a file system')
    const { disk, store, buffer } = full
    const message =
      '(ENOSPC): free disk space for it; the core keeps its events in memory meanwhile, and ends'
    await untilNotReady(full.service, `intake stopped...the event buffer cannot be written ${message}`)
    // Killed while it waits: the core only repeats blocks that the store does not have.
    await kill(full.service)
    full.core.socket.destroy()
    const from = await heightIn(store)
    const { service, core } = await startWithCore(t, store, buffer)
    const sent = core.send(blocks.slice(from))
    await service.program.printed('the event buffer cannot be written')
    disk.resize(64 * MB)
    await service.program.printed('"level":30,...the event buffer can be written again')
    await sent
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test(`a buffer file that cannot be read: the core stays connected, and ingestion resumes once it can (${kind.name})`, async (t) => {
    const [store, buffer] = [kind.create(t), join(temporaryFolder(t), 'buffer')]
    // The service waits while there is another writer.
    const writer = await openStore(store).openWriter()
    const hasEvents = async ({ base }: LiveService) =>
      !/^lyra_live_buffer_bytes 0$/m.test(await metricsOf(base))
    const first = await startWithCore(t, store, buffer)
    await first.core.send(blocks.slice(0, 300))
    await until(() => hasEvents(first.service), 'the first events')
    await first.core.close()
    await stop(first.service)
    const [earlier] = bufferPaths(buffer)
    const { service, core } = await startWithCore(t, store, buffer)
    await core.send(blocks.slice(300, 600))
    await until(() => bufferPaths(buffer).length > 1, 'a second file')
    const path = bufferPaths(buffer).find((path) => path !== earlier)
    renameSync(path!, `${path}-away`)
    await writer.close()
    await untilNotReady(service, 'the event buffer cannot be read (ENOENT, ')
    // All whole blocks before it are committed.
    await untilHeight(service, 299)
    renameSync(`${path}-away`, path!)
    await core.send(blocks.slice(600))
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await core.close()
    await stop(service)
    await assertEqualStores(store, await storeOf(t, kind, SAMPLE))
  })

  test(`a full disk under the buffer of a service that is stopped: it ends once there is space, with all that the core had sent (${kind.name})`, async (t) => {
    const full = await startOnFullDisk(t, kind)
    if (full === null) return skip(t, 'cannot mount a file system')
    const { disk, store, buffer } = full
    const { program } = full.service
    program.child.kill('SIGTERM')
    await program.printed('ends once the event buffer can be written')
    // Longer than a core has to end its side.
    await sleep(2_500)
    disk.resize(64 * MB)
    await ended(program)
    let sent = full.core.socket.bytesWritten - HANDSHAKE.length
    const left = blocks.flat().filter((event) => {
      // A message on the wire has its length in 8 bytes before it.
      sent -= 8 + event.length
      return sent < 0
    })
    const { service, core } = await startWithCore(t, store, buffer)
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

test('a buffer that is closed with a full disk is closed once there is space', async (t) => {
  const disk = mountSmallDisk(t, MB)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const log = pino({ enabled: false })
  const buffer = createEventBuffer({ folder: disk.folder, archive: null, maxFileBytes: 4 * MB, log })
  buffer.append(Buffer.alloc(2 * MB), true)
  assert.notEqual(buffer.write(), null)
  const closed = buffer.close()
  await sleep(1_500)
  disk.resize(64 * MB)
  await closed
  assert.deepEqual([buffer.fault, statSync(bufferPaths(disk.folder).at(-1)!).size], [null, 2 * MB + 12])
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

test('a full disk under store and buffer: both faults are reported', async (t) => {
  if (SQLITE === undefined) return
  const disk = mountSmallDisk(t, 64 * MB)
  if (disk === null) return skip(t, 'cannot mount a file system')
  const { service, core } = await startWithCore(t, join(disk.folder, 'lyra.db'), join(disk.folder, 'buffer'))
  const { blocks: size, bfree, bsize } = statfsSync(disk.folder)
  assert.equal(disk.resize((size - bfree) * bsize + MB / 8), true)
  // Little enough for the buffer, too much for the store.
  await core.send(blocks.slice(0, 5))
  await untilNotReady(service, /disk is full|check for a full/)
  void core.send(blocks.slice(5)).catch(() => {})
  await untilNotReady(service, /(disk is full|check for a full).*the event buffer cannot be written \(ENOSPC/)
  assert.match(await metricsOf(service.base), /^lyra_unready\{reason="intake stopped"\} 1$/m)
  assert.equal(disk.resize(64 * MB), true)
  await untilHeight(service, blocks.length)
  await untilReady(service)
})

describe('a damaged buffer', () => {
  /** The events of blocks 1 to 3 and 4 to 6, as two processes have left them. */
  const one = frame(blocks.slice(0, 3).flat(), 0n)
  const two = frame(blocks.slice(3, 6).flat(), 0n)
  const names = [1, 2].map((number) => `lyra-buffer-${String(number).padStart(16, '0')}.bevt`)
  /** Flips bits of the second event of a file's second block, `at` its record's start. */
  const flipped = (bytes: Buffer, at: number, bits: number) => {
    const changed = Buffer.from(bytes)
    const [, second] = recordsOf(bytes).filter(({ index }) => index === 2)
    changed[second!.offset + at]! ^= bits
    return changed
  }

  async function start(t: TestContext, contents: readonly Buffer[]) {
    const folder = temporaryFolder(t)
    const buffer = join(folder, 'buffer')
    mkdirSync(buffer)
    for (const [index, bytes] of contents.entries()) writeFileSync(join(buffer, names[index]!), bytes)
    const ingestion = await startIngestion(t, { folder, buffer })
    const read = (name: string) => readFileSync(join(buffer, name))
    return { ingestion, read, store: join(folder, 'lyra.db') }
  }

  const inTheMiddle: [what: string, contents: Buffer[], says: string][] = [
    ['a size too large, before another file', [flipped(one, 0, 0x80), two], '0001.bevt'],
    [
      'a size beyond the end, before another file',
      [flipped(one, 1, 0x01), two],
      '0001.bevt...within a record',
    ],
    ['a record cut off, before another file', [one.subarray(0, -5), two], '0001.bevt...within a record'],
    ['a size too large, before ends of blocks', [one, flipped(two, 0, 0x80)], '0002.bevt'],
    ['an event that is none, before ends of blocks', [one, flipped(two, 12, 0xff)], '0002.bevt'],
  ]
  for (const [what, contents, says] of inTheMiddle) {
    test(`${what}: ingestion stops there, and nothing is changed`, async (t) => {
      const { ingestion, read } = await start(t, contents)
      await until(() => patternOf(says).test(`${ingestion.live.failures}`), 'its failure')
      assertSays(`${ingestion.live.failures}`, 'The buffer cannot be read past this point...move this file')
      for (const [index, bytes] of contents.entries()) assert.ok(read(names[index]!).equals(bytes))
    })
  }

  test('events of another chain than the earlier ones: ingestion stops there, and asks for a buffer of its own', async (t) => {
    const other = fileOf({ height: 4, chain: 'another' })
    const { ingestion } = await start(t, [one, other])
    const says = /0002\.bevt, record 1, .*chain "another".*give each chain its own --buffer, too$/
    await until(() => says.test(`${ingestion.live.failures}`), 'its failure')
  })

  const tails: [what: string, tail: Buffer][] = [
    ['part of a record', two.subarray(0, recordsOf(two)[1]!.offset - 3)],
    ['zeros', Buffer.alloc(5_000)],
    ['garbage', Buffer.alloc(5_000, 0xa7)],
  ]
  for (const [what, tail] of tails) {
    test(`${what} at the end is cut off, and kept beside the file`, async (t) => {
      const { store, read } = await start(t, [one, Buffer.concat([two, tail])])
      await until(async () => (await heightIn(store)) === 6, 'the store')
      assert.ok(read(`${names[1]}.damaged`).equals(tail))
    })
  }

  /** Block 7 up to a data point whose last bytes are zero: the size of the file was written before its last page. */
  const pointAt = 5
  const point = Buffer.from(blocks[6]![pointAt]!)
  const torn = frame([point.fill(0, point.length - 50)], BigInt(pointAt))
  const part = (from: number, to: number) => frame(blocks[6]!.slice(from, to), BigInt(from))
  const halves: [what: string, contents: Buffer[]][] = [
    ['in a block of the same file', [one, Buffer.concat([two, part(0, pointAt), torn])]],
    [
      'in a block that began in the file before',
      [Buffer.concat([one, two, part(0, 3)]), Buffer.concat([part(3, pointAt), torn])],
    ],
  ]
  for (const [what, contents] of halves) {
    test(`an event with zeros at its end, ${what}, is cut off, and the core goes on`, async (t) => {
      const { ingestion, store, read } = await start(t, contents)
      await until(async () => (await heightIn(store)) === 6, 'the blocks before')
      assert.ok(read(`${names[1]}.damaged`).equals(torn))
      await ingestion.core.send(blocks.slice(5, 9))
      await until(async () => (await heightIn(store)) === 9, 'the blocks of a core started again')
      assert.deepEqual(ingestion.live.failures, [])
    })
  }
})

test('A buffer folder that cannot be made, or is of another service, is refused, and free once that is killed', async (t) => {
  const folder = temporaryFolder(t)
  const [store, buffer] = [join(folder, 'a.db'), join(folder, 'buffer')]
  const { service, core } = await startWithCore(t, store, buffer)
  await core.send(blocks.slice(0, 10))
  const refusal = /^lyra: \S+buffer: another process keeps its events there; .*--buffer\n$/
  await assertFails(t, liveArgs(join(folder, 'b.db'), buffer), refusal, 1)
  const nowhere = liveArgs(join(folder, 'b.db'), join(store, 'buffer'))
  await assertFails(t, nowhere, /^lyra: \S+a\.db\/buffer: no such file or directory\n$/, 1)
  await core.send(blocks.slice(10, 20))
  await untilHeight(service, 20)
  await kill(service)
  await stop(await startLive(t, store, buffer))
})

test('a store that is no database ends a service that waits for a core, with one line', async (t) => {
  const folder = temporaryFolder(t)
  const store = join(folder, 'b.db')
  writeFileSync(store, 'no database at all, but a text that is long enough')
  const args = [...liveArgs(store, join(folder, 'buffer')), '--log-level', 'warn']
  await assertFails(t, args, 'b.db: the file is not a SQLite database', 1)
})

test('a thread that fails is reported once, and stopping it waits only for its end', async () => {
  const failed = Promise.withResolvers<Error>()
  const ingestion = startIngestionWorker(null as never, { onMessage: () => {}, onFailed: failed.resolve })
  await ingestion.stop()
  await failed.promise
  const listener = { onFile: () => {}, onState: () => {} }
  await assert.rejects(startReceiver(null as never, listener), TypeError)
})
