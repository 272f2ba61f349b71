import { type SingleFlight, singleFlight } from '#core/concurrency/single-flight'
import type { Reader } from '#core/store/store'
import type { Follower } from './follower.ts'

/** How often the store is asked whether there is more, while anyone follows and its commits are not reported. */
const POLL_INTERVAL_MS = 100

/** How often it is asked where commits are reported; how often feeds look for filled gaps, which do not move the store head. */
const GAP_INTERVAL_MS = 1_000

/** Without a report for this long, another program may have become the store's writer. */
const REPORTS_MS = 10_000

/** A reading of the store for any number of followers. */
export type Feed = {
  /** Reads and sends new rows. Rejects if the store cannot be read; it is then called again. */
  pull(): Promise<void>
  /** Sends a follower nothing more; without effect for one that does not follow. */
  leave(follower: Follower): void
  /** Whether there may be something new although the store head has not moved. */
  readonly awaitsGaps: boolean
  /** Sends its silent followers their position, or a comment to those that still wait for their rows. */
  keepAlive(silent: readonly Follower[]): void
}

type HubOptions = {
  reader: Pick<Reader, 'freshness'>
  /** Called with a fault that keeps a feed from being read; reading is tried again. */
  onNotice: (message: string) => void
}

/** A feed with followers. */
type FollowedFeed = {
  feed: Feed
  pulls: SingleFlight<void>
  followers: Set<Follower>
  /** The height of the store when the feed was last read. */
  height: string | null
  isFailing: boolean
}

/**
 * Every stream that reads one store: looks whether there is more, and reads the feeds for which there is. Its
 * user limits the number of streams (stream-slots.ts).
 */
export class Hub {
  readonly #reader: HubOptions['reader']
  readonly #onNotice: HubOptions['onNotice']
  readonly #followed = new Map<string, FollowedFeed>()
  readonly #polls = singleFlight(() => this.#poll().catch((error: Error) => this.#reportFault(error)))
  /** Runs while anyone follows. */
  #timer: NodeJS.Timeout | null = null
  /** When a commit was last reported, and when the store was last asked. */
  #reportedAt = Number.NEGATIVE_INFINITY
  #polledAt = Number.NEGATIVE_INFINITY
  /** The height of the store when it was last asked. */
  #storeHeight: string | null = null
  /** Whether a commit was reported that the reading in progress may not have seen. */
  #hasUnreadCommit = false
  #lookedForGapsAt = 0
  /** The last error reported, while some feed cannot be read. */
  #fault: string | null = null

  constructor({ reader, onNotice }: HubOptions) {
    this.#reader = reader
    this.#onNotice = onNotice
  }

  /**
   * Follows a feed until its follower leaves.
   *
   * @param key what distinguishes it from others
   * @param create creates it for its first follower
   * @param join adds the follower to it, and resolves once the follower has received its missing rows, or later
   */
  async follow<Of extends Feed>(
    key: string,
    create: () => Of,
    follower: Follower,
    join: (feed: Of) => Promise<void>,
  ): Promise<void> {
    const followed = this.#followed.get(key) ?? this.#add(key, create())
    followed.followers.add(follower)
    this.#timer ??= setInterval(() => this.#tick(), POLL_INTERVAL_MS)
    await join(followed.feed as Of)
    if (follower.isClosed) this.leave(follower)
  }

  /** Ends what a follower follows; a feed without followers is no longer read. */
  leave(follower: Follower): void {
    for (const [key, { feed, followers }] of this.#followed) {
      if (!followers.delete(follower)) continue
      feed.leave(follower)
      if (followers.size === 0) this.#followed.delete(key)
    }
    if (this.#followed.size === 0) this.close()
  }

  /** Reports a commit of the store's writer: the feeds are read at once. */
  committed(): void {
    this.#reportedAt = performance.now()
    this.#hasUnreadCommit = true
    if (this.#followed.size > 0) void this.#polls.fresh()
  }

  /** Stops looking at the store; whoever follows afterwards starts it again. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #add(key: string, feed: Feed): FollowedFeed {
    const followed: FollowedFeed = {
      feed,
      pulls: singleFlight(() => this.#pull(followed)),
      followers: new Set(),
      height: null,
      isFailing: false,
    }
    this.#followed.set(key, followed)
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
    this.#storeHeight = (await this.#reader.freshness(null)).storeHead?.height ?? null
    // What is said again after this is another outage.
    if (![...this.#followed.values()].some(({ isFailing }) => isFailing)) this.#fault = null
    const now = performance.now()
    const looksForGaps = afterCommit || now - this.#lookedForGapsAt >= GAP_INTERVAL_MS
    if (looksForGaps) this.#lookedForGapsAt = now
    for (const { feed, pulls, height } of this.#followed.values()) {
      const hasMoved = this.#storeHeight !== null && this.#storeHeight !== height
      if (hasMoved || (looksForGaps && feed.awaitsGaps)) void pulls.fresh()
    }
  }

  /** Feeds do not wait for each other. A failed one is read again at the next poll. */
  async #pull(followed: FollowedFeed): Promise<void> {
    const height = this.#storeHeight
    try {
      await followed.feed.pull()
      followed.height = height
      followed.isFailing = false
      if (![...this.#followed.values()].some(({ isFailing }) => isFailing)) this.#fault = null
    } catch (error) {
      followed.isFailing = true
      this.#reportFault(error as Error)
    }
  }

  #reportFault({ message }: Error): void {
    if (this.#fault !== message) this.#onNotice(`streams wait until the store can be read: ${message}`)
    this.#fault = message
  }

  #keepAlive(): void {
    for (const { feed, followers } of this.#followed.values()) {
      const silent = [...followers].filter(({ isSilent }) => isSilent)
      if (silent.length > 0) feed.keepAlive(silent)
    }
  }
}
