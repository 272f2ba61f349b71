import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { readPosition } from '../../store/readings/coverage.ts'
import { countedAddress, forwardedAddress } from '../http/client-address.ts'
import {
  type ApiError,
  compressedRequest,
  GRPC,
  tooLate,
  tooManyCalls,
  unavailable,
  unknownMethod,
} from '../http/errors.ts'
import { createRateLimiter } from '../http/rate-limit.ts'
import { type Call, drained, framed, type Method, readRequest, timeoutMs, withPosition } from './call.ts'
import { codeName, trailersOf } from './grpc-errors.ts'
import { healthMethods } from './health.ts'
import type { GrpcOptions } from './options.ts'
import { createReflection } from './reflection.ts'
import { tradingDataMethods } from './trading-data.ts'

/** Metadata of a call. Until a client has acknowledged the limit of bytes, only that of fields binds it. */
const MAX_METADATA_BYTES = 16 * 1024
const MAX_METADATA_FIELDS = 64

/** Calls at a time on one connection, and on all of them. */
const MAX_CALLS = 100
const MAX_ALL_CALLS = 1_024

/** Connections of an address, and calls that it resets or that are refused, a second; five times that at once. */
const COSTS_PER_SECOND = 20

/** Resets in one piece of what a connection sends, after which the rest of it is not read. */
const RESETS_AT_ONCE = 100

/** A connection on which nothing moves for this long is pinged; it is closed if it does not answer for as long again. */
const IDLE_CONNECTION_MS = 5 * 60_000

/** How long a client may take to send its request. */
const REQUEST_TIMEOUT_MS = 5_000

const GRPC_TYPE = /^application\/grpc(\+proto)?(;|$)/

const OK = { 'grpc-status': '0' }

/** A server of gRPC that listens where its user says. */
export type GrpcServer = {
  /** Takes connections; its user has it listen. */
  server: NetServer
  /** Answers what is in flight, as long as that may take up to a number of milliseconds, and closes. */
  close(graceMs: number): Promise<void>
}

/** A call that is open. */
type OpenCall = {
  /** Ends it with an error, unless it has ended. */
  end(error: ApiError): void
  /** Whether only one side's wish ends it. */
  isEndless: boolean
  /** Until when its request must arrive, by the process's clock; infinite once it has. */
  dueAt: number
}

/** The methods of the data node that Lyra has, health and reflection, over HTTP/2 without TLS. */
export function createGrpcServer(options: GrpcOptions): GrpcServer {
  const { connections, backlog, explainError, metrics, countRequest, trustProxy, reader, account } = options
  const reflection = createReflection()
  const methods = new Map<string, Method>([
    ...tradingDataMethods(options),
    ...healthMethods(reader, options.ingestion),
    ...['v1', 'v1alpha'].map((version): [string, Method] => [
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      reflection,
    ]),
  ])
  const sessions = new Map<Socket, ServerHttp2Session>()
  const openCalls = new Set<OpenCall>()
  const shares = account.shares<OpenCall>({ places: MAX_ALL_CALLS })
  const countCost = createRateLimiter(COSTS_PER_SECOND)

  /** Whether an address may go on that has cost the service more than itself. The clients of a proxy are for it to limit. */
  const mayGoOn = (address: string) => trustProxy || countCost(address, performance.now()).allowed

  /** Answers a call. */
  function take(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    session: ServerHttp2Session,
    socket: Socket,
  ): void {
    stream.on('error', () => {})
    const address = forwardedAddress(trustProxy ? headers['x-forwarded-for'] : undefined, socket)
    if (stream.closed || stream.destroyed) {
      if (!mayGoOn(address)) session.destroy()
      return
    }
    if (headers[':method'] !== 'POST' || !GRPC_TYPE.test(headers['content-type'] ?? '')) {
      stream.respond({ ':status': 415 }, { endStream: true })
      closeUnread(stream)
      return
    }
    const path = headers[':path'] ?? ''
    const method = methods.get(path)
    const startedAt = performance.now()
    const encoding = String(headers['grpc-encoding'] ?? 'identity')
    const limit = timeoutMs(headers['grpc-timeout'])
    const metadata = [':status', '200', 'content-type', 'application/grpc']
    const holds = new Set<() => void>()
    /** What the call has ended with. */
    let code: number | null = null
    let isRefused = false
    /** Whether nothing can be sent any more: Node throws then. */
    const isGone = () => stream.closed || stream.destroyed

    function respond(): void {
      if (!stream.headersSent) stream.respond(metadata, { waitForTrailers: true })
    }

    /** Counts bytes that are kept for the client, until they are sent or the call is over. */
    function hold(bytes: number): () => void {
      const release = backlog.hold(address, trustProxy ? stream : session, bytes)
      holds.add(release)
      return () => {
        release()
        holds.delete(release)
      }
    }

    function finish(endsWith: number, trailers: Record<string, string>, body?: Buffer): void {
      if (code !== null || isGone()) return
      code = endsWith
      respond()
      stream.once('wantTrailers', () => {
        if (isGone()) return
        stream.sendTrailers(trailers)
        closeUnread(stream)
      })
      if (body === undefined) stream.end()
      else stream.end(body, hold(body.length))
    }

    function fail(error: ApiError): void {
      finish(error.code, trailersOf(error))
    }

    /** As cheaply as can be: clients take it for UNAVAILABLE. */
    function refuse(): void {
      code = GRPC.unavailable
      isRefused = true
      if (mayGoOn(address)) stream.close(constants.NGHTTP2_REFUSED_STREAM)
      else session.destroy()
    }

    async function failAtPosition(error: unknown): Promise<void> {
      if (isGone()) return
      withPosition(metadata, await reader.read(readPosition).catch(() => null))
      fail(explainError(error, { peer: `${socket.remoteAddress}:${socket.remotePort}` }))
    }

    async function send(message: Buffer): Promise<void> {
      if (code !== null || isGone()) return
      call.dueAt = Number.POSITIVE_INFINITY
      respond()
      const frame = framed(message)
      stream.write(frame, hold(frame.length))
      await drained(stream)
    }

    async function run(): Promise<void> {
      for (const [name, value] of Object.entries(countRequest(address)))
        metadata.push(name.toLowerCase(), value)
      const result = shares.take(address, call)
      if (result === 'refused') return refuse()
      result?.end(tooManyCalls())
      if (method === undefined) throw unknownMethod(path)
      if (encoding !== 'identity') {
        metadata.push('grpc-accept-encoding', 'identity')
        throw compressedRequest(encoding)
      }
      const given: Call = { stream, address, metadata }
      if ('stream' in method) {
        await method.stream(given, send)
        finish(GRPC.ok, OK)
      } else finish(GRPC.ok, OK, await method.unary(given, await readRequest(stream)))
    }

    const call: OpenCall = {
      end: fail,
      isEndless: method !== undefined && 'stream' in method,
      dueAt: startedAt + REQUEST_TIMEOUT_MS,
    }
    openCalls.add(call)
    stream.once('end', () => {
      call.dueAt = Number.POSITIVE_INFINITY
    })
    const deadline =
      limit === null
        ? undefined
        : setTimeout(() => fail(tooLate('the deadline of the call has passed')), limit)
    stream.once('close', () => {
      clearTimeout(deadline)
      openCalls.delete(call)
      shares.release(call)
      for (const release of holds) release()
      const seconds = (performance.now() - startedAt) / 1000
      metrics.grpcCall(method === undefined ? 'unknown' : path, codeName(code ?? GRPC.cancelled), seconds)
      // Many calls are answered before it is seen that the client has reset them.
      const isReset = stream.rstCode !== constants.NGHTTP2_NO_ERROR && !isRefused
      if (isReset && !mayGoOn(address)) session.destroy()
    })
    run().catch(failAtPosition)
  }

  function admit(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (!mayGoOn(countedAddress(socket.remoteAddress ?? ''))) socket.destroy()
    else connections.admit(socket)
    if (socket.destroyed) return
    const session = performServerHandshake(socket, {
      maxHeaderListPairs: MAX_METADATA_FIELDS,
      // A proxy's connection carries the resets of many.
      ...(trustProxy ? {} : { streamResetBurst: RESETS_AT_ONCE, streamResetRate: COSTS_PER_SECOND }),
      settings: { maxHeaderListSize: MAX_METADATA_BYTES, maxConcurrentStreams: MAX_CALLS },
    })
    sessions.set(socket, session)
    socket.once('close', () => sessions.delete(socket))
    session.on('error', () => session.destroy())
    session.on('stream', (stream, headers) => take(stream, headers, session, socket))
    let isPinged = false
    const lookWhetherAlive = () => {
      const answered = () => {
        isPinged = false
      }
      if (isPinged || !session.ping(answered)) session.destroy()
      isPinged = true
      // Node calls once only.
      session.setTimeout(IDLE_CONNECTION_MS, lookWhetherAlive)
    }
    session.setTimeout(IDLE_CONNECTION_MS, lookWhetherAlive)
  }

  const late = setInterval(() => {
    const now = performance.now()
    for (const call of openCalls)
      if (call.dueAt < now) call.end(tooLate(`the request did not arrive in ${REQUEST_TIMEOUT_MS / 1_000} s`))
  }, 1_000).unref()

  const server = createServer(admit)
  return {
    server,
    close: async (graceMs) => {
      server.close()
      clearInterval(late)
      for (const call of openCalls) if (call.isEndless) call.end(unavailable('the service stops'))
      const closed = [...sessions].map(([socket, session]) => {
        session.close()
        return new Promise((resolve) => socket.once('close', resolve))
      })
      const timer = setTimeout(() => {
        for (const socket of sessions.keys()) socket.destroy()
      }, graceMs)
      await Promise.all(closed)
      clearTimeout(timer)
    },
  }
}

/** Closes a stream that is answered without waiting for the rest of its request, once the answer is sent. */
function closeUnread(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(() => stream.close())
}
