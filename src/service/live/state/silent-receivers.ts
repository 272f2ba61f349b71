// Which receivers of followed event logs have ended, or hang.
import type { Logger } from 'pino'
import { ReportedFault } from '#core/domain/reported-fault'
import type { FollowedLog } from '#core/log/read/followed-log'
import { whyUnheard } from './logs-state.ts'

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
    const reasons = this.#reasons()
    return reasons.includes(null) ? null : (reasons[0] ?? null)
  }

  /**
   * Reports why nothing is heard of receivers. Whether a log is reported:
   *
   * | the log | another receiver is heard | none is heard |
   * |---|---|---|
   * | cannot be read | yes | yes |
   * | has not answered yet | no | no |
   * | has a silent receiver, or none | yes: `/ready` does not show it | no: the state says so |
   */
  report(): void {
    const reasons = this.#reasons()
    const isAnyHeard = reasons.includes(null)
    for (const [index, log] of this.#logs.entries()) {
      const reason = reasons[index]!
      const report = this.#reports[index]!
      if (reason === null) {
        report.over(`${log.name}: log ${index + 1} is there again`)
        continue
      }
      const isReported = log.fault !== null || (isAnyHeard && !log.isAwaited)
      if (!isReported) continue
      const elsewhere = isAnyHeard ? '; blocks are taken from the other logs' : ''
      // The text says how long it has been silent.
      report.report(`${log.name}: ${reason}${elsewhere}`, log.fault ?? 'silent')
    }
  }

  /** Of each log, why nothing is heard of its receiver. */
  #reasons(): (string | null)[] {
    return this.#logs.map((log, index) => whyUnheard(log, index + 1))
  }
}
