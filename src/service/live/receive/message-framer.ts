// What one connected socket sends, as messages.
import type { Socket } from 'node:net'
import { RefusedEventError } from '#core/log/event-check'
import { MAX_RECORD_SIZE } from '#core/records/record-framer'
import { HANDSHAKE, LENGTH_BYTES, TCP_KEEP_ALIVE_MS } from '../pair-protocol.ts'
import type { ConnectionFault } from './connection-faults.ts'
import { PendingBytes } from './pending-bytes.ts'

const HANDSHAKE_TIMEOUT_MS = 5_000

/** The connection whose messages these are. */
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
export class MessageFramer {
  readonly #socket: Socket
  readonly #listener: MessageListener
  #isHandshakeDone = false
  /** What has arrived of the handshake, and then of the next message. */
  readonly #pending = new PendingBytes(HANDSHAKE.length)

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
    let bytes = this.#pending.join(chunk)
    if (bytes === null) return
    if (!this.#isHandshakeDone) {
      if (!this.#shakeHands(bytes)) return
      bytes = bytes.subarray(HANDSHAKE.length)
    }
    const taken = this.#takeMessages(bytes)
    if (taken === null) return
    this.#pending.keepRest(bytes.subarray(taken.end), taken.neededBytes)
    if (taken.end > 0) this.#listener.onRead()
    this.#pending.release(bytes)
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

  /**
   * Hands over the whole messages in bytes. Returns where the rest begins, and how many bytes the next message has with its
   * length, as far as that is known; null if one is refused.
   */
  #takeMessages(bytes: Buffer): { end: number; neededBytes: number } | null {
    let end = 0
    while (end + LENGTH_BYTES <= bytes.length) {
      const length = bytes.readUInt32BE(end) * 2 ** 32 + bytes.readUInt32BE(end + 4)
      if (length > MAX_RECORD_SIZE - LENGTH_BYTES) {
        this.#listener.refuse(
          'message too large',
          `a message of ${length} bytes; at most 64 MiB are accepted`,
        )
        return null
      }
      const messageEnd = end + LENGTH_BYTES + length
      if (messageEnd > bytes.length) return { end, neededBytes: LENGTH_BYTES + length }
      try {
        this.#listener.onMessage(bytes.subarray(end + LENGTH_BYTES, messageEnd))
      } catch (error) {
        if (!(error instanceof RefusedEventError)) throw error
        this.#listener.refuse(error.fault, error.message)
        return null
      }
      end = messageEnd
    }
    return { end, neededBytes: LENGTH_BYTES }
  }
}
