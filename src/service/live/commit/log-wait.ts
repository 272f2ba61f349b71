// Why the next block is not there yet: because of damage, or a log that may still get it. Operators are told once that lasts.
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
   * @param next the block after the store's last one; null if it has none
   */
  look(next: bigint | null): void {
    this.#reason = this.#damageAt(next)
    const awaited = next === null || this.#reason !== null ? null : this.#awaited(next)
    if (next === null || awaited === null) this.#waiting = null
    else if (this.#waiting?.next !== next) this.#waiting = { next, since: performance.now() }
    if (this.#waiting !== null && performance.now() - this.#waiting.since >= LONG_WAIT_MS)
      this.#reason = awaited
  }

  /** Damage in the newest segment, which should have the block: it is no gap before a later segment is there. */
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
