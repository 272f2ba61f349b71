// The connection to a receiver of forwarded events, as a core dials it.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { HANDSHAKE, TCP_KEEP_ALIVE_MS } from '../pair-protocol.ts'

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
  const socket = connect({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
  })
  const closed = new AbortController()
  /** Reason for closing, if known before the socket reports it. */
  let cause: string | null = null
  socket.on('error', (error: NodeJS.ErrnoException) => {
    cause ??= error.code ?? error.message
  })
  socket.once('close', () => closed.abort(new ConnectionError(cause ?? 'closed by the receiver')))
  const close = (reason: string) => {
    cause ??= reason
    socket.destroy()
  }
  const onAbort = () => close('stopped')
  signal.addEventListener('abort', onAbort, { once: true })
  const timer = setTimeout(() => close('no handshake within 5 s'), DIAL_TIMEOUT_MS)
  let received: Buffer
  try {
    if (signal.aborted) onAbort()
    received = await shakeHands(socket, close, closed.signal)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', onAbort)
  }
  // A receiver that has ended its side reads nothing more.
  socket.once('end', () => close('closed by the receiver'))
  let receivedBytes = 0
  const take = (chunk: Buffer) => {
    receivedBytes += chunk.length
    if (receivedBytes > MAX_RECEIVED_BYTES) {
      close('it sends more than a receiver may')
      return
    }
    received = takeMessages(Buffer.concat([received, chunk]), onMessage)
  }
  take(Buffer.alloc(0))
  socket.on('data', take)
  return {
    closed: closed.signal,
    close,
    // Callbacks of pending writes are also called when the socket closes.
    write: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => {
          if (error == null) resolve()
          else if (closed.signal.aborted) reject(closed.signal.reason)
          else closed.signal.addEventListener('abort', () => reject(closed.signal.reason), { once: true })
        })
      }),
    end: async (timeoutMs) => {
      let hasEnded = false
      socket.once('end', () => {
        hasEnded = true
      })
      socket.end()
      const ending = setTimeout(() => close('stopped'), timeoutMs)
      if (!closed.signal.aborted) await once(closed.signal, 'abort')
      clearTimeout(ending)
      return hasEnded
    },
  }
}

/** Hands over the messages in bytes; returns the rest, the beginning of the next one. */
function takeMessages(bytes: Buffer, onMessage: (message: Buffer) => void): Buffer {
  let rest = bytes
  while (rest.length >= 8) {
    const length = rest.readBigUInt64BE()
    if (length > BigInt(rest.length - 8)) break
    const end = 8 + Number(length)
    onMessage(rest.subarray(8, end))
    rest = rest.subarray(end)
  }
  return rest
}

/** Returns what the receiver has sent after its handshake. */
async function shakeHands(
  socket: Socket,
  close: (reason: string) => void,
  closed: AbortSignal,
): Promise<Buffer> {
  socket.write(HANDSHAKE)
  const received = Promise.withResolvers<Buffer>()
  let bytes = Buffer.alloc(0)
  const onData = (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    if (bytes.length >= HANDSHAKE.length) received.resolve(bytes)
  }
  socket.on('data', onData)
  const answer = await Promise.race([received.promise, rejectionOf(closed)])
  socket.off('data', onData)
  if (answer.subarray(0, HANDSHAKE.length).equals(HANDSHAKE)) return answer.subarray(HANDSHAKE.length)
  close(`not the handshake of PAIR version 0: ${answer.toString('hex', 0, 8)}`)
  if (!closed.aborted) await once(closed, 'abort')
  throw closed.reason
}

/** Rejects with the reason of a signal once it is aborted. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
