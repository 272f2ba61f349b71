import { setTimeout as sleep } from 'node:timers/promises'
import type { Reader } from '#core/store/store'
import { type IngestionState, type StoreHealth, unreadiness } from '../health/readiness.ts'
import { invalidParameter, unknownService } from '../http/errors.ts'
import { HEALTH, type Method, methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { decodeMessage, encodeMessage } from '../protos/messages.ts'
import { framed, type MethodHandler, readRequest } from './call.ts'

/** How often a watched state is read, milliseconds. */
const WATCH_INTERVAL_MS = 2_000

/** How long a state is cached, milliseconds. */
const CACHED_MS = 500

/** Bytes of a message of one status. */
const STATUS_BYTES = 8

type Status = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN'

/** The methods of `grpc.health.v1.Health`, by path. The server and its service are SERVING while `/ready` answers 200. */
export function healthMethods(
  reader: Reader,
  ingestion: IngestionState,
  health: StoreHealth,
): [path: string, MethodHandler][] {
  const { Check, Watch } = methodsOf(HEALTH) as Record<'Check' | 'Watch', Method>
  let state: Promise<Status> | null = null

  /** The state of the service, read once for all requests within a short time. */
  function currentState(): Promise<Status> {
    if (state === null) {
      setTimeout(() => {
        state = null
      }, CACHED_MS).unref()
      state = unreadiness(reader, ingestion, health).then(({ reasons }) =>
        reasons.length === 0 ? 'SERVING' : 'NOT_SERVING',
      )
    }
    return state
  }

  /** Reads the status of the service that a request names. @throws {ApiError} for bytes that are no request. */
  function statusOf(request: Buffer): () => Promise<Status> {
    let service = ''
    try {
      service = (decodeMessage(Check.request, request) as { service?: string }).service ?? ''
    } catch (error) {
      throw invalidParameter(`the request is not a message of ${Check.path}: ${(error as Error).message}`)
    }
    return service === '' || service === TRADING_DATA ? currentState : async () => 'SERVICE_UNKNOWN'
  }

  const statusMessage = (status: Status) => encodeMessage(Check.response, { status }, STATUS_BYTES)

  const check: MethodHandler = {
    unary: async (_, request) => {
      const status = await statusOf(request)()
      if (status === 'SERVICE_UNKNOWN') throw unknownService()
      return framed(statusMessage(status))
    },
  }
  const watch: MethodHandler = {
    stream: async ({ stream }, send) => {
      const readStatus = statusOf(await readRequest(stream))
      let sent: Status | null = null
      while (!stream.destroyed) {
        const status = await readStatus()
        if (status !== sent) await send(statusMessage(status))
        sent = status
        await sleep(WATCH_INTERVAL_MS, undefined, { ref: false })
      }
    },
  }
  return [
    [Check.path, check],
    [Watch.path, watch],
  ]
}
