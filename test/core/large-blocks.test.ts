import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PaymentList } from '#core/resources/funding-payments/payment-list'
import { tableOf } from '#core/store/schema/tables'
import { namedRow, walkTable } from '#core/store/walk-table'
import { type Content, eventsOf, loss, MARKET, marked, message } from '../fixtures/events/event-stream.ts'
import { scaled } from '../fixtures/sampling.ts'
import { startWithCore, stop, untilHeight } from '../fixtures/services/live.ts'
import { describeOn, openStore, STORE_KINDS, temporaryFolder } from '../fixtures/stores/stores.ts'

const PAYMENTS = tableOf('funding_payments')

const EVENTS = 2
const PAYMENTS_OF_EVENT = scaled(200_000, 750_000)
const LOSER = 7

/** A service without work takes up to 230 MB. */
const MAX_MEMORY_BYTES = scaled(440_000_000, 600_000_000)

/** A party's id, in no order, and some of them alike in most digits. */
const partyOf = (index: number) =>
  (Math.imul(index, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0').padStart(64, 'f')

/** All are of one length. */
const amountOf = (index: number) => String(index - 20_000_000)

/** An event with so many payments of different parties. */
function manyPayments(seq: number, count: number): Content {
  const head = message({ 1: MARKET, 2: seq })
  const one = (index: number) => message({ 3: message({ 1: partyOf(index), 2: amountOf(index) }) })
  const size = one(0).length
  const body = Buffer.alloc(head.length + count * size)
  body.set(head)
  for (let index = 0; index < count; index++) body.set(one(index), head.length + index * size)
  return { kind: 178, body }
}

/** The largest resident set of a process so far, in bytes. */
const peakOf = (pid: number) =>
  1024 * Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])

/** How many of the stored payments are as they were sent; a party has lost a part of its last one. */
async function countRight(store: string): Promise<number> {
  const reader = await openStore(store).openTableReader()
  let count = 0
  try {
    for await (const chunk of walkTable(reader, PAYMENTS)) {
      for (const row of chunk) {
        const { party_id, seq, amount, loss_amount, height } = namedRow(PAYMENTS, row)
        const index = Number(amount) + 20_000_000
        const lossAmount = index === LOSER && seq === `${EVENTS}` ? '-5' : '0'
        if (party_id === partyOf(index) && loss_amount === lossAmount && height === '3') count++
      }
    }
  } finally {
    await reader.close()
  }
  return count
}

test('payments are read as they were added, and sorted by the text of their party', () => {
  const parties = ['0', '7', 'a', 'f'].map((digit) => digit.repeat(64))
  const others = ['0', '1', 'f'].map((digit) => `${'a'.repeat(63)}${digit}`)
  const all = [...parties, 'network', ...others, 'network', ...parties]
  // More than one piece of memory.
  const added = Array.from({ length: 10_000 }, (_, index) => ({
    partyId: all[(index * 7) % all.length]!,
    amount: `${index}`.repeat(1 + (index % 60)),
  }))
  const list = PaymentList.of(added)
  assert.deepEqual([...list], added)
  const sorted = added.toSorted((a, b) => (a.partyId < b.partyId ? -1 : a.partyId > b.partyId ? 1 : 0))
  assert.deepEqual(
    Array.from(list.orderByParty(), (index) => list.at(index)),
    sorted,
  )
})

describeOn(STORE_KINDS, 'a block of a core with very many payments', (kind) => {
  test('is received and committed in little memory', {
    skip: process.platform !== 'linux' && 'peak memory is read from /proc',
  }, async (t) => {
    const store = kind.create(t)
    const { service, core } = await startWithCore(t, store, temporaryFolder(t))
    const lost = loss('-5', { party: partyOf(LOSER) })
    const events = Array.from({ length: EVENTS }, (_, index) => manyPayments(index + 1, PAYMENTS_OF_EVENT))
    for (const event of eventsOf([marked(1), marked(2), { height: 3, events: [...events, lost] }]))
      await core.send([event])
    await untilHeight(service, 3, 120_000)
    const memoryBytes = peakOf(service.program.child.pid!)
    t.diagnostic(`${Math.round(memoryBytes / 1e6)} MB of memory`)
    await stop(service)

    assert.equal(await countRight(store), EVENTS * PAYMENTS_OF_EVENT)
    assert.ok(memoryBytes < MAX_MEMORY_BYTES, `${memoryBytes} bytes of memory`)
  })
})
