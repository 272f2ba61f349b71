import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { createServer, type Server as NetServer, type Socket } from 'node:net'
import { countedAddress, forwardedAddress } from '../http/clients/client-address.ts'
import type { Connections } from '../http/clients/connections.ts'
import { createRateLimiter } from '../http/clients/rate-limit.ts'
import { unavailable } from '../http/errors.ts'
// Imported so that the first call need not load it.
import '../questions/page-message.ts'
import { createAnswerSlots } from './answer-slots.ts'
import type { MethodHandler } from './call.ts'
import { healthMethods } from './health.ts'
import { type Calls, closeUnread, OpenCall, REQUEST_IS_LATE } from './open-call.ts'
import type { GrpcOptions } from './options.ts'
import { reflectionMethod } from './reflection.ts'
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

/**
 * How often to look for connections on which nothing has arrived since the last time: these are pinged, and closed the next
 * time.
 */
const IDLE_CHECK_MS = 5 * 60_000

const GRPC_TYPE = /^application\/grpc(\+proto)?(;|$)/

/** How often to look for calls whose request is late, milliseconds. */
const LATE_CHECK_MS = 1_000

/**
 * A server of the data node's methods that Lyra has, health and reflection, over HTTP/2 without TLS. Its user makes {@link
 * GrpcServer.server} listen.
 */
export class GrpcServer {
  readonly server: NetServer
  readonly #connections: Connections
  readonly #trustProxy: boolean
  readonly #methods: ReadonlyMap<string, MethodHandler>
  /** What all calls share. */
  readonly #calls: Calls
  readonly #openCalls = new Set<OpenCall>()
  readonly #sessions = new Map<Socket, ServerHttp2Session>()
  readonly #countCost = createRateLimiter(COSTS_PER_SECOND)
  readonly #lateCheck: NodeJS.Timeout

  constructor(options: GrpcOptions) {
    this.#connections = options.connections
    this.#trustProxy = options.trustProxy
    this.#methods = methodsOf(options)
    this.#calls = {
      ...options,
      quota: options.account.quota<OpenCall>({ slots: MAX_ALL_CALLS }),
      open: this.#openCalls,
      answerSlots: createAnswerSlots(),
      countCall: options.metrics.durations(
        'lyra_grpc_call_duration_seconds',
        'Time from a gRPC call to its status.',
        ['method', 'code'],
      ),
      mayGoOn: (address) => this.#mayGoOn(address),
    }
    this.#lateCheck = setInterval(() => this.#endLateCalls(), LATE_CHECK_MS).unref()
    this.server = createServer((socket) => this.#admit(socket))
  }

  /** Finishes calls in flight, for at most `graceMs` milliseconds, and closes. */
  async close(graceMs: number): Promise<void> {
    this.server.close()
    clearInterval(this.#lateCheck)
    for (const call of this.#openCalls) if (call.isEndless) call.end(unavailable('the service stops'))
    const closed = [...this.#sessions].map(([socket, session]) => {
      session.close()
      return new Promise((resolve) => socket.once('close', resolve))
    })
    const timer = setTimeout(() => {
      for (const socket of this.#sessions.keys()) socket.destroy()
    }, graceMs)
    await Promise.all(closed)
    clearTimeout(timer)
  }

  /** Takes a connection, unless its address has too many or resets too many. */
  #admit(socket: Socket): void {
    socket.on('error', () => socket.destroy())
    if (!this.#mayGoOn(countedAddress(socket.remoteAddress ?? ''))) socket.destroy()
    else this.#connections.admit(socket)
    if (socket.destroyed) return
    const session = performServerHandshake(socket, {
      maxHeaderListPairs: MAX_METADATA_FIELDS,
      // A proxy's connection carries the resets of many.
      ...(this.#trustProxy ? {} : { streamResetBurst: RESETS_AT_ONCE, streamResetRate: COSTS_PER_SECOND }),
      settings: { maxHeaderListSize: MAX_METADATA_BYTES, maxConcurrentStreams: MAX_CALLS },
    })
    this.#sessions.set(socket, session)
    socket.once('close', () => this.#sessions.delete(socket))
    session.on('error', () => session.destroy())
    session.on('stream', (stream, headers, _, rawHeaders) =>
      this.#take({ stream, session, socket }, headers, rawHeaders),
    )
    closeOnceDead(socket, session)
  }

  /** Answers a call. */
  #take(
    { stream, session, socket }: CallStream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): void {
    stream.on('error', () => {})
    if (rawHeaders.reduce((bytes, { length }) => bytes + length, 0) > MAX_METADATA_BYTES) {
      session.destroy()
      return
    }
    const address = forwardedAddress(this.#trustProxy ? headers['x-forwarded-for'] : undefined, socket)
    if (stream.closed || stream.destroyed) {
      if (!this.#mayGoOn(address)) session.destroy()
      return
    }
    if (headers[':method'] !== 'POST' || !GRPC_TYPE.test(headers['content-type'] ?? '')) {
      stream.respond({ ':status': 415 }, { endStream: true })
      closeUnread(stream)
      return
    }
    const path = headers[':path'] ?? ''
    const method = this.#methods.get(path)
    void new OpenCall(this.#calls, { stream, session, socket, address, path, method }).run(headers)
  }

  /** Whether an address may continue after calls that cost more than they are worth. A proxy must limit its own clients. */
  #mayGoOn(address: string): boolean {
    return this.#trustProxy || this.#countCost(address, performance.now()).allowed
  }

  #endLateCalls(): void {
    const now = performance.now()
    for (const call of this.#openCalls) if (call.dueAt < now) call.end(REQUEST_IS_LATE)
  }
}

/** A stream of HTTP/2, which is one call, and its connection. */
type CallStream = { stream: ServerHttp2Stream; session: ServerHttp2Session; socket: Socket }

/** The methods by their paths. */
function methodsOf(options: GrpcOptions): Map<string, MethodHandler> {
  const reflection = reflectionMethod(options.countRequest)
  return new Map<string, MethodHandler>([
    ...tradingDataMethods(options),
    ...healthMethods(options.reader, options.ingestion, options.health),
    ...['v1', 'v1alpha'].map((version): [string, MethodHandler] => [
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      reflection,
    ]),
  ])
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
