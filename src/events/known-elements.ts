import { copyBytes, equalBytes } from './equal-bytes.ts'

/** Elements remembered; the memory that they take is at most this times {@link MAX_BYTES}. */
const PLACES = 4096

/** Longer ones are not remembered; real ones have 100 to 250 bytes. */
const MAX_BYTES = 1024

/**
 * Remembers list elements by market and position in its lists: of those of the next event of the market 60 to 99
 * in 100 are the same, and need not be checked again.
 */
export class KnownElements {
  readonly #known: (DataView | null)[] = new Array(PLACES).fill(null)

  /** Whether `bytes[start..end)` is the element that was remembered last for a market and position. */
  has(marketId: string, position: number, bytes: Buffer, start: number, end: number): boolean {
    const known = this.#known[placeOf(marketId, position)]!
    return known !== null && equalBytes(known, bytes, start, end)
  }

  /** Remembers `bytes[start..end)`, in the place of what stood there. */
  add(marketId: string, position: number, bytes: Buffer, start: number, end: number): void {
    if (end - start > MAX_BYTES) return
    this.#known[placeOf(marketId, position)] = copyBytes(bytes, start, end)
  }
}

/** Two markets may share a place: their elements then take turns. */
function placeOf(marketId: string, position: number): number {
  let place = position
  for (let at = 0; at < 4; at++) place = place * 31 + marketId.charCodeAt(at)
  return place % PLACES
}
