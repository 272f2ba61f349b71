import type { Resource, Selection } from '../resources/resource.ts'

/** Streams at a time, and selections that are followed at a time: each of these is read once for each commit. */
const MAX_FOLLOWERS = 2_048
const MAX_FEEDS = 256

/** How many streams there are, and room for more. */
export type Room = {
  /** Takes another stream of a selection on; returns what is to be called at its end, or null where there is no room. */
  take(resource: Resource, selection: Selection): (() => void) | null
  /** Streams of each resource. */
  counts(): Map<string, number>
}

export function createRoom(): Room {
  const streams = new Map<string, { resource: Resource; count: number }>()
  let total = 0
  return {
    take: (resource, selection) => {
      const key = selectionKey(resource, selection)
      if (total >= MAX_FOLLOWERS || (!streams.has(key) && streams.size >= MAX_FEEDS)) return null
      const entry = streams.get(key) ?? { resource, count: 0 }
      streams.set(key, entry)
      entry.count += 1
      total += 1
      let isLeft = false
      return () => {
        if (isLeft) return
        isLeft = true
        total -= 1
        entry.count -= 1
        if (entry.count === 0) streams.delete(key)
      }
    },
    counts: () => {
      const counts = new Map<string, number>()
      for (const { resource, count } of streams.values()) {
        counts.set(resource.name, (counts.get(resource.name) ?? 0) + count)
      }
      return counts
    },
  }
}

/** What tells a selection of a resource from every other one. */
export function selectionKey({ name }: Resource, { marketId, partyId, source, seq }: Selection): string {
  return [name, marketId, partyId, source, seq].join(' ')
}
