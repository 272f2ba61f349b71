import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { LocalLog } from '#core/log/local-log'
import { LogReader } from '#core/log/log-reader'
import { LogBlocks } from '#service/live/log-blocks'
import { frame, recordsOf } from './fixtures/event-stream.ts'
import { blocksOf } from './fixtures/live.ts'
import { createRandom } from './fixtures/random.ts'
import { SILENT } from './fixtures/service.ts'
import { SAMPLE } from './fixtures/shared.ts'
import { temporaryFolder } from './fixtures/stores.ts'

const blocks = (await blocksOf(SAMPLE)).slice(0, 60)

/** The heights of the blocks that a log gives an empty store which does without what is missing, and what it says of the others. */
async function readAll(
  folder: string,
): Promise<{ heights: number[]; reasonFor: (height: number) => string | null }> {
  const reader = new LogReader([new LocalLog(folder)])
  const heights: number[] = []
  const reading = new LogBlocks(reader, null, {
    chain: null,
    allowGap: true,
    strict: false,
    accepted: [],
    log: SILENT,
    onLeftOut: () => {},
    onBlock: ({ height, isIncomplete }) => {
      if (isIncomplete !== true) heights.push(Number(height))
    },
  })
  while (await reading.readOn());
  reader.close()
  return { heights, reasonFor: (height) => reader.reasonFor(BigInt(height)) }
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
})
