import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
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

/** A piece that the system has not accepted from the response yet. */
type UnsentPiece = {
  /** Number of bytes written to the response up to the end of this piece. */
  end: number
  /** The follower's share of its memory. */
  bytes: number
  /** Ends the count of these bytes; null if they are not counted yet. */
  release: (() => void) | null
}

/** The client of a stream: it writes to a response whose head has been sent. */
export class ResponseFollower implements Follower {
  readonly #response: ServerResponse
  readonly #unsentBytes: Pick<UnsentBytes, 'count'>
  readonly #address: string
  readonly #onDropped: () => void
  /** For the count of unsent bytes: the response has no socket any more once it is closed. */
  readonly #socket: Socket
  #isEnded = false
  /** Total bytes written. */
  #written = 0
  /** The unsent pieces, in order. */
  readonly #unsent: UnsentPiece[] = []
  #isCountDue = false
  #sentAt = performance.now()

  /**
   * @param unsentBytes counts the bytes that the client has not read, for its address
   * @param address the client's address
   * @param onDropped called once if the client is too far behind
   */
  constructor(
    response: ServerResponse,
    unsentBytes: Pick<UnsentBytes, 'count'>,
    address: string,
    onDropped: () => void,
  ) {
    this.#response = response
    this.#unsentBytes = unsentBytes
    this.#address = address
    this.#onDropped = onDropped
    this.#socket = response.socket!
    response.on('drain', () => this.#countUnsent())
    response.once('close', () => this.#countUnsent())
  }

  get isClosed(): boolean {
    return this.#isEnded || this.#response.destroyed || this.#response.writableEnded
  }

  get isSilent(): boolean {
    const isIdle = this.#response.writableLength === 0 && performance.now() - this.#sentAt >= SILENCE_MS
    return !this.isClosed && isIdle
  }

  send(bytes: Buffer, sharers: number): void {
    if (this.isClosed) return
    const { writableLength } = this.#response
    if (writableLength > 0 && writableLength + bytes.length > MAX_UNSENT_BYTES) {
      this.#onDropped()
      this.#finish(DROPPED_EVENT)
      return
    }
    this.#response.write(bytes)
    this.#sentAt = performance.now()
    this.#written += bytes.length
    // Bytes that several followers are sent are in memory once.
    this.#unsent.push({ end: this.#written, bytes: Math.ceil(bytes.length / sharers), release: null })
    this.#countSoon()
  }

  async drained(): Promise<void> {
    const response = this.#response
    while (!this.isClosed && response.writableNeedDrain) {
      const stop = new AbortController()
      const options = { signal: stop.signal }
      await Promise.race([once(response, 'drain', options), once(response, 'close', options)]).catch(() => {})
      stop.abort()
    }
  }

  /** Ends the stream in an orderly way. */
  end(): void {
    this.#finish(RETRY)
  }

  #finish(lastWords: string): void {
    if (this.isClosed) return
    this.#isEnded = true
    this.#response.end(lastWords)
    // A closed connection needs no timer.
    const timer = setTimeout(() => this.#response.destroy(), LAST_READ_MS)
    this.#response.once('close', () => clearTimeout(timer))
  }

  /** Counts the unsent bytes, after the system has accepted its part. */
  #countSoon(): void {
    if (this.#isCountDue) return
    this.#isCountDue = true
    setImmediate(() => {
      this.#isCountDue = false
      this.#countUnsent()
    })
  }

  #countUnsent(): void {
    const { destroyed, writableLength } = this.#response
    const sent = destroyed ? this.#written : this.#written - writableLength
    const unsent = this.#unsent
    while (unsent.length > 0 && unsent[0]!.end <= sent) unsent.shift()!.release?.()
    for (const piece of unsent) {
      piece.release ??= this.#unsentBytes.count(this.#address, this.#socket, piece.bytes)
    }
  }
}
