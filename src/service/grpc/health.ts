import { setTimeout as sleep } from 'node:timers/promises'
import type { Reader } from '#core/store/store'
import { invalidParameter, unknownService } from '../http/errors.ts'
import { type IngestionState, type StoreHealth, unreadiness } from '../http/readiness.ts'
import { HEALTH, type Method, methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { decodeMessage, encodeMessage } from '../protos/messages.ts'
import { framed, type MethodHandler, readRequest } from './call.ts'

/** How often a watched state is looked at. */
const LOOK_MS = 2_000

/** How long a state is reported before it is looked at again. */
const CACHED_MS = 500

/** Bytes of a message of one status. */
const STATUS_BYTES = 8

type Status = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN'

/** `grpc.health.v1.Health`, by path: the server and its service are SERVING while `/ready` answers 200. */
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

  /** The status of the service that a request names. */
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
      const look = statusOf(await readRequest(stream))
      for (
        let told: Status | null = null;
        !stream.destroyed;
        await sleep(LOOK_MS, undefined, { ref: false })
      ) {
        const status = await look()
        if (status !== told) await send(statusMessage(status))
        told = status
      }
    },
  }
  return [
    [Check.path, check],
    [Watch.path, watch],
  ]
}
