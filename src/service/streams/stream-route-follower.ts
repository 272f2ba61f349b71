import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { UnsentBytes } from '../http/clients/unsent-bytes.ts'
import { errorBody, GRPC } from '../http/errors.ts'
import { type Follower, SILENCE_MS } from './follower.ts'

/** Bytes that may be unsent to a slow client, beyond those that the system has accepted. */
const MAX_UNSENT_BYTES = 1024 * 1024

/**
 * How long clients wait before they reconnect, milliseconds. It is a part of the next event, since some clients report an event
 * without data as empty; and it is the last line of a stream, since go-sse does not reconnect after a comment.
 */
export const RETRY = 'retry: 1000\n'

/** Milliseconds for a dropped client to read the bytes sent before, including the reason. */
const LAST_READ_MS = 10_000

/** Notifies a client that it has been dropped, and that it may come back with its last id. */
const DROPPED_EVENT = `event: dropped\ndata: ${errorBody({
  code: GRPC.resourceExhausted,
  message: 'the client is too slow: more than 1 MiB is unsent; reconnect with Last-Event-ID',
  detail: null,
})}\n\n`

/** The client of a stream. */
export type StreamFollower = Follower & {
  /** Ends the stream in an orderly way. */
  end(): void
}

/**
 * Creates the follower that writes to a response whose head has been sent.
 *
 * @param unsentBytes counts the bytes that the client has not read, for its address
 * @param address the client's address
 * @param onDropped called once if the client is too far behind
 */
export function createStreamFollower(
  response: ServerResponse,
  unsentBytes: UnsentBytes,
  address: string,
  onDropped: () => void,
): StreamFollower {
  let isEnded = false
  const { socket } = response
  /** Total bytes written, and the pieces not yet sent, in order. */
  let written = 0
  const unsent: { end: number; bytes: number; release: (() => void) | null }[] = []
  let isCounting = false
  let sentAt = performance.now()

  const isClosed = () => isEnded || response.destroyed || response.writableEnded

  function finish(lastWords: string): void {
    if (isClosed()) return
    isEnded = true
    response.end(lastWords)
    // A closed connection needs no timer.
    const timer = setTimeout(() => response.destroy(), LAST_READ_MS)
    response.once('close', () => clearTimeout(timer))
  }

  function write(bytes: Buffer, sharers: number): void {
    response.write(bytes)
    sentAt = performance.now()
    written += bytes.length
    // Bytes that several followers are sent are in memory once.
    unsent.push({ end: written, bytes: Math.ceil(bytes.length / sharers), release: null })
    countSoon()
  }

  /** Counts the unsent bytes, after the system has accepted its part. */
  function countSoon(): void {
    if (isCounting) return
    isCounting = true
    setImmediate(() => {
      isCounting = false
      count()
    })
  }

  function count(): void {
    const sent = response.destroyed ? written : written - response.writableLength
    while (unsent.length > 0 && unsent[0]!.end <= sent) unsent.shift()!.release?.()
    for (const piece of unsent) piece.release ??= unsentBytes.count(address, socket!, piece.bytes)
  }

  response.on('drain', count)
  response.once('close', count)

  return {
    send: (bytes, sharers) => {
      if (isClosed()) return
      if (response.writableLength + bytes.length > MAX_UNSENT_BYTES && response.writableLength > 0) {
        onDropped()
        finish(DROPPED_EVENT)
      } else write(bytes, sharers)
    },
    get isSilent() {
      return !isClosed() && response.writableLength === 0 && performance.now() - sentAt >= SILENCE_MS
    },
    drained: async () => {
      if (isClosed() || !response.writableNeedDrain) return
      while (!isClosed() && response.writableNeedDrain) {
        const stop = new AbortController()
        const options = { signal: stop.signal }
        await Promise.race([once(response, 'drain', options), once(response, 'close', options)]).catch(
          () => {},
        )
        stop.abort()
      }
    },
    get isClosed() {
      return isClosed()
    },
    end: () => finish(RETRY),
  }
}
