import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Account } from '../../quotas.ts'
import type { ApiError } from '../errors.ts'
import { countedAddress } from './client-address.ts'
import type { UnsentBytes } from './unsent-bytes.ts'

/** Requests that a client may send before earlier ones are answered. The connection of one that sends more is closed. */
const MAX_SENT_AHEAD = 16

/** Most memory of a waiting request: its line and headers. */
const REQUEST_BYTES = 16 * 1024

/** The connections of clients, each of which answers its requests one at a time, in order. */
export type Connections = {
  /**
   * Admits a new connection. If all slots are taken, a connection of the address with the most is closed for it: the oldest on
   * which nothing is being answered, or the oldest; or the new one, if its own address is among those with the most.
   */
  admit(connection: Socket): void
  /**
   * Waits until the connection's earlier requests are answered and this one is complete. Its body is discarded, since no
   * operation takes one. Returns whether the client is still connected.
   *
   * @throws {ApiError} the error that {@link Connections.fail} was given for this request.
   */
  takeTurn(request: IncomingMessage, response: ServerResponse): Promise<boolean>
  /**
   * Takes the turn of a request that need not wait, because nothing before it is being answered and it has no body. Returns
   * whether that is so.
   */
  takeTurnAtOnce(request: IncomingMessage, response: ServerResponse): boolean
  /**
   * Reports that the connection's parser has failed. Returns true if that was within the body of a request, which is then
   * answered with the error; otherwise, once all requests before are answered, false.
   */
  fail(connection: Duplex, error: ApiError): Promise<boolean>
}

type ConnectionState = {
  /** Whether one of its requests is being answered. */
  busy: boolean
  /** The requests that wait, in order. */
  waiting: (() => void)[]
  /** The last request, whose body may still be arriving. */
  latest: IncomingMessage | null
  /** The parser's error within its body. */
  fault: ApiError | null
}

type ConnectionsOptions = {
  unsentBytes: UnsentBytes
  /** Connections at a time. */
  slots: number
  /** The address that a request counts for. */
  addressOf: (request: IncomingMessage) => string
  account: Account
}

/** The connections of a service: at most `slots` in all, of which no address has more than its quota while others wait. */
export function createConnections({
  unsentBytes,
  slots,
  addressOf,
  account,
}: ConnectionsOptions): Connections {
  const known = new WeakMap<Duplex, ConnectionState>()
  const quota = account.quota<Socket>({ slots, choose: idlest })

  function idlest(sockets: ReadonlySet<Socket>): Socket {
    const [oldest] = sockets
    for (const socket of sockets) if (known.get(socket)?.busy !== true) return socket
    return oldest!
  }

  function find(socket: Duplex): ConnectionState {
    let connection = known.get(socket)
    if (connection === undefined) {
      const added: ConnectionState = { busy: false, waiting: [], latest: null, fault: null }
      known.set(socket, added)
      socket.once('close', () => {
        for (const wake of added.waiting.splice(0)) wake()
      })
      connection = added
    }
    return connection
  }

  /** Waits until all earlier requests are answered. */
  async function wait(connection: ConnectionState, socket: Duplex, address: string): Promise<void> {
    if (!connection.busy) {
      connection.busy = true
      return
    }
    if (connection.waiting.length >= MAX_SENT_AHEAD) socket.destroy()
    if (socket.destroyed) return
    const release = unsentBytes.count(address, socket, REQUEST_BYTES)
    await new Promise<void>((resolve) => connection.waiting.push(resolve))
    release()
  }

  /** Gives the turn to the next request once this one is answered. */
  function passOn(connection: ConnectionState, response: ServerResponse): void {
    response.once('close', () => {
      const next = connection.waiting.shift()
      if (next === undefined) connection.busy = false
      else next()
    })
  }

  return {
    admit: (socket) => {
      const result = quota.take(countedAddress(socket.remoteAddress ?? ''), socket)
      if (result === 'refused') socket.destroy()
      else {
        result?.destroy()
        socket.once('close', () => quota.release(socket))
      }
    },
    takeTurn: async (request, response) => {
      const { socket } = request
      const connection = find(socket)
      connection.latest = request
      await wait(connection, socket, addressOf(request))
      passOn(connection, response)
      if (hasBody(request)) await discardBody(request, connection)
      return !socket.destroyed
    },
    takeTurnAtOnce: (request, response) => {
      const connection = find(request.socket)
      if (connection.busy || request.socket.destroyed || hasBody(request)) return false
      connection.busy = true
      connection.latest = request
      passOn(connection, response)
      return true
    },
    fail: async (socket, error) => {
      const connection = find(socket)
      if (connection.latest?.complete === false) {
        connection.fault = error
        connection.latest.emit('fault')
        return true
      }
      await wait(connection, socket, countedAddress((socket as Socket).remoteAddress ?? ''))
      return false
    },
  }
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

/** Reads a body to its end. The server's time limit for a whole request applies. @throws {ApiError} that of a fault within it */
async function discardBody(request: IncomingMessage, connection: ConnectionState): Promise<void> {
  await new Promise<void>((resolve) => {
    if (connection.fault !== null) resolve()
    for (const event of ['end', 'close', 'fault']) request.once(event, resolve)
    request.resume()
  })
  if (connection.fault !== null) throw connection.fault
}
