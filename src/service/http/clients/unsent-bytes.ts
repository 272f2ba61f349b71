/** Most bytes in memory for all clients together. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024

/** What is closed if it has too many bytes: a connection, or one of its calls. */
type Owner = { destroy(): unknown }

/** Counts memory that is used for clients: answers that they have not read, and requests that wait. */
export type UnsentBytes = {
  /**
   * Counts bytes in memory for a client until the returned function is called. If the total is too high, the owner of the
   * oldest bytes of the address with the most, these not counted, is closed.
   */
  count(address: string, owner: Owner, bytes: number): () => void
}

type CountedBytes = { owner: Owner; bytes: number }

/** @param maxBytes of all clients together */
export function createUnsentBytes(maxBytes = MAX_UNSENT_BYTES): UnsentBytes {
  const byAddress = new Map<string, { bytes: number; entries: Set<CountedBytes> }>()
  let total = 0

  function release(address: string, entry: CountedBytes): void {
    const client = byAddress.get(address)
    if (client?.entries.delete(entry) !== true) return
    client.bytes -= entry.bytes
    total -= entry.bytes
    if (client.entries.size === 0) byAddress.delete(address)
  }

  /** Closes the owner of the oldest entry of the address with the most bytes. Returns whether there was an entry besides `added`. */
  function dropOldest(added: CountedBytes): boolean {
    let most: { address: string; bytes: number; oldest: CountedBytes } | null = null
    for (const [address, { bytes, entries }] of byAddress) {
      const [first, second] = entries
      const oldest = first === added ? second : first
      const others = entries.has(added) ? bytes - added.bytes : bytes
      if (oldest !== undefined && others > (most?.bytes ?? -1)) most = { address, bytes: others, oldest }
    }
    if (most === null) return false
    const { owner } = most.oldest
    for (const entry of byAddress.get(most.address)!.entries) {
      if (entry.owner === owner) release(most.address, entry)
    }
    owner.destroy()
    return true
  }

  return {
    count: (address, owner, bytes) => {
      const added = { owner, bytes }
      const client = byAddress.get(address) ?? { bytes: 0, entries: new Set() }
      byAddress.set(address, client)
      client.entries.add(added)
      client.bytes += bytes
      total += bytes
      while (total > maxBytes && dropOldest(added)) {
        // One more.
      }
      return () => release(address, added)
    },
  }
}
