import type { EventEmitter } from 'node:events'
import type { Account } from '../../quotas.ts'
import { unavailable } from '../errors.ts'

/** Milliseconds of rendering pages in one round of the event loop. */
const PAGES_MS = 20

/** A request that has waited for this long is refused: the service is overloaded. */
const MAX_TURN_WAIT_MS = 10_000

/** A client has disconnected before the turn of its request: there is nobody to answer. */
export class ClientGoneError extends Error {
  override name = 'ClientGoneError'
}

/** What emits `close` once the client is gone. */
export type Closing = Pick<EventEmitter, 'once' | 'off'>

/** The connection of a client, or the stream of its call. */
export type ClientConnection = Closing & { readonly destroyed: boolean }

/**
 * A queue for a limited resource: runs `work` once it is its turn. Never runs it if its connection has closed before: so no
 * more waits than there are connections.
 *
 * @param address whose turn it is; the service's own work has the empty one
 * @throws {ApiError} 503 if its turn does not come in time.
 * @throws {ClientGoneError} if its connection has closed before its turn.
 */
export type Queue = <T>(work: () => Promise<T>, address?: string, connection?: ClientConnection) => Promise<T>

/**
 * Renders pages a few at a time, and lets the event loop run in between. However many connections ask at once, few
 * incomplete pages are in memory, sent answers are released, and quick requests do not wait for every slow one. Waiting
 * addresses take turns, one request each, in order of arrival: a client with many requests only delays itself.
 *
 * @param account told of an address whose request is refused while no other address waits
 * @param atOnce maximum number of pages being rendered
 */
export const createQueue = (account: Account, atOnce: number): Queue => queueOf(account, atOnce, PAGES_MS)

/**
 * Sends refusals, one in each round of the event loop. An answer takes several rounds, and must not wait for a thousand
 * refusals in each.
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
  async function wait(address: string, connection: ClientConnection | undefined): Promise<boolean> {
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
    else if (!(await wait(address, connection))) throw new ClientGoneError()
    try {
      if (connection?.destroyed === true) throw new ClientGoneError()
      refuseIfLate(address, since)
      return await work()
    } finally {
      running -= 1
      beginNext()
    }
  }
}
