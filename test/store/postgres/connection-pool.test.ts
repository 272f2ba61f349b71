import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, type TestContext, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Client } from 'pg'
import { ConnectionPool } from '#core/store/postgres/connection/connection-pool'

/** How long a shared connection may take for a read before others are opened. */
const LATE_MS = 10

/** A connection that answers nothing by itself. */
class FakeClient extends EventEmitter {
  readonly number: number
  isEnded = false

  constructor(number: number) {
    super()
    this.number = number
  }

  async end(): Promise<void> {
    this.isEnded = true
    this.emit('end')
  }
}

type Read = { on: number | null; end(): void; fail(error: Error): void; result: Promise<void> }

/**
 * A pool of connections that open at once, unless the server has too many. Time passes only by `pass`: however long the test
 * takes, no read is late by itself.
 */
function createPool(t: TestContext, { most = 4, mostShared = 2, serverLimit = 100 } = {}) {
  let now = 0
  t.mock.method(performance, 'now', () => now)
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const clients: FakeClient[] = []
  const limits: number[] = []
  let limit = serverLimit
  const pool = new ConnectionPool({
    most,
    mostShared,
    connect: async () => {
      if (clients.filter(({ isEnded }) => !isEnded).length >= limit)
        throw Object.assign(new Error('too many'), { code: '53300' })
      const client = new FakeClient(clients.length + 1)
      clients.push(client)
      return client as unknown as Client
    },
    onLimit: (open) => limits.push(open),
  })
  /** Begins a read, which lasts until it is ended; `on` is the number of its connection. */
  const begin = (kind: 'shared' | 'exclusive'): Read => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const read: Read = {
      on: null,
      end: resolve,
      fail: reject,
      result: pool[kind](async (client) => {
        read.on = (client as unknown as FakeClient).number
        await promise
      }),
    }
    read.result.catch(() => {})
    return read
  }
  return {
    pool,
    clients,
    limits,
    shared: () => begin('shared'),
    exclusive: () => begin('exclusive'),
    setServerLimit: (value: number) => {
      limit = value
    },
    pass: (ms: number) => {
      now += ms
      t.mock.timers.tick(ms)
    },
  }
}

/** Lets everything happen that waits for nothing. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn()
}

const placesOf = (reads: readonly Read[]) => reads.map(({ on }) => on)

describe('A pool of connections', () => {
  test('opens one connection for any number of shared reads that are quick', async (t) => {
    const { shared, clients } = createPool(t)
    const reads = Array.from({ length: 20 }, shared)
    await settled()
    assert.deepEqual(new Set(placesOf(reads)), new Set([1]))
    assert.equal(clients.length, 1)
  })

  test('opens another one while the first is late, and goes back to it once it keeps up', async (t) => {
    const { shared, pass } = createPool(t)
    const late = shared()
    pass(LATE_MS - 1)
    const beside = shared()
    await settled()
    assert.equal(beside.on, 1, 'it is not late yet')
    beside.end()
    await beside.result
    pass(1)
    const second = shared()
    await settled()
    assert.deepEqual(placesOf([late, second]), [1, 2])
    late.end()
    await late.result
    const third = shared()
    await settled()
    assert.equal(third.on, 1)
  })

  test('opens no more shared connections than it may, and takes the one with the fewest reads then', async (t) => {
    const { shared, clients, pass } = createPool(t, { most: 10, mostShared: 2 })
    const first = [shared(), shared()]
    pass(LATE_MS)
    const second = shared()
    await settled()
    pass(LATE_MS)
    const third = shared()
    await settled()
    assert.deepEqual(placesOf([...first, second, third]), [1, 1, 2, 2])
    assert.equal(clients.length, 2)
  })

  test('gives an exclusive read a connection of its own, and leaves one for shared reads', async (t) => {
    const { shared, exclusive } = createPool(t)
    const [alone, beside] = [exclusive(), shared()]
    await settled()
    assert.deepEqual(placesOf([alone, beside]), [1, 2])
    const further = shared()
    await settled()
    assert.equal(further.on, 2)
  })

  test('shares a connection no more that an exclusive read waits for, and starts it once earlier reads are done', async (t) => {
    const { shared, exclusive, pass } = createPool(t, { most: 2, mostShared: 1 })
    const early = shared()
    pass(LATE_MS)
    // The second connection is the last one, and is exclusive; the first one stays for shared reads.
    const alone = exclusive()
    await settled()
    assert.equal(alone.on, 2)
    alone.end()
    await alone.result
    const later = exclusive()
    await settled()
    assert.equal(later.on, 2)
    early.end()
    later.end()
    await Promise.all([early.result, later.result])
  })

  test('lets an exclusive read wait for the reads of a busy connection when no further one can be opened', async (t) => {
    const { shared, exclusive, setServerLimit, pass } = createPool(t, { most: 4, mostShared: 2 })
    const first = shared()
    pass(LATE_MS)
    const second = shared()
    await settled()
    assert.deepEqual(placesOf([first, second]), [1, 2])
    setServerLimit(2)
    const refused = exclusive()
    await settled()
    // It took the one with the fewest reads, which has an unanswered one.
    assert.equal(refused.on, null)
    first.end()
    second.end()
    await settled()
    assert.ok([1, 2].includes(refused.on!))
    // The reads that were done before it leave it its connection.
    const beside = shared()
    await settled()
    assert.notEqual(beside.on, refused.on)
  })

  test('never takes the last connection of shared reads when no further one can be opened', async (t) => {
    const { shared, exclusive } = createPool(t, { most: 4, mostShared: 1, serverLimit: 2 })
    const [alone, beside] = [exclusive(), shared()]
    await settled()
    assert.deepEqual(placesOf([alone, beside]), [1, 2])
    const waits = exclusive()
    await settled()
    assert.equal(waits.on, null)
    beside.end()
    await settled()
    assert.equal(waits.on, null, 'an idle one neither')
    alone.end()
    await settled()
    assert.equal(waits.on, 1)
  })

  test('serves exclusive reads that wait in their order, as many at a time as there are connections for them', async (t) => {
    const { exclusive } = createPool(t, { most: 4, mostShared: 2 })
    const reads = Array.from({ length: 5 }, exclusive)
    await settled()
    assert.deepEqual(placesOf(reads), [1, 2, null, null, null])
    reads[1]!.end()
    await settled()
    assert.deepEqual(placesOf(reads), [1, 2, 2, null, null])
    reads[0]!.end()
    await settled()
    assert.deepEqual(placesOf(reads), [1, 2, 2, 1, null])
  })

  test('goes on with the open connections if the server has too many, says so, and tries again after a second', async (t) => {
    const { shared, clients, limits, setServerLimit, pass } = createPool(t, {
      most: 4,
      mostShared: 4,
      serverLimit: 1,
    })
    const first = shared()
    pass(LATE_MS)
    const second = shared()
    await settled()
    assert.deepEqual(placesOf([first, second]), [1, 1])
    assert.deepEqual(limits, [1])
    setServerLimit(2)
    pass(LATE_MS)
    shared()
    await settled()
    assert.equal(clients.length, 1, 'no further connection is tried within a second')
    pass(1_000)
    const later = shared()
    await settled()
    assert.equal(later.on, 2)
  })

  test('passes on that the server has too many if no connection is open', async (t) => {
    const { shared, limits } = createPool(t, { serverLimit: 0 })
    await assert.rejects(shared().result, { code: '53300' })
    assert.deepEqual(limits, [0])
  })

  test('replaces a connection that is lost, whether a read notices or not', async (t) => {
    const { shared, clients } = createPool(t)
    const failed = shared()
    await settled()
    failed.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
    await assert.rejects(failed.result, { code: 'ECONNRESET' })
    const second = shared()
    await settled()
    assert.equal(second.on, 2)
    second.end()
    await second.result
    clients[1]!.emit('end')
    const third = shared()
    await settled()
    assert.equal(third.on, 3)
  })

  test('keeps a shared connection after an error of a statement, and closes an exclusive one', async (t) => {
    const { shared, exclusive, clients } = createPool(t)
    const refused = shared()
    await settled()
    refused.fail(Object.assign(new Error('no such table'), { code: '42P01', severity: 'ERROR' }))
    await assert.rejects(refused.result)
    const alone = exclusive()
    await settled()
    assert.equal(alone.on, 1)
    alone.fail(new Error('half way'))
    await assert.rejects(alone.result)
    assert.equal(clients[0]!.isEnded, true)
    const next = exclusive()
    await settled()
    assert.equal(next.on, 2)
  })

  test('refuses a read that has waited for five seconds', async (t) => {
    const { exclusive, pass } = createPool(t, { most: 2, mostShared: 1 })
    const [runs, waits] = [exclusive(), exclusive()]
    await settled()
    assert.deepEqual(placesOf([runs, waits]), [1, null])
    pass(4_999)
    await settled()
    runs.end()
    await settled()
    assert.equal(waits.on, 1, 'it gets the connection in the last moment')
    const late = exclusive()
    await settled()
    pass(5_000)
    await assert.rejects(late.result, { code: '53300', message: 'no connection is free' })
    // One that has given up is served no more.
    waits.end()
    await settled()
    assert.equal(late.on, null)
    const next = exclusive()
    await settled()
    assert.equal(next.on, 1)
  })

  test('closes a connection that was exclusive and idle for ten seconds, beyond those that are shared', async (t) => {
    const { exclusive, clients, pass } = createPool(t, { most: 4, mostShared: 1 })
    const reads = [exclusive(), exclusive()]
    await settled()
    for (const read of reads) read.end()
    await settled()
    pass(9_999)
    assert.deepEqual(
      clients.map(({ isEnded }) => isEnded),
      [false, false],
    )
    const again = exclusive()
    await settled()
    again.end()
    await settled()
    pass(1)
    assert.deepEqual(
      clients.map(({ isEnded }) => isEnded),
      [false, true],
    )
    pass(10_000)
    assert.deepEqual(
      clients.map(({ isEnded }) => isEnded),
      [false, true],
      'one stays for shared reads',
    )
  })

  test('refuses reads once it is closed, those that wait, too, and closes its connections', async (t) => {
    const { pool, shared, exclusive, clients } = createPool(t, { most: 2, mostShared: 1 })
    const [runs, waits] = [exclusive(), exclusive()]
    await settled()
    await pool.close()
    await assert.rejects(waits.result, /the reader is closed/)
    await assert.rejects(shared().result, /the reader is closed/)
    runs.end()
    await settled()
    assert.deepEqual(
      clients.map(({ isEnded }) => isEnded),
      [true],
    )
  })
})
