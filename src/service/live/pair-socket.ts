import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { RefusedEventError } from '#core/log/event-check'
import { MAX_RECORD_SIZE } from '#core/records/record-framer'
import type { AllowList } from './allow-list.ts'

/** The first bytes of both sides of a PAIR connection (version 0, protocol 16). */
export const HANDSHAKE = Buffer.from([0x00, 0x53, 0x50, 0x00, 0x00, 0x10, 0x00, 0x00])

const HANDSHAKE_TIMEOUT_MS = 5_000
export const TCP_KEEP_ALIVE_MS = 10_000
const LENGTH_BYTES = 8

/** A core that is silent for so long is replaced by another one that connects. */
const SILENCE_MS = 10_000

/** How long a core may take to end its side of a connection that this side has ended. */
const CLOSE_TIMEOUT_MS = 2_000

/** Turns of the event loop until an accepted connection reaches the program and its first bytes are read. */
const TURNS_TO_READ = 3

/** Maximum number of connections before their handshake; beyond it, the oldest is closed. */
const MAX_HANDSHAKES = 64

/** Why a connection was closed by this side. */
export const CONNECTION_FAULTS = [
  'address not allowed',
  'second core',
  'silent core',
  'broken handshake',
  'message too large',
  'block too large',
  'refused message',
] as const

export type ConnectionFault = (typeof CONNECTION_FAULTS)[number]

/** Faults of the connected core; all others are of connections before the handshake, or while another core is connected. */
const CORE_FAULTS: readonly ConnectionFault[] = ['message too large', 'block too large', 'refused message']

/** Whether a fault is in the events of a connected core. */
export function isFaultOfCore(fault: ConnectionFault): boolean {
  return CORE_FAULTS.includes(fault)
}

type PairListener = {
  /** A core has connected and completed the handshake. */
  onConnected(peer: string): void
  /**
   * Called with one message, whose bytes stay until {@link onRead} returns. An error closes the connection: the message must
   * not be kept.
   *
   * @throws {RefusedEventError}
   */
  onMessage(message: Buffer): void
  /** All messages that have been read so far have been handed over. */
  onRead(): void
  onDisconnected(peer: string, reason: string): void
  onFault(fault: ConnectionFault, message: string): void
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

/** A connection. */
type CoreConnection = {
  socket: Socket
  peer: string
  /** Time of the last event, or of the handshake. */
  lastEventAt: number
  /** Closes it for a fault. */
  refuse(fault: ConnectionFault, message: string): void
  close(reason: string): void
}

/**
 * Listens for a core that connects over the scalability protocol PAIR on TCP. The first core to complete the handshake
 * keeps the connection as long as it sends events.
 *
 * @throws the error of listening (EADDRINUSE, ...).
 */
export async function listenPair(options: PairOptions, listener: PairListener): Promise<PairSocket> {
  const { allowed, silenceMs = SILENCE_MS } = options
  let core: CoreConnection | null = null
  const handshaking = new Set<CoreConnection>()
  let paused = false

  /** While reading is paused, silence of the core means nothing. */
  const isSilent = ({ lastEventAt }: CoreConnection) =>
    !paused && performance.now() - lastEventAt >= silenceMs

  function accept(socket: Socket): void {
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    socket.on('error', () => {})
    if (socket.remoteAddress === undefined) {
      socket.destroy()
      return
    }
    const connection: CoreConnection = {
      socket,
      peer,
      lastEventAt: 0,
      refuse: (fault, message) => {
        listener.onFault(fault, `${peer}: ${message}`)
        connection.close(message)
      },
      close: (reason) => {
        socket.destroy()
        handshaking.delete(connection)
        if (core !== connection) return
        core = null
        listener.onDisconnected(peer, reason)
      },
    }
    if (!allowed(socket.remoteAddress)) {
      connection.refuse('address not allowed', 'refused, not an address of --listen-from')
      return
    }
    if (core !== null && !isSilent(core)) {
      connection.refuse('second core', 'refused, another core is connected')
      return
    }
    const [oldest] = handshaking
    if (oldest !== undefined && handshaking.size >= MAX_HANDSHAKES) {
      oldest.refuse('broken handshake', `no handshake before ${MAX_HANDSHAKES} others dialled in`)
    }
    handshaking.add(connection)
    new MessageReceiver(socket, {
      onHandshake: () => {
        if (core !== null && !isSilent(core)) {
          connection.refuse('second core', 'refused, another core is connected')
          return
        }
        if (core !== null) {
          const silent = core
          listener.onFault(
            'silent core',
            `${silent.peer}: closed, it sent no event and another core has dialled in`,
          )
          silent.close('silent, and another core has dialled in')
        }
        handshaking.delete(connection)
        connection.lastEventAt = performance.now()
        core = connection
        if (paused) socket.pause()
        listener.onConnected(peer)
        for (const late of handshaking) late.refuse('second core', 'refused, another core is connected')
      },
      onMessage: (message) => {
        listener.onMessage(message)
        connection.lastEventAt = performance.now()
      },
      onRead: listener.onRead,
      refuse: connection.refuse,
    }).start()
    // A peer that has ended sends nothing more: free its place at once, before the core reconnects.
    socket.once('end', () => connection.close('closed by the core'))
    socket.once('close', () => connection.close('closed by the core'))
  }

  const server = createServer(accept)
  server.listen(options.port, options.host)
  await once(server, 'listening')
  // A connection that cannot be accepted (no file descriptor is left, for example) is ignored; the next one may succeed.
  server.on('error', () => {})
  return {
    port: (server.address() as AddressInfo).port,
    pause: () => {
      paused = true
      core?.socket.pause()
    },
    resume: () => {
      paused = false
      if (core === null) return
      core.lastEventAt = performance.now()
      core.socket.resume()
    },
    send: (message) => {
      core?.socket.write(messageOf(message, 0, message.length))
      return core !== null
    },
    close: async () => {
      // A core may have connected, shaken hands and sent events while this thread was busy.
      for (let turn = 0; turn < TURNS_TO_READ; turn++) await setImmediate()
      const closed = once(server, 'close')
      server.close()
      for (const { socket } of handshaking) socket.destroy()
      if (core !== null) {
        const { socket } = core
        // The core then ends its side, too; events sent before are still read, once reading is no longer paused.
        socket.end()
        const timer = setInterval(() => {
          if (!paused) socket.destroy()
        }, CLOSE_TIMEOUT_MS)
        socket.once('close', () => clearInterval(timer))
      }
      await closed
    },
  }
}

/** Bytes that a socket reads at a time. */
const READ_BYTES = 64 * 1024

/** Memory of messages that is given back at once: the system takes blocks of this size. */
const LARGE_BYTES = 1024 * 1024

type PairReceiver = {
  /** Called after the handshake; destroys the socket if another core is connected. */
  onHandshake(): void
  onMessage(message: Buffer): void
  onRead(): void
  refuse(fault: ConnectionFault, message: string): void
}

/** Performs the handshake on a socket and splits the data into messages: 8 bytes of big-endian length, then the message. */
class MessageReceiver {
  readonly #socket: Socket
  readonly #listener: PairReceiver
  #isHandshakeDone = false
  /** What has arrived of the next message, in memory for all of it and for what is read with its end. */
  #pending: Buffer = Buffer.alloc(0)
  #pendingBytes = 0
  #neededBytes = HANDSHAKE.length

  constructor(socket: Socket, listener: PairReceiver) {
    this.#socket = socket
    this.#listener = listener
  }

  start(): void {
    const socket = this.#socket
    socket.setNoDelay(true)
    socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    const timer = setTimeout(() => {
      if (!this.#isHandshakeDone) this.#listener.refuse('broken handshake', 'no handshake within 5 s')
    }, HANDSHAKE_TIMEOUT_MS)
    socket.once('close', () => clearTimeout(timer))
    socket.write(HANDSHAKE)
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
  }

  #take(chunk: Buffer): void {
    if (this.#pendingBytes > 0 || chunk.length < this.#neededBytes) this.#append(chunk)
    if (this.#pendingBytes > 0 && this.#pendingBytes < this.#neededBytes) return
    let bytes = this.#pendingBytes > 0 ? this.#pending.subarray(0, this.#pendingBytes) : chunk
    if (!this.#isHandshakeDone) {
      if (!this.#shakeHands(bytes)) return
      bytes = bytes.subarray(HANDSHAKE.length)
    }
    const end = this.#takeMessages(bytes)
    if (end === null) return
    this.#pending = Buffer.alloc(0)
    this.#pendingBytes = 0
    if (end < bytes.length) this.#append(bytes.subarray(end))
    if (end > 0) this.#listener.onRead()
    // A thread that waits for the next block does not collect its garbage.
    if (bytes.length > LARGE_BYTES) (bytes.buffer as ArrayBuffer).transfer(0)
  }

  /** Whether the other side has shaken hands, and may stay. */
  #shakeHands(bytes: Buffer): boolean {
    if (!bytes.subarray(0, HANDSHAKE.length).equals(HANDSHAKE)) {
      this.#listener.refuse(
        'broken handshake',
        `not the handshake of PAIR version 0: ${bytes.toString('hex', 0, 8)}`,
      )
      return false
    }
    this.#isHandshakeDone = true
    this.#listener.onHandshake()
    return !this.#socket.destroyed
  }

  /** Hands over the whole messages in bytes, and returns where the rest begins; null if one is refused. */
  #takeMessages(bytes: Buffer): number | null {
    let at = 0
    this.#neededBytes = LENGTH_BYTES
    while (at + LENGTH_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
      if (length > MAX_RECORD_SIZE - LENGTH_BYTES) {
        this.#listener.refuse(
          'message too large',
          `a message of ${length} bytes; at most 64 MiB are accepted`,
        )
        return null
      }
      this.#neededBytes = LENGTH_BYTES + length
      if (at + this.#neededBytes > bytes.length) break
      try {
        this.#listener.onMessage(bytes.subarray(at + LENGTH_BYTES, at + this.#neededBytes))
      } catch (error) {
        if (!(error instanceof RefusedEventError)) throw error
        this.#listener.refuse(error.fault, error.message)
        return null
      }
      at += this.#neededBytes
      this.#neededBytes = LENGTH_BYTES
    }
    return at
  }

  #append(bytes: Buffer): void {
    const length = this.#pendingBytes + bytes.length
    if (length > this.#pending.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, this.#neededBytes) + READ_BYTES)
      this.#pending.copy(grown, 0, 0, this.#pendingBytes)
      this.#pending = grown
    }
    this.#pendingBytes += bytes.copy(this.#pending, this.#pendingBytes)
  }
}

/** An event as a message: its length, and the event. */
export function messageOf(bytes: Buffer, start: number, end: number): Buffer {
  const message = Buffer.allocUnsafe(LENGTH_BYTES + end - start)
  message.writeBigUInt64BE(BigInt(end - start))
  bytes.copy(message, LENGTH_BYTES, start, end)
  return message
}
