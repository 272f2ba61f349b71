import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GapError } from '#core/blocks/block'
import { createEnvelope, readEnvelope } from '#core/events/bus-event'
import { countIds } from '#core/events/event-ids'
import {
  busEvent,
  type Content,
  cancelledOrders,
  checkpoint,
  content,
  eventsOf,
  expiredOrders,
  fileOf,
  frame,
  type MadeBlock,
  marked,
  timeUpdate,
} from '../fixtures/events/event-stream.ts'
import { restoreOldStore } from '../fixtures/old-stores/old-store.ts'
import { ingest, tryIngest } from '../fixtures/services/service.ts'
import { recorded } from '../fixtures/shared.ts'
import { assertSameDump, dumpOf, dumpStore, type StoreDump } from '../fixtures/stores/dump-store.ts'
import { ANY_STORE_KIND, describeOn, openStore, STORE_KINDS } from '../fixtures/stores/stores.ts'

const block = (...events: Content[]): MadeBlock => ({ height: 2, events })

/** A block's events with ids of one's own. */
const withIds = (events: readonly Content[], ids: readonly number[]): Buffer =>
  frame(events.map(({ kind, body }, at) => busEvent({ id: `2-${ids[at]}`, kind }, body)))

const begin = content(148, { 1: 2, 2: 2_000_000_000, 3: 'hash-2' })
const end = content(149, { 1: 2 })

test('cancelled and expired orders take an id for each order, other events one', () => {
  const cases: [event: Content, ids: number][] = [
    [timeUpdate(), 1],
    [checkpoint(), 1],
    [content(2001, { 1: 'x', 3: ['a', 'b'] }), 1],
    ...[0, 1, 2, 40].flatMap((count): [Content, number][] => [
      [cancelledOrders(count), count],
      [expiredOrders(count), count],
    ]),
    // Of other fields, and of other wire types of the same field, none counts.
    [content(187, { 1: 'm', 2: ['a', 'b'] }), 0],
    [content(156, { 1: 'm', 3: ['a', 'b'] }), 0],
    [content(187, { 3: 5 }), 0],
    [content(187, { 3: ['', ''] }), 2],
  ]
  const envelope = createEnvelope()
  for (const [event, ids] of cases) {
    const bytes = busEvent({ id: '2-1', kind: event.kind }, event.body)
    readEnvelope(bytes, 0, bytes.length, envelope)
    assert.equal(countIds(envelope), ids, `kind ${event.kind}, ${ids}`)
  }
})

describeOn(ANY_STORE_KIND, 'ids within a block', (kind) => {
  const whole: [what: string, bytes: Buffer][] = [
    ['several orders', fileOf(block(cancelledOrders(10), checkpoint(), expiredOrders(3), checkpoint()))],
    ['one order', fileOf(block(cancelledOrders(1), expiredOrders(1), checkpoint()))],
    ['several events of several orders each', fileOf(block(expiredOrders(7), cancelledOrders(40)))],
    ['no order, then the same id', withIds([begin, cancelledOrders(0), checkpoint(), end], [1, 2, 2, 3])],
    ['no order, then the next id', withIds([begin, expiredOrders(0), checkpoint(), end], [1, 2, 3, 4])],
    [
      'no order twice, then the same id',
      withIds([begin, cancelledOrders(0), expiredOrders(0), checkpoint(), end], [1, 2, 2, 2, 3]),
    ],
    ['no order before the end', withIds([begin, checkpoint(), cancelledOrders(0), end], [1, 2, 3, 3])],
  ]
  test('are continuous after events that take several or none', async (t) => {
    for (const [what, bytes] of whole) {
      const { report, failure } = await tryIngest(kind.create(t), bytes)
      assert.equal(failure, null, what)
      assert.deepEqual([report.blocks, report.passedOver.repeated], [1, 0], what)
    }
  })

  const incomplete: [what: string, bytes: Buffer, missing: string][] = [
    [
      'one id more than the orders',
      withIds([begin, cancelledOrders(3), checkpoint(), end], [1, 2, 6, 7]),
      'event 5',
    ],
    [
      'more ids than the orders',
      withIds([begin, expiredOrders(3), checkpoint(), end], [1, 2, 9, 10]),
      'events 5 to 8',
    ],
    ['after no order', withIds([begin, cancelledOrders(0), checkpoint(), end], [1, 2, 4, 5]), 'event 3'],
    ['before the orders', withIds([begin, cancelledOrders(3), end], [1, 3, 6]), 'event 2'],
  ]
  test('that are missing stop the ingestion, which says what is needed', async (t) => {
    for (const [what, bytes, missing] of incomplete) {
      const { failure } = await tryIngest(kind.create(t), bytes)
      assert.ok(failure instanceof GapError, what)
      assert.ok(failure.message.includes(`${missing} of block 2 missing`), failure.message)
      assert.match(
        failure.message,
        /the whole of block 2 is needed. Ingest files that contain the complete block/,
      )
    }
  })

  test('that the orders of an event have taken are repeated', async (t) => {
    const events = [begin, cancelledOrders(3), checkpoint({ atBlock: 9 }), checkpoint({ atBlock: 2 }), end]
    const store = kind.create(t)
    const { passedOver } = await ingest(store, withIds(events, [1, 2, 4, 5, 6]))
    assert.equal(passedOver.repeated, 1)
    assert.deepEqual(
      (await dumpStore(store)).checkpoints!.map((row) => JSON.parse(row)[0]),
      ['2'],
    )
  })

  test('of orders that cannot be counted are an error at that record', async (t) => {
    const damaged = { kind: 187, body: Buffer.from([0x1a, 0x20, 0x61]) }
    const { failure } = await tryIngest(kind.create(t), withIds([begin, damaged, end], [1, 2, 3]))
    assert.match(failure!.message, /record 2, .*not a BusEvent: a field that is longer than its message/)
  })

  test('continue from genesis to block 1 itself by the ids that genesis took', async (t) => {
    const genesis = { height: 1, hash: 'genesis', events: [cancelledOrders(5), checkpoint({ atBlock: 7 })] }
    const stream = (second: readonly Content[]) => fileOf(genesis, { height: 1, events: second }, marked(2))
    const dump = await dumpOf(t, kind, stream([expiredOrders(4), checkpoint({ atBlock: 8 })]))
    // Genesis has begin 1, orders 2 to 6, checkpoint 7, end 8; then begin 1, orders 2 to 5, checkpoint 6: 14.
    const places = dump.checkpoints!.map((row) => JSON.parse(row) as string[])
    assert.ok(
      places.some((cells) => cells[0] === '8' && cells.includes('14')),
      JSON.stringify(places),
    )
  })
})

/** What a store has of what the version stored that called these blocks incomplete. */
async function ofThen(store: string): Promise<StoreDump> {
  const { epochs, epoch_ends, since, ...dump } = await dumpStore(store)
  return dump
}

describeOn(STORE_KINDS, 'a store with blocks that an earlier version called incomplete', (kind) => {
  const file = recorded('nullchain-60')
  test('has the right rows, and ingesting the files again clears these blocks', async (t) => {
    const store = await restoreOldStore(t, kind, 'store-core-60')
    await openStore(store).migrate()
    const expected = kind.create(t)
    await ingest(expected, file)
    const before = await ofThen(store)
    const { stream, gaps, old_positions: _positions, ...rows } = await ofThen(expected)
    const { stream: _, gaps: oldGaps, old_positions: oldPositions, ...oldRows } = before
    assert.deepEqual(oldRows, rows)
    assert.notDeepEqual(oldGaps, gaps)
    const report = await ingest(store, file)
    assert.equal(report.blocks, 3)
    const others = { stream: stream!, gaps: gaps!, old_positions: oldPositions! }
    assertSameDump(await ofThen(store), { ...others, ...rows }, 'ingested again')
    assert.equal((await ingest(store, file)).blocks, 0)
  })
})

test('the ids of made blocks are those of the core', () => {
  const envelope = createEnvelope()
  const ids = eventsOf([block(cancelledOrders(3), expiredOrders(2), checkpoint())]).map((event) => {
    readEnvelope(event, 0, event.length, envelope)
    return event.toString('latin1', envelope.idStart, envelope.idEnd)
  })
  assert.deepEqual(ids, ['2-1', '2-2', '2-5', '2-7', '2-8'])
})
