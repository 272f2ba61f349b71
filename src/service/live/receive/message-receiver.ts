// What one connected socket sends, as messages.
import type { Socket } from 'node:net'
import { RefusedEventError } from '#core/log/event-check'
import { MAX_RECORD_SIZE } from '#core/records/record-framer'
import { HANDSHAKE, LENGTH_BYTES, TCP_KEEP_ALIVE_MS } from '../pair-protocol.ts'
import type { ConnectionFault } from './connection-faults.ts'

const HANDSHAKE_TIMEOUT_MS = 5_000

/** Bytes that a socket reads at a time. */
const READ_BYTES = 64 * 1024

/** Memory of messages that is given back at once: the system takes blocks of this size. */
const LARGE_BYTES = 1024 * 1024

/** The connection that a receiver belongs to. */
type MessageListener = {
  /** The other side has shaken hands; destroys the socket if it may not stay. */
  onHandshake(): void
  /**
   * Called with one message, whose bytes stay until {@link onRead} returns.
   *
   * @throws {RefusedEventError} for one that must not be written.
   */
  onMessage(message: Buffer): void
  /** All messages that have been read so far have been handed over. */
  onRead(): void
  /** Closes the connection for a fault. */
  refuse(fault: ConnectionFault, message: string): void
}

/** Performs the handshake on a socket and splits the data into messages: 8 bytes of big-endian length, then the message. */
export class MessageReceiver {
  readonly #socket: Socket
  readonly #listener: MessageListener
  #isHandshakeDone = false
  /** What has arrived of the next message, in memory for all of it and for what is read with its end. */
  #pending: Buffer = Buffer.alloc(0)
  #pendingBytes = 0
  /** Bytes of the next message with its length, as far as that is known: so many must be there before anything is handed over. */
  #neededBytes = HANDSHAKE.length

  constructor(socket: Socket, listener: MessageListener) {
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
    let bytes = this.#joinPending(chunk)
    if (bytes === null) return
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
    // A thread that waits for the next block does not collect its garbage. Only the memory of a pending message is so large, which
    // nobody uses after `onRead`.
    if (bytes.length > LARGE_BYTES) (bytes.buffer as ArrayBuffer).transfer(0)
  }

  /**
   * What has arrived, once it contains the next message, or the handshake; null before. A chunk that contains it alone is not
   * copied.
   */
  #joinPending(chunk: Buffer): Buffer | null {
    if (this.#pendingBytes === 0 && chunk.length >= this.#neededBytes) return chunk
    this.#append(chunk)
    return this.#pendingBytes < this.#neededBytes ? null : this.#pending.subarray(0, this.#pendingBytes)
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
