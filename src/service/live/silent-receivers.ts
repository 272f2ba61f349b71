// Which receivers of followed event logs have ended, or hang.
import type { Logger } from 'pino'
import type { FollowedLog } from '#core/log/read/followed-log'
import { silenceOf } from './logs-state.ts'

/** The receivers of which nothing is heard. One that runs is enough: a block is taken from any log. */
export class SilentReceivers {
  readonly #logs: readonly FollowedLog[]
  readonly #logger: Logger
  /** The logs of which it was said that their receivers are silent. */
  readonly #named = new Set<string>()

  constructor(logs: readonly FollowedLog[], logger: Logger) {
    this.#logs = logs
    this.#logger = logger
  }

  /** Why nothing is heard of any receiver; null while one goes on. */
  get silence(): string | null {
    const silences = this.#silences()
    return silences.includes(null) ? null : (silences[0] ?? null)
  }

  /** Logs once that a receiver is silent although others go on: `/ready` does not show it. */
  warn(): void {
    const silences = this.#silences()
    const isAnyHeard = silences.includes(null)
    for (const [index, log] of this.#logs.entries()) {
      const silence = isAnyHeard ? silences[index]! : null
      if (silence === null) this.#named.delete(log.name)
      else if (!this.#named.has(log.name)) {
        this.#named.add(log.name)
        this.#logger.warn(`${log.name}: ${silence}; blocks are taken from the other logs`)
      }
    }
  }

  /** Of each log, why nothing is heard of its receiver. */
  #silences(): (string | null)[] {
    return this.#logs.map((log, index) => silenceOf(log, index + 1))
  }
}
