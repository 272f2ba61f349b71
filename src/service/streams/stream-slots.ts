import type { Resource, Selection } from '#core/model/resource'
import type { Account, Quota } from '../quotas.ts'

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

/** A selection that is followed. It counts for one of the addresses that follow it, its `owner`. */
type FollowedSelection = { key: string; resource: Resource; followers: Set<OpenStream>; owner: string }

/** The slots of streams, and of the selections that they follow. */
export class StreamSlots {
  /** The selections that are followed, by their keys. */
  readonly #followed = new Map<string, FollowedSelection>()
  readonly #streams: Quota<OpenStream>
  readonly #selections: Quota<FollowedSelection>

  /** @param limits streams at a time, and different selections that they follow: each of these is read once for each commit */
  constructor(limits: { streams: number; selections: number }, account: Account) {
    this.#streams = account.quota<OpenStream>({
      slots: limits.streams,
      // The newest stream of an address is ended: it has received the least.
      choose: (followers) => [...followers].at(-1)!,
    })
    this.#selections = account.quota<FollowedSelection>({ slots: limits.selections, choose: leastFollowed })
  }

  /**
   * Accepts another stream. At the limit of streams or selections, one of the address with the most is ended for it.
   *
   * @returns a function to call at its end, or null if there is no room
   */
  take(stream: OpenStream): (() => void) | null {
    const selection = this.#selectionOf(stream)
    if (selection === null) return null
    // From here on the selection is not removed, even if others have to leave.
    selection.followers.add(stream)
    const result = this.#streams.take(stream.address, stream)
    if (result === 'refused') {
      this.#leave(selection, stream)
      return null
    }
    if (result !== null) this.#end(result)
    return () => this.#leave(selection, stream)
  }

  /** Streams of each resource, by its name. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { resource, followers } of this.#followed.values()) {
      counts.set(resource.name, (counts.get(resource.name) ?? 0) + followers.size)
    }
    return counts
  }

  /** The selection that a stream follows, with a slot; null if there is none for it. */
  #selectionOf({ resource, key, address }: OpenStream): FollowedSelection | null {
    const existing = this.#followed.get(key)
    if (existing !== undefined) return existing
    const selection = { key, resource, followers: new Set<OpenStream>(), owner: address }
    const result = this.#selections.take(address, selection)
    if (result === 'refused') return null
    for (const stream of result?.followers ?? []) this.#end(stream)
    this.#followed.set(key, selection)
    return selection
  }

  /** Ends a stream, to make room for another one. */
  #end(stream: OpenStream): void {
    this.#leave(this.#followed.get(stream.key)!, stream)
    stream.end()
  }

  #leave(selection: FollowedSelection, stream: OpenStream): void {
    if (!selection.followers.delete(stream)) return
    this.#streams.release(stream)
    const [next] = selection.followers
    if (next === undefined) {
      this.#followed.delete(selection.key)
      this.#selections.release(selection)
    } else if (![...selection.followers].some(({ address }) => address === selection.owner)) {
      selection.owner = next.address
      if (this.#selections.release(selection)) this.#selections.take(selection.owner, selection)
    }
  }
}

/** The selection with the fewest followers; of several such the newest. */
function leastFollowed(selections: ReadonlySet<FollowedSelection>): FollowedSelection {
  return [...selections].reduce((least, one) => (one.followers.size <= least.followers.size ? one : least))
}

/** What distinguishes a selection of a resource from every other one. */
export function selectionKey({ name, filters, scope }: Resource, selection: Selection): string {
  const values = filters.map((filter) => selection[filter.name])
  return [name, scope === null ? '' : (selection[scope] ?? ''), ...values].join(' ')
}
