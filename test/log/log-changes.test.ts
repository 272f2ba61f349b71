import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { NODE_DISK } from '#core/log/files/log-disk'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog, isSameSegment, type LogSegment } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { LogBlocks } from '#service/live/commit/log-blocks'
import { eventsOf, marked, markedBlocks } from '../fixtures/events/event-stream.ts'
import { writeBlocks, writerOf } from '../fixtures/logs/written-log.ts'
import { SILENT } from '../fixtures/services/service.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'
import { until } from '../fixtures/until.ts'

const folderOf = (t: TestContext) => join(temporaryFolder(t), 'log')

const followedIn = (folder: string) => new FollowedLog(new FolderSource(folder))

/** What a store gets of some logs. */
function storedFrom(reader: LogReader): { heights: number[]; readOn(): Promise<void> } {
  const heights: number[] = []
  const reading = new LogBlocks(
    reader,
    { stored: null, chain: null, allowGap: false, strict: false, accepted: [], logger: SILENT },
    { onLeftOut: () => {}, onBlock: ({ height }) => heights.push(Number(height)) },
  )
  return {
    heights,
    readOn: async () => {
      while (await reading.readPiece());
    },
  }
}

/** What a forwarder gets of some logs. */
function forwardedFrom(reader: LogReader): { heights: number[]; readOn(): Promise<void> } {
  const heights: number[] = []
  const blocks = new CompleteBlocks(reader)
  return {
    heights,
    readOn: async () => {
      for (;;) {
        const block = await blocks.next(BigInt(heights.length + 1))
        if (block === null) return
        heights.push(Number(block.height))
      }
    },
  }
}

const to = (last: number) => Array.from({ length: last }, (_, index) => index + 1)

for (const [name, from] of [
  ['store', storedFrom],
  ['forwarder', forwardedFrom],
] as const) {
  describe(`A ${name} of two logs`, () => {
    /** Two logs that are being written, with blocks 1 to 20, and how many bytes are read of them. */
    async function twoLogs(t: TestContext) {
      let bytesRead = 0
      const disk = {
        ...NODE_DISK,
        read: async (path: string, offset: number, length: number) => {
          const bytes = await NODE_DISK.read(path, offset, length)
          bytesRead += bytes.length
          return bytes
        },
      }
      const folders = [folderOf(t), folderOf(t)]
      for (const folder of folders) mkdirSync(folder)
      const writers = await Promise.all(folders.map((folder) => writerOf(folder)))
      const add = async (which: number, from: number, last = from) => {
        const writer = writers[which]!
        for (const event of eventsOf(markedBlocks(from, last))) writer.take(event)
        writer.write()
        await writer.settled()
      }
      for (const which of [0, 1]) await add(which, 1, 20)
      const reader = new LogReader(folders.map((folder) => new FollowedLog(new FolderSource(folder, disk))))
      t.after(() => reader.close())
      return { folders, reader, add, bytesRead: () => bytesRead }
    }

    test('reads one of them on, whichever is ahead by a moment', async (t) => {
      const { reader, add, bytesRead } = await twoLogs(t)
      const reading = from(reader)
      await reading.readOn()
      const before = bytesRead()
      for (let height = 21; height <= 60; height++) {
        const first = height % 2
        await add(first, height)
        reader.refresh()
        await reading.readOn()
        await add(1 - first, height)
        reader.refresh()
        await reading.readOn()
      }
      assert.deepEqual(reading.heights, to(60))
      // 40 blocks: twice as many as before.
      assert.ok(bytesRead() - before < 4 * before, `${bytesRead()} bytes are read, and ${before} at first`)
    })

    test('turns to the other one once that has been ahead for a while', async (t) => {
      const { reader, add } = await twoLogs(t)
      const reading = from(reader)
      await reading.readOn()
      // One of them goes no further; which one was read is not known.
      const untilRead = (last: number) =>
        until(async () => {
          reader.refresh()
          await reading.readOn()
          return reading.heights.length === last
        }, `the blocks up to ${last}`)
      await add(0, 21, 23)
      await untilRead(23)
      await add(1, 21, 25)
      await untilRead(25)
      assert.deepEqual(reading.heights, to(25))
    })

    test('turns to the other one at once if the one that is read is gone', async (t) => {
      const { folders, reader, add } = await twoLogs(t)
      const reading = from(reader)
      await reading.readOn()
      for (const which of [0, 1]) await add(which, 21)
      // Which one was read is not known.
      for (const which of [1, 0]) {
        renameSync(folders[which]!, `${folders[which]}-away`)
        reader.refresh()
        await reading.readOn()
        renameSync(`${folders[which]}-away`, folders[which]!)
        reader.refresh()
        assert.deepEqual(reading.heights, to(21))
      }
    })
  })
}

describe('A log that is followed', () => {
  test('and is deleted is another one once it is written anew, also if nobody looked meanwhile', async (t) => {
    for (const looks of [true, false]) {
      const folder = folderOf(t)
      await writeBlocks(folder, [1, 20])
      const log = followedIn(folder)
      log.refresh()
      const before = log.segments[0]!
      rmSync(folder, { recursive: true })
      if (looks) log.refresh()
      await writeBlocks(folder, [1, 5])
      log.refresh()
      const after = log.segments[0]!
      assert.ok(after.restarts > before.restarts, `looked meanwhile: ${looks}`)
      assert.equal(log.current(before), null)
    }
  })

  test('and is deleted, or has lost its head, begins again: blocks are found, wherever they were damaged before', async (t) => {
    const folder = folderOf(t)
    await writeBlocks(folder, [1, 20])
    const reader = new LogReader([followedIn(folder)])
    t.after(() => reader.close())
    reader.segments.noteUnreadable(reader.segments.find(1n)!, { from: 1n, to: null, reason: 'damaged' })
    assert.equal(reader.segments.find(7n), null)
    rmSync(folder, { recursive: true })
    reader.refresh()
    await writeBlocks(folder, [1, 30])
    reader.refresh()
    assert.equal(reader.segments.find(7n)?.first, 1n)
  })

  test('whose head is damaged says so, and is the same log once the head is whole again', async (t) => {
    const folder = folderOf(t)
    await writeBlocks(folder, [1, 20])
    const log = followedIn(folder)
    log.refresh()
    const before = log.segments[0]!
    const path = join(folder, 'head.json')
    const head = readFileSync(path)
    for (const damaged of ['', '{"version":1', '{"version":1,"number":"one"}', '[]', '\0\0\0']) {
      writeFileSync(path, damaged)
      log.refresh()
      assert.deepEqual([log.head, log.fault], [null, 'its head.json is damaged'], damaged)
      writeFileSync(path, head)
      log.refresh()
      assert.equal(log.fault, null)
      assert.ok(isSameSegment(log.segments[0]!, before))
    }
  })

  test('that was restored from a copy has the sizes of the copy, also within the second', async (t) => {
    const folder = folderOf(t)
    await writeBlocks(folder, [1, 9], [20, 29])
    const log = followedIn(folder)
    log.refresh()
    const [{ name }] = log.sealed as [LogSegment]
    const sizeOf = () => log.segments.find((segment) => segment.name === name)?.bytes
    const before = sizeOf()!
    const head = JSON.parse(readFileSync(join(folder, 'head.json'), 'utf8')) as { number: number }
    writeFileSync(join(folder, name), Buffer.concat([readFileSync(join(folder, name)), Buffer.alloc(100)]))
    writeFileSync(join(folder, 'head.json'), JSON.stringify({ ...head, number: head.number - 1 }))
    log.refresh()
    assert.equal(sizeOf(), before + 100)
  })

  test('tells of changes at once, also if its folder is made after it was first looked at, and if it is made anew', async (t) => {
    const folder = folderOf(t)
    const reader = new LogReader([followedIn(folder)])
    t.after(() => reader.close())
    const stop = new AbortController()
    const heights = () => reader.segments.highest()
    for (const round of [1, 2]) {
      mkdirSync(folder)
      const writer = await writerOf(folder)
      await reader.untilChange(stop.signal)
      await reader.untilChange(stop.signal)
      const startedAt = performance.now()
      let slowest = 0
      for (let height = 1; height <= 5; height++) {
        for (const event of eventsOf([marked(height)])) writer.take(event)
        writer.write()
        const writtenAt = performance.now()
        while (heights() !== BigInt(height)) await reader.untilChange(stop.signal)
        slowest = Math.max(slowest, performance.now() - writtenAt)
      }
      const took = performance.now() - startedAt
      // Without a watch, each takes up to a second.
      assert.ok(took < 2_000, `round ${round}: ${took} ms, the slowest ${slowest}`)
      await writer.close()
      rmSync(folder, { recursive: true })
      await reader.untilChange(stop.signal)
    }
  })

  test('is read from the segment that is whole while it is gzipped, and from the gzipped one once that is', async (t) => {
    const folder = folderOf(t)
    // A jump ends the first segment.
    await writeBlocks(folder, [1, 200], [300, 301])
    const name = join(folder, '0000000001-1-200.bevt')
    const gzipped = gzipSync(readFileSync(name))
    const reader = new LogReader([followedIn(folder)])
    t.after(() => reader.close())
    const listAgain = () => reader.logs[0]!.listAgain(reader.logs[0]!.segments[0]!)
    // gzip writes under the last name, and deletes the file at its end.
    writeFileSync(`${name}.gz`, gzipped.subarray(0, 1_000))
    await listAgain()
    assert.equal(reader.segments.find(7n)!.name, '0000000001-1-200.bevt')
    writeFileSync(`${name}.gz`, gzipped.subarray(0, 2_000))
    rmSync(name)
    await listAgain()
    writeFileSync(`${name}.gz`, gzipped)
    await listAgain()
    assert.equal(reader.segments.find(7n)!.bytes, gzipped.length)
    const reading = forwardedFrom(reader)
    await reading.readOn()
    assert.deepEqual(reading.heights, to(200))
  })

  test('has no fault any more once its folder can be listed again', () => {
    let fails = false
    let number = 1
    const disk = {
      ...NODE_DISK,
      readText: () =>
        `{"version":1,"chain":"c","number":${number},"first":null,"last":null,"bytes":0,"time":null}`,
      list: () => {
        if (fails) throw Object.assign(new Error('too many open files'), { code: 'EMFILE' })
        return []
      },
    }
    const log = new FollowedLog(new FolderSource('/log', disk))
    log.refresh()
    fails = true
    number = 2
    log.refresh()
    assert.equal(log.fault, 'EMFILE')
    fails = false
    log.refresh()
    assert.equal(log.fault, null)
  })
})
