import { equalBytesAt } from '../../events/equal-bytes.ts'

/** Elements remembered; the memory that they take is this times {@link MAX_BYTES}. */
const ELEMENT_SLOTS = 4096

/** Longer ones are not remembered; real ones have 100 to 250 bytes. */
const MAX_BYTES = 512

/**
 * Remembers list elements by market and index in its lists: of those of the next event of the market 60 to 99
 * in 100 are the same, and need not be checked again.
 */
export class KnownElements {
  /** Of the element in a slot; 0 if there is none. */
  readonly #lengths = new Uint16Array(ELEMENT_SLOTS)
  /** {@link MAX_BYTES} per slot, in one buffer: separate copies would be most of the garbage. */
  readonly #bytes = new Uint8Array(ELEMENT_SLOTS * MAX_BYTES)
  readonly #view = new DataView(this.#bytes.buffer)

  /** Whether `bytes[start..end)` is the element that was remembered last for a market and index. */
  has(marketId: string, elementIndex: number, bytes: Buffer, start: number, end: number): boolean {
    const slot = slotOfElement(marketId, elementIndex)
    const length = this.#lengths[slot]!
    return (
      length > 0 && length === end - start && equalBytesAt(this.#view, slot * MAX_BYTES, length, bytes, start)
    )
  }

  /** Remembers `bytes[start..end)`, replacing its slot's content. */
  add(marketId: string, elementIndex: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > MAX_BYTES) return
    const slot = slotOfElement(marketId, elementIndex)
    this.#lengths[slot] = end - start
    bytes.copy(this.#bytes, slot * MAX_BYTES, start, end)
  }
}

/** Two markets may share a slot: their elements then take turns. */
function slotOfElement(marketId: string, elementIndex: number): number {
  let slot = elementIndex
  for (let at = 0; at < 4; at++) slot = slot * 31 + marketId.charCodeAt(at)
  return slot % ELEMENT_SLOTS
}
