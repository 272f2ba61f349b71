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
import {
  drained,
  framed,
  type MethodHandler,
  readRequest,
  TOO_MANY_FRAMES,
  timeoutMs,
  withStoreHead,
} from './call.ts'
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
export type OpenCall = {
  /** Deadline of its request, by the process's clock; infinite once it has arrived. */
  dueAt: number
  /** Whether it ends only if one side wants it to. */
  isEndless: boolean
  /** Ends it with an error, unless it has ended. */
  end(error: ApiError): void
  /** Answers it. */
  run(headers: IncomingHttpHeaders): Promise<void>
}

/** A call on its stream, which has not been read yet. */
export function createOpenCall(calls: Calls, caller: Caller): OpenCall {
  const { stream, session, socket, address, path, method } = caller
  const { quota, open, answerSlots, countCall, mayGoOn } = calls
  const { countRequest, unsentBytes, trustProxy, known, explainError } = calls
  const startedAt = performance.now()
  const metadata = [':status', '200', 'content-type', 'application/grpc']
  const holds = new Set<() => void>()
  /** Final status code of the call. */
  let finalCode: number | null = null
  let isRefused = false
  let isUnread = false

  /** Ends it with an error, unless it has ended. */
  function end(error: ApiError): void {
    finish(error.code, trailersOf(error))
  }

  /** Answers it. */
  async function run(headers: IncomingHttpHeaders): Promise<void> {
    open.add(call)
    stream.once('end', () => {
      call.dueAt = Number.POSITIVE_INFINITY
    })
    const limit = timeoutMs(headers['grpc-timeout'])
    const deadline =
      limit === null
        ? undefined
        : setTimeout(() => end(tooLate('the deadline of the call has passed')), limit)
    stream.once('close', () => {
      clearTimeout(deadline)
      close()
    })
    try {
      await answer(String(headers['grpc-encoding'] ?? 'identity'))
    } catch (error) {
      fail(error)
    }
  }

  async function answer(encoding: string): Promise<void> {
    for (const [name, value] of Object.entries(countRequest(address)))
      metadata.push(name.toLowerCase(), value)
    const result = quota.take(address, call)
    if (result === 'refused') {
      refuse()
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
      await method.stream(given, (message) => send(message))
      finish(GRPC.ok, OK)
    } else {
      const request = await readRequest(stream)
      const endTurn = await answerSlots(session)
      if (isGone()) endTurn()
      else {
        holds.add(endTurn)
        finish(GRPC.ok, OK, await method.unary(given, request))
      }
    }
  }

  /** Whether nothing can be sent any more: Node throws then. */
  function isGone(): boolean {
    return stream.closed || stream.destroyed
  }

  function respond(): void {
    if (!stream.headersSent) stream.respond(metadata, { waitForTrailers: true })
  }

  /** Counts bytes that are kept for the client, until they are sent or the call is over. */
  function hold(bytes: number): () => void {
    const release = unsentBytes.count(address, trustProxy ? stream : session, bytes)
    holds.add(release)
    return () => {
      release()
      holds.delete(release)
    }
  }

  async function send(message: Buffer): Promise<void> {
    if (finalCode !== null || isGone()) return
    call.dueAt = Number.POSITIVE_INFINITY
    respond()
    const frame = framed(message)
    stream.write(frame, hold(frame.length))
    await drained(stream)
  }

  function finish(code: number, trailers: Record<string, string>, body?: Buffer): void {
    if (finalCode !== null || isGone()) return
    finalCode = code
    // A request that is here is read to its end, though nobody wants it any more.
    stream.resume()
    respond()
    stream.once('wantTrailers', () => {
      if (isGone()) return
      stream.sendTrailers(trailers)
      isUnread = !stream.readableEnded
      closeUnread(stream)
    })
    if (body === undefined) stream.end()
    else stream.end(body, hold(body.length))
  }

  function fail(error: unknown): void {
    if (isGone()) return
    if (error === TOO_MANY_FRAMES) {
      session.destroy()
      return
    }
    withStoreHead(metadata, known.storeHead, known)
    const { remoteAddress, remotePort } = socket
    end(explainError(error, { peer: `${remoteAddress}:${remotePort}` }))
  }

  /** As cheaply as can be: clients take it for UNAVAILABLE. */
  function refuse(): void {
    finalCode = GRPC.unavailable
    isRefused = true
    if (mayGoOn(address)) stream.close(constants.NGHTTP2_REFUSED_STREAM)
    else session.destroy()
  }

  function close(): void {
    open.delete(call)
    quota.release(call)
    for (const release of holds) release()
    const seconds = (performance.now() - startedAt) / 1000
    const code = codeName(finalCode ?? GRPC.cancelled)
    countCall(seconds, method === undefined ? 'unknown' : path, code)
    if (isRefused) return
    // Many calls are answered before it is seen that the client has reset them, or sends more than is read.
    const isCostly = stream.rstCode !== constants.NGHTTP2_NO_ERROR || isUnread
    if (isCostly && !mayGoOn(address)) session.destroy()
  }

  const call: OpenCall = {
    dueAt: startedAt + REQUEST_TIMEOUT_MS,
    isEndless: method !== undefined && 'stream' in method,
    end,
    run,
  }
  return call
}

/** Closes a stream that is answered without waiting for the rest of its request, once the answer is sent. */
export function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(() => stream.close())
}
