import { createServer, type Server as NetServer, type Socket } from 'node:net'
import {
  type Metadata,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerInterceptor,
  status as STATUS,
} from '@grpc/grpc-js'
import type { PackageDefinition } from '@grpc/proto-loader'
import { ReflectionService } from '@grpc/reflection'
import type { FastifyBaseLogger } from 'fastify'
import type { Reader } from '../../store/store.ts'
import type { Backlog } from '../http/backlog.ts'
import { forwardedAddress } from '../http/client-address.ts'
import type { Connections } from '../http/connections.ts'
import { expectedError, internalError } from '../http/errors.ts'
import type { Metrics } from '../http/metrics.ts'
import type { CountRequest } from '../http/rate-limit.ts'
import type { IngestionState } from '../http/readiness.ts'
import type { PageTurns } from '../http/turns.ts'
import type { Pages } from '../pages/make-page.ts'
import type { PageCache } from '../pages/page-cache.ts'
import { fileDescriptors, HEALTH, loadProtos, methodsOf, TRADING_DATA } from '../protos.ts'
import { statusOf } from './grpc-errors.ts'
import { healthMethods } from './health.ts'
import { type Call, listMethods } from './list-methods.ts'

/** What a request may take: a market, a party, a cursor and some numbers. */
const MAX_REQUEST_BYTES = 16 * 1024

/** What an answer of reflection or health is taken for; of these a stream may carry any number. */
const OTHER_ANSWER_BYTES = 8 * 1024

/** Requests that a stream may send ahead of the answers. */
const MAX_ASKED_AHEAD = 8

/** Calls at a time on one connection. */
const MAX_CALLS = 100

/** A connection on which nothing moves for this long is closed. */
const IDLE_CONNECTION_MS = 5 * 60_000

/** How long a client may take to send its request, and its connection's preface. */
const REQUEST_TIMEOUT_MS = 30_000

/** What the REST application shares with gRPC: both doors lead to the same pages, and count their clients together. */
export type GrpcOptions = {
  reader: Reader
  pages: Pages
  turns: PageTurns
  cache: PageCache | null
  connections: Connections
  backlog: Backlog
  countRequest: CountRequest
  metrics: Metrics
  ingestion: IngestionState
  trustProxy: boolean
  log: FastifyBaseLogger
}

/** A server of gRPC that listens where its user says. */
export type GrpcServer = {
  /** Takes connections; its user has it listen. */
  server: NetServer
  /** Answers what is in flight, as long as that may take up to a number of milliseconds, and closes. */
  close(graceMs: number): Promise<void>
}

/** The methods that list resources, with reflection and health. */
export function createGrpcServer(options: GrpcOptions): GrpcServer {
  const { connections, backlog, log, metrics } = options
  /** Connections by the name that the library gives their other end. */
  const sockets = new Map<string, Socket>()

  const addressOf = (call: Call): string => {
    const forwarded = options.trustProxy ? call.metadata.get('x-forwarded-for').at(-1) : undefined
    return forwardedAddress(forwarded, sockets.get(call.getPeer()))
  }

  /** Our own faults are logged, and the client gets the connection's name alone. */
  const endOf = (error: unknown, call: Call) => {
    const expected = expectedError(error, log)
    if (expected !== null) return statusOf(expected)
    log.error({ err: error, peer: call.getPeer() }, 'a call failed')
    return statusOf(internalError(call.getPeer()))
  }

  /** Counts calls and what their answers keep of memory; ends those whose request does not come. */
  const watch: ServerInterceptor = ({ path }, next) => {
    const startedAt = performance.now()
    const releases: (() => void)[] = []
    let isOver = false
    let isReadHeld = false
    /** Requests of a stream whose answers are not on their way yet. */
    let ahead = 0
    const finish = (code: number) => {
      clearTimeout(timer)
      if (isOver) return
      isOver = true
      const seconds = (performance.now() - startedAt) / 1000
      metrics.grpcSeconds.observe({ method: path, code: STATUS[code] ?? String(code) }, seconds)
    }
    class Watched extends ServerInterceptingCall {
      override sendMessage(message: unknown, callback: () => void): void {
        const socket = sockets.get(next.getPeer())
        const bytes = Buffer.isBuffer(message) ? message.length : OTHER_ANSWER_BYTES
        if (socket !== undefined) releases.push(backlog.hold(socket, bytes))
        super.sendMessage(message, () => {
          ahead--
          callback()
          if (!isReadHeld || ahead >= MAX_ASKED_AHEAD) return
          isReadHeld = false
          super.startRead()
        })
      }

      /** Reads no further while the client leaves answers unread: who answers a stream does not wait for that. */
      override startRead(): void {
        if (ahead >= MAX_ASKED_AHEAD) isReadHeld = true
        else super.startRead()
      }

      override sendStatus(status: { code: number; details: string; metadata?: Metadata | null }): void {
        super.sendStatus(status)
        finish(status.code)
      }
    }
    const call = new Watched(next, {
      start: (begin) =>
        begin({
          onReceiveMessage: (message, pass) => {
            clearTimeout(timer)
            ahead++
            pass(message)
          },
          // Of every call, once its stream is closed: the client has taken the answer, or will not.
          onCancel: () => {
            finish(STATUS.CANCELLED)
            for (const release of releases.splice(0)) release()
          },
        }),
    })
    const timer = setTimeout(() => {
      call.sendStatus({ code: STATUS.DEADLINE_EXCEEDED, details: 'the request did not come in 30 s' })
    }, REQUEST_TIMEOUT_MS)
    return call
  }

  const grpc = new Server({
    'grpc.max_receive_message_length': MAX_REQUEST_BYTES,
    'grpc.max_concurrent_streams': MAX_CALLS,
    interceptors: [watch],
  })
  const protos = loadProtos()
  const raw = Object.entries(methodsOf(protos, TRADING_DATA)).map(([name, method]) => [
    name,
    { ...method, requestDeserialize: asIs, responseSerialize: asIs },
  ])
  grpc.addService(Object.fromEntries(raw), listMethods(protos, { ...options, addressOf, statusOf: endOf }))
  grpc.addService(methodsOf(protos, HEALTH), healthMethods(options.reader, options.ingestion))
  // Of the definitions it reads the descriptors alone.
  const described = { all: { fileDescriptorProtos: fileDescriptors() } } as unknown as PackageDefinition
  new ReflectionService(described).addToServer(grpc)
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure())

  const server = createServer((socket) => {
    connections.admit(socket)
    if (socket.destroyed) return
    const peer = `${socket.remoteAddress}:${socket.remotePort}`
    sockets.set(peer, socket)
    socket.once('close', () => sockets.delete(peer))
    socket.setTimeout(IDLE_CONNECTION_MS, () => socket.destroy())
    socket.on('error', () => socket.destroy())
    injector.injectConnection(socket)
  })
  return {
    server,
    close: async (graceMs) => {
      server.close()
      injector.drain(graceMs)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(() => grpc.forceShutdown(), graceMs)
        grpc.tryShutdown(() => {
          clearTimeout(timer)
          resolve()
        })
      })
      for (const socket of sockets.values()) socket.destroy()
    },
  }
}

const asIs = (bytes: Buffer): Buffer => bytes
