/** How long another log may be ahead before a reader turns to it, in milliseconds: logs at URLs are looked at each second. */
const LONG_MS = 2_000

/**
 * For how long another log has had the next block, and the one that is being read has not. Of two cores, now this one is ahead by
 * a moment, now that one; turning to the other log at once would each time begin its segment again.
 */
export class Lag {
  #height: bigint | null = null
  #since = 0

  /** Whether a block has been missing here for long. To be asked again and again as long as it is. */
  isLong(height: bigint): boolean {
    if (height !== this.#height) {
      this.#height = height
      this.#since = performance.now()
    }
    return performance.now() - this.#since >= LONG_MS
  }
}
