import { MARKET_ID, PARTY_ID } from '../domain/ids.ts'
import { copyBytes, equalBytes } from './equal-bytes.ts'

/** Number of slots: more than any network has markets and parties with provisions. */
const ID_SLOTS = 4096

/** The last digits of an id, which choose its slot. */
const CHOOSING_DIGITS = 4

type CachedId = { bytes: DataView; id: string }

/**
 * Turns the bytes of an id into text, without creating the same text each time: a few ids recur all the time. An id
 * replaces the one in its slot, so the memory is bounded.
 */
export class CachedIds {
  readonly #pattern: RegExp
  readonly #slots: (CachedId | null)[] = new Array(ID_SLOTS).fill(null)

  /** `pattern` matches the texts that are ids. */
  constructor(pattern: RegExp) {
    this.#pattern = pattern
  }

  /** The id in `bytes[start..end)` in lower case; null if it is not an id. */
  read(bytes: Buffer, start: number, end: number): string | null {
    const slot = slotOfId(bytes, start, end)
    const cached = this.#slots[slot]!
    if (cached !== null && equalBytes(cached.bytes, bytes, start, end)) return cached.id
    const text = bytes.toString('latin1', start, end)
    if (!this.#pattern.test(text)) return null
    const id = text.toLowerCase()
    this.#slots[slot] = { bytes: copyBytes(bytes, start, end), id }
    return id
  }
}

export const MARKET_IDS = new CachedIds(MARKET_ID)
export const PARTY_IDS = new CachedIds(PARTY_ID)

function slotOfId(bytes: Buffer, start: number, end: number): number {
  let slot = 0
  for (let at = Math.max(start, end - CHOOSING_DIGITS); at < end; at++) slot = slot * 31 + bytes[at]!
  return slot % ID_SLOTS
}
