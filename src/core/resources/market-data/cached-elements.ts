import { equalBytesAt } from '../../events/equal-bytes.ts'

/** Number of cached elements; each takes {@link MAX_BYTES} of memory. */
const ELEMENT_SLOTS = 4096

/** Longer elements are not cached; real ones have 100 to 250 bytes. */
const MAX_BYTES = 512

/**
 * Caches list elements by market and index in the list. Of the elements in a market's next event, 60% to 99% are the same,
 * and need not be checked again.
 */
export class CachedElements {
  /** The length of the element in each slot; 0 if the slot is empty. */
  readonly #lengths = new Uint16Array(ELEMENT_SLOTS)
  /** {@link MAX_BYTES} for each slot, in one buffer: with separate copies, most of the garbage would be these. */
  readonly #bytes = new Uint8Array(ELEMENT_SLOTS * MAX_BYTES)
  readonly #view = new DataView(this.#bytes.buffer)

  /** Whether `bytes[start..end)` equals the cached element of a market and index. */
  has(marketId: string, elementIndex: number, bytes: Buffer, start: number, end: number): boolean {
    const slot = slotOfElement(marketId, elementIndex)
    const length = this.#lengths[slot]!
    return (
      length > 0 && length === end - start && equalBytesAt(this.#view, slot * MAX_BYTES, length, bytes, start)
    )
  }

  /** Caches `bytes[start..end)`, replacing the content of its slot. */
  add(marketId: string, elementIndex: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > MAX_BYTES) return
    const slot = slotOfElement(marketId, elementIndex)
    this.#lengths[slot] = end - start
    bytes.copy(this.#bytes, slot * MAX_BYTES, start, end)
  }
}

/** The slot of an element. Two markets may share one, and then replace each other's elements. */
function slotOfElement(marketId: string, elementIndex: number): number {
  let slot = elementIndex
  for (let at = 0; at < 4; at++) slot = slot * 31 + marketId.charCodeAt(at)
  return slot % ELEMENT_SLOTS
}
