// Which receivers of followed event logs have ended, or hang.
import type { Logger } from 'pino'
import type { FollowedLog } from '#core/log/read/followed-log'
import { silenceOf } from './logs-state.ts'

/** The receivers of which nothing is heard. One that runs is enough: a block is taken from any log. */
export class SilentReceivers {
  readonly #logs: readonly FollowedLog[]
  readonly #logger: Logger
  /** What was said last of each log: that it cannot be read, or that its receiver is silent. */
  readonly #named = new Map<FollowedLog, string>()

  constructor(logs: readonly FollowedLog[], logger: Logger) {
    this.#logs = logs
    this.#logger = logger
  }

  /** Why nothing is heard of any receiver; null while one goes on. */
  get silence(): string | null {
    const silences = this.#silences()
    return silences.includes(null) ? null : (silences[0] ?? null)
  }

  /** Logs once why a log cannot be read, and that a receiver is silent although others go on, which `/ready` does not show. */
  warn(): void {
    const silences = this.#silences()
    const isAnyHeard = silences.includes(null)
    for (const [index, log] of this.#logs.entries()) {
      if (log.isAwaited) continue
      const isNamed = isAnyHeard || log.fault !== null
      const silence = isNamed ? silences[index]! : null
      const elsewhere = isAnyHeard ? '; blocks are taken from the other logs' : ''
      // How long it has been silent is no other silence.
      const kind = silence === null ? null : (log.fault ?? 'silent')
      const before = this.#named.get(log) ?? null
      if (kind !== null && kind !== before) this.#logger.warn(`${log.name}: ${silence}${elsewhere}`)
      if (kind === null && before !== null) this.#logger.info(`${log.name}: log ${index + 1} is there again`)
      if (kind === null) this.#named.delete(log)
      else this.#named.set(log, kind)
    }
  }

  /** Of each log, why nothing is heard of its receiver. */
  #silences(): (string | null)[] {
    return this.#logs.map((log, index) => silenceOf(log, index + 1))
  }
}
