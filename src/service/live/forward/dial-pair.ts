// The connection to a receiver of forwarded events, as a core dials it.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { HANDSHAKE, LENGTH_BYTES, TCP_KEEP_ALIVE_MS } from '../pair-protocol.ts'

/** How long a receiver may take until it is connected and has shaken hands. */
const DIAL_TIMEOUT_MS = 5_000

/** A receiver sends only that it is ready for a protocol upgrade: of a connection, at most so many bytes are read. */
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
  /** What has arrived of the next message. */
  #rest = Buffer.alloc(0)
  /** After the handshake. */
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
    this.#socket.once('close', () =>
      this.#closed.abort(new ConnectionError(this.#cause ?? 'closed by the receiver')),
    )
  }

  get closed(): AbortSignal {
    return this.#closed.signal
  }

  /**
   * Shakes hands, until the signal is aborted; then messages are received.
   *
   * @throws {ConnectionError}
   */
  async shakeHands(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.close('stopped')
    signal.addEventListener('abort', onAbort, { once: true })
    const timer = setTimeout(() => this.close('no handshake within 5 s'), DIAL_TIMEOUT_MS)
    let received: Buffer
    try {
      if (signal.aborted) onAbort()
      received = await this.#receiveHandshake()
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    // A receiver that has ended its side reads nothing more.
    this.#socket.once('end', () => this.close('closed by the receiver'))
    this.#take(received)
    this.#socket.on('data', (chunk: Buffer) => this.#take(chunk))
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

  /** Sends the handshake, and returns what the receiver has sent after its own. */
  async #receiveHandshake(): Promise<Buffer> {
    this.#socket.write(HANDSHAKE)
    const received = Promise.withResolvers<Buffer>()
    let bytes = Buffer.alloc(0)
    const onData = (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
      if (bytes.length >= HANDSHAKE.length) received.resolve(bytes)
    }
    this.#socket.on('data', onData)
    const answer = await Promise.race([received.promise, rejectionOf(this.closed)])
    this.#socket.off('data', onData)
    if (answer.subarray(0, HANDSHAKE.length).equals(HANDSHAKE)) return answer.subarray(HANDSHAKE.length)
    this.close(`not the handshake of PAIR version 0: ${answer.toString('hex', 0, 8)}`)
    if (!this.closed.aborted) await once(this.closed, 'abort')
    throw this.closed.reason
  }

  /** Hands over the messages that bytes complete. */
  #take(bytes: Buffer): void {
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes > MAX_RECEIVED_BYTES) {
      this.close('it sends more than a receiver may')
      return
    }
    this.#rest = Buffer.concat([this.#rest, bytes])
    while (this.#rest.length >= LENGTH_BYTES) {
      const length = this.#rest.readBigUInt64BE()
      if (length > BigInt(this.#rest.length - LENGTH_BYTES)) break
      const end = LENGTH_BYTES + Number(length)
      this.#onMessage(this.#rest.subarray(LENGTH_BYTES, end))
      this.#rest = this.#rest.subarray(end)
    }
  }
}

/** Rejects with the reason of a signal once it is aborted. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
