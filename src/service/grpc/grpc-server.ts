import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { countedAddress, forwardedAddress } from '../http/clients/client-address.ts'
import { createRateLimiter } from '../http/clients/rate-limit.ts'
import { unavailable } from '../http/errors.ts'
// Imported so that the first call need not load it.
import '../questions/page-message.ts'
import { createAnswerSlots } from './answer-slots.ts'
import type { MethodHandler } from './call.ts'
import { healthMethods } from './health.ts'
import { type Calls, closeUnread, OpenCall, REQUEST_IS_LATE } from './open-call.ts'
import type { GrpcOptions } from './options.ts'
import { createReflection } from './reflection.ts'
import { tradingDataMethods } from './trading-data.ts'

/** Metadata of a call. Before a client has acknowledged the limit, larger ones end its connection. */
const MAX_METADATA_BYTES = 16 * 1024
const MAX_METADATA_FIELDS = 64

/** Concurrent calls per connection, and in total. */
const MAX_CALLS = 100
const MAX_ALL_CALLS = 1_024

/**
 * For each address, connections and calls a second that it resets, that are refused or whose request is broken; five times
 * that at once.
 */
const COSTS_PER_SECOND = 20

/** Resets in one chunk of a connection's data after which the rest of the chunk is not read. */
const RESETS_AT_ONCE = 100

/** How often to look for connections on which nothing has arrived since the last time: these are pinged, and closed the next time. */
const IDLE_CHECK_MS = 5 * 60_000

const GRPC_TYPE = /^application\/grpc(\+proto)?(;|$)/

/** A gRPC server; its user makes it listen. */
export type GrpcServer = {
  server: NetServer
  /** Finishes calls in flight, for at most `graceMs` milliseconds, and closes. */
  close(graceMs: number): Promise<void>
}

/** Serves the data node's methods that Lyra has, health and reflection, over HTTP/2 without TLS. */
export function createGrpcServer(options: GrpcOptions): GrpcServer {
  const { connections, trustProxy, reader, account } = options
  const reflection = createReflection(options.countRequest)
  const methods = new Map<string, MethodHandler>([
    ...tradingDataMethods(options),
    ...healthMethods(reader, options.ingestion, options.health),
    ...['v1', 'v1alpha'].map((version): [string, MethodHandler] => [
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      reflection,
    ]),
  ])
  const sessions = new Map<Socket, ServerHttp2Session>()
  const openCalls = new Set<OpenCall>()
  const quota = account.quota<OpenCall>({ slots: MAX_ALL_CALLS })
  const countCost = createRateLimiter(COSTS_PER_SECOND)

  /** Whether an address may continue after calls that cost more than they are worth. A proxy must limit its own clients. */
  const mayGoOn = (address: string) => trustProxy || countCost(address, performance.now()).allowed
  const countCall = options.metrics.durations(
    'lyra_grpc_call_duration_seconds',
    'Time from a gRPC call to its status.',
    ['method', 'code'],
  )
  const calls: Calls = {
    ...options,
    quota,
    open: openCalls,
    answerSlots: createAnswerSlots(),
    countCall,
    mayGoOn,
  }

  /** Answers a call. */
  function take(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    session: ServerHttp2Session,
    socket: Socket,
  ): void {
    stream.on('error', () => {})
    if (rawHeaders.reduce((bytes, { length }) => bytes + length, 0) > MAX_METADATA_BYTES) {
      session.destroy()
      return
    }
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
    const call = new OpenCall(calls, { stream, session, socket, address, path, method: methods.get(path) })
    void call.run(headers)
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
    session.on('stream', (stream, headers, _, rawHeaders) =>
      take(stream, headers, rawHeaders, session, socket),
    )
    closeOnceDead(socket, session)
  }

  const late = setInterval(() => {
    const now = performance.now()
    for (const call of openCalls) if (call.dueAt < now) call.end(REQUEST_IS_LATE)
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

/**
 * Closes a connection once nothing arrives on it any more. Not by the session's own time-out: Node does not clear that of a
 * destroyed session, which stays in memory until then.
 */
function closeOnceDead(socket: Socket, session: ServerHttp2Session): void {
  let [arrived, isPinged] = [0, false]
  const watch = setInterval(() => {
    if (session.destroyed) return
    if (socket.bytesRead > arrived) isPinged = false
    else if (isPinged || !session.ping(() => {})) session.destroy()
    else isPinged = true
    arrived = socket.bytesRead
  }, IDLE_CHECK_MS).unref()
  socket.once('close', () => clearInterval(watch))
}
