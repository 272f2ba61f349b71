// The connection to a receiver of forwarded events, as a core dials it.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { HANDSHAKE, LENGTH_BYTES, TCP_KEEP_ALIVE_MS } from '../pair-protocol.ts'

/** How long a receiver may take until it is connected and has shaken hands. */
const DIAL_TIMEOUT_MS = 5_000

/** After its handshake a receiver sends only that it is ready for a protocol upgrade: at most so many bytes are read. */
const MAX_RECEIVED_BYTES = 64 * 1024

/** Why a receiver is not connected, or no longer. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
}

/** The side of a PAIR connection that dials. */
export type PairConnection = {
  /** Aborted once the connection is closed, with a {@link ConnectionError}. */
  closed: AbortSignal
  /**
   * Resolves once the system has all the bytes; as long as the receiver reads nothing, it does not.
   *
   * @throws {ConnectionError} if the connection is closed before.
   */
  write(bytes: Buffer): Promise<void>
  /** Ends this side; resolves with whether the receiver has read everything and closed, too. */
  end(timeoutMs: number): Promise<boolean>
  close(reason: string): void
}

/**
 * Dials a receiver as a core does, over the scalability protocol PAIR on TCP, and shakes hands.
 *
 * @param onMessage called with each message that the receiver sends
 *
 * @throws {ConnectionError}
 */
export async function dialPair(
  host: string,
  port: number,
  signal: AbortSignal,
  onMessage: (message: Buffer) => void = () => {},
): Promise<PairConnection> {
  const connection = new DialledConnection(host, port, onMessage)
  await connection.shakeHands(signal)
  return connection
}

class DialledConnection implements PairConnection {
  readonly #socket: Socket
  readonly #closed = new AbortController()
  readonly #onMessage: (message: Buffer) => void
  /** Reason for closing, if known before the socket reports it. */
  #cause: string | null = null
  /** Resolves once the receiver has shaken hands, and rejects with a {@link ConnectionError} if the connection is closed before. */
  readonly #handshake = Promise.withResolvers<void>()
  #isHandshakeDone = false
  /** What has arrived of the handshake, and then of the next message. */
  #rest = Buffer.alloc(0)
  #receivedBytes = 0

  constructor(host: string, port: number, onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
    })
    this.#socket.on('error', (error: NodeJS.ErrnoException) => {
      this.#cause ??= error.code ?? error.message
    })
    this.#socket.once('close', () => {
      const error = new ConnectionError(this.#cause ?? 'closed by the receiver')
      this.#closed.abort(error)
      this.#handshake.reject(error)
    })
    this.#socket.on('data', (bytes: Buffer) => this.#onData(bytes))
  }

  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /**
   * Shakes hands. If the signal is aborted meanwhile, the connection is closed.
   *
   * @throws {ConnectionError}
   */
  async shakeHands(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.close('stopped')
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => this.close('no handshake within 5 s'), DIAL_TIMEOUT_MS)
    try {
      if (signal.aborted) onAbort()
      this.#socket.write(HANDSHAKE)
      await this.#handshake.promise
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    // A receiver that has ended its side reads nothing more.
    this.#socket.once('end', () => this.close('closed by the receiver'))
  }

  // Callbacks of pending writes are also called when the socket closes.
  write(bytes: Buffer): Promise<void> {
    const { closed } = this
    return new Promise((resolve, reject) => {
      this.#socket.write(bytes, (error) => {
        if (error == null) resolve()
        else if (closed.aborted) reject(closed.reason)
        else closed.addEventListener('abort', () => reject(closed.reason), { once: true })
      })
    })
  }

  async end(timeoutMs: number): Promise<boolean> {
    let hasEnded = false
    this.#socket.once('end', () => {
      hasEnded = true
    })
    this.#socket.end()
    const ending = setTimeout(() => this.close('stopped'), timeoutMs)
    if (!this.closed.aborted) await once(this.closed, 'abort')
    clearTimeout(ending)
    return hasEnded
  }

  close(reason: string): void {
    this.#cause ??= reason
    this.#socket.destroy()
  }

  /** Takes what arrives: first the handshake, then messages. */
  #onData(bytes: Buffer): void {
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes > HANDSHAKE.length + MAX_RECEIVED_BYTES) {
      this.close('it sends more than a receiver may')
      return
    }
    this.#rest = Buffer.concat([this.#rest, bytes])
    if (!this.#isHandshakeDone) this.#takeHandshake()
    if (this.#isHandshakeDone) this.#takeMessages()
  }

  /** Takes the handshake, once all of it has arrived; another one closes the connection. */
  #takeHandshake(): void {
    if (this.#rest.length < HANDSHAKE.length) return
    if (!this.#rest.subarray(0, HANDSHAKE.length).equals(HANDSHAKE)) {
      this.close(`not the handshake of PAIR version 0: ${this.#rest.toString('hex', 0, 8)}`)
      return
    }
    this.#rest = this.#rest.subarray(HANDSHAKE.length)
    this.#isHandshakeDone = true
    this.#handshake.resolve()
  }

  /** Hands over the messages that have arrived whole. */
  #takeMessages(): void {
    while (this.#rest.length >= LENGTH_BYTES) {
      const length = this.#rest.readBigUInt64BE()
      if (length > BigInt(this.#rest.length - LENGTH_BYTES)) break
      const end = LENGTH_BYTES + Number(length)
      this.#onMessage(this.#rest.subarray(LENGTH_BYTES, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}
