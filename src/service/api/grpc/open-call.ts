import {
  constants,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Shares } from '../../shares.ts'
import {
  type ApiError,
  compressedRequest,
  GRPC,
  tooLate,
  tooManyCalls,
  unknownMethod,
} from '../http/errors.ts'
import type { AnswerTurns } from './answer-turns.ts'
import {
  drained,
  framed,
  type MethodHandler,
  readRequest,
  TOO_MANY_FRAMES,
  timeoutMs,
  withPosition,
} from './call.ts'
import { codeName, trailersOf } from './grpc-errors.ts'
import type { GrpcOptions } from './options.ts'

/** How long a client may take to send its request. */
const REQUEST_ARRIVAL_TIMEOUT_MS = 5_000

export const REQUEST_IS_LATE = tooLate(
  `the request did not arrive in ${REQUEST_ARRIVAL_TIMEOUT_MS / 1_000} s`,
)

const OK = { 'grpc-status': '0' }

/** State shared by all calls of a server. */
export type Calls = GrpcOptions & {
  shares: Shares<OpenCall>
  open: Set<OpenCall>
  answerTurns: AnswerTurns
  countCall(seconds: number, method: string, code: string): void
  /** Whether an address may continue after calls that cost more than they are worth. */
  mayGoOn(address: string): boolean
}

/** The method called, and the caller; an unknown method is undefined. */
type Caller = {
  stream: ServerHttp2Stream
  session: ServerHttp2Session
  socket: Socket
  address: string
  path: string
  method: MethodHandler | undefined
}

/** A call from its request to its status. */
export class OpenCall {
  /** Deadline of its request, by the process's clock; infinite once it has arrived. */
  dueAt: number
  readonly #calls: Calls
  readonly #caller: Caller
  readonly #startedAt = performance.now()
  readonly #metadata = [':status', '200', 'content-type', 'application/grpc']
  readonly #holds = new Set<() => void>()
  /** Final status code of the call. */
  #code: number | null = null
  #isRefused = false
  #isUnread = false

  constructor(calls: Calls, caller: Caller) {
    this.#calls = calls
    this.#caller = caller
    this.dueAt = this.#startedAt + REQUEST_ARRIVAL_TIMEOUT_MS
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

  /** Answers it. */
  async run(headers: IncomingHttpHeaders): Promise<void> {
    const { stream } = this.#caller
    this.#calls.open.add(this)
    stream.once('end', () => {
      this.dueAt = Number.POSITIVE_INFINITY
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
    const { countRequest, shares } = this.#calls
    const metadata = this.#metadata
    for (const [name, value] of Object.entries(countRequest(address)))
      metadata.push(name.toLowerCase(), value)
    const result = shares.take(address, this)
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
    const given = { stream, address, metadata }
    if ('stream' in method) {
      await method.stream(given, (message) => this.#send(message))
      this.#finish(GRPC.ok, OK)
    } else {
      const request = await readRequest(stream)
      const endTurn = await this.#calls.answerTurns(session)
      if (this.#isGone) endTurn()
      else {
        this.#holds.add(endTurn)
        this.#finish(GRPC.ok, OK, await method.unary(given, request))
      }
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

  /** Counts bytes that are kept for the client, until they are sent or the call is over. */
  #hold(bytes: number): () => void {
    const { stream, session, address } = this.#caller
    const { backlog, trustProxy } = this.#calls
    const release = backlog.hold(address, trustProxy ? stream : session, bytes)
    this.#holds.add(release)
    return () => {
      release()
      this.#holds.delete(release)
    }
  }

  async #send(message: Buffer): Promise<void> {
    if (this.#code !== null || this.#isGone) return
    const { stream } = this.#caller
    this.dueAt = Number.POSITIVE_INFINITY
    this.#respond()
    const frame = framed(message)
    stream.write(frame, this.#hold(frame.length))
    await drained(stream)
  }

  #finish(code: number, trailers: Record<string, string>, body?: Buffer): void {
    if (this.#code !== null || this.#isGone) return
    const { stream } = this.#caller
    this.#code = code
    // A request that is here is read to its end, though nobody wants it any more.
    stream.resume()
    this.#respond()
    stream.once('wantTrailers', () => {
      if (this.#isGone) return
      stream.sendTrailers(trailers)
      this.#isUnread = !stream.readableEnded
      closeUnread(stream)
    })
    if (body === undefined) stream.end()
    else stream.end(body, this.#hold(body.length))
  }

  #fail(error: unknown): void {
    if (this.#isGone) return
    if (error === TOO_MANY_FRAMES) {
      this.#caller.session.destroy()
      return
    }
    const { known, explainError } = this.#calls
    withPosition(this.#metadata, known.position, known)
    const { remoteAddress, remotePort } = this.#caller.socket
    this.end(explainError(error, { peer: `${remoteAddress}:${remotePort}` }))
  }

  /** As cheaply as can be: clients take it for UNAVAILABLE. */
  #refuse(): void {
    const { stream, session, address } = this.#caller
    this.#code = GRPC.unavailable
    this.#isRefused = true
    if (this.#calls.mayGoOn(address)) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else session.destroy()
  }

  #close(): void {
    const { stream, session, address, path, method } = this.#caller
    const { open, shares, countCall, mayGoOn } = this.#calls
    open.delete(this)
    shares.release(this)
    for (const release of this.#holds) release()
    const seconds = (performance.now() - this.#startedAt) / 1000
    const code = codeName(this.#code ?? GRPC.cancelled)
    countCall(seconds, method === undefined ? 'unknown' : path, code)
    if (this.#isRefused) return
    // Many calls are answered before it is seen that the client has reset them, or sends more than is read.
    const isCostly = stream.rstCode !== constants.NGHTTP2_NO_ERROR || this.#isUnread
    if (isCostly && !mayGoOn(address)) session.destroy()
  }
}

/** Closes a stream that is answered without waiting for the rest of its request, once the answer is sent. */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(() => stream.close())
}
