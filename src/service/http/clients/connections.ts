import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Account, Quota } from '../../quotas.ts'
import type { ApiError } from '../errors.ts'
import { countedAddress } from './client-address.ts'
import type { UnsentBytes } from './unsent-bytes.ts'

/** Requests that a client may send before earlier ones are answered. The connection of one that sends more is closed. */
const MAX_SENT_AHEAD = 16

/** Most memory of a waiting request: its line and headers. */
const REQUEST_BYTES = 16 * 1024

type ConnectionsOptions = {
  unsentBytes: UnsentBytes
  /** Connections at a time. */
  slots: number
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  account: Account
}

/** The requests of one connection, which are answered one at a time, in order. */
class ConnectionRequests {
  /** The last request, whose body may still be arriving. */
  latest: IncomingMessage | null = null
  /** The parser's error within its body. */
  fault: ApiError | null = null
  readonly #socket: Duplex
  /** What wakes the requests that wait, in order. */
  readonly #waiting: (() => void)[] = []
  #isAnswering = false
  /** One function for all requests: a connection has many. */
  readonly #passTurn = () => {
    const next = this.#waiting.shift()
    if (next === undefined) this.#isAnswering = false
    else next()
  }

  constructor(socket: Duplex) {
    this.#socket = socket
    socket.once('close', () => {
      for (const wake of this.#waiting.splice(0)) wake()
    })
  }

  /** Whether one of them is being answered. */
  get isAnswering(): boolean {
    return this.#isAnswering
  }

  /** Takes the turn of a request that need not wait. Returns whether that is so. */
  takeTurnAtOnce(): boolean {
    if (this.#isAnswering) return false
    this.#isAnswering = true
    return true
  }

  /** Waits until all earlier requests are answered. Closes the connection if too many wait already. */
  async takeTurn(unsentBytes: UnsentBytes, address: string): Promise<void> {
    if (this.takeTurnAtOnce()) return
    if (this.#waiting.length >= MAX_SENT_AHEAD) this.#socket.destroy()
    if (this.#socket.destroyed) return
    const release = unsentBytes.count(address, this.#socket, REQUEST_BYTES)
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
    release()
  }

  /** Gives the turn to the next request once this one is answered. */
  passTurnAfter(response: ServerResponse): void {
    response.on('close', this.#passTurn)
  }
}

/**
 * The connections of a service: at most `slots` in all, of which no address has more than its quota while others wait. Each
 * answers its requests one at a time, in order.
 */
export class Connections {
  readonly #unsentBytes: UnsentBytes
  readonly #addressOf: (request: IncomingMessage) => string
  readonly #quota: Quota<Socket>
  readonly #requests = new WeakMap<Duplex, ConnectionRequests>()

  constructor({ unsentBytes, slots, addressOf, account }: ConnectionsOptions) {
    this.#unsentBytes = unsentBytes
    this.#addressOf = addressOf
    this.#quota = account.quota<Socket>({ slots, choose: (sockets) => this.#idlest(sockets) })
  }

  /**
   * Admits a new connection. If all slots are taken, a connection of the address with the most is closed for it: the oldest on
   * which nothing is being answered, or the oldest; or the new one, if its own address is among those with the most.
   */
  admit(socket: Socket): void {
    const result = this.#quota.take(countedAddress(socket.remoteAddress ?? ''), socket)
    if (result === 'refused') socket.destroy()
    else {
      result?.destroy()
      socket.once('close', () => this.#quota.release(socket))
    }
  }

  /**
   * Waits until the connection's earlier requests are answered and this one is complete. Its body is discarded, since no
   * operation takes one. Returns whether the client is still connected.
   *
   * @throws {ApiError} the error that {@link Connections.fail} was given for this request.
   */
  async takeTurn(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const { socket } = request
    const requests = this.#requestsOf(socket)
    requests.latest = request
    await requests.takeTurn(this.#unsentBytes, this.#addressOf(request))
    requests.passTurnAfter(response)
    if (hasBody(request)) await discardBody(request, requests)
    return !socket.destroyed
  }

  /**
   * Takes the turn of a request that need not wait, because nothing before it is being answered and it has no body. Returns
   * whether that is so.
   */
  takeTurnAtOnce(request: IncomingMessage, response: ServerResponse): boolean {
    const requests = this.#requestsOf(request.socket)
    if (request.socket.destroyed || hasBody(request) || !requests.takeTurnAtOnce()) return false
    requests.latest = request
    requests.passTurnAfter(response)
    return true
  }

  /**
   * Reports that the connection's parser has failed. Returns true if that was within the body of a request, which is then
   * answered with the error; otherwise, once all requests before are answered, false.
   */
  async fail(socket: Duplex, error: ApiError): Promise<boolean> {
    const requests = this.#requestsOf(socket)
    if (requests.latest?.complete === false) {
      requests.fault = error
      requests.latest.emit('fault')
      return true
    }
    await requests.takeTurn(this.#unsentBytes, countedAddress((socket as Socket).remoteAddress ?? ''))
    return false
  }

  /** Whether a request of the connection has not been answered to its end. */
  isAnswering(socket: Duplex): boolean {
    return this.#requests.get(socket)?.isAnswering === true
  }

  /** Whether the connection has brought the head of a request, answered or not. */
  hasRequests(socket: Duplex): boolean {
    return this.#requests.has(socket)
  }

  #requestsOf(socket: Duplex): ConnectionRequests {
    let requests = this.#requests.get(socket)
    if (requests === undefined) {
      requests = new ConnectionRequests(socket)
      this.#requests.set(socket, requests)
    }
    return requests
  }

  /** The oldest connection on which nothing is being answered, or the oldest. */
  #idlest(sockets: ReadonlySet<Socket>): Socket {
    const [oldest] = sockets
    for (const socket of sockets) if (!this.isAnswering(socket)) return socket
    return oldest!
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/**
 * Reads a body to its end. The server's time limit for a whole request applies.
 *
 * @throws {ApiError} that of a fault within it.
 */
async function discardBody(request: IncomingMessage, requests: ConnectionRequests): Promise<void> {
  await new Promise<void>((resolve) => {
    if (requests.fault !== null) resolve()
    for (const event of ['end', 'close', 'fault']) request.once(event, resolve)
    request.resume()
  })
  if (requests.fault !== null) throw requests.fault
}
