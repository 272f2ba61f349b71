import { setTimeout as sleep } from 'node:timers/promises'
import type { Reader } from '#core/store/store'
import { type IngestionState, type StoreHealth, unreadiness } from '../health/readiness.ts'
import { invalidParameter, unknownService } from '../http/errors.ts'
import { HEALTH, type Method, methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { decodeMessage, encodeMessage } from '../protos/messages.ts'
import type { MethodHandler } from './call.ts'
import { framed, readRequest } from './framing.ts'

/** How often a watched state is read, milliseconds. */
const WATCH_INTERVAL_MS = 2_000

/** How long a state is cached, milliseconds. */
const CACHED_MS = 500

/** Bytes of a message of one status. */
const STATUS_BYTES = 8

type Status = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN'

const { Check, Watch } = methodsOf(HEALTH) as Record<'Check' | 'Watch', Method>

/** The methods of `grpc.health.v1.Health`, by path. The server and its service are SERVING while `/ready` answers 200. */
export function healthMethods(
  reader: Reader,
  ingestion: IngestionState,
  health: StoreHealth,
): [path: string, MethodHandler][] {
  const status = new ServiceStatus(
    async () => (await unreadiness(reader, ingestion, health)).reasons.length === 0,
  )
  const check: MethodHandler = {
    unary: async (_, request) => {
      const current = await status.of(serviceOf(request))
      if (current === 'SERVICE_UNKNOWN') throw unknownService()
      return framed(statusMessage(current))
    },
  }
  const watch: MethodHandler = {
    stream: async ({ stream }, send) => {
      const service = serviceOf(await readRequest(stream))
      let sent: Status | null = null
      while (!stream.destroyed) {
        const current = await status.of(service)
        if (current !== sent) await send(statusMessage(current))
        sent = current
        await sleep(WATCH_INTERVAL_MS, undefined, { ref: false })
      }
    },
  }
  return [
    [Check.path, check],
    [Watch.path, watch],
  ]
}

/** The status of the service, read once for all requests within a short time. */
class ServiceStatus {
  readonly #isReady: () => Promise<boolean>
  /** Null if it has not been read for a short time. */
  #cached: Promise<Status> | null = null

  /** @param isReady finds out whether the service is ready */
  constructor(isReady: () => Promise<boolean>) {
    this.#isReady = isReady
  }

  /** The status of the service with a name; the empty one is the server. */
  async of(service: string): Promise<Status> {
    return service === '' || service === TRADING_DATA ? this.#current() : 'SERVICE_UNKNOWN'
  }

  #current(): Promise<Status> {
    if (this.#cached === null) {
      setTimeout(() => {
        this.#cached = null
      }, CACHED_MS).unref()
      this.#cached = this.#isReady().then((isReady) => (isReady ? 'SERVING' : 'NOT_SERVING'))
    }
    return this.#cached
  }
}

/** The service that a request of either method names. @throws {ApiError} for bytes that are no request. */
function serviceOf(request: Buffer): string {
  try {
    return (decodeMessage(Check.request, request) as { service?: string }).service ?? ''
  } catch (error) {
    throw invalidParameter(`the request is not a message of ${Check.path}: ${(error as Error).message}`)
  }
}

function statusMessage(status: Status): Buffer {
  return encodeMessage(Check.response, { status }, STATUS_BYTES)
}
