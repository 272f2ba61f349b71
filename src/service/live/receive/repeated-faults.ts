// Reasons for closed connections, reported at a limited rate.
import type { Logger } from 'pino'
import { describeDuration } from '#core/domain/duration'
import type { ConnectionFault } from './connection-faults.ts'

/** Each kind of fault is reported once, and further ones are counted in one line for each such span. */
const FAULT_SPAN_MS = 60_000

type Span = { since: number; further: number; last: string }

/** Reports the reasons for closed connections to operators, at a limited rate, because attempts may repeat quickly. */
export class RepeatedFaults {
  readonly #logger: Logger
  readonly #spans = new Map<ConnectionFault, Span>()

  constructor(logger: Logger) {
    this.#logger = logger
  }

  /** A connection was closed: reports why, or counts it if that was reported a moment ago. */
  add(fault: ConnectionFault, message: string): void {
    const span = this.#spans.get(fault)
    if (span === undefined) {
      this.#spans.set(fault, { since: performance.now(), further: 0, last: message })
      this.#logger.error(`live ingestion: ${message}`)
    } else {
      span.further++
      span.last = message
    }
  }

  /** Reports the counts of spans that have ended; `all`: of running ones, too. */
  flush(all = false): void {
    for (const [fault, { since, further, last }] of this.#spans) {
      if (!all && performance.now() - since < FAULT_SPAN_MS) continue
      this.#spans.delete(fault)
      if (further === 0) continue
      const span = describeDuration((performance.now() - since) / 1_000)
      this.#logger.error(
        `live ingestion: ${further} more connections closed in ${span} for the same reason (${fault}), the last: ${last}`,
      )
      this.#spans.set(fault, { since: performance.now(), further: 0, last })
    }
  }
}
