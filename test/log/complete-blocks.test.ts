import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { CompleteBlocks } from '#core/log/read/complete-blocks'
import { FolderSource } from '#core/log/read/folder/folder-source'
import { FollowedLog } from '#core/log/read/followed-log'
import { LogReader } from '#core/log/read/log-reader'
import { frame, recordsOf } from '../fixtures/events/event-stream.ts'
import { blocksOf } from '../fixtures/services/live.ts'
import { SAMPLE } from '../fixtures/shared.ts'
import { temporaryFolder } from '../fixtures/stores/stores.ts'

const blocks = (await blocksOf(SAMPLE)).slice(0, 20)

const bytesOf = (heights: readonly number[]) =>
  frame(
    heights.flatMap((height) => blocks[height - 1]!),
    0n,
  )

/** The bytes of blocks, with one event of one of them missing. */
const without = (heights: readonly number[], incomplete: number) =>
  frame(
    heights.flatMap((height) =>
      height === incomplete ? blocks[height - 1]!.toSpliced(2, 1) : blocks[height - 1]!,
    ),
    0n,
  )

/** Garbage in place of the rest, from the second record of a block on. */
function damagedFrom(bytes: Buffer, height: number): Buffer {
  const [, second] = recordsOf(bytes).filter((record) => Number(record.height) === height)
  return Buffer.concat([bytes.subarray(0, second!.offset), Buffer.alloc(300, 0xff)])
}

/** What a log gives of heights that are asked for in order: each height with its events, or null. */
async function heightsOf(
  t: TestContext,
  segments: Record<string, Buffer>,
  asked: readonly number[],
): Promise<(number | null)[]> {
  const folder = join(temporaryFolder(t), 'log')
  mkdirSync(folder)
  for (const [name, bytes] of Object.entries(segments)) writeFileSync(join(folder, name), bytes)
  assert.equal(readdirSync(folder).length, Object.keys(segments).length)
  const reader = new LogReader([new FollowedLog(new FolderSource(folder))])
  t.after(() => reader.close())
  const complete = new CompleteBlocks(reader)
  const found: (number | null)[] = []
  for (const height of asked) {
    const block = await complete.next(BigInt(height))
    if (block !== null)
      assert.ok(Buffer.concat(block.events).equals(Buffer.concat(blocks[height - 1]!)), `${height}`)
    found.push(block === null ? null : Number(block.height))
  }
  return found
}

const to = (from: number, last: number) => Array.from({ length: last - from + 1 }, (_, index) => from + index)

describe('complete blocks of a log', () => {
  test('are given in order, also over several segments and after one that is asked for again', async (t) => {
    const segments = { '0000000001-1-8.bevt': bytesOf(to(1, 8)), '0000000002-9-12.bevt': bytesOf(to(9, 12)) }
    assert.deepEqual(await heightsOf(t, segments, [1, 2, 5, 3, 8, 9, 8, 12, 13]), [
      1,
      2,
      5,
      3,
      8,
      9,
      8,
      12,
      null,
    ])
  })

  test('are not those of which an event is missing, wherever a segment is damaged after them', async (t) => {
    const bytes = without(to(5, 9), 7)
    for (const damaged of [bytes, damagedFrom(bytes, 8), damagedFrom(bytes, 9)]) {
      const given = await heightsOf(t, { '0000000001-5-9.bevt': damaged }, [5, 6, 7, 7])
      assert.deepEqual(given, [5, 6, null, null])
    }
    assert.deepEqual(await heightsOf(t, { '0000000001-5-9.bevt': damagedFrom(bytes, 9) }, [5, 7, 8, 9]), [
      5,
      null,
      8,
      null,
    ])
  })

  test('are taken from another segment if one does not have what its name says', async (t) => {
    const segments = {
      '0000000001-5-9.bevt': bytesOf(to(5, 9)),
      '0000000002-7-8.bevt': damagedFrom(bytesOf([7, 8]), 7),
      '0000000003-9-9.bevt': Buffer.alloc(0),
    }
    assert.deepEqual(await heightsOf(t, segments, to(5, 9)), to(5, 9))
  })
})
