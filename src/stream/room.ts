import type { Resource, Selection } from '../resources/resource.ts'
import { createShares } from '../shares.ts'

export type RoomOptions = {
  /** Streams at a time, and different selections that they follow: each of these is read once for each commit. */
  limits: { streams: number; selections: number }
  /** Called with an address that holds all of either and asks for more. */
  onAlone?: (address: string) => void
}

/** A stream that takes room. */
export type Guest = {
  resource: Resource
  selection: Selection
  /** The address that it counts for. */
  address: string
  /** Ends it, to make room for another one: its client comes back by itself. */
  end(): void
}

/** How many streams there are, and room for more. */
export type Room = {
  /**
   * Takes another stream on. Where there are as many streams or selections as there may be, one of the address that
   * holds most is ended for it.
   *
   * @returns what is to be called at its end, or null where there is no room
   */
  take(guest: Guest): (() => void) | null
  /** Streams of each resource. */
  counts(): Map<string, number>
}

/** A selection that is followed; `owner` is the address for which it counts, one of those that follow it. */
type Entry = { key: string; resource: Resource; guests: Set<Guest>; owner: string }

export function createRoom({ limits, onAlone = () => {} }: RoomOptions): Room {
  const entries = new Map<string, Entry>()
  // Of an address that gives way the newest: what it has done least with.
  const streams = createShares<Guest>({
    places: limits.streams,
    choose: (guests) => [...guests].at(-1)!,
    onAlone,
  })
  const selections = createShares<Entry>({ places: limits.selections, choose: leastFollowed, onAlone })

  function leave(entry: Entry, guest: Guest): void {
    if (!entry.guests.delete(guest)) return
    streams.release(guest)
    const [next] = entry.guests
    if (next === undefined) {
      entries.delete(entry.key)
      selections.release(entry)
    } else if (![...entry.guests].some(({ address }) => address === entry.owner)) {
      entry.owner = next.address
      if (selections.release(entry)) selections.take(entry.owner, entry)
    }
  }

  function giveWay(guest: Guest): void {
    leave(entries.get(selectionKey(guest.resource, guest.selection))!, guest)
    guest.end()
  }

  function entryFor({ resource, selection, address }: Guest): Entry | null {
    const key = selectionKey(resource, selection)
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry = { key, resource, guests: new Set<Guest>(), owner: address }
    const result = selections.take(address, entry)
    if (result === 'refused') return null
    for (const guest of result?.guests ?? []) giveWay(guest)
    entries.set(key, entry)
    return entry
  }

  return {
    take: (guest) => {
      const entry = entryFor(guest)
      if (entry === null) return null
      // From here on the entry stays, even if others have to leave.
      entry.guests.add(guest)
      const result = streams.take(guest.address, guest)
      if (result === 'refused') {
        leave(entry, guest)
        return null
      }
      if (result !== null) giveWay(result)
      return () => leave(entry, guest)
    },
    counts: () => {
      const counts = new Map<string, number>()
      for (const { resource, guests } of entries.values()) {
        counts.set(resource.name, (counts.get(resource.name) ?? 0) + guests.size)
      }
      return counts
    },
  }
}

/** Of selections the one that fewest follow; of several such the newest. */
function leastFollowed(entries: ReadonlySet<Entry>): Entry {
  return [...entries].reduce((least, entry) => (entry.guests.size <= least.guests.size ? entry : least))
}

/** What distinguishes a selection of a resource from every other one. */
export function selectionKey({ name, filters, scope }: Resource, selection: Selection): string {
  const values = filters.map((filter) => selection[filter])
  return [name, scope === null ? '' : selection[scope], ...values].join(' ')
}
