import type { Resource, Selection } from '../resources/resource.ts'
import { createShares } from '../shares.ts'
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

export type HubOptions = {
  reader: Reader
  /** Runs a read once it is its turn among all reads. */
  turns: <T>(work: () => Promise<T>) => Promise<T>
  /** Is told of a fault that keeps a feed from being read, and what is tried again. */
  onNotice: (message: string) => void
  /** Streams at a time, and different selections that they follow: each of these is read once for each commit. */
  limits: { streams: number; selections: number }
  /** Is told of an address that holds all of either and asks for more. */
  onAlone?: (address: string) => void
}

/** Every stream of the service. */
export type Hub = {
  /**
   * Takes a seat for a stream of a selection, until {@link Hub.leave}. Where there are as many streams or selections
   * as there may be, one of the address that holds most ends for it: it comes back by itself. Null where there is
   * no room.
   */
  takeSeat(resource: Resource, selection: Selection, address: string): Seat | null
  /** Follows the seat's selection. Resolves once the follower has had what it lacked. */
  follow(seat: Seat, follower: EndingFollower, start: Start): Promise<void>
  leave(seat: Seat): void
  /** Followers of each resource. */
  counts(): Map<string, number>
  close(): void
}

/** A follower that can be ended in an orderly way. */
export type EndingFollower = Follower & { end(): void }

/** The place of a stream in the hub. */
export type Seat = { entry: Entry; address: string; follower: EndingFollower | null }

/** A selection that is followed; `owner` is the address for which it counts, one of those that follow it. */
type Entry = { key: string; feed: Feed; resource: Resource; seats: Set<Seat>; owner: string }

export function createHub({ reader, turns, onNotice, limits, onAlone = () => {} }: HubOptions): Hub {
  const entries = new Map<string, Entry>()
  // Of an address that gives way the newest: what it has done least with.
  const streams = createShares<Seat>({
    places: limits.streams,
    choose: (seats) => [...seats].at(-1)!,
    onAlone,
  })
  const selections = createShares<Entry>({ places: limits.selections, choose: leastFollowed, onAlone })
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

  function leave(seat: Seat): void {
    const { entry, follower } = seat
    if (!entry.seats.delete(seat)) return
    streams.release(seat)
    if (follower !== null) entry.feed.leave(follower)
    const [next] = entry.seats
    if (next === undefined) {
      entries.delete(entry.key)
      selections.release(entry)
    } else if (![...entry.seats].some(({ address }) => address === entry.owner)) {
      entry.owner = next.address
      if (selections.release(entry)) selections.take(entry.owner, entry)
    }
    if (entries.size > 0 || timer === null) return
    clearInterval(timer)
    timer = null
  }

  /** Ends a stream, to make room for another one. */
  function end(seat: Seat): void {
    leave(seat)
    seat.follower?.end()
  }

  function takeEntry(resource: Resource, selection: Selection, address: string): Entry | null {
    const key = keyOf(resource, selection)
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry = {
      key,
      feed: createFeed(resource, selection),
      resource,
      seats: new Set<Seat>(),
      owner: address,
    }
    const result = selections.take(address, entry)
    if (result === 'refused') return null
    for (const seat of result?.seats ?? []) end(seat)
    entries.set(key, entry)
    return entry
  }

  return {
    takeSeat: (resource, selection, address) => {
      const entry = takeEntry(resource, selection, address)
      if (entry === null) return null
      const seat = { entry, address, follower: null }
      // From here on the entry stays, whoever has to leave.
      entry.seats.add(seat)
      const result = streams.take(address, seat)
      if (result === 'refused') {
        leave(seat)
        return null
      }
      if (result !== null) end(result)
      return seat
    },

    follow: async (seat, follower, start) => {
      seat.follower = follower
      timer ??= setInterval(tick, POLL_INTERVAL_MS)
      await seat.entry.feed.join(follower, start)
      if (follower.isClosed) leave(seat)
    },

    leave,

    counts: () => {
      const counts = new Map<string, number>()
      for (const { resource, seats } of entries.values()) {
        counts.set(resource.name, (counts.get(resource.name) ?? 0) + seats.size)
      }
      return counts
    },

    close: () => {
      if (timer !== null) clearInterval(timer)
      timer = null
    },
  }
}

/** Of selections the one that fewest follow; of several such the newest. */
function leastFollowed(entries: ReadonlySet<Entry>): Entry {
  return [...entries].reduce((least, entry) => (entry.seats.size <= least.seats.size ? entry : least))
}

function keyOf({ name }: Resource, { marketId, partyId, source, seq }: Selection): string {
  return [name, marketId, partyId, source, seq].join(' ')
}
