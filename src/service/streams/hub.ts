import { type SingleFlight, singleFlight } from '#core/concurrency/single-flight'
import type { Reader } from '#core/store/store'
import type { Follower } from './follower.ts'

/** How often the store is asked whether there is more, while anyone follows and its commits are not reported. */
const POLL_INTERVAL_MS = 100

/** How often it is asked where commits are reported; how often feeds look for filled gaps, which move no position. */
const GAP_INTERVAL_MS = 1_000

/** Without a report for this long, another program may have become the store's writer. */
const REPORTS_MS = 10_000

/** A reading of the store for any number of followers. */
export type Feed = {
  /** Reads and sends new rows. */
  pull(): Promise<void>
  leave(follower: Follower): void
  /** Whether there may be something new although the position has not moved. */
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
  /** The position of the store when the feed was last read. */
  height: string | null
  isFailing: boolean
}

/**
 * Every stream that reads one store: looks whether there is more, and reads the feeds for which there is. Its
 * user limits the number of streams (stream-slots.ts).
 */
export function createHub({ reader, onNotice }: HubOptions) {
  const byKey = new Map<string, FollowedFeed>()
  /** Runs while anyone follows. */
  let timer: NodeJS.Timeout | null = null
  const polls = singleFlight(() => poll().catch(reportFault))
  /** When a commit was last reported, and when the store was last asked. */
  let reportedAt = Number.NEGATIVE_INFINITY
  let polledAt = Number.NEGATIVE_INFINITY
  /** The position of the store when it was last asked. */
  let storeHeight: string | null = null
  /** Whether a commit was reported that the reading in progress may not have seen. */
  let hasUnreadCommit = false
  let lookedForGapsAt = 0
  /** The last error reported, while some feed cannot be read. */
  let fault: string | null = null

  /**
   * Follows a feed until its follower leaves.
   *
   * @param key what distinguishes it from others
   * @param create makes it for its first follower
   * @param join adds the follower to it, and resolves once the follower has received its missing rows, or later
   */
  async function follow<Of extends Feed>(
    key: string,
    create: () => Of,
    follower: Follower,
    join: (feed: Of) => Promise<void>,
  ): Promise<void> {
    const followed = byKey.get(key) ?? followFirst(key, create())
    followed.followers.add(follower)
    timer ??= setInterval(tick, POLL_INTERVAL_MS)
    await join(followed.feed as Of)
    if (follower.isClosed) leave(follower)
  }

  function leave(follower: Follower): void {
    for (const [key, { feed, followers }] of byKey) {
      if (!followers.delete(follower)) continue
      feed.leave(follower)
      if (followers.size === 0) byKey.delete(key)
    }
    if (byKey.size === 0) close()
  }

  /** Reports a commit of the store's writer: the feeds are read at once. */
  function committed(): void {
    reportedAt = performance.now()
    hasUnreadCommit = true
    if (byKey.size > 0) void polls.fresh()
  }

  function close(): void {
    if (timer !== null) clearInterval(timer)
    timer = null
  }

  function followFirst(key: string, feed: Feed): FollowedFeed {
    const followed: FollowedFeed = {
      feed,
      pulls: singleFlight(() => pull(followed)),
      followers: new Set(),
      height: null,
      isFailing: false,
    }
    byKey.set(key, followed)
    return followed
  }

  function tick(): void {
    // Also while the store cannot be read: the streams resume once it can.
    keepAlive()
    const now = performance.now()
    const interval = now - reportedAt < REPORTS_MS ? GAP_INTERVAL_MS : POLL_INTERVAL_MS
    const isDue = hasUnreadCommit || now - polledAt >= interval
    if (isDue && !polls.isRunning) void polls.fresh()
  }

  async function poll(): Promise<void> {
    polledAt = performance.now()
    const afterCommit = hasUnreadCommit
    hasUnreadCommit = false
    storeHeight = (await reader.freshness(null)).position?.height ?? null
    const now = performance.now()
    const looksForGaps = afterCommit || now - lookedForGapsAt >= GAP_INTERVAL_MS
    if (looksForGaps) lookedForGapsAt = now
    for (const { feed, pulls, height } of byKey.values()) {
      const hasMoved = storeHeight !== null && storeHeight !== height
      if (hasMoved || (looksForGaps && feed.awaitsGaps)) void pulls.fresh()
    }
  }

  /** Feeds do not wait for each other. A failed one is read again at the next poll. */
  async function pull(followed: FollowedFeed): Promise<void> {
    const position = storeHeight
    try {
      await followed.feed.pull()
      followed.height = position
      followed.isFailing = false
      if (![...byKey.values()].some(({ isFailing }) => isFailing)) fault = null
    } catch (error) {
      followed.isFailing = true
      reportFault(error as Error)
    }
  }

  function reportFault({ message }: Error): void {
    if (fault !== message) {
      onNotice(`streams wait until the store can be read: ${message}`)
    }
    fault = message
  }

  function keepAlive(): void {
    for (const { feed, followers } of byKey.values()) {
      const silent = [...followers].filter(({ isSilent }) => isSilent)
      if (silent.length > 0) feed.keepAlive(silent)
    }
  }

  return { follow, leave, committed, close }
}
