import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { dial } from './fixtures/core.ts'
import { digestStore } from './fixtures/digest-store.ts'
import {
  blocksOf,
  heightIn,
  kill,
  startLive,
  startWithCore,
  stop,
  untilHeight,
  untilNotReady,
  untilReady,
} from './fixtures/live.ts'
import { scaled } from './fixtures/sampling.ts'
import { storeOf } from './fixtures/service.ts'
import { SAMPLE, skip } from './fixtures/shared.ts'
import { mountSmallDisk } from './fixtures/small-disk.ts'
import { SQLITE, STORE_KINDS, type StoreKind, temporaryFolder } from './fixtures/stores.ts'

const MB = 1024 * 1024

const blocks = await blocksOf(SAMPLE)

/** Checks that a store equals a plain ingest of the first blocks. */
async function assertHoldsFirst(t: TestContext, kind: StoreKind, store: string, count: number) {
  const file = join(temporaryFolder(t), 'first.evts')
  writeFileSync(
    file,
    Buffer.concat(blocks.slice(0, count).flatMap((events) => events.flatMap((event) => record(event)))),
  )
  const plain = await storeOf(t, kind, file)
  assert.deepEqual(await digestStore(store), await digestStore(plain))
}

/** An event as in a file: the size of the rest, a sequence number, the event. */
function record(event: Buffer): Buffer[] {
  const header = Buffer.alloc(12)
  header.writeUInt32BE(event.length + 8)
  return [header, event]
}

for (const kind of STORE_KINDS) {
  describe(`a recording at different speeds (${kind.name})`, () => {
    for (const [speed, count] of [
      [1, scaled(4, 120)],
      [100, scaled(200, 905)],
    ] as const) {
      test(`at ${speed}x`, async (t) => {
        const store = kind.create(t)
        const { service, core } = await startWithCore(t, store)
        const startedAt = performance.now()
        for (const [index, events] of blocks.slice(0, count).entries()) {
          // The recording has a block a second.
          await sleep(Math.max(0, startedAt + (index * 1_000) / speed - performance.now()))
          await core.send(events)
          // Block 1 is complete only when block 2 begins.
          if (speed === 1 && index > 0) await untilHeight(service, index + 1)
        }
        await untilHeight(service, count)
        await core.close()
        await stop(service)
        await assertHoldsFirst(t, kind, store, count)
      })
    }
  })

  describe(`a full disk (${kind.name})`, () => {
    test('under the buffer: the core waits, and continues once there is space', async (t) => {
      const disk = mountSmallDisk(t, MB)
      if (disk === null) return skip(t, 'cannot mount a file system')
      const store = kind.create(t)
      const buffer = join(disk.folder, 'buffer')
      let service = await startLive(t, store, buffer)
      let core = await dial(service.corePort)
      void core.send(blocks).catch(() => {})
      await service.program.printed(/the event buffer cannot be written .*the core has to wait/)
      // Killed while it waits: the core only repeats blocks that the store does not have.
      await kill(service)
      core.socket.destroy()
      const from = await heightIn(store)
      service = await startLive(t, store, buffer)
      core = await dial(service.corePort)
      const sent = core.send(blocks.slice(from))
      await service.program.printed(/the event buffer cannot be written/)
      disk.resize(64 * MB)
      await service.program.printed(/the event buffer can be written again/)
      await sent
      await untilHeight(service, blocks.length)
      await core.close()
      await stop(service)
      await assertHoldsFirst(t, kind, store, blocks.length)
    })
  })
}

describe('a full disk under a SQLite store', () => {
  test('the core continues; the fault is reported, and repaired once there is space', async (t) => {
    if (SQLITE === undefined) return
    const disk = mountSmallDisk(t, (3 * MB) / 8)
    if (disk === null) return skip(t, 'cannot mount a file system')
    const store = join(disk.folder, 'lyra.db')
    const { service, core } = await startWithCore(t, store)
    await core.send(blocks)
    await untilNotReady(service, /disk is full|check for a full/)
    await core.close()
    assert.equal(disk.resize(64 * MB), true)
    await untilHeight(service, blocks.length)
    await untilReady(service)
    await stop(service)
    await assertHoldsFirst(t, SQLITE, store, blocks.length)
  })
})
