// Why the next block is not there yet. If no log has a later one: damage, at once. Otherwise: the log that may still get it, after 10 s.
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

  /** Public. Null if nothing is waited for, or a log not for 10 s yet. */
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
    const before = this.#waiting
    this.#waiting = null
    this.#reason = null
    if (next === null || segments.find(next) !== null) return
    const later = gaps.laterIn(next)
    if (later === null) {
      this.#reason = this.#damageAt(next)
      return
    }
    const [log] = gaps.waitsFor(next)
    if (log === undefined) return
    const since = before?.next === next ? before.since : performance.now()
    this.#waiting = { next, since }
    if (performance.now() - since >= LONG_WAIT_MS)
      this.#reason = `waiting for block ${next} in log ${log}; log ${later.log} continues with ${later.height}`
  }

  /** Why no segment gives a block, if one that should have it is damaged: without a later block, that is no gap yet. */
  #damageAt(next: bigint): string | null {
    const damage = this.#reader.segments.reasonFor(next)
    return damage === null
      ? null
      : `block ${next} cannot be read: ${damage}; another segment may still get it`
  }
}
