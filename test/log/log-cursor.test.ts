import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { LogCursor } from '#core/log/read/log-cursor'
import type { LogReader } from '#core/log/read/log-reader'
import { markedEvents } from '../fixtures/events/event-stream.ts'
import { MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'

/** The clock of the test, in milliseconds. */
function clockOf(t: TestContext) {
  const clock = { now: 1_000_000 }
  t.mock.method(performance, 'now', () => clock.now)
  return clock
}

/** A cursor over logs, and the names of the segments that it begins. */
function cursorOver(reader: LogReader): { cursor: LogCursor; begun: string[] } {
  const begun: string[] = []
  const cursor = new LogCursor({
    segmentFor: (height) => reader.gaps.findPastGap(height),
    beginSegment: ({ log, name }) => {
      begun.push(`${reader.logs.indexOf(log) + 1}: ${name}`)
      return () => {}
    },
  })
  return { cursor, begun }
}

/** Reads all that there is before a block, or up to it; returns how many pieces there were. */
async function readAll(cursor: LogCursor, height: bigint): Promise<number> {
  for (let pieces = 0; ; pieces++) {
    const reading = await cursor.read(height)
    if (reading === null) return pieces
    reading.frames.handOn()
    if (reading.isAtEnd) return pieces + 1
  }
}

describe('A cursor', () => {
  test('reads a segment to its end, and then the one with the next block; none while there is none', async (t) => {
    const log = new MemoryLog()
    log.seal(1, [1, 5], markedEvents(1, 5))
    log.seal(2, [6, 9], markedEvents(6, 9))
    const { cursor, begun } = cursorOver(readLogs(t, log))
    for (const height of [1n, 6n, 10n]) await readAll(cursor, height)
    assert.deepEqual(begun, ['1: 0000000001-1-5.bevt', '1: 0000000002-6-9.bevt'])
    assert.equal(cursor.reading?.segment.number, 2)
    cursor.leave()
    await readAll(cursor, 3n)
    assert.equal(begun.at(-1), '1: 0000000001-1-5.bevt')
  })

  test('turns from a segment that is written to another log that has been ahead for two seconds', async (t) => {
    const clock = clockOf(t)
    const [slow, fast] = [new MemoryLog(), new MemoryLog()]
    slow.writeOpen(1, [1, 5], markedEvents(1, 5))
    fast.writeOpen(1, [1, 4], markedEvents(1, 4))
    const reader = readLogs(t, slow, fast)
    const { cursor, begun } = cursorOver(reader)
    await readAll(cursor, 1n)
    fast.writeOpen(1, [1, 6], markedEvents(1, 6))
    reader.refresh()
    for (const afterMs of [0, 1_999]) {
      clock.now += afterMs
      assert.equal(await readAll(cursor, 6n), 0)
    }
    clock.now += 1
    await readAll(cursor, 6n)
    assert.deepEqual(begun, ['1: 0000000001-1.bevt.open', '2: 0000000001-1.bevt.open'])
  })

  test('goes on at once without a block that no log has, and finds one that has just come', async (t) => {
    clockOf(t)
    const [behind, ahead] = [new MemoryLog(), new MemoryLog()]
    behind.writeOpen(1, [1, 5], markedEvents(1, 5))
    const { cursor, begun } = cursorOver(readLogs(t, behind, ahead))
    await readAll(cursor, 1n)
    // Nobody has looked at the logs since.
    ahead.writeOpen(1, [7, 9], markedEvents(7, 9))
    await readAll(cursor, 6n)
    assert.deepEqual(begun, ['1: 0000000001-1.bevt.open', '2: 0000000001-7.bevt.open'])
  })

  test('keeps a segment whose bytes cannot be read, and reads it on where it was', async (t) => {
    const log = new MemoryLog()
    log.mostBytes = 40
    log.seal(1, [1, 5], markedEvents(1, 5))
    const { cursor, begun } = cursorOver(readLogs(t, log))
    const { frames } = (await cursor.read(1n))!
    frames.handOn()
    log.fault = 'EIO'
    await assert.rejects(cursor.read(1n), { code: 'EIO' })
    assert.equal(cursor.reading?.frames.offset, 40)
    log.fault = null
    await readAll(cursor, 1n)
    assert.deepEqual([begun.length, cursor.reading?.isAtEnd], [1, true])
  })
})

test('A block that has come since the logs were looked at is found, not passed over', (t) => {
  const log = new MemoryLog()
  log.writeOpen(1, [1, 5], markedEvents(1, 5))
  const { gaps } = readLogs(t, log)
  assert.equal(gaps.findPastGap(6n), null)
  log.writeOpen(1, [1, 6], markedEvents(1, 6))
  assert.equal(gaps.findPastGap(6n)?.last, 6n)
})
