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
      const silence = silences[index]!
      const before = this.#named.get(log)
      if (silence === null) {
        if (before !== undefined) this.#logger.info(`${log.name}: log ${index + 1} is there again`)
        this.#named.delete(log)
        continue
      }
      const isNamed = log.fault !== null || (isAnyHeard && !log.isAwaited)
      // How long it has been silent is no other silence.
      const kind = log.fault ?? 'silent'
      if (!isNamed || kind === before) continue
      const elsewhere = isAnyHeard ? '; blocks are taken from the other logs' : ''
      this.#logger.warn(`${log.name}: ${silence}${elsewhere}`)
      this.#named.set(log, kind)
    }
  }

  /** Of each log, why nothing is heard of its receiver. */
  #silences(): (string | null)[] {
    return this.#logs.map((log, index) => silenceOf(log, index + 1))
  }
}
