/** How often the store is asked for its height while its commits are not reported. */
const POLL_INTERVAL_MS = 100

/** How often it is asked while they are; how often feeds look for filled gaps, which do not change the height. */
const SLOW_INTERVAL_MS = 1_000

/** Without a report for this long, another program may have become the store's writer. */
const REPORTS_MS = 10_000

/** How often {@link PollSchedule.isDue} is to be asked, milliseconds. */
export const TICK_MS = POLL_INTERVAL_MS

/** When a hub asks its store, and when its feeds look for filled gaps. All times are those of `performance.now()`. */
export class PollSchedule {
  /** When a commit was last reported. */
  #reportedAt = Number.NEGATIVE_INFINITY
  /** Whether a commit has been reported that no poll may have seen. */
  #hasUnreadCommit = false
  #polledAt = Number.NEGATIVE_INFINITY
  #lookedForGapsAt = 0

  /** A commit has been reported. */
  committed(now: number): void {
    this.#reportedAt = now
    this.#hasUnreadCommit = true
  }

  /** Whether the store is to be asked. */
  isDue(now: number): boolean {
    const interval = now - this.#reportedAt < REPORTS_MS ? SLOW_INTERVAL_MS : POLL_INTERVAL_MS
    return this.#hasUnreadCommit || now - this.#polledAt >= interval
  }

  /** A poll begins. Returns whether it is the first one after a reported commit. */
  begin(now: number): boolean {
    const isAfterCommit = this.#hasUnreadCommit
    this.#polledAt = now
    this.#hasUnreadCommit = false
    return isAfterCommit
  }

  /** Whether feeds are to look for filled gaps in this poll, as they then do. */
  beginGapSearch(isAfterCommit: boolean, now: number): boolean {
    if (!isAfterCommit && now - this.#lookedForGapsAt < SLOW_INTERVAL_MS) return false
    this.#lookedForGapsAt = now
    return true
  }
}
