// The socket that a core connects to: which connection is the core's, and when another one takes its place.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../pair-protocol.ts'
import type { AllowList } from './allow-list.ts'
import type { ConnectionFault } from './connection-faults.ts'
import { MessageFramer } from './message-framer.ts'

/** A core that is silent for so long is replaced by another one that connects. */
const SILENCE_MS = 10_000

/** How long a core may take to end its side of a connection that this side has ended, while that is read. */
const CLOSE_TIMEOUT_MS = 2_000

/** How often it is looked at whether the core has taken longer. */
const CLOSE_CHECK_MS = 100

/** Rounds of the event loop until an accepted connection reaches the program and its first bytes are read. */
const ROUNDS_TO_READ = 3

/** Maximum number of connections before their handshake; beyond it, the oldest is closed. */
const MAX_HANDSHAKES = 64

const SECOND_CORE = 'refused, another core is connected'

type PairListener = {
  /** A core has connected and completed the handshake. */
  onConnected(peer: string): void
  /**
   * Called with one message, whose bytes stay until {@link onRead} returns.
   *
   * @throws {RefusedEventError} if the message must not be written: the connection is then closed.
   */
  onMessage(message: Buffer): void
  /** All messages that have been read so far have been handed over. */
  onRead(): void
  onDisconnected(peer: string, reason: string): void
  /** A connection was closed for a fault; the message has no address. */
  onFault(fault: ConnectionFault, peer: string, message: string): void
}

export type PairOptions = {
  host: string
  port: number
  /** Addresses that may connect. */
  allowed: AllowList
  /** For tests: how long a core may be silent before it can lose its place, in milliseconds. */
  silenceMs?: number
}

/** The side of a PAIR connection that listens: one peer at a time. */
export type PairSocket = {
  port: number
  /** Pauses and resumes reading from the peer; while paused, TCP makes the peer wait. */
  pause(): void
  resume(): void
  /** Sends a message to the core that is connected; false if there is none. */
  send(message: Buffer): boolean
  /** Ends the connection between two messages, with everything read that the core had sent. */
  close(): Promise<void>
}

/**
 * Listens for a core that connects over the scalability protocol PAIR on TCP. The first core to complete the handshake
 * keeps the connection as long as it sends events.
 *
 * @throws the error of listening (EADDRINUSE, ...).
 */
export async function listenPair(options: PairOptions, listener: PairListener): Promise<PairSocket> {
  const { host, port, allowed, silenceMs = SILENCE_MS } = options
  const socket = new CoreSocket(allowed, silenceMs, listener)
  await socket.listen(host, port)
  return socket
}

/** A connection, which may become the core's. */
type CoreConnection = {
  socket: Socket
  peer: string
  /** Since when it is silent: its handshake, its last event or the end of a pause, by the clock of `performance`. */
  silentSinceMs: number
}

class CoreSocket implements PairSocket {
  port = 0
  readonly #allowed: AllowList
  readonly #silenceMs: number
  readonly #listener: PairListener
  readonly #server: Server
  /** The connection that has shaken hands; null while there is none. */
  #core: CoreConnection | null = null
  /** Those that have not, the oldest first. */
  readonly #handshaking = new Set<CoreConnection>()
  #isPaused = false
  /** When reading went on after a pause, by the clock of `performance`; 0 before the first one. */
  #readingSinceMs = 0

  constructor(allowed: AllowList, silenceMs: number, listener: PairListener) {
    this.#allowed = allowed
    this.#silenceMs = silenceMs
    this.#listener = listener
    this.#server = createServer((socket) => this.#accept(socket))
  }

  async listen(host: string, port: number): Promise<void> {
    this.#server.listen(port, host)
    await once(this.#server, 'listening')
    // A connection that cannot be accepted (no file descriptor is left, for example) is ignored; the next one may succeed.
    this.#server.on('error', () => {})
    this.port = (this.#server.address() as AddressInfo).port
  }

  pause(): void {
    this.#isPaused = true
    this.#core?.socket.pause()
  }

  resume(): void {
    this.#isPaused = false
    this.#readingSinceMs = performance.now()
    if (this.#core === null) return
    this.#core.silentSinceMs = performance.now()
    this.#core.socket.resume()
  }

  send(message: Buffer): boolean {
    this.#core?.socket.write(messageOf(message, 0, message.length))
    return this.#core !== null
  }

  async close(): Promise<void> {
    // A core may have connected, shaken hands and sent events while this thread was busy.
    for (let round = 0; round < ROUNDS_TO_READ; round++) await setImmediate()
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const { socket } of this.#handshaking) socket.destroy()
    if (this.#core !== null) {
      const { socket } = this.#core
      // The core then ends its side, too; events sent before are still read, once reading is no longer paused.
      socket.end()
      const endedAt = performance.now()
      const timer = setInterval(() => {
        const readSince = Math.max(endedAt, this.#readingSinceMs)
        if (!this.#isPaused && performance.now() - readSince >= CLOSE_TIMEOUT_MS) socket.destroy()
      }, CLOSE_CHECK_MS)
      socket.once('close', () => clearInterval(timer))
    }
    await closed
  }

  #accept(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    socket.on('error', () => {})
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return
    }
    const connection: CoreConnection = { socket, peer, silentSinceMs: 0 }
    if (!this.#allowed(socket.remoteAddress)) {
      this.#refuse(connection, 'address not allowed', 'refused, not an address of --listen-from')
      return
    }
    if (this.#isTaken()) {
      this.#refuse(connection, 'second core', SECOND_CORE)
      return
    }
    const [oldest] = this.#handshaking
    if (oldest !== undefined && this.#handshaking.size >= MAX_HANDSHAKES) {
      this.#refuse(oldest, 'broken handshake', `no handshake before ${MAX_HANDSHAKES} others dialled in`)
    }
    this.#handshaking.add(connection)
    new MessageFramer(socket, {
      onHandshake: () => this.#shookHands(connection),
      onMessage: (message) => {
        this.#listener.onMessage(message)
        connection.silentSinceMs = performance.now()
      },
      onRead: () => this.#listener.onRead(),
      refuse: (fault, message) => this.#refuse(connection, fault, message),
    }).start()
    // A peer that has ended sends nothing more: free its place at once, before the core reconnects.
    socket.once('end', () => this.#close(connection, 'closed by the core'))
    socket.once('close', () => this.#close(connection, 'closed by the core'))
  }

  /** Makes a connection that has shaken hands the core's, unless another one came first and still sends. */
  #shookHands(connection: CoreConnection): void {
    if (this.#isTaken()) {
      this.#refuse(connection, 'second core', SECOND_CORE)
      return
    }
    if (this.#core !== null) {
      const silent = this.#core
      this.#listener.onFault(
        'silent core',
        silent.peer,
        'closed, it sent no event and another core has dialled in',
      )
      this.#close(silent, 'silent, and another core has dialled in')
    }
    this.#handshaking.delete(connection)
    connection.silentSinceMs = performance.now()
    this.#core = connection
    if (this.#isPaused) connection.socket.pause()
    this.#listener.onConnected(connection.peer)
    for (const late of this.#handshaking) this.#refuse(late, 'second core', SECOND_CORE)
  }

  /** Whether a core is connected that is not silent. While reading is paused, silence means nothing. */
  #isTaken(): boolean {
    if (this.#core === null) return false
    return this.#isPaused || performance.now() - this.#core.silentSinceMs < this.#silenceMs
  }

  /** Closes a connection for a fault. */
  #refuse(connection: CoreConnection, fault: ConnectionFault, message: string): void {
    this.#listener.onFault(fault, connection.peer, message)
    this.#close(connection, message)
  }

  #close(connection: CoreConnection, reason: string): void {
    connection.socket.destroy()
    this.#handshaking.delete(connection)
    if (this.#core !== connection) return
    this.#core = null
    this.#listener.onDisconnected(connection.peer, reason)
  }
}
