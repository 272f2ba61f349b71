import type { LogSegment } from '../followed-log.ts'

/** How long another log may be ahead before a reader turns to it, in milliseconds: logs at URLs are looked at each second. */
const LONG_MS = 2_000

/**
 * For how long another log has had the next block, and the one that is being read has not. Of two cores, now this one is ahead by
 * a moment, now that one; turning to the other log at once would each time begin its segment again.
 */
export class Lag {
  #height: bigint | null = null
  #since = 0

  /**
   * Whether to turn from a segment that is being written to another one that has the next block; at once within a log. To be asked
   * again and again as long as it has.
   */
  mayTurn(height: bigint, from: LogSegment, to: LogSegment): boolean {
    if (from.log === to.log) return true
    if (height !== this.#height) {
      this.#height = height
      this.#since = performance.now()
    }
    return performance.now() - this.#since >= LONG_MS
  }
}
