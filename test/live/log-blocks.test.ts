import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { type Coverage, startsAt } from '#core/domain/coverage'
import { NODE_DISK } from '#core/log/files/log-disk'
import { segmentName } from '#core/log/files/segment-name'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { frame, recordsOf } from '../fixtures/events/event-stream.ts'
import { blocksFor, type GivenBlock } from '../fixtures/logs/memory-log.ts'
import { writeReceiver } from '../fixtures/logs/written-log.ts'
import { createRandom } from '../fixtures/random.ts'
import { blocksOf } from '../fixtures/services/live.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const blocks = (await blocksOf(SAMPLE)).slice(0, 60)

/** Reads logs for a store, by default an empty one, that must have all blocks; their heights are added to a list. */
const readingOf = (reader: LogReader, heights: number[], stored: Coverage | null = null) =>
  blocksFor(reader, ({ height }) => heights.push(height), { stored })

/** The heights of the blocks that a log gives a store, by default an empty one, which does without what is missing, and what it says of the others. */
async function readAll(
  folder: string,
  stored: Coverage | null = null,
): Promise<{ heights: number[]; reasonFor: (height: number) => string | null }> {
  const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
  const heights: number[] = []
  const onBlock = ({ height, isIncomplete }: GivenBlock) => {
    if (!isIncomplete) heights.push(height)
  }
  const reading = blocksFor(reader, onBlock, { stored, allowGap: true })
  let pieces = 0
  while (await reading.readPiece()) assert.ok(pieces++ < 1_000, 'the same is read again and again')
  reader.close()
  return { heights, reasonFor: (height) => reader.segments.reasonFor(BigInt(height)) }
}

/** The heights of the whole blocks that a log gives a forwarder, which passes over those that it does not have. */
async function readWhole(folder: string, last: number): Promise<number[]> {
  const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
  const heights: number[] = []
  let whole = new CompleteBlocks(reader)
  for (let next = 1n; next <= last; ) {
    const block = await whole.next(next)
    if (block !== null) heights.push(Number(block.height))
    const gap = block === null ? reader.gaps.refreshAndFind(next, { wantsWhole: true }) : null
    if (gap !== null) whole = new CompleteBlocks(reader)
    if (block === null && gap === null) break
    next = (gap?.to ?? next) + 1n
  }
  reader.close()
  return heights
}

/** A log with blocks in a folder, in sealed segments, each from a height up to another one. */
function writeLog(folder: string, segments: readonly (readonly [first: number, last: number])[]): void {
  mkdirSync(folder, { recursive: true })
  const head = {
    version: 1,
    chain: 'core-scenarios',
    number: 9,
    first: null,
    last: null,
    bytes: 0,
    time: null,
  }
  writeFileSync(join(folder, 'head.json'), JSON.stringify(head))
  for (const [index, [first, last]] of segments.entries()) {
    const name = `${String(index + 1).padStart(10, '0')}-${first}-${last}.bevt`
    writeFileSync(join(folder, name), frame(blocks.slice(first - 1, last).flat(), 0n))
  }
}

describe('blocks of a log', () => {
  const SEGMENTS = [
    [1, 20],
    [21, 40],
    [41, 60],
  ] as const

  test('are all read but those of a damaged place: a bit flipped anywhere loses a block that is named, or the rest of its segment', async (t) => {
    const random = createRandom(3)
    let damages = 0
    for (let round = 0; round < 200; round++) {
      const folder = temporaryFolder(t)
      writeLog(folder, SEGMENTS)
      const [first, last] = SEGMENTS[random.integer(SEGMENTS.length)]!
      const path = join(
        folder,
        `${String(SEGMENTS.findIndex(([from]) => from === first) + 1).padStart(10, '0')}-${first}-${last}.bevt`,
      )
      const bytes = readFileSync(path)
      const at = random.integer(bytes.length)
      const record = recordsOf(bytes).findLast(({ offset }) => offset <= at)!
      const height = Number(record.height)
      bytes[at]! ^= 1 << random.integer(8)
      writeFileSync(path, bytes)
      const { heights, reasonFor } = await readAll(folder)
      const missing = blocks.map((_, index) => index + 1).filter((some) => !heights.includes(some))
      if (missing.length === 0) continue
      damages++
      const where = `round ${round}, byte ${at - record.offset} of record ${record.index} of block ${height}: ${missing}`
      // A size field loses what follows it in the segment; block 1 is whole only with block 2.
      const isRest = at - record.offset < 4
      const allowed = (some: number) => (isRest ? some >= height && some <= last : some === height)
      assert.ok(missing.every(allowed), where)
      // An event that names another block or is of another kind is missing in its own, which is then incomplete.
      const isNamed = missing.every((some) => reasonFor(some) !== null)
      assert.ok(isNamed || missing.length === 1, where)
    }
    assert.ok(damages > 20, `${damages}`)
  })

  test('are taken from the newest segment that has them whole, also one that an older one lacks', async (t) => {
    const folder = temporaryFolder(t)
    writeLog(folder, [
      [1, 50],
      [45, 48],
      [51, 60],
    ])
    const { heights } = await readAll(folder)
    assert.deepEqual(
      heights,
      blocks.map((_, index) => index + 1),
    )
  })

  test('are taken from another segment if the newest one that has them is damaged', async (t) => {
    const folder = temporaryFolder(t)
    writeLog(folder, [
      [1, 50],
      [45, 60],
    ])
    const path = join(folder, '0000000002-45-60.bevt')
    const bytes = readFileSync(path)
    const record = recordsOf(bytes).find(({ height, index }) => Number(height) === 47 && Number(index) === 2)!
    bytes.fill(0xff, record.offset + 12, record.offset + 20)
    writeFileSync(path, bytes)
    const { heights } = await readAll(folder)
    assert.deepEqual(
      heights,
      blocks.map((_, index) => index + 1),
    )
  })

  test('include the rest of the last one stored, although its newest segment is damaged', async (t) => {
    const folder = temporaryFolder(t)
    writeLog(folder, [
      [21, 25],
      [26, 60],
      [25, 40],
    ])
    writeFileSync(join(folder, '0000000003-25-40.bevt'), Buffer.alloc(5_000, 0xa7))
    const stored = {
      chainId: 'core-scenarios',
      ...startsAt(1n),
      height: 25n,
      gaps: [{ from: 25n, to: 25n, kind: 'incomplete', start: null, end: null }],
      imported: [],
    } as const
    const { heights } = await readAll(folder, stored)
    assert.deepEqual(
      heights,
      blocks.map((_, index) => index + 1).filter((height) => height >= 25),
    )
  })

  test('are taken from a log that cannot be listed rather than from one that has only a part of them', async (t) => {
    const [whole, partly] = [temporaryFolder(t), temporaryFolder(t)]
    writeLog(whole, [[1, 10]])
    writeLog(partly, [
      [1, 4],
      [5, 5],
      [6, 10],
    ])
    rmSync(join(partly, '0000000002-5-5.bevt'))
    writeFileSync(join(partly, '0000000002-5-5.part.bevt'), frame(blocks[4]!.toSpliced(1, 1), 0n))
    let isListed = true
    const list = (folder: string) => {
      if (isListed) return NODE_DISK.list(folder)
      throw Object.assign(new Error('i/o error'), { code: 'EIO' })
    }
    const logs = [new FolderSource(whole, { ...NODE_DISK, list }), new FolderSource(partly)]
    const reader = new LogReader(logs.map((source) => new FollowedLog(source)))
    t.after(() => reader.close())
    isListed = false
    await logs[0]!.listAgain()
    reader.refresh()
    assert.deepEqual(
      reader.logs.map(({ fault }) => fault),
      ['EIO', null],
    )
    const heights: number[] = []
    const reading = readingOf(reader, heights)
    for (let piece = 0; piece < 20 && (await reading.readPiece()); piece++);
    assert.deepEqual(heights, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('that a segment does not have although it has grown and been sealed are known at its end', async (t) => {
    const folder = temporaryFolder(t)
    const open = join(folder, segmentName({ kind: 'open', number: 1, first: 1n }))
    const head = { version: 1, chain: 'core-scenarios', number: 1, first: '1', time: null }
    const bytes = frame(blocks.slice(0, 5).flat(), 0n)
    writeFileSync(open, bytes)
    writeFileSync(join(folder, 'head.json'), JSON.stringify({ ...head, last: '5', bytes: bytes.length }))
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    const heights: number[] = []
    const reading = readingOf(reader, heights)
    while (await reading.readPiece());
    rmSync(open)
    writeFileSync(join(folder, '0000000001-1-20.bevt'), frame(blocks.slice(0, 12).flat(), 0n))
    const next = { ...head, number: 2, first: null, last: null, bytes: 0 }
    writeFileSync(join(folder, 'head.json'), JSON.stringify(next))
    reader.refresh()
    assert.equal(reader.segments.find(20n)!.last, 20n)
    assert.equal(await reading.readPiece(), true)
    assert.equal(heights.at(-1), 12)
    for (const missing of [13n, 20n]) assert.equal(reader.segments.find(missing), null)
  })

  const SECOND = '0000000002-21-40.bevt'
  /** A record of a block, by its event's number in the block. */
  const recordIn = (bytes: Buffer, block: number, number: number) =>
    recordsOf(bytes).find(({ height, index }) => Number(height) === block && Number(index) === number)!
  const overwrite = (block: number, number: number) => (bytes: Buffer) => {
    const { offset } = recordIn(bytes, block, number)
    return bytes.fill(0xff, offset + 12, offset + 20)
  }
  const cutBefore = (block: number, number: number, more: number) => (bytes: Buffer) =>
    bytes.subarray(0, recordIn(bytes, block, number).offset + more)
  const damages: [what: string, damage: (bytes: Buffer) => Buffer, from: number, to: number, end?: string][] =
    [
      ['a block whose beginning cannot be read', overwrite(25, 1), 25, 25],
      ['a last block of which an event cannot be read', overwrite(40, 2), 40, 40],
      ['a segment that was cut between two blocks', cutBefore(30, 1, 0), 30, 40],
      ['a segment that was cut within a block', cutBefore(30, 2, 0), 30, 40],
      ['a segment that was cut within an event', cutBefore(30, 2, 20), 30, 40],
      ['an empty segment', () => Buffer.alloc(0), 21, 40],
      ['a segment that is no event file', () => Buffer.alloc(5_000, 0xa7), 21, 40],
      ['a gzipped segment that was cut', (bytes) => gzipSync(bytes).subarray(0, 2_000), 21, 40, '.gz'],
    ]
  for (const [what, damage, from, to, end = ''] of damages) {
    const isReadable = (height: number) => height < from || height > to
    const readable = blocks.map((_, index) => index + 1).filter(isReadable)

    test(`of ${what} are missing once, and those after it are read`, async (t) => {
      const folder = temporaryFolder(t)
      writeLog(folder, SEGMENTS)
      const bytes = readFileSync(join(folder, SECOND))
      rmSync(join(folder, SECOND))
      writeFileSync(join(folder, SECOND + end), damage(bytes))
      assert.deepEqual(await readWhole(folder, 60), readable)
      const log = new LogReader([new FollowedLog(new FolderSource(folder))])
      t.after(() => log.close())
      const stored: number[] = []
      const reading = readingOf(log, stored)
      const gap = { name: 'GapError', from: BigInt(from), to: BigInt(to) }
      await assert.rejects(async () => {
        while (await reading.readPiece());
      }, gap)
      assert.deepEqual(
        stored,
        readable.filter((height) => height < from),
      )
      // Until a segment has it, nothing is read again.
      assert.equal(log.segments.find(BigInt(from)), null)
      assert.ok(log.segments.reasonFor(BigInt(to))?.includes(SECOND))
    })

    test(`of ${what} are taken from an older segment`, async (t) => {
      const folder = temporaryFolder(t)
      writeLog(folder, SEGMENTS)
      const bytes = readFileSync(join(folder, SECOND))
      writeFileSync(join(folder, `0000000004-21-40.bevt${end}`), damage(bytes))
      const all = blocks.map((_, index) => index + 1)
      assert.deepEqual(await readWhole(folder, 60), all)
      assert.deepEqual((await readAll(folder)).heights, all)
    })
  }

  const ends: [what: string, damage: (bytes: Buffer) => Buffer, heights: number[]][] = [
    ['is empty', () => Buffer.alloc(0), []],
    [
      'ends after a block that cannot be read',
      (bytes) => overwrite(38, 1)(cutBefore(39, 1, 0)(bytes)),
      [30, 31, 32, 33, 34, 35, 36, 37],
    ],
  ]
  for (const [what, damage, heights] of ends)
    test(`of a segment that follows a gap, and ${what}, are read once`, async (t) => {
      const folder = temporaryFolder(t)
      writeLog(folder, [
        [1, 20],
        [30, 40],
        [41, 60],
      ])
      const path = join(folder, '0000000002-30-40.bevt')
      writeFileSync(path, damage(readFileSync(path)))
      const all = blocks.map((_, index) => index + 1)
      const expected = all.filter((height) => height <= 20 || height > 40 || heights.includes(height))
      assert.deepEqual((await readAll(folder)).heights, expected)
      assert.deepEqual(await readWhole(folder, 60), expected)
    })

  const begins = [
    ['the beginning of block 2', 2, 1],
    ['an event of block 2', 2, 2],
  ] as const
  for (const [what, block, number] of begins)
    test(`include block 1 although ${what} cannot be read, which is a gap`, async (t) => {
      const folder = temporaryFolder(t)
      writeLog(folder, [[1, 20]])
      const path = join(folder, '0000000001-1-20.bevt')
      writeFileSync(path, overwrite(block, number)(readFileSync(path)))
      const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
      t.after(() => reader.close())
      const heights: number[] = []
      const reading = readingOf(reader, heights)
      const gap = { name: 'GapError', from: 2n, to: 2n }
      await assert.rejects(async () => {
        while (await reading.readPiece());
      }, gap)
      assert.deepEqual(heights, [1])
    })

  test('are waited for if the segment that is written is shorter than its head says, and then read', async (t) => {
    const folder = temporaryFolder(t)
    const bytes = frame(blocks.slice(0, 20).flat(), 0n)
    const path = join(folder, segmentName({ kind: 'open', number: 1, first: 1n }))
    const head = { version: 1, chain: 'core-scenarios', number: 1, first: '1', last: '20', time: null }
    writeFileSync(path, bytes.subarray(0, bytes.length / 2))
    writeFileSync(join(folder, 'head.json'), JSON.stringify({ ...head, bytes: bytes.length }))
    const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
    t.after(() => reader.close())
    const heights: number[] = []
    const reading = readingOf(reader, heights)
    while (await reading.readPiece());
    assert.equal(
      reading.fault?.message,
      'the event log cannot be read (0000000001-1.bevt.open is shorter than head.json says)',
    )
    writeFileSync(path, bytes)
    while (await reading.readPiece());
    assert.deepEqual([heights.length, reading.fault], [20, null])
  })

  test('after the last one stored are read although no log has that one, and another log may still get it', async (t) => {
    const [ahead, behind] = [temporaryFolder(t), temporaryFolder(t)]
    writeLog(ahead, [
      [1, 1],
      [21, 40],
    ])
    rmSync(join(ahead, '0000000001-1-1.bevt'))
    writeLog(behind, [[1, 10]])
    writeReceiver(behind, 0)
    const reader = new LogReader([ahead, behind].map((folder) => new FollowedLog(new FolderSource(folder))))
    t.after(() => reader.close())
    assert.deepEqual(reader.gaps.waitsFor(20n), [2])
    const heights: number[] = []
    const stored = { chainId: 'core-scenarios', ...startsAt(1n), height: 20n, gaps: [], imported: [] }
    const reading = readingOf(reader, heights, stored)
    while (await reading.readPiece());
    assert.deepEqual([heights[0], heights.length], [21, 20])
  })
})
