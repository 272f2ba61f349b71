// Which receivers of followed event logs have ended, or hang.
import type { Logger } from 'pino'
import { ReportedFault } from '#core/domain/reported-fault'
import type { FollowedLog } from '#core/log/read/followed-log'
import { silenceOf } from './logs-state.ts'

/** The receivers of which nothing is heard. One that runs is enough: a block is taken from any log. */
export class SilentReceivers {
  readonly #logs: readonly FollowedLog[]
  /** Of each log: that it cannot be read, or that its receiver is silent. */
  readonly #reports: readonly ReportedFault[]

  constructor(logs: readonly FollowedLog[], logger: Logger) {
    this.#logs = logs
    this.#reports = logs.map(() => new ReportedFault(logger, 'warn'))
  }

  /** Why nothing is heard of any receiver; null while one runs. */
  get silence(): string | null {
    const silences = this.#silences()
    return silences.includes(null) ? null : (silences[0] ?? null)
  }

  /** Reports why a log cannot be read, and that a receiver is silent although others go on, which `/ready` does not show. */
  report(): void {
    const silences = this.#silences()
    const isAnyHeard = silences.includes(null)
    for (const [index, log] of this.#logs.entries()) {
      const silence = silences[index]!
      const report = this.#reports[index]!
      if (silence === null) {
        report.over(`${log.name}: log ${index + 1} is there again`)
        continue
      }
      // If nothing is heard of any receiver, the state says so.
      if (log.fault === null && (!isAnyHeard || log.isAwaited)) continue
      const elsewhere = isAnyHeard ? '; blocks are taken from the other logs' : ''
      // The text says how long it has been silent.
      report.report(`${log.name}: ${silence}${elsewhere}`, log.fault ?? 'silent')
    }
  }

  /** Of each log, why nothing is heard of its receiver. */
  #silences(): (string | null)[] {
    return this.#logs.map((log, index) => silenceOf(log, index + 1))
  }
}
