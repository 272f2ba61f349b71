import type { Resource, Selection } from '../resources/resource.ts'
import type { Reader } from '../store/store.ts'
import { createArrivalFeed } from './arrival-feed.ts'
import type { Feed, Follower, Start } from './feed.ts'
import { createStateFeed } from './state-feed.ts'
import { keepsPlace } from './stream-cursor.ts'

/** How often the store is asked whether there is more, while anyone follows. */
const POLL_INTERVAL_MS = 100

/** How often feeds look for gaps that have been filled: the position does not tell. */
const GAP_INTERVAL_MS = 1_000

/** How often a stream on which nothing comes says that it is alive. */
const KEEP_ALIVE_MS = 15_000

/** Streams at a time, and selections that are followed at a time: each of these is read once for each commit. */
const MAX_FOLLOWERS = 2_048
const MAX_FEEDS = 256

export type HubOptions = {
  reader: Reader
  /** Runs a read once it is its turn among all reads. */
  turns: <T>(work: () => Promise<T>) => Promise<T>
  /** Is told of a fault that keeps a feed from being read, and what is tried again. */
  onNotice: (message: string) => void
}

/** Every stream of the service. */
export type Hub = {
  /** Whether another stream of a selection is taken on. */
  hasRoom(resource: Resource, selection: Selection): boolean
  /** Follows a selection until {@link Hub.leave}. Resolves once the follower has had what it lacked. */
  follow(resource: Resource, selection: Selection, follower: Follower, start: Start): Promise<void>
  leave(follower: Follower): void
  /** Followers of each resource. */
  counts(): Map<string, number>
  close(): void
}

type Entry = { feed: Feed; resource: Resource; followers: Set<Follower> }

export function createHub({ reader, turns, onNotice }: HubOptions): Hub {
  const entries = new Map<string, Entry>()
  const entryOf = new Map<Follower, string>()
  let timer: NodeJS.Timeout | null = null
  let polling = false
  let height: string | null = null
  let gapsAt = 0
  let keptAliveAt = performance.now()
  let fault: string | null = null

  async function poll(): Promise<void> {
    const position = await reader.position()
    const now = performance.now()
    const hasMoved = position !== null && position.height !== height
    const looksForGaps = now - gapsAt >= GAP_INTERVAL_MS
    if (looksForGaps) gapsAt = now
    let failure: unknown = null
    for (const { feed } of entries.values()) {
      if (!hasMoved && !(looksForGaps && feed.awaitsGaps)) continue
      await feed.pull().catch((error: unknown) => {
        failure = error
      })
    }
    // What has failed is read again at the next poll.
    if (failure !== null) throw failure
    height = position?.height ?? null
  }

  function keepAlive(): void {
    const now = performance.now()
    if (now - keptAliveAt < KEEP_ALIVE_MS) return
    keptAliveAt = now
    for (const { feed } of entries.values()) feed.keepAlive()
  }

  function tick(): void {
    // Also while the store cannot be read: the streams go on once it can.
    keepAlive()
    if (polling) return
    polling = true
    poll()
      .then(
        () => {
          fault = null
        },
        (error: Error) => {
          if (fault !== error.message) onNotice(`streams wait: ${error.message}`)
          fault = error.message
        },
      )
      .finally(() => {
        polling = false
      })
  }

  function createFeed(resource: Resource, selection: Selection): Feed {
    const options = { resource, selection }
    return keepsPlace(resource)
      ? createArrivalFeed(options, (query) => turns(() => reader.arrivals(query)))
      : createStateFeed(options, (query) => turns(() => reader.page(query)))
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
    hasRoom: (resource, selection) =>
      entryOf.size < MAX_FOLLOWERS && (entries.has(keyOf(resource, selection)) || entries.size < MAX_FEEDS),

    follow: async (resource, selection, follower, start) => {
      const key = keyOf(resource, selection)
      let entry = entries.get(key)
      if (entry === undefined) {
        entry = { feed: createFeed(resource, selection), resource, followers: new Set() }
        entries.set(key, entry)
      }
      entry.followers.add(follower)
      entryOf.set(follower, key)
      timer ??= setInterval(tick, POLL_INTERVAL_MS)
      await entry.feed.join(follower, start)
      if (follower.isClosed) leave(follower)
    },

    leave,

    counts: () => {
      const counts = new Map<string, number>()
      for (const { resource, followers } of entries.values()) {
        counts.set(resource.name, (counts.get(resource.name) ?? 0) + followers.size)
      }
      return counts
    },

    close: () => {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

function keyOf({ name }: Resource, { marketId, partyId, source, seq }: Selection): string {
  return [name, marketId, partyId, source, seq].join(' ')
}
