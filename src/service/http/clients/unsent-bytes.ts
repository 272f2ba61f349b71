/** Most bytes in memory for all clients together. */
const MAX_UNSENT_BYTES = 32 * 1024 * 1024

/** What is closed if it has too many bytes: a connection, or one of its calls. */
type Owner = { destroy(): unknown }

/** Bytes that are counted for an address, and the owner for which they are in memory. */
type CountedBytes = { address: string; owner: Owner; bytes: number }

/** The bytes counted for an address: their sum, and each entry in the order of the calls. */
type BytesOfAddress = { bytes: number; entries: Set<CountedBytes> }

/** Counts memory that is used for clients: answers that they have not read, and requests that wait. */
export class UnsentBytes {
  readonly #maxBytes: number
  readonly #byAddress = new Map<string, BytesOfAddress>()
  #total = 0

  /** @param maxBytes of all clients together */
  constructor(maxBytes = MAX_UNSENT_BYTES) {
    this.#maxBytes = maxBytes
  }

  /**
   * Counts bytes in memory for a client until the returned function is called. If the total is too high, the owner of the
   * oldest bytes of the address with the most, these not counted, is closed.
   */
  count(address: string, owner: Owner, bytes: number): () => void {
    const added = { address, owner, bytes }
    this.#add(added)
    while (this.#total > this.#maxBytes) {
      const oldest = this.#oldestOfMost(added)
      if (oldest === null) break
      this.#close(oldest)
    }
    return () => this.#release(added)
  }

  #add(added: CountedBytes): void {
    const client = this.#byAddress.get(added.address) ?? { bytes: 0, entries: new Set() }
    this.#byAddress.set(added.address, client)
    client.entries.add(added)
    client.bytes += added.bytes
    this.#total += added.bytes
  }

  #release(entry: CountedBytes): void {
    const client = this.#byAddress.get(entry.address)
    if (client?.entries.delete(entry) !== true) return
    client.bytes -= entry.bytes
    this.#total -= entry.bytes
    if (client.entries.size === 0) this.#byAddress.delete(entry.address)
  }

  /** The oldest entry of the address with the most bytes, `added` not counted; null if there is no other entry. */
  #oldestOfMost(added: CountedBytes): CountedBytes | null {
    let most = -1
    let oldestOfMost: CountedBytes | null = null
    for (const { bytes, entries } of this.#byAddress.values()) {
      const [first, second] = entries
      const oldest = first === added ? second : first
      const others = entries.has(added) ? bytes - added.bytes : bytes
      if (oldest === undefined || others <= most) continue
      most = others
      oldestOfMost = oldest
    }
    return oldestOfMost
  }

  /** Closes the owner of an entry, whose bytes of this address no longer count. */
  #close({ address, owner }: CountedBytes): void {
    for (const entry of this.#byAddress.get(address)!.entries) {
      if (entry.owner === owner) this.#release(entry)
    }
    owner.destroy()
  }
}
