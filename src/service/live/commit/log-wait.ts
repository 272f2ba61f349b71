// The store waits for a block that one log may still get, although another log has later ones: operators are told once that lasts.
import type { LogReader } from '#core/log/read/log-reader'

/** Once one log has waited for another one so long, that is named, milliseconds. */
const LONG_WAIT_MS = 10_000

/** Why the next block is waited for: because of damage, or for which log, although another log has a later one. */
export class LogWait {
  readonly #reader: LogReader
  /** Since when a log is waited for; null while none is. */
  #since: number | null = null
  #reason: string | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /** Public; null if nothing is waited for, or not for long yet. */
  get reason(): string | null {
    return this.#reason
  }

  /**
   * Looks at the logs. A wait for a log lasts from the first look on that finds the block missing.
   *
   * @param next the block after the store's last one; null if it has none
   */
  look(next: bigint | null): void {
    this.#reason = this.#damageAt(next)
    const awaited = next === null || this.#reason !== null ? null : this.#awaited(next)
    if (awaited === null) this.#since = null
    else this.#since ??= performance.now()
    if (this.#since !== null && performance.now() - this.#since >= LONG_WAIT_MS) this.#reason = awaited
  }

  /** Damage in the segment that is being written: it is no gap before a later segment is there. */
  #damageAt(next: bigint | null): string | null {
    const { segments, gaps } = this.#reader
    if (next === null || segments.find(next) !== null || gaps.laterIn(next) !== null) return null
    const damage = segments.reasonFor(next)
    return damage === null
      ? null
      : `block ${next} cannot be read: ${damage}; another segment may still get it`
  }

  /** Which log may still get a block, although another log has a later one; null if none. */
  #awaited(next: bigint): string | null {
    const { segments, gaps } = this.#reader
    if (segments.find(next) !== null) return null
    const [log] = gaps.waitsFor(next)
    const later = log === undefined ? null : gaps.laterIn(next)
    if (later === null) return null
    return `waiting for block ${next} in log ${log}; log ${later.log} continues with ${later.height}`
  }
}
