import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogWait } from '#service/live/commit/log-wait'
import { markedEvents } from '../fixtures/events/event-stream.ts'
import { blocksFor, MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'

test('A log that is waited for is named once that lasts for ten seconds, each time anew', (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const [ahead, behind] = [new MemoryLog(), new MemoryLog()]
  ahead.seal(1, [1, 10], markedEvents(1, 10))
  ahead.seal(2, [12, 14], markedEvents(12, 14))
  behind.writeOpen(1, [1, 10], markedEvents(1, 10))
  behind.writeReceiver()
  const reader = readLogs(t, ahead, behind)
  const wait = new LogWait(reader)
  const reasonAt = (next: bigint | null) => {
    wait.look(next)
    return wait.reason
  }
  for (let outage = 1; outage <= 2; outage++) {
    assert.equal(reasonAt(11n), null)
    now += 9_999
    assert.equal(reasonAt(11n), null)
    now += 1
    assert.equal(reasonAt(11n), 'waiting for block 11 in log 2; log 1 continues with 12')
    // Nothing is waited for: another block is the next one.
    assert.equal(reasonAt(12n), null)
  }
  behind.writeOpen(1, [1, 11], markedEvents(1, 11))
  reader.refresh()
  now += 60_000
  assert.equal(reasonAt(11n), null)
  assert.equal(reasonAt(null), null)
})

test('The wait for one block says nothing of that for a later one', (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const [ahead, behind] = [new MemoryLog(), new MemoryLog()]
  ahead.seal(1, [1, 10], markedEvents(1, 10))
  ahead.seal(2, [14, 15], markedEvents(14, 15))
  behind.writeOpen(1, [1, 10], markedEvents(1, 10))
  behind.writeReceiver()
  const wait = new LogWait(readLogs(t, ahead, behind))
  wait.look(11n)
  now += 9_999
  wait.look(13n)
  now += 1
  wait.look(13n)
  assert.equal(wait.reason, null)
  now += 9_999
  wait.look(13n)
  assert.match(wait.reason!, /^waiting for block 13 in log 2/)
})

test('A damaged block of the segment that is written is named at once, as long as no log has a later one', async (t) => {
  const log = new MemoryLog()
  const events = markedEvents(1, 5)
  log.writeOpen(1, [1, 5], events.with(-2, Buffer.from(events.at(-2)!).fill(0xff, 0, 8)))
  const reader = readLogs(t, log)
  const blocks = blocksFor(reader, () => {})
  while (await blocks.readPiece());
  const wait = new LogWait(reader)
  wait.look(5n)
  assert.match(
    wait.reason!,
    /^block 5 cannot be read: 0000000001-1\.bevt\.open, record .*; another segment may still get it/,
  )
  log.writeOpen(1, [1, 6], markedEvents(1, 6))
  reader.refresh()
  wait.look(5n)
  assert.equal(wait.reason, null)
})
