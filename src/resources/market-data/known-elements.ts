import { equalBytesAt } from '../../events/equal-bytes.ts'

/** Elements remembered; the memory that they take is this times {@link MAX_BYTES}. */
const PLACES = 4096

/** Longer ones are not remembered; real ones have 100 to 250 bytes. */
const MAX_BYTES = 512

/**
 * Remembers list elements by market and position in its lists: of those of the next event of the market 60 to 99
 * in 100 are the same, and need not be checked again.
 */
export class KnownElements {
  /** Of the element at a place; 0 where there is none. */
  readonly #lengths = new Uint16Array(PLACES)
  /** A place has {@link MAX_BYTES} of it. In one piece: a copy of its own for each would be most of what is collected. */
  readonly #bytes = new Uint8Array(PLACES * MAX_BYTES)
  readonly #view = new DataView(this.#bytes.buffer)

  /** Whether `bytes[start..end)` is the element that was remembered last for a market and position. */
  has(marketId: string, position: number, bytes: Buffer, start: number, end: number): boolean {
    const place = placeOf(marketId, position)
    const length = this.#lengths[place]!
    return (
      length > 0 &&
      length === end - start &&
      equalBytesAt(this.#view, place * MAX_BYTES, length, bytes, start)
    )
  }

  /** Remembers `bytes[start..end)`, in the place of what stood there. */
  add(marketId: string, position: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > MAX_BYTES) return
    const place = placeOf(marketId, position)
    this.#lengths[place] = end - start
    bytes.copy(this.#bytes, place * MAX_BYTES, start, end)
  }
}

/** Two markets may share a place: their elements then take turns. */
function placeOf(marketId: string, position: number): number {
  let place = position
  for (let at = 0; at < 4; at++) place = place * 31 + marketId.charCodeAt(at)
  return place % PLACES
}
