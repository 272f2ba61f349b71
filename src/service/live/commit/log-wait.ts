// The store waits for a block that one log may still get, although another log has later ones: operators are told once that lasts.
import type { LogReader } from '#core/log/read/log-reader'

/** Once one log has waited for another one so long, that is named, milliseconds. */
const LONG_WAIT_MS = 10_000

/** Measures how long the next block is waited for in a log although another log has a later one. */
export class LogWait {
  readonly #reader: LogReader
  /** Null while none is waited for. */
  #since: number | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * Why the next block is waited for: because of damage, or for which log, once that lasts; null if for nothing. It lasts from the
   * first call on that finds the block missing, so this must be called regularly.
   *
   * @param next the block after the store's last one; null if it has none
   */
  describe(next: bigint | null): string | null {
    const { segments, gaps } = this.#reader
    // A damage in the segment that is being written: no gap before a later segment is there.
    const reason = next !== null && segments.find(next) === null ? segments.reasonFor(next) : null
    if (reason !== null && gaps.laterIn(next!) === null) {
      this.#since = null
      return `block ${next} cannot be read: ${reason}; another segment may still get it`
    }
    const [log] = next === null || segments.find(next) !== null ? [] : gaps.waitsFor(next)
    const later = log === undefined ? null : gaps.laterIn(next!)
    if (later === null) {
      this.#since = null
      return null
    }
    this.#since ??= performance.now()
    if (performance.now() - this.#since < LONG_WAIT_MS) return null
    return `waiting for block ${next} in log ${log}; log ${later.log} continues with ${later.height}`
  }
}
