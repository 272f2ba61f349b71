import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { GapError } from '#core/blocks/block'
import { type Coverage, startsAt } from '#core/domain/coverage'
import type { HeightRange } from '#core/domain/height-ranges'
import { NODE_DISK } from '#core/log/files/log-disk'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { LogBlocks } from '#service/live/commit/log-blocks'
import { LogWait } from '#service/live/commit/log-wait'
import { checkpoint, eventsOf, frame } from './fixtures/event-stream.ts'
import { createRandom, type Random } from './fixtures/random.ts'
import { scaled } from './fixtures/sampling.ts'
import { SILENT } from './fixtures/service.ts'
import { temporaryFolder } from './fixtures/stores.ts'

const CHAIN = 'test-chain'

/** Begin, two events, end. */
const eventsOfBlock = (height: number) =>
  eventsOf([
    {
      height,
      chain: CHAIN,
      events: [checkpoint({ atBlock: height }), checkpoint({ atBlock: height, hash: 'xx' })],
    },
  ])

/** What a segment has of a block: all; not one of its events; not its end; a damaged event; nothing. */
const STATES = [
  'whole',
  'whole',
  'whole',
  'whole',
  'whole',
  'whole',
  'incomplete',
  'unended',
  'damaged',
  'absent',
] as const

/** A log of made segments that overlap and lack blocks; notes the heights that are whole in any. */
function writeRandomLog(folder: string, random: Random, whole: Set<number>): string {
  const head = { version: 1, chain: CHAIN, number: 99, first: null, last: null, bytes: 0, time: null }
  writeFileSync(join(folder, 'head.json'), JSON.stringify(head))
  const described: string[] = []
  let next = 11 + random.integer(3)
  const segments = 2 + random.integer(5)
  for (let number = 1; number <= segments; number++) {
    const [first, last] = [next, next + random.integer(6)]
    const written: Buffer[] = []
    const states: string[] = []
    for (let height = first; height <= last; height++) {
      const state = random.pick(STATES)
      states.push(state[0]!)
      const events = eventsOfBlock(height)
      if (state === 'whole') whole.add(height)
      if (state === 'incomplete') events.splice(1, 1)
      if (state === 'unended') events.length = 2
      if (state === 'damaged') {
        const at = random.integer(events.length)
        events[at] = Buffer.from(events[at]!).fill(0xff, 0, 8)
      }
      if (state !== 'absent') written.push(...events)
    }
    const isGzipped = random.integer(5) === 0
    const name = `${String(number).padStart(10, '0')}-${first}-${last}.bevt${isGzipped ? '.gz' : ''}`
    const bytes = frame(written, 0n)
    writeFileSync(join(folder, name), isGzipped ? gzipSync(bytes) : bytes)
    described.push(`${first}-${last} ${states.join('')}`)
    next = random.integer(3) === 0 ? 11 + random.integer(last - 10) : last + 1 + random.integer(3)
  }
  return described.join(', ')
}

const gapOf = (height: bigint) =>
  ({ from: height, to: height, kind: 'missing', start: null, end: null }) as const

/** The blocks of logs for a store; the heights of those that are whole are added to a list. */
const blocksFor = (
  reader: LogReader,
  stored: Coverage | null,
  heights: number[],
  accepted: readonly HeightRange[],
  allowGap = false,
) =>
  new LogBlocks(
    reader,
    { stored, chain: null, allowGap, strict: false, accepted, logger: SILENT },
    {
      onLeftOut: () => {},
      onBlock: ({ height, isIncomplete }) => {
        if (isIncomplete !== true) heights.push(Number(height))
      },
    },
  )

/** What a store gets of logs if an operator accepts each gap. */
async function storedFrom(reader: LogReader, stored: Coverage | null, where: string): Promise<number[]> {
  const heights: number[] = []
  const accepted: HeightRange[] = []
  let coverage = stored
  for (let round = 0; round < 100; round++) {
    const blocks = blocksFor(reader, coverage, heights, accepted)
    try {
      let pieces = 0
      while (await blocks.readPiece()) assert.ok(pieces++ < 400, `${where}: the same is read again and again`)
      return heights
    } catch (error) {
      if (!(error instanceof GapError)) throw error
      const { from, to } = error
      accepted.push({ from, to })
      accepted.sort((one, other) => Number(one.from - other.from))
    }
    coverage = blocks.coverage
    reader.segments.tryAgain()
  }
  assert.fail(`${where}: it does not end`)
}

test('Of logs with damaged, incomplete and absent blocks, a store and a forwarder get each block that is whole in any segment', async (t) => {
  const runs = scaled(200, 5_000)
  for (let seed = 1; seed <= runs; seed++) {
    const random = createRandom(seed)
    const whole = new Set<number>()
    const folders = Array.from({ length: 1 + random.integer(2) }, () => temporaryFolder(t))
    const described = folders.map((folder) => writeRandomLog(folder, random, whole))
    const height = random.integer(2) === 0 ? null : 11 + random.integer(14)
    // A gap of the store, within it.
    const gap = height === null || random.integer(2) === 0 ? null : BigInt(11 + random.integer(height - 10))
    const where = `seed ${seed}, stored ${height} without ${gap}, ${described.join(' | ')}`
    const stored =
      height === null
        ? null
        : {
            chainId: CHAIN,
            ...startsAt(11n),
            height: BigInt(height),
            gaps: gap === null ? [] : [gapOf(gap)],
            imported: [],
          }
    const readerOf = () => new LogReader(folders.map((folder) => new FollowedLog(new FolderSource(folder))))
    const reader = readerOf()
    const heights = await storedFrom(reader, stored, where)
    reader.close()
    const missing = [...whole].filter((one) => one > (height ?? 0) && !heights.includes(one))
    assert.deepEqual([missing, new Set(heights).size], [[], heights.length], `${where}: ${heights}`)
    const forwarded = readerOf()
    const blocks = new CompleteBlocks(forwarded)
    for (let asked = 0; asked < 40; asked++) {
      const wanted = asked < 30 ? 11 + asked : 11 + random.integer(25)
      const isGiven = (await blocks.next(BigInt(wanted))) !== null
      assert.equal(isGiven, whole.has(wanted), `${where}: block ${wanted} for a forwarder`)
    }
    forwarded.close()
    for (const folder of folders) rmSync(folder, { recursive: true })
  }
})

test('Of a log whose files cannot be read, blocks are taken from another one that has them', async (t) => {
  const folders = [temporaryFolder(t), temporaryFolder(t)]
  for (const folder of folders) {
    const head = { version: 1, chain: CHAIN, number: 9, first: null, last: null, bytes: 0, time: null }
    writeFileSync(join(folder, 'head.json'), JSON.stringify(head))
    const events = Array.from({ length: 20 }, (_, index) => eventsOfBlock(index + 1)).flat()
    writeFileSync(join(folder, '0000000001-1-20.bevt'), frame(events, 0n))
  }
  for (const code of ['EIO', 'EACCES', 'ENOENT']) {
    const read = async (path: string, offset: number, length: number) => {
      if (path.startsWith(folders[0]!)) throw Object.assign(new Error('it cannot be read'), { code })
      return NODE_DISK.read(path, offset, length)
    }
    const reader = new LogReader(
      folders.map((folder) => new FollowedLog(new FolderSource(folder, { ...NODE_DISK, read }))),
    )
    t.after(() => reader.close())
    assert.equal((await storedFrom(reader, null, code)).length, 20)
    const blocks = new CompleteBlocks(reader)
    await blocks.next(1n).catch(() => {})
    assert.notEqual(await blocks.next(1n), null, code)
  }
})

test('Of logs whose files cannot be read the fault is named, and they are read once they can be', async (t) => {
  const folders = [temporaryFolder(t), temporaryFolder(t)]
  const events = Array.from({ length: 20 }, (_, index) => eventsOfBlock(index + 1)).flat()
  for (const folder of folders) writeLog(folder, { '0000000001-1-20.bevt': events })
  let isReadable = false
  const read = async (path: string, offset: number, length: number) => {
    if (!isReadable) throw Object.assign(new Error('it cannot be read'), { code: 'EIO' })
    return NODE_DISK.read(path, offset, length)
  }
  const reader = new LogReader(
    folders.map((folder) => new FollowedLog(new FolderSource(folder, { ...NODE_DISK, read }))),
  )
  t.after(() => reader.close())
  const heights: number[] = []
  const blocks = blocksFor(reader, null, heights, [])
  for (let piece = 0; await blocks.readPiece(); piece++)
    assert.ok(piece < 20, 'they are read again and again')
  assert.match(blocks.fault!.message, /EIO/)
  isReadable = true
  while (await blocks.readPiece());
  assert.deepEqual([heights.length, blocks.fault], [20, null])
})

/** A log of sealed segments, each with the events of its blocks. */
function writeLog(folder: string, segments: Record<string, readonly Buffer[]>): void {
  const head = { version: 1, chain: CHAIN, number: 9, first: null, last: null, bytes: 0, time: null }
  writeFileSync(join(folder, 'head.json'), JSON.stringify(head))
  for (const [name, events] of Object.entries(segments)) writeFileSync(join(folder, name), frame(events, 0n))
}

const damaged = (event: Buffer) => Buffer.from(event).fill(0xff, 0, 8)

for (const part of [0, 1])
  test(`Block 1 is missing if the beginning of its part ${part + 1} cannot be read, unless another segment has it`, async (t) => {
    const made = (height: number, hash: string) =>
      eventsOf([{ height, hash, chain: CHAIN, events: [checkpoint({ atBlock: height })] }])
    const parts = [made(1, 'genesis'), made(1, 'first')]
    const later = [2, 3].flatMap(eventsOfBlock)
    const cut = parts.map(([begin, ...rest], index) => [index === part ? damaged(begin!) : begin!, ...rest])
    const folder = temporaryFolder(t)
    writeLog(folder, { '0000000001-1-3.bevt': [...cut.flat(), ...later] })
    const readerOf = () => {
      const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
      t.after(() => reader.close())
      return reader
    }
    const blocks = blocksFor(readerOf(), null, [], [])
    await assert.rejects(
      async () => {
        while (await blocks.readPiece());
      },
      { name: 'GapError', from: 1n, to: 1n },
    )
    assert.deepEqual(await storedFrom(readerOf(), null, 'one segment'), [2, 3])
    // Both parts are there, and one has come again.
    writeLog(folder, { '0000000002-1-3.bevt': [...parts.flat(), ...cut[part]!, ...later] })
    assert.deepEqual(await storedFrom(readerOf(), null, 'another segment'), [1, 2, 3])
  })

test('Where gaps are allowed, a block is taken whole from another segment rather than incomplete', async (t) => {
  const folders = [temporaryFolder(t), temporaryFolder(t)]
  const blocksUpTo = (last: number, incomplete: number) =>
    Array.from({ length: last }, (_, index) => {
      const events = eventsOfBlock(index + 1)
      return index + 1 === incomplete ? events.toSpliced(1, 1) : events
    }).flat()
  writeLog(folders[0]!, { '0000000001-1-20.bevt': blocksUpTo(20, 5) })
  writeLog(folders[1]!, { '0000000001-1-10.bevt': blocksUpTo(10, 7) })
  for (const order of [folders, folders.toReversed()]) {
    const reader = new LogReader(order.map((folder) => new FollowedLog(new FolderSource(folder))))
    t.after(() => reader.close())
    const heights: number[] = []
    const blocks = blocksFor(reader, null, heights, [], true)
    while (await blocks.readPiece());
    assert.deepEqual(
      heights,
      Array.from({ length: 20 }, (_, index) => index + 1),
    )
  }
  const alone = new LogReader([new FollowedLog(new FolderSource(folders[0]!))])
  t.after(() => alone.close())
  const heights: number[] = []
  const blocks = blocksFor(alone, null, heights, [], true)
  while (await blocks.readPiece());
  assert.deepEqual([heights.includes(5), heights.length, blocks.coverage!.gaps.length], [false, 19, 1])
})

test('An accepted gap is passed over although another log has the block, if that cannot be read', async (t) => {
  const folders = [temporaryFolder(t), temporaryFolder(t)]
  const events = Array.from({ length: 20 }, (_, index) => eventsOfBlock(index + 1))
  writeLog(folders[0]!, { '0000000001-1-20.bevt': events.toSpliced(4, 1).flat() })
  writeLog(folders[1]!, { '0000000001-1-10.bevt': events.slice(0, 10).flat() })
  const read = async (path: string, offset: number, length: number) => {
    if (path.startsWith(folders[1]!)) throw Object.assign(new Error('it cannot be read'), { code: 'EIO' })
    return NODE_DISK.read(path, offset, length)
  }
  const reader = new LogReader(
    folders.map((folder) => new FollowedLog(new FolderSource(folder, { ...NODE_DISK, read }))),
  )
  t.after(() => reader.close())
  const heights: number[] = []
  for (const accepted of [[], [{ from: 5n, to: 5n }]]) {
    heights.length = 0
    const blocks = blocksFor(reader, null, heights, accepted)
    for (let piece = 0; piece < 20 && (await blocks.readPiece()); piece++);
  }
  assert.deepEqual([heights.includes(5), heights.length], [false, 19])
})

test('A last block whose beginning cannot be read is missing although nothing follows it in the segment that is written', async (t) => {
  const [cut, whole] = [temporaryFolder(t), temporaryFolder(t)]
  const writeOpen = (folder: string, events: readonly Buffer[], last: number) => {
    const bytes = frame(events, 0n)
    writeFileSync(join(folder, '0000000001-11.bevt.open'), bytes)
    const head = { version: 1, chain: CHAIN, number: 1, first: '11', last: `${last}`, time: null }
    writeFileSync(join(folder, 'head.json'), JSON.stringify({ ...head, bytes: bytes.length }))
  }
  const events = [11, 12].flatMap(eventsOfBlock)
  const [begin, ...rest] = eventsOfBlock(13)
  const withCut = [...events, damaged(begin!), ...rest]
  writeOpen(cut, withCut, 13)
  writeOpen(whole, [...events, begin!, ...rest], 13)
  const readerOf = (...folders: string[]) => {
    const reader = new LogReader(folders.map((folder) => new FollowedLog(new FolderSource(folder))))
    t.after(() => reader.close())
    return reader
  }
  assert.deepEqual(await storedFrom(readerOf(cut, whole), null, 'another log has it'), [11, 12, 13])
  const reader = readerOf(cut)
  assert.deepEqual(await storedFrom(reader, null, 'no log has it'), [11, 12])
  assert.match(new LogWait(reader).describe(13n)!, /^block 13 cannot be read: 0000000001-11\.bevt\.open/)
  const forwarded = new CompleteBlocks(readerOf(cut, whole))
  for (const height of [11n, 12n, 13n]) assert.equal((await forwarded.next(height))?.height, height)
  // The segment grows, and is read on.
  const grown = readerOf(cut)
  const lone = new CompleteBlocks(grown)
  for (const height of [11n, 12n]) assert.equal((await lone.next(height))?.height, height)
  assert.equal(await lone.next(13n), null)
  assert.equal(await lone.next(13n), null)
  writeOpen(cut, [...withCut, ...eventsOfBlock(14)], 14)
  grown.refresh()
  assert.equal((await lone.next(14n))?.height, 14n)
})

test('A damaged height in the beginning of a block loses that block, not those up to the height', async (t) => {
  const folder = temporaryFolder(t)
  const head = { version: 1, chain: CHAIN, number: 9, first: null, last: null, bytes: 0, time: null }
  writeFileSync(join(folder, 'head.json'), JSON.stringify(head))
  const events = [28, 29, 30, 31, 32].map(eventsOfBlock)
  const begin = eventsOfBlock(94)[0]!
  events[2]![0] = Buffer.from(begin.toString('latin1').replace('94-1', '30-1'), 'latin1')
  writeFileSync(join(folder, '0000000001-28-32.bevt'), frame(events.flat(), 0n))
  writeFileSync(
    join(folder, '0000000002-33-40.bevt'),
    frame([33, 34, 35, 36, 37, 38, 39, 40].flatMap(eventsOfBlock), 0n),
  )
  const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
  t.after(() => reader.close())
  const heights = await storedFrom(reader, null, 'a damaged height')
  assert.deepEqual(heights, [28, 29, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40])
})
