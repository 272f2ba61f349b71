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
 * A queue for a limited resource. Addresses that wait take turns, one request each, in order of arrival: a client with many
 * requests only delays itself.
 */
export class Queue {
  readonly #account: Account
  readonly #atOnce: number
  readonly #sliceMs: number
  /** What wakes the requests that wait, by address; the address whose turn is next comes first. */
  readonly #waiting = new Map<string, Set<() => void>>()
  #running = 0
  /** The last address whose work began or ended, and since when there was none of another one. */
  #soleAddress = { address: '', since: 0 }
  /** When the first work of this round of the event loop was begun; null before. */
  #roundSince: number | null = null

  /**
   * @param account told of an address whose request is refused although it has waited for its own requests alone
   * @param atOnce maximum number of requests whose work runs
   * @param sliceMs milliseconds in one round of the event loop after which no further work is begun in it
   */
  constructor(account: Account, atOnce: number, sliceMs: number) {
    this.#account = account
    this.#atOnce = atOnce
    this.#sliceMs = sliceMs
  }

  /**
   * Runs `work` once it is its turn. Never runs it if its connection has closed before: so no more waits than there are
   * connections.
   *
   * @param address whose turn it is; the service's own work has the empty one
   * @throws {ApiError} 503 if its turn does not come in time.
   * @throws {ClientGoneError} if its connection has closed before its turn.
   */
  async run<T>(work: () => Promise<T>, address = '', connection?: ClientConnection): Promise<T> {
    const since = performance.now()
    if (this.#waiting.size === 0 && this.#hasRoom()) this.#begin()
    else if (!(await this.#wait(address, connection))) throw new ClientGoneError()
    this.#noteUse(address)
    try {
      if (connection?.destroyed === true) throw new ClientGoneError()
      this.#refuseIfLate(address, since)
      return await work()
    } finally {
      this.#noteUse(address)
      this.#running -= 1
      this.#beginNext()
    }
  }

  #hasRoom(): boolean {
    const hasTime = this.#roundSince === null || performance.now() - this.#roundSince < this.#sliceMs
    return this.#running < this.#atOnce && hasTime
  }

  #begin(): void {
    this.#running += 1
    if (this.#roundSince !== null) return
    this.#roundSince = performance.now()
    setImmediate(() => {
      this.#roundSince = null
      this.#beginNext()
    })
  }

  #beginNext(): void {
    const [next] = this.#waiting
    if (next === undefined || !this.#hasRoom()) return
    const [address, wakes] = next
    this.#begin()
    const wake = wakes.values().next().value!
    wakes.delete(wake)
    // Last in the map is last to have its turn again.
    this.#waiting.delete(address)
    if (wakes.size > 0) this.#waiting.set(address, wakes)
    wake()
  }

  /** Waits for a turn, which has begun then; returns whether it came before the connection was closed. */
  async #wait(address: string, connection: ClientConnection | undefined): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const wake = () => resolve(true)
    const wakes = this.#waiting.get(address) ?? new Set()
    wakes.add(wake)
    this.#waiting.set(address, wakes)
    const leave = () => {
      wakes.delete(wake)
      if (wakes.size === 0 && this.#waiting.get(address) === wakes) this.#waiting.delete(address)
      resolve(false)
    }
    connection?.once('close', leave)
    const hasTurn = await promise
    connection?.off('close', leave)
    return hasTurn
  }

  /** Notes that work of an address begins or ends. */
  #noteUse(address: string): void {
    if (address !== this.#soleAddress.address) this.#soleAddress = { address, since: performance.now() }
  }

  #refuseIfLate(address: string, since: number): void {
    if (performance.now() - since < MAX_TURN_WAIT_MS) return
    const isOnlyWaiting = [...this.#waiting.keys()].every((other) => other === address)
    if (isOnlyWaiting && this.#soleAddress.since <= since) this.#account.reportAlone(address)
    throw unavailable('the service is overloaded; try again')
  }
}

/**
 * A queue for pages: a few are rendered at a time, and the event loop runs in between. However many connections ask at once,
 * few incomplete pages are in memory, sent answers are released, and quick requests do not wait for every slow one.
 */
export function createQueue(account: Account, atOnce: number): Queue {
  return new Queue(account, atOnce, PAGES_MS)
}

/**
 * A queue for refusals, one of which is sent in each round of the event loop. An answer takes several rounds, and must not
 * wait for a thousand refusals in each.
 */
export function createRefusalQueue(account: Account): Queue {
  return new Queue(account, Infinity, 0)
}
