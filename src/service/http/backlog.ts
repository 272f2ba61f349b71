/** Bytes that are kept for all clients together. */
const MAX_BACKLOG_BYTES = 32 * 1024 * 1024

/** The entry that ends if it has too many bytes: a connection, or one of its calls. */
type Holder = { destroy(): unknown }

/** Memory used for clients: answers not yet read, requests sent ahead. */
export type Backlog = {
  /**
   * Counts bytes stored for a client until the returned function is called. If the total is too high, the address with
   * the most, apart from these bytes, loses its oldest entry and that entry's connection.
   */
  hold(address: string, holder: Holder, bytes: number): () => void
}

type HeldBytes = { holder: Holder; bytes: number }

export function createBacklog(maxBytes = MAX_BACKLOG_BYTES): Backlog {
  const byAddress = new Map<string, { bytes: number; held: Set<HeldBytes> }>()
  let total = 0

  function release(address: string, held: HeldBytes): void {
    const client = byAddress.get(address)
    if (client?.held.delete(held) !== true) return
    client.bytes -= held.bytes
    total -= held.bytes
    if (client.held.size === 0) byAddress.delete(address)
  }

  /** Ends the oldest entry of the address with the most bytes; returns whether there was any besides `added`. */
  function dropOldest(added: HeldBytes): boolean {
    let most: { address: string; bytes: number; oldest: HeldBytes } | null = null
    for (const [address, { bytes, held }] of byAddress) {
      const [first, second] = held
      const oldest = first === added ? second : first
      const others = held.has(added) ? bytes - added.bytes : bytes
      if (oldest !== undefined && others > (most?.bytes ?? -1)) most = { address, bytes: others, oldest }
    }
    if (most === null) return false
    const { holder } = most.oldest
    for (const held of byAddress.get(most.address)!.held) {
      if (held.holder === holder) release(most.address, held)
    }
    holder.destroy()
    return true
  }

  return {
    hold: (address, holder, bytes) => {
      const added = { holder, bytes }
      const client = byAddress.get(address) ?? { bytes: 0, held: new Set() }
      byAddress.set(address, client)
      client.held.add(added)
      client.bytes += bytes
      total += bytes
      while (total > maxBytes && dropOldest(added)) {
        // One more.
      }
      return () => release(address, added)
    },
  }
}
