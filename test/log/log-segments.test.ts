import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type LogDisk, NODE_DISK } from '#core/log/files/log-disk'
import { type SegmentName, segmentName } from '#core/log/files/segment-name'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog, type LogSegment } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { repeatFrom } from '#service/live/forward/repeat-from'
import { fileOf, marked } from '../fixtures/events/event-stream.ts'
import { createRandom, type Random } from '../fixtures/random.ts'

/** The bytes of a segment of one block. */
const bytesOf = (path: string) => fileOf(marked(Number(/\d+-(\d+)-/.exec(path)![1])))

const isSegment = (path: string) => path.endsWith('.bevt')

/** A disk with the sealed segments of logs, by folder. */
function diskOf(folders: Record<string, readonly SegmentName[]>): LogDisk {
  return {
    ...NODE_DISK,
    list: (folder) => (folders[folder] ?? []).map(segmentName),
    stat: (path) => (isSegment(path) ? { bytes: bytesOf(path).length, changedAt: 0 } : null),
    readText: () => null,
    read: async (path, offset, length) => bytesOf(path).subarray(offset, offset + length),
  }
}

function readerOf(folders: Record<string, readonly SegmentName[]>): LogReader {
  const disk = diskOf(folders)
  return new LogReader(Object.keys(folders).map((folder) => new FollowedLog(new FolderSource(folder, disk))))
}

const sealed = (number: number, first: number, last: number, kind: 'sealed' | 'incomplete' = 'sealed') => ({
  kind,
  number,
  first: BigInt(first),
  last: BigInt(last),
  isGzipped: false,
})

/** Segments as a core leaves them that goes back now and then, and of which events are lost. */
function randomLog(random: Random): SegmentName[] {
  const segments: SegmentName[] = []
  let next = 1 + random.integer(3)
  for (let number = 1; number <= 12; number++) {
    const isPart = random.integer(4) === 0
    const last = isPart ? next : next + random.integer(8)
    segments.push(sealed(number, next, last, isPart ? 'incomplete' : 'sealed'))
    next =
      random.integer(3) === 0 ? 1 + random.integer(last) : last + 1 + random.integer(2) * random.integer(4)
  }
  return segments
}

type Lost = { segment: LogSegment; from: bigint; to: bigint | null }

/** What a reader is to find, by the rule alone. */
class PlainChoice {
  readonly #logs: readonly FollowedLog[]
  readonly lost: Lost[] = []

  constructor(logs: readonly FollowedLog[]) {
    this.#logs = logs
  }

  find(height: bigint, wantsWhole: boolean): LogSegment | null {
    const having = this.#logs.flatMap(({ segments }) =>
      segments.filter(
        (segment) =>
          segment.first <= height &&
          height <= segment.last &&
          !(wantsWhole && segment.kind === 'incomplete') &&
          !this.lost.some(
            ({ segment: lost, from, to }) =>
              lost === segment && from <= height && (to === null || height <= to),
          ),
      ),
    )
    const followed = having.filter(({ kind, last }) => kind === 'sealed' && last > 1n)
    const counting = height === 1n && followed.length > 0 ? followed : having
    const ofLogs = this.#logs.flatMap((log) => {
      const ofLog = counting.filter((segment) => segment.log === log)
      return ofLog.findLast(({ kind }) => kind === 'sealed') ?? ofLog.at(-1) ?? []
    })
    return ofLogs.find(({ kind }) => kind === 'sealed') ?? ofLogs[0] ?? null
  }

  gapAt(height: bigint, wantsWhole: boolean): { from: bigint; to: bigint } | null {
    if (this.find(height, wantsWhole) !== null) return null
    for (let next = height + 1n; next <= 200n; next++)
      if (this.find(next, wantsWhole) !== null) return { from: height, to: next - 1n }
    return null
  }
}

describe('A reader of event logs', () => {
  test('finds each block as the rule says, and each gap, also where some cannot be read', () => {
    for (let seed = 1; seed <= 100; seed++) {
      const random = createRandom(seed)
      const reader = readerOf({
        '/one': randomLog(random),
        ...(seed % 2 === 0 && { '/two': randomLog(random) }),
      })
      const plain = new PlainChoice(reader.logs)
      for (let round = 0; round < 6; round++) {
        for (let height = 1n; height < 60n; height++) {
          for (const wantsWhole of [true, false]) {
            const told = `seed ${seed}, round ${round}, block ${height}`
            assert.equal(reader.segments.find(height, { wantsWhole }), plain.find(height, wantsWhole), told)
            assert.deepEqual(
              reader.gaps.refreshAndFind(height, { wantsWhole }),
              plain.gapAt(height, wantsWhole),
              told,
            )
          }
        }
        const from = BigInt(1 + random.integer(60))
        const segment = reader.segments.find(from)
        if (segment === null) continue
        const to = random.integer(3) === 0 ? null : from + BigInt(random.integer(4))
        reader.segments.noteUnreadable(segment, { from, to, reason: `${round}` })
        plain.lost.push({ segment, from, to })
      }
    }
  })

  const MANY = 50_000
  /** Processor time: far more than it takes, and far less than with their square. */
  const MAX_MS = 8_000

  const inTime = async (work: () => unknown) => {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    const ms = (user + system) / 1_000
    assert.ok(ms < MAX_MS, `${ms} ms`)
  }

  const one = Array.from({ length: MANY }, (_, index) => sealed(index + 1, index + 1, index + 1))

  test('sends again none before a block that cannot be read', () => {
    const reader = readerOf({ '/log': [sealed(1, 1, 100), sealed(2, 101, 200)] })
    const { segments } = reader
    assert.equal(repeatFrom(segments, 150n, 1e9), 1n)
    segments.noteUnreadable(segments.find(50n)!, { from: 50n, to: 52n, reason: 'damaged' })
    assert.deepEqual(
      [150n, 100n, 52n, 49n].map((height) => repeatFrom(segments, height, 1e9)),
      [53n, 53n, 53n, 1n],
    )
    segments.noteUnreadable(segments.find(120n)!, { from: 120n, to: 120n, reason: 'damaged' })
    assert.deepEqual(
      [150n, 119n].map((height) => repeatFrom(segments, height, 1e9)),
      [121n, 53n],
    )
  })

  test('finds the first of many small segments that are sent again in little time', async () => {
    const reader = readerOf({ '/log': one })
    await inTime(() => assert.equal(repeatFrom(reader.segments, BigInt(MANY), 1e9), 1n))
  })

  test('reads many small segments on in little time', async () => {
    const reader = readerOf({ '/log': one })
    const blocks = new CompleteBlocks(reader)
    await inTime(async () => {
      for (let height = 1n; height <= MANY / 10; height++)
        assert.equal((await blocks.next(height))!.height, height)
    })
  })

  test('passes many blocks of which events are missing, and damaged segments, in little time', async () => {
    const parts = one.map((segment, index) =>
      index % 2 === 0 ? segment : { ...segment, kind: 'incomplete' as const },
    )
    const reader = readerOf({ '/log': parts })
    await inTime(() => {
      let gaps = 0
      for (let height = 1n; height < MANY; height++) {
        const segment = reader.segments.find(height, { wantsWhole: true })
        if (segment !== null && height % 3n === 0n)
          reader.segments.noteUnreadable(segment, { from: height, to: null, reason: '' })
        const gap = reader.gaps.refreshAndFind(height, { wantsWhole: true })
        if (gap !== null) gaps++
        height = gap?.to ?? height
      }
      assert.ok(gaps > MANY / 4)
    })
  })
})
