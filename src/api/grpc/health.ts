import type { ServerUnaryCall, ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import type { Reader } from '../../store/store.ts'
import type { IngestionState } from '../http/readiness.ts'
import { unreadiness } from '../http/readiness.ts'
import { TRADING_DATA } from '../protos.ts'

/** How often a watched state is looked at. */
const LOOK_MS = 2_000

/** How long a state is reported before it is looked at again. */
const KEPT_MS = 500

type Request = { service: string }
type Answer = { status: 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN' }

/** `grpc.health.v1.Health`: the server and its service are SERVING while `/ready` answers 200. */
export function healthMethods(reader: Reader, ingestion: IngestionState): UntypedServiceImplementation {
  let state: Promise<Answer> | null = null

  /** The state of the service, looked at once for all who ask within a while. */
  function currentState(): Promise<Answer> {
    if (state === null) {
      setTimeout(() => {
        state = null
      }, KEPT_MS).unref()
      state = unreadiness(reader, ingestion).then(({ reasons }) => ({
        status: reasons.length === 0 ? 'SERVING' : 'NOT_SERVING',
      }))
    }
    return state
  }

  async function stateOf({ service = '' }: Partial<Request>): Promise<Answer> {
    return service === '' || service === TRADING_DATA ? currentState() : { status: 'SERVICE_UNKNOWN' }
  }

  return {
    Check: (
      call: ServerUnaryCall<Request, Answer>,
      callback: (error: object | null, answer?: Answer) => void,
    ) => {
      stateOf(call.request).then((answer) => {
        if (answer.status !== 'SERVICE_UNKNOWN') callback(null, answer)
        else callback({ code: status.NOT_FOUND, details: 'there is no such service' })
      }, callback)
    },
    Watch: (call: ServerWritableStream<Request, Answer>) => {
      let told: string | null = null
      const look = async (): Promise<void> => {
        const answer = await stateOf(call.request)
        if (answer.status === told || call.cancelled) return
        told = answer.status
        call.write(answer)
      }
      const end = () => call.emit('error', { code: status.INTERNAL, details: 'the state is not known' })
      const timer = setInterval(() => look().catch(end), LOOK_MS)
      call.once('cancelled', () => clearInterval(timer))
      look().catch(end)
    },
  }
}
