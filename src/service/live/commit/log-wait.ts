// Why the next block is not there yet. Damage is named at once; a log that may still get the block, once that has lasted.
import type { LogReader } from '#core/log/read/log-reader'

/** Once a block has been waited for so long, the log that may still get it is named, milliseconds. */
const LONG_WAIT_MS = 10_000

/** Why the next block is waited for: because of damage, or for which log, although another log has a later one. */
export class LogWait {
  readonly #reader: LogReader
  /** The block for which a log is waited for, and since when; null while none is. */
  #waiting: { next: bigint; since: number } | null = null
  #reason: string | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /** Public; null if nothing is waited for, or not for long yet. */
  get reason(): string | null {
    return this.#reason
  }

  /**
   * Looks at the logs. A wait for a block lasts from the first look on that finds it missing.
   *
   * @param next the block that the store needs; null if that is not known
   */
  look(next: bigint | null): void {
    const { segments, gaps } = this.#reader
    const later = next === null || segments.find(next) !== null ? null : gaps.laterIn(next)
    if (next === null || later === null) {
      this.#waiting = null
      this.#reason = next === null ? null : this.#damageAt(next)
      return
    }
    const [log] = gaps.waitsFor(next)
    if (log === undefined) this.#waiting = null
    else if (this.#waiting?.next !== next) this.#waiting = { next, since: performance.now() }
    const isLong = this.#waiting !== null && performance.now() - this.#waiting.since >= LONG_WAIT_MS
    this.#reason = isLong
      ? `waiting for block ${next} in log ${log}; log ${later.log} continues with ${later.height}`
      : null
  }

  /** Why a block cannot be read that the newest segment should have: without a later block, that is no gap yet. */
  #damageAt(next: bigint): string | null {
    const { segments } = this.#reader
    const damage = segments.find(next) === null ? segments.reasonFor(next) : null
    return damage === null
      ? null
      : `block ${next} cannot be read: ${damage}; another segment may still get it`
  }
}
