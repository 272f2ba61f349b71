import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import type { OpenBlock } from './open-block.ts'

/**
 * The ended parts of block 1 in one block, and their hashes in order of arrival. The block counts as stored if all parts
 * are known to be stored: after a part that is not stored, no other one counts as stored.
 */
type EndedParts = { block: OpenBlock; hashes: readonly string[] }

/**
 * Block 1 while its parts arrive: genesis and the block itself, both of height 1, with different hashes. Each may be sent
 * again. The block is whole once block 2 begins (docs/events.md, blocks).
 */
export class BlockOne {
  #ended: EndedParts | null = null
  /** Hashes of parts that have begun but not ended. */
  readonly #withoutEnd = new Set<string>()
  #isPartMissing = false

  /** The parts that have ended; null if none has, or a later block has begun. */
  get ended(): EndedParts | null {
    return this.#ended
  }

  /** Whether a part is not there, or only cut. */
  get isPartCut(): boolean {
    if (this.#withoutEnd.size > 0) return true
    // If both are there, it has come again.
    return this.#isPartMissing && (this.#ended?.hashes.length ?? 0) < 2
  }

  /**
   * The index of the last event of the ended parts, from which the indexes of the next part count; 0 if no part has ended.
   */
  get lastIndex(): number {
    return this.#ended?.block.ids.last ?? 0
  }

  hasEnded(hash: string): boolean {
    return this.#ended?.hashes.includes(hash) ?? false
  }

  /**
   * Checks a part that begins.
   *
   * @throws {EventStreamError} for a third part: block 1 has two.
   */
  checkPart(hash: string, position: RecordPosition): void {
    const others = new Set([...(this.#ended?.hashes ?? []), ...this.#withoutEnd])
    if (others.delete(hash) || others.size < 2) return
    throw new EventStreamError(
      `block 1 begins a third time with another hash, ${JSON.stringify(hash.slice(0, 80))}: it may begin at most twice, as genesis and as the block itself`,
      position,
    )
  }

  /** Must be called if a part was there that cannot be read. */
  partIsMissing(): void {
    this.#isPartMissing = true
  }

  /** Must be called if a part has begun, and something else begins before its end. */
  partHasNoEnd(hash: string): void {
    this.#withoutEnd.add(hash)
  }

  /** Must be called at the end of a part: its events follow those of the previous part. A repeated part adds nothing. */
  endPart(part: OpenBlock): void {
    this.#withoutEnd.delete(part.hash)
    if (this.hasEnded(part.hash)) return
    if (this.#ended === null) {
      this.#ended = { block: part, hashes: [part.hash] }
      return
    }
    const { block: first, hashes } = this.#ended
    part.events = [...first.events, ...part.events]
    part.weight += first.weight
    part.longWeight += first.longWeight
    part.isIncomplete ||= first.isIncomplete
    part.storedIndex = first.isStored ? first.ids.last : 0
    this.#ended = { block: part, hashes: [...hashes, part.hash] }
  }

  /** Drops the ended parts, because another block has begun before the end of the next part. */
  dropEnded(): void {
    this.#ended = null
  }

  /** Must be called once block 1 has been handed on, or is known to be missing. */
  clear(): void {
    this.#ended = null
    this.#withoutEnd.clear()
    this.#isPartMissing = false
  }
}
