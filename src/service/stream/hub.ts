import { type SharedRuns, sharedRuns } from '#core/shared-runs'
import type { Reader } from '#core/store/store'
import type { Follower } from './follower.ts'

/** How often the store is asked whether there is more, while anyone follows and its commits are not reported. */
const POLL_INTERVAL_MS = 100

/** How often it is asked where commits are reported; how often feeds look for filled gaps, which move no position. */
const GAP_INTERVAL_MS = 1_000

/** Without a report for this long, another program may have become the store's writer. */
const REPORTS_MS = 10_000

/** How often a stream on which nothing comes says that it is alive. */
const HEARTBEAT_MS = 15_000

/** A reading of the store for any number of followers. */
export type Feed = {
  /** Reads and sends new rows. */
  pull(): Promise<void>
  leave(follower: Follower): void
  /** Whether there may be something new although the position has not moved. */
  readonly awaitsGaps: boolean
  /** Says to all followers that the stream is alive, and how far it is. */
  keepAlive(): void
}

export type HubOptions = {
  reader: Pick<Reader, 'freshness'>
  /** Called with a fault that keeps a feed from being read; reading is tried again. */
  onNotice: (message: string) => void
}

/** A feed with followers. */
type FollowedFeed = {
  feed: Feed
  pulls: SharedRuns<void>
  followers: Set<Follower>
  /** The position of the store when the feed was last read. */
  height: string | null
  isFailing: boolean
}

/**
 * Every stream that reads one store: looks whether there is more, and reads the feeds for which there is. Its
 * user limits the number of streams (stream-places.ts).
 */
export class Hub {
  readonly #options: HubOptions
  readonly #byKey = new Map<string, FollowedFeed>()
  readonly #keyOf = new Map<Follower, string>()
  /** Runs while anyone follows. */
  #timer: NodeJS.Timeout | null = null
  readonly #polls = sharedRuns(() => this.#poll().catch((error: Error) => this.#reportFault(error)))
  /** When a commit was last reported, and when the store was last asked. */
  #reportedAt = Number.NEGATIVE_INFINITY
  #polledAt = Number.NEGATIVE_INFINITY
  /** The position of the store when it was last asked. */
  #height: string | null = null
  /** Whether a commit was reported that the reading in progress may not have seen. */
  #hasUnreadCommit = false
  #lookedForGapsAt = 0
  #keptAliveAt = performance.now()
  /** The last error reported, while some feed cannot be read. */
  #fault: string | null = null

  constructor(options: HubOptions) {
    this.#options = options
  }

  /**
   * Follows a feed until {@link Hub.leave}.
   *
   * @param key what distinguishes it from others
   * @param create makes it for its first follower
   * @param join adds the follower to it, and resolves once the follower has received its missing rows, or later
   */
  async follow<Of extends Feed>(
    key: string,
    create: () => Of,
    follower: Follower,
    join: (feed: Of) => Promise<void>,
  ): Promise<void> {
    const followed = this.#byKey.get(key) ?? this.#followFirst(key, create())
    followed.followers.add(follower)
    this.#keyOf.set(follower, key)
    this.#timer ??= setInterval(() => this.#tick(), POLL_INTERVAL_MS)
    await join(followed.feed as Of)
    if (follower.isClosed) this.leave(follower)
  }

  leave(follower: Follower): void {
    const key = this.#keyOf.get(follower)
    if (key === undefined) return
    this.#keyOf.delete(follower)
    const { feed, followers } = this.#byKey.get(key)!
    feed.leave(follower)
    followers.delete(follower)
    if (followers.size === 0) this.#byKey.delete(key)
    if (this.#byKey.size === 0) this.close()
  }

  /** Reports a commit of the store's writer: the feeds are read at once. */
  committed(): void {
    this.#reportedAt = performance.now()
    this.#hasUnreadCommit = true
    if (this.#byKey.size > 0) void this.#polls.fresh()
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #followFirst(key: string, feed: Feed): FollowedFeed {
    const followed: FollowedFeed = {
      feed,
      pulls: sharedRuns(() => this.#pull(followed)),
      followers: new Set(),
      height: null,
      isFailing: false,
    }
    this.#byKey.set(key, followed)
    return followed
  }

  #tick(): void {
    // Also while the store cannot be read: the streams resume once it can.
    this.#keepAlive()
    const now = performance.now()
    const interval = now - this.#reportedAt < REPORTS_MS ? GAP_INTERVAL_MS : POLL_INTERVAL_MS
    const isDue = this.#hasUnreadCommit || now - this.#polledAt >= interval
    if (isDue && !this.#polls.isRunning) void this.#polls.fresh()
  }

  async #poll(): Promise<void> {
    this.#polledAt = performance.now()
    const afterCommit = this.#hasUnreadCommit
    this.#hasUnreadCommit = false
    this.#height = (await this.#options.reader.freshness(null)).position?.height ?? null
    const now = performance.now()
    const looksForGaps = afterCommit || now - this.#lookedForGapsAt >= GAP_INTERVAL_MS
    if (looksForGaps) this.#lookedForGapsAt = now
    for (const { feed, pulls, height } of this.#byKey.values()) {
      const hasMoved = this.#height !== null && this.#height !== height
      if (hasMoved || (looksForGaps && feed.awaitsGaps)) void pulls.fresh()
    }
  }

  /** Feeds do not wait for each other. A failed one is read again at the next poll. */
  async #pull(followed: FollowedFeed): Promise<void> {
    const position = this.#height
    try {
      await followed.feed.pull()
      followed.height = position
      followed.isFailing = false
      if (![...this.#byKey.values()].some(({ isFailing }) => isFailing)) this.#fault = null
    } catch (error) {
      followed.isFailing = true
      this.#reportFault(error as Error)
    }
  }

  #reportFault({ message }: Error): void {
    if (this.#fault !== message) {
      this.#options.onNotice(`streams wait until the store can be read: ${message}`)
    }
    this.#fault = message
  }

  #keepAlive(): void {
    const now = performance.now()
    if (now - this.#keptAliveAt < HEARTBEAT_MS) return
    this.#keptAliveAt = now
    for (const { feed } of this.#byKey.values()) feed.keepAlive()
  }
}
