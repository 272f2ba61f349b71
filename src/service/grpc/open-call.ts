import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import {
  type ApiError,
  compressedRequest,
  GRPC,
  tooLate,
  tooManyCalls,
  unknownMethod,
} from '../http/errors.ts'
import type { Quota } from '../quotas.ts'
import type { AnswerSlots } from './answer-slots.ts'
import { addStoreHead, drained, type MethodHandler, timeoutMs } from './call.ts'
import { framed, readRequest, TOO_MANY_FRAMES } from './framing.ts'
import { codeName, trailersOf } from './grpc-errors.ts'
import type { GrpcOptions } from './options.ts'

/** How long a client may take to send its request. */
const REQUEST_TIMEOUT_MS = 5_000

export const REQUEST_IS_LATE = tooLate(`the request did not arrive in ${REQUEST_TIMEOUT_MS / 1_000} s`)

const OK = { 'grpc-status': '0' }

/** State shared by all calls of a server. */
export type Calls = GrpcOptions & {
  quota: Quota<OpenCall>
  open: Set<OpenCall>
  answerSlots: AnswerSlots
  countCall(seconds: number, method: string, code: string): void
  /** Whether an address may continue after calls that cost more than they are worth. */
  mayGoOn(address: string): boolean
}

/** The method called, and the caller. `method` is undefined if it is unknown. */
type Caller = {
  stream: ServerHttp2Stream
  session: ServerHttp2Session
  socket: Socket
  address: string
  path: string
  method: MethodHandler | undefined
}

/** A call, from its request to its status, on a stream that has not been read yet. */
export class OpenCall {
  readonly #calls: Calls
  readonly #caller: Caller
  readonly #startedAt = performance.now()
  readonly #metadata = [':status', '200', 'content-type', 'application/grpc']
  /** What is given back at the end of the call: unsent bytes, and the connection's slot. */
  readonly #releases = new Set<() => void>()
  /** The code of the status; null until the call is answered. */
  #finalCode: number | null = null
  #isRefused = false
  /** Whether it has been answered before its request was read to its end. */
  #isUnread = false
  #dueAt = this.#startedAt + REQUEST_TIMEOUT_MS

  constructor(calls: Calls, caller: Caller) {
    this.#calls = calls
    this.#caller = caller
  }

  /** Deadline of its request, in terms of `performance.now()`; infinite once it has arrived. */
  get dueAt(): number {
    return this.#dueAt
  }

  /** Whether it ends only if one side wants it to. */
  get isEndless(): boolean {
    const { method } = this.#caller
    return method !== undefined && 'stream' in method
  }

  /** Ends it with an error, unless it has ended. */
  end(error: ApiError): void {
    this.#finish(error.code, trailersOf(error))
  }

  /** Answers it. Never rejects: a failed call ends with an error. */
  async run(headers: IncomingHttpHeaders): Promise<void> {
    const { stream } = this.#caller
    this.#calls.open.add(this)
    stream.once('end', () => {
      this.#dueAt = Number.POSITIVE_INFINITY
    })
    const limit = timeoutMs(headers['grpc-timeout'])
    const deadline =
      limit === null
        ? undefined
        : setTimeout(() => this.end(tooLate('the deadline of the call has passed')), limit)
    stream.once('close', () => {
      clearTimeout(deadline)
      this.#close()
    })
    try {
      await this.#answer(String(headers['grpc-encoding'] ?? 'identity'))
    } catch (error) {
      this.#fail(error)
    }
  }

  async #answer(encoding: string): Promise<void> {
    const { stream, session, address, path, method } = this.#caller
    const metadata = this.#metadata
    for (const [name, value] of Object.entries(this.#calls.countRequest(address)))
      metadata.push(name.toLowerCase(), value)
    const result = this.#calls.quota.take(address, this)
    if (result === 'refused') {
      this.#refuse()
      return
    }
    result?.end(tooManyCalls())
    if (method === undefined) throw unknownMethod(path)
    if (encoding !== 'identity') {
      metadata.push('grpc-accept-encoding', 'identity')
      throw compressedRequest(encoding)
    }
    const call = { stream, address, metadata }
    if ('stream' in method) {
      await method.stream(call, (message) => this.#send(message))
      this.#finish(GRPC.ok, OK)
      return
    }
    const request = await readRequest(stream)
    const releaseSlot = await this.#calls.answerSlots(session)
    if (this.#isGone) releaseSlot()
    else {
      this.#releases.add(releaseSlot)
      this.#finish(GRPC.ok, OK, await method.unary(call, request))
    }
  }

  /** Whether nothing can be sent any more: Node throws then. */
  get #isGone(): boolean {
    const { stream } = this.#caller
    return stream.closed || stream.destroyed
  }

  #respond(): void {
    const { stream } = this.#caller
    if (!stream.headersSent) stream.respond(this.#metadata, { waitForTrailers: true })
  }

  /** Counts bytes that are in memory for the client, until they are sent or the call is over. */
  #countUnsent(bytes: number): () => void {
    const { stream, session, address } = this.#caller
    const { unsentBytes, trustProxy } = this.#calls
    const release = unsentBytes.count(address, trustProxy ? stream : session, bytes)
    this.#releases.add(release)
    return () => {
      release()
      this.#releases.delete(release)
    }
  }

  async #send(message: Buffer): Promise<void> {
    if (this.#finalCode !== null || this.#isGone) return
    this.#dueAt = Number.POSITIVE_INFINITY
    this.#respond()
    const frame = framed(message)
    const { stream } = this.#caller
    stream.write(frame, this.#countUnsent(frame.length))
    await drained(stream)
  }

  #finish(code: number, trailers: Record<string, string>, body?: Buffer): void {
    if (this.#finalCode !== null || this.#isGone) return
    this.#finalCode = code
    const { stream } = this.#caller
    // A request that has arrived is read to its end, though it is not needed any more.
    stream.resume()
    this.#respond()
    stream.once('wantTrailers', () => {
      if (this.#isGone) return
      stream.sendTrailers(trailers)
      this.#isUnread = !stream.readableEnded
      closeUnread(stream)
    })
    if (body === undefined) stream.end()
    else stream.end(body, this.#countUnsent(body.length))
  }

  #fail(error: unknown): void {
    if (this.#isGone) return
    const { session, socket } = this.#caller
    if (error === TOO_MANY_FRAMES) {
      session.destroy()
      return
    }
    const { known, explainError } = this.#calls
    addStoreHead(this.#metadata, known.storeHead, known)
    this.end(explainError(error, { peer: `${socket.remoteAddress}:${socket.remotePort}` }))
  }

  /** Refuses it as cheaply as possible. Clients report this as UNAVAILABLE. */
  #refuse(): void {
    this.#finalCode = GRPC.unavailable
    this.#isRefused = true
    const { stream, session, address } = this.#caller
    if (this.#calls.mayGoOn(address)) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else session.destroy()
  }

  #close(): void {
    const { stream, session, address, path, method } = this.#caller
    const { open, quota, countCall, mayGoOn } = this.#calls
    open.delete(this)
    quota.release(this)
    for (const release of this.#releases) release()
    const seconds = (performance.now() - this.#startedAt) / 1000
    const code = codeName(this.#finalCode ?? GRPC.cancelled)
    countCall(seconds, method === undefined ? 'unknown' : path, code)
    if (this.#isRefused) return
    // Many calls are answered before it turns out that the client has reset them, or sends more than is read.
    const isCostly = stream.rstCode !== constants.NGHTTP2_NO_ERROR || this.#isUnread
    if (isCostly && !mayGoOn(address)) session.destroy()
  }
}

/** Closes a stream that is answered without waiting for the rest of its request, once the answer is sent. */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(() => stream.close())
}
