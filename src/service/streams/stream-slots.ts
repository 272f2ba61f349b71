import type { Resource, Selection } from '#core/model/resource'
import type { Account } from '../quotas.ts'

/** A stream that is open. */
type OpenStream = {
  resource: Resource
  /** Streams with the same key share a feed. */
  key: string
  /** The address that it counts for. */
  address: string
  /** Ends it to make room for another one: its client reconnects automatically. */
  end(): void
}

/** The slots of streams, and of the selections that they follow. */
export type StreamSlots = {
  /**
   * Accepts another stream. At the limit of streams or selections, one of the address with the most is ended for it.
   *
   * @returns a function to call at its end, or null if there is no room
   */
  take(stream: OpenStream): (() => void) | null
  /** Streams of each resource. */
  counts(): Map<string, number>
}

/** A selection that is followed. It counts for one of the addresses that follow it, its `owner`. */
type FollowedSelection = { key: string; resource: Resource; followers: Set<OpenStream>; owner: string }

/** @param limits streams at a time, and different selections that they follow: each of these is read once for each commit */
export function createStreamSlots(
  limits: { streams: number; selections: number },
  account: Account,
): StreamSlots {
  const entries = new Map<string, FollowedSelection>()
  // The newest stream of an address is ended: it has received the least.
  const streams = account.quota<OpenStream>({
    slots: limits.streams,
    choose: (followers) => [...followers].at(-1)!,
  })
  const selections = account.quota<FollowedSelection>({ slots: limits.selections, choose: leastFollowed })

  function leave(entry: FollowedSelection, stream: OpenStream): void {
    if (!entry.followers.delete(stream)) return
    streams.release(stream)
    const [next] = entry.followers
    if (next === undefined) {
      entries.delete(entry.key)
      selections.release(entry)
    } else if (![...entry.followers].some(({ address }) => address === entry.owner)) {
      entry.owner = next.address
      if (selections.release(entry)) selections.take(entry.owner, entry)
    }
  }

  function giveWay(stream: OpenStream): void {
    leave(entries.get(stream.key)!, stream)
    stream.end()
  }

  function entryFor({ resource, key, address }: OpenStream): FollowedSelection | null {
    const existing = entries.get(key)
    if (existing !== undefined) return existing
    const entry = { key, resource, followers: new Set<OpenStream>(), owner: address }
    const result = selections.take(address, entry)
    if (result === 'refused') return null
    for (const stream of result?.followers ?? []) giveWay(stream)
    entries.set(key, entry)
    return entry
  }

  return {
    take: (stream) => {
      const entry = entryFor(stream)
      if (entry === null) return null
      // From here on the entry is not removed, even if others have to leave.
      entry.followers.add(stream)
      const result = streams.take(stream.address, stream)
      if (result === 'refused') {
        leave(entry, stream)
        return null
      }
      if (result !== null) giveWay(result)
      return () => leave(entry, stream)
    },
    counts: () => {
      const counts = new Map<string, number>()
      for (const { resource, followers } of entries.values()) {
        counts.set(resource.name, (counts.get(resource.name) ?? 0) + followers.size)
      }
      return counts
    },
  }
}

/** The selection with the fewest followers; of several such the newest. */
function leastFollowed(entries: ReadonlySet<FollowedSelection>): FollowedSelection {
  return [...entries].reduce((least, entry) => (entry.followers.size <= least.followers.size ? entry : least))
}

/** What distinguishes a selection of a resource from every other one. */
export function selectionKey({ name, filters, scope }: Resource, selection: Selection): string {
  const values = filters.map((filter) => selection[filter.name])
  return [name, scope === null ? '' : (selection[scope] ?? ''), ...values].join(' ')
}
