import type { Resource, Selection } from '../resources/resource.ts'
import { type SharedRuns, sharedRuns } from '../shared-runs.ts'
import { readArrivals } from '../store/readings/arrivals.ts'
import { readPosition } from '../store/readings/coverage.ts'
import type { Reader } from '../store/store.ts'
import { createArrivalFeed } from './arrival-feed.ts'
import type { Feed, Follower, Start } from './feed.ts'
import type { ReadingTurns } from './reading-turns.ts'
import { selectionKey } from './stream-places.ts'

/** How often the store is asked whether there is more, while anyone follows and its commits are not reported. */
const POLL_INTERVAL_MS = 100

/** How often it is asked where commits are reported; how often feeds look for filled gaps, which move no position. */
const GAP_INTERVAL_MS = 1_000

/** The store's writer may be another program by now where nothing has been reported for so long. */
const REPORTS_MS = 10_000

/** How often a stream on which nothing comes says that it is alive. */
const KEEP_ALIVE_MS = 15_000

export type HubOptions = {
  reader: Reader
  turns: ReadingTurns
  /** Called with a fault that keeps a feed from being read; reading is tried again. */
  onNotice: (message: string) => void
}

/** Every stream of the service; how many there may be is for its user to see to (room.ts). */
export type Hub = {
  /** Follows a selection until {@link Hub.leave}. Resolves once it has had what it lacked, or later. */
  follow(resource: Resource, selection: Selection, follower: Follower, start: Start): Promise<void>
  leave(follower: Follower): void
  /** Reports a commit of the store's writer: the feeds are read at once. */
  committed(): void
  close(): void
}

type Entry = {
  feed: Feed
  pulls: SharedRuns<void>
  followers: Set<Follower>
  /** The position of the store when the feed was last read. */
  height: string | null
  isFailing: boolean
}

export function createHub({ reader, turns, onNotice }: HubOptions): Hub {
  const entries = new Map<string, Entry>()
  const entryOf = new Map<Follower, string>()
  let timer: NodeJS.Timeout | null = null
  /** When a commit was last reported, and when the store was last asked. */
  let reportedAt = Number.NEGATIVE_INFINITY
  let polledAt = Number.NEGATIVE_INFINITY
  /** The position of the store when it was last asked. */
  let height: string | null = null
  /** Whether a commit was reported that the reading in progress may not have seen. */
  let hasUnreadCommit = false
  let gapsAt = 0
  let keptAliveAt = performance.now()
  let fault: string | null = null

  const polls = sharedRuns(() => poll().catch(reportFault))

  async function poll(): Promise<void> {
    polledAt = performance.now()
    const afterCommit = hasUnreadCommit
    hasUnreadCommit = false
    height = (await reader.read(readPosition))?.height ?? null
    const now = performance.now()
    const looksForGaps = afterCommit || now - gapsAt >= GAP_INTERVAL_MS
    if (looksForGaps) gapsAt = now
    for (const entry of entries.values()) {
      const hasMoved = height !== null && height !== entry.height
      if (hasMoved || (looksForGaps && entry.feed.awaitsGaps)) void entry.pulls.fresh()
    }
  }

  /** No feed waits for another one. What has failed is read again at the next poll. */
  async function pull(entry: Entry): Promise<void> {
    const position = height
    try {
      await entry.feed.pull()
      entry.height = position
      entry.isFailing = false
      if (![...entries.values()].some(({ isFailing }) => isFailing)) fault = null
    } catch (error) {
      entry.isFailing = true
      reportFault(error as Error)
    }
  }

  function reportFault({ message }: Error): void {
    if (fault !== message) onNotice(`streams wait until the store can be read: ${message}`)
    fault = message
  }

  function keepAlive(): void {
    const now = performance.now()
    if (now - keptAliveAt < KEEP_ALIVE_MS) return
    keptAliveAt = now
    for (const { feed } of entries.values()) feed.keepAlive()
  }

  function tick(): void {
    // Also while the store cannot be read: the streams resume once it can.
    keepAlive()
    const now = performance.now()
    const interval = now - reportedAt < REPORTS_MS ? GAP_INTERVAL_MS : POLL_INTERVAL_MS
    if (!polls.isRunning && (hasUnreadCommit || now - polledAt >= interval)) void polls.fresh()
  }

  function createFeed(resource: Resource, selection: Selection): Feed {
    return createArrivalFeed({ resource, selection }, (query, lane) =>
      turns(lane, () => reader.read(() => readArrivals(query))),
    )
  }

  function leave(follower: Follower): void {
    const key = entryOf.get(follower)
    if (key === undefined) return
    entryOf.delete(follower)
    const entry = entries.get(key)!
    entry.feed.leave(follower)
    entry.followers.delete(follower)
    if (entry.followers.size === 0) entries.delete(key)
    if (entries.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  return {
    follow: async (resource, selection, follower, start) => {
      const key = selectionKey(resource, selection)
      let entry = entries.get(key)
      if (entry === undefined) {
        const added: Entry = {
          feed: createFeed(resource, selection),
          pulls: sharedRuns(() => pull(added)),
          followers: new Set(),
          height: null,
          isFailing: false,
        }
        entry = added
        entries.set(key, entry)
      }
      entry.followers.add(follower)
      entryOf.set(follower, key)
      timer ??= setInterval(tick, POLL_INTERVAL_MS)
      await entry.feed.join(follower, start)
      if (follower.isClosed) leave(follower)
    },

    leave,

    committed: () => {
      reportedAt = performance.now()
      hasUnreadCommit = true
      if (entries.size > 0) void polls.fresh()
    },

    close: () => {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}
