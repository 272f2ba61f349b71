// What a service shows of its live ingestion: in `/ready`, in metrics and to `lyra status`.
import type { ForwardState } from '../forward/forward-state.ts'
import type { LogsState } from './logs-state.ts'

/** The state of a live ingestion. Its `failures` begin with what keeps it from committing. */
export type LiveState = LogsState & {
  /** Why nothing is heard of any receiver; null while one runs. */
  silence: string | null
  /** Bytes of events that are not in the store. */
  bytesLeft: number
  /** State of the forwarding; null without it. */
  forward: ForwardState | null
  /** Since when another process has been the store's writer, Unix milliseconds; null if none is. */
  otherWriterSince: number | null
}
