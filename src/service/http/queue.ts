import type { EventEmitter } from 'node:events'
import type { Account } from '../quotas.ts'
import { unavailable } from './errors.ts'

/** Milliseconds of generating pages before the event loop gets its turn. */
const PAGES_MS = 20

/** A request that has waited for this long is refused: the service is overloaded. */
const MAX_TURN_WAIT_MS = 10_000

/** What emits `close` once the client is gone. */
export type Closing = Pick<EventEmitter, 'once' | 'off'>

/**
 * A queue for a limited resource: runs `work` once it is its turn. If its connection is closed while it waits, it runs
 * at once and must notice itself that its client is gone. So no more waits than there are connections.
 *
 * @param address whose turn it is; the service's own work has the empty one
 * @throws {ApiError} 503 if its turn does not come in time.
 */
export type Queue = <T>(work: () => Promise<T>, address?: string, connection?: Closing) => Promise<T>

/**
 * Generates pages a few at a time, and lets the event loop run in between. However many connections ask at once, few
 * unfinished pages are in memory, sent answers are released, and quick requests do not wait for every slow one. Waiting
 * addresses take turns, one request each, in order of arrival: a client with many requests only delays itself.
 *
 * @param account told of an address whose request is refused while no other address waits
 *
 * @param atOnce maximum number of pages being generated
 */
export const createQueue = (account: Account, atOnce: number): Queue => queueOf(account, atOnce, PAGES_MS)

/**
 * Sends refusals, one in each round of the event loop: an answer, which takes several rounds, must not wait for a
 * thousand refusals in each.
 */
export const createRefusalQueue = (account: Account): Queue => queueOf(account, Infinity, 0)

function queueOf(account: Account, atOnce: number, sliceMs: number): Queue {
  /** What waits, by address; the address whose turn is next comes first. */
  const waiting = new Map<string, Set<() => void>>()
  let running = 0
  /** When the first page of this round of the event loop was begun; null before. */
  let roundSince: number | null = null

  function hasRoom(): boolean {
    return running < atOnce && (roundSince === null || performance.now() - roundSince < sliceMs)
  }

  function begin(): void {
    running += 1
    if (roundSince !== null) return
    roundSince = performance.now()
    setImmediate(() => {
      roundSince = null
      beginNext()
    })
  }

  function beginNext(): void {
    const [next] = waiting
    if (next === undefined || !hasRoom()) return
    const [address, queue] = next
    begin()
    const wake = queue.values().next().value!
    queue.delete(wake)
    // Last in the map is last to have its turn again.
    waiting.delete(address)
    if (queue.size > 0) waiting.set(address, queue)
    wake()
  }

  /** Waits for a turn, which has begun then; returns whether it came before the connection was closed. */
  async function wait(address: string, connection: Closing | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const wake = () => resolve(true)
    const queue = waiting.get(address) ?? new Set()
    queue.add(wake)
    waiting.set(address, queue)
    const leave = () => {
      queue.delete(wake)
      if (queue.size === 0 && waiting.get(address) === queue) waiting.delete(address)
      resolve(false)
    }
    connection?.once('close', leave)
    const hasTurn = await promise
    connection?.off('close', leave)
    return hasTurn
  }

  function refuseIfLate(address: string, since: number): void {
    if (performance.now() - since < MAX_TURN_WAIT_MS) return
    if ([...waiting.keys()].every((other) => other === address)) account.reportAlone(address)
    throw unavailable('the service is overloaded; try again')
  }

  return async (work, address = '', connection = undefined) => {
    const since = performance.now()
    if (waiting.size === 0 && hasRoom()) begin()
    else if (!(await wait(address, connection))) return work()
    try {
      refuseIfLate(address, since)
      return await work()
    } finally {
      running -= 1
      beginNext()
    }
  }
}
