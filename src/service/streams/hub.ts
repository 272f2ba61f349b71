import { type SingleFlight, singleFlight } from '#core/concurrency/single-flight'
import type { Reader } from '#core/store/store'
import type { Follower, Start } from './follower.ts'
import { PollSchedule, TICK_MS } from './poll-schedule.ts'

/** A reading of the store for any number of followers. */
export type Feed = {
  /**
   * Reads what is new and sends it. Resolves with the height that it has read, which on a replica may be less than that of the
   * store when the hub asked; null if it has read nothing yet. Rejects if the store cannot be read; it is then called again.
   */
  update(): Promise<bigint | null>
  /**
   * Adds a follower. Resolves once it has received its missing events, or later, which begin at its `start`. Rejects if the
   * store cannot be read.
   */
  join(follower: Follower, start: Start): Promise<void>
  /** Sends a follower nothing more. Has no effect on one that does not follow. */
  leave(follower: Follower): void
  /** Whether there may be something new although the store's height has not changed. */
  readonly awaitsGaps: boolean
  /** Sends its silent followers their position, or a comment to those that still wait for their rows. */
  keepAlive(silent: readonly Follower[]): void
}

/** The feed that a client wants to follow. */
export type RequestedFeed = {
  /** Distinguishes the feed from others: streams with the same key share one. */
  key: string
  /** Creates the feed for its first follower. */
  createFeed(): Feed
  start: Start
}

type HubOptions = {
  reader: Pick<Reader, 'freshness'>
  /** Called with a fault for which a feed cannot be read; reading is tried again. */
  onNotice: (message: string) => void
}

/** A feed with followers. */
type FollowedFeed = {
  feed: Feed
  updates: SingleFlight<void>
  followers: Set<Follower>
  /** The height up to which the feed has last been read; null before. */
  height: bigint | null
  isFailing: boolean
}

/**
 * All streams of one store. Asks the store for its height, and updates the feeds that have read less.
 * `stream-slots.ts` limits the number of streams.
 */
export class Hub {
  readonly #reader: HubOptions['reader']
  readonly #onNotice: HubOptions['onNotice']
  readonly #followed = new Map<string, FollowedFeed>()
  readonly #schedule = new PollSchedule()
  readonly #polls = singleFlight(() => this.#poll().catch((error: Error) => this.#reportFault(error)))
  /** Runs while anyone follows. */
  #timer: NodeJS.Timeout | null = null
  /** The height of the store when it was last asked. */
  #storeHeight: bigint | null = null
  /** The last error reported, while some feed cannot be read. */
  #fault: string | null = null

  constructor({ reader, onNotice }: HubOptions) {
    this.#reader = reader
    this.#onNotice = onNotice
  }

  /** Has a follower join a feed, and stay until it leaves. Resolves and rejects as {@link Feed.join}. */
  async follow({ key, createFeed, start }: RequestedFeed, follower: Follower): Promise<void> {
    const followed = this.#followed.get(key) ?? this.#add(key, createFeed())
    followed.followers.add(follower)
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS)
    await followed.feed.join(follower, start)
    if (follower.isClosed) this.leave(follower)
  }

  /** Removes a follower from its feeds. A feed without followers is no longer updated. */
  leave(follower: Follower): void {
    for (const [key, { feed, followers }] of this.#followed) {
      if (!followers.delete(follower)) continue
      feed.leave(follower)
      if (followers.size === 0) this.#followed.delete(key)
    }
    if (this.#followed.size === 0) this.close()
  }

  /** Reports a commit of the store's writer: the store is asked at once. */
  committed(): void {
    this.#schedule.committed(performance.now())
    if (this.#followed.size > 0) void this.#polls.fresh()
  }

  /** Stops asking the store, until somebody follows again. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
    this.#timer = null
  }

  #add(key: string, feed: Feed): FollowedFeed {
    const followed: FollowedFeed = {
      feed,
      updates: singleFlight(() => this.#update(followed)),
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
    if (this.#schedule.isDue(performance.now()) && !this.#polls.isRunning) void this.#polls.fresh()
  }

  async #poll(): Promise<void> {
    const isAfterCommit = this.#schedule.begin(performance.now())
    const { storeHead } = await this.#reader.freshness(null)
    this.#storeHeight = storeHead === null ? null : BigInt(storeHead.height)
    this.#forgetFaultIfRead()
    const looksForGaps = this.#schedule.beginGapSearch(isAfterCommit, performance.now())
    for (const { feed, updates, height } of this.#followed.values()) {
      const isBehind = this.#storeHeight !== null && (height === null || height < this.#storeHeight)
      if (isBehind || (looksForGaps && feed.awaitsGaps)) void updates.fresh()
    }
  }

  /** Feeds do not wait for each other. One that fails is updated again at the next poll. */
  async #update(followed: FollowedFeed): Promise<void> {
    try {
      followed.height = await followed.feed.update()
      followed.isFailing = false
      this.#forgetFaultIfRead()
    } catch (error) {
      followed.isFailing = true
      this.#reportFault(error as Error)
    }
  }

  /** Once no feed fails any more, the same fault is another outage, and is reported again. */
  #forgetFaultIfRead(): void {
    if (![...this.#followed.values()].some(({ isFailing }) => isFailing)) this.#fault = null
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
