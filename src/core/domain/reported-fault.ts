import type { Logger } from 'pino'

/** A fault that lasts: operators are told once that it has begun, and once that it is over. */
export class ReportedFault {
  readonly #logger: Logger
  readonly #level: 'error' | 'warn'
  /** What was reported; null while there is no fault. */
  #reported: string | null = null

  constructor(logger: Logger, level: 'error' | 'warn' = 'error') {
    this.#logger = logger
    this.#level = level
  }

  /**
   * The fault is there: reports it, unless it was reported already.
   *
   * @param kind what tells it from another fault, if the message changes while it lasts, as with how long it has lasted
   */
  report(message: string, kind = message): void {
    if (kind === this.#reported) return
    this.#reported = kind
    this.#logger[this.#level](message)
  }

  /** The fault is over, or was none: reports that if the fault was reported, and a message is given. */
  over(message?: string): void {
    if (this.#reported !== null && message !== undefined) this.#logger.info(message)
    this.#reported = null
  }
}
