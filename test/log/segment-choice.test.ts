import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReceiverState } from '#core/log/files/receiver-file'
import { Lag } from '#core/log/read/choice/lag'
import { markedEvents } from '../fixtures/events/event-stream.ts'
import { MemoryLog, readLogs } from '../fixtures/logs/memory-log.ts'

test('A log may still get a block if its receiver writes, and its core has sent within ten seconds', (t) => {
  const now = 1_700_000_000_000
  t.mock.timers.enable({ apis: ['Date'], now })
  type Case = [what: string, mayGet: boolean, state: Partial<ReceiverState> | null, secondsAgo?: number]
  const cases: Case[] = [
    ['no receiver', false, null],
    ['a receiver whose core sends', true, {}],
    ['a receiver that wrote its state 9 seconds ago', true, {}, 9],
    ['a receiver that has ended, or hangs', false, {}, 10],
    ['a receiver without a core', false, { coreConnected: false }],
    ['a core that has sent nothing', false, { lastEventAtMs: null }],
    ['a core that sent last 9 seconds ago', true, { lastEventAtMs: now - 9_999 }],
    ['a core that sent last 10 seconds ago', false, { lastEventAtMs: now - 10_000 }],
  ]
  for (const [what, mayGet, state, secondsAgo] of cases) {
    const [ahead, behind] = [new MemoryLog(), new MemoryLog()]
    ahead.seal(1, [1, 5], markedEvents(1, 5))
    ahead.seal(2, [7, 9], markedEvents(7, 9))
    behind.writeOpen(1, [1, 5], markedEvents(1, 5))
    if (state !== null) behind.writeReceiver(state, secondsAgo)
    const { gaps } = readLogs(t, ahead, behind)
    assert.deepEqual(gaps.waitsFor(6n), mayGet ? [2] : [], what)
    assert.deepEqual(gaps.refreshAndFind(6n), mayGet ? null : { from: 6n, to: 6n }, what)
    // It is past this one.
    assert.deepEqual(gaps.waitsFor(4n), [], what)
  }
})

test('What was found in a segment that is gone is no reason any more', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [1, 5], markedEvents(1, 5))
  const { segments, logs } = readLogs(t, log)
  const segment = segments.find(3n)!
  segments.noteUnreadable(segment, { from: 3n, to: 3n, reason: 'damaged' })
  assert.equal(segments.reasonFor(3n), 'damaged')
  log.remove(1)
  await logs[0]!.listAgain(segment)
  assert.equal(segments.reasonFor(3n), null)
})

test('A segment that has grown since it was begun is known not to have a block', (t) => {
  const log = new MemoryLog()
  log.writeOpen(1, [1, 5], markedEvents(1, 5))
  const reader = readLogs(t, log)
  const begun = reader.segments.find(5n)!
  log.writeOpen(1, [1, 20], markedEvents(1, 20))
  reader.refresh()
  reader.segments.noteUnreadable(begun, { from: 18n, to: null, reason: 'damaged' })
  assert.equal(reader.segments.find(18n), null)
  assert.equal(reader.segments.find(17n)!.last, 20n)
})

test('What a segment gets later can be read, although more was noted than it had, unless that was its rest', (t) => {
  for (const [to, found] of [
    [9n, [false, true, true]],
    [4n, [true, true, true]],
    [null, [false, false, false]],
  ] as const) {
    const log = new MemoryLog()
    log.writeOpen(1, [1, 5], markedEvents(1, 5))
    const reader = readLogs(t, log)
    reader.segments.noteUnreadable(reader.segments.find(5n)!, { from: 3n, to, reason: 'damaged' })
    log.writeOpen(1, [1, 10], markedEvents(1, 10))
    reader.refresh()
    const isFound = [5n, 6n, 9n].map((height) => reader.segments.find(height) !== null)
    assert.deepEqual(isFound, found, `to ${to}`)
  }
})

test('Of two segments that are being written the further one is read, and a gap before one that begins later ends with it', (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  one.writeOpen(1, [1, 5], markedEvents(1, 5))
  other.writeOpen(1, [1, 6], markedEvents(1, 6))
  const reader = readLogs(t, one, other)
  const lastOf = (height: bigint) => reader.segments.find(height)?.last ?? null
  assert.deepEqual([lastOf(3n), lastOf(6n), lastOf(7n)], [6n, 6n, null])
  one.writeOpen(1, [1, 8], markedEvents(1, 8))
  reader.refresh()
  assert.deepEqual([lastOf(3n), lastOf(8n)], [8n, 8n])
  other.writeOpen(2, [12, 14], markedEvents(12, 14))
  other.remove(1)
  reader.refresh()
  assert.deepEqual(
    [reader.segments.nextAfter(8n), reader.gaps.refreshAndFind(9n), reader.gaps.laterIn(9n)],
    [12n, { from: 9n, to: 11n }, { log: 2, height: 12n }],
  )
})

test('A segment is available until its log cannot be listed, or it is gone', async (t) => {
  const log = new MemoryLog()
  log.seal(1, [1, 5], markedEvents(1, 5))
  log.seal(2, [6, 9], markedEvents(6, 9))
  const { segments, logs } = readLogs(t, log)
  const [first, second] = [segments.find(1n)!, segments.find(6n)!]
  const available = () => [first, second].map((segment) => segments.isAvailable(segment))
  assert.deepEqual(available(), [true, true])
  log.listFault = 'EIO'
  await logs[0]!.listAgain(second)
  assert.deepEqual(available(), [false, false])
  log.listFault = null
  log.remove(1)
  await logs[0]!.listAgain(second)
  assert.deepEqual(available(), [false, true])
})

test('A block is read from a log without a fault first, and waited for in one that ends with it', async (t) => {
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  one.seal(1, [1, 12], markedEvents(1, 12))
  other.writeOpen(1, [1, 11], markedEvents(1, 11))
  other.writeReceiver()
  const reader = readLogs(t, one, other)
  assert.equal(reader.segments.find(5n)?.kind, 'sealed')
  one.listFault = 'EIO'
  await reader.logs[0]!.listAgain(reader.logs[0]!.segments[0]!)
  assert.equal(reader.segments.find(5n)?.kind, 'active')
  assert.deepEqual(reader.gaps.waitsFor(11n), [2])
  assert.deepEqual(reader.gaps.waitsFor(10n), [])
})

test('A segment whose bytes were refused is read last for a minute, and then as before', (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const log = new MemoryLog()
  log.seal(1, [1, 5], markedEvents(1, 5))
  log.seal(2, [1, 5], markedEvents(1, 5))
  const { segments } = readLogs(t, log)
  const newest = segments.find(3n)!
  assert.equal(newest.number, 2)
  segments.noteRefused(newest)
  now += 59_999
  assert.deepEqual([segments.find(3n)?.number, segments.isAvailable(newest)], [1, false])
  now += 1
  assert.deepEqual([segments.find(3n)?.number, segments.isAvailable(newest)], [2, true])
})

test('A reader turns at once to another segment of the same log, and after two seconds to one of another log', (t) => {
  let now = 1_000_000
  t.mock.method(performance, 'now', () => now)
  const [one, other] = [new MemoryLog(), new MemoryLog()]
  one.seal(1, [1, 5], markedEvents(1, 5))
  one.writeOpen(2, [3, 4], markedEvents(3, 4))
  other.seal(1, [1, 5], markedEvents(1, 5))
  const [first, second] = readLogs(t, one, other).logs
  const from = first!.active!
  assert.equal(new Lag().mayTurn(5n, from, first!.segments[0]!), true)
  const lag = new Lag()
  const mayTurn = (height: bigint) => lag.mayTurn(height, from, second!.segments[0]!)
  assert.equal(mayTurn(5n), false)
  now += 1_999
  assert.equal(mayTurn(5n), false)
  now += 1
  assert.equal(mayTurn(5n), true)
  // Of another block the other log has been ahead for no time yet.
  assert.equal(mayTurn(6n), false)
})
