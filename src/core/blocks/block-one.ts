import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import type { OpenBlock } from './open-block.ts'

/**
 * The parts of block 1 that have ended, together, and their hashes in the order in which they came. They are held if all
 * parts are known to be stored: after one that is not, no other one counts as stored.
 */
type EndedParts = { block: OpenBlock; hashes: readonly string[] }

/**
 * Block 1 while its parts arrive, genesis and the block itself, both of height 1, with different hashes. Each may come again. It
 * is whole once block 2 begins (docs/events.md, blocks).
 */
export class BlockOne {
  #ended: EndedParts | null = null
  /** Hashes of parts that have begun and not ended. */
  readonly #withoutEnd = new Set<string>()

  /** The parts that have ended; null if none has, or a later block has begun. */
  get ended(): EndedParts | null {
    return this.#ended
  }

  /** Whether a part has begun whose end is missing. */
  get hasPartWithoutEnd(): boolean {
    return this.#withoutEnd.size > 0
  }

  /** The position of the last event of the parts that have ended, after which those of the next part count; 0 if none has. */
  get lastIndex(): number {
    return this.#ended?.block.ids.last ?? 0
  }

  hasEnded(hash: string): boolean {
    return this.#ended?.hashes.includes(hash) ?? false
  }

  /**
   * Checks a part that begins.
   *
   * @throws {EventStreamError} for a third part: there are two.
   */
  checkPart(hash: string, position: RecordPosition): void {
    const others = new Set([...(this.#ended?.hashes ?? []), ...this.#withoutEnd])
    if (others.delete(hash) || others.size < 2) return
    throw new EventStreamError(
      `block 1 begins a third time with another hash, ${JSON.stringify(hash.slice(0, 80))}: it may begin at most twice, as genesis and as the block itself`,
      position,
    )
  }

  /** A part has begun, and something else before its end. */
  partHasNoEnd(hash: string): void {
    this.#withoutEnd.add(hash)
  }

  /** A part has ended: its events follow those of the part before. One that comes again adds nothing. */
  endPart(part: OpenBlock): void {
    this.#withoutEnd.delete(part.hash)
    if (this.hasEnded(part.hash)) return
    if (this.#ended === null) {
      this.#ended = { block: part, hashes: [part.hash] }
      return
    }
    const { block: first, hashes } = this.#ended
    part.events = [...first.events, ...part.events]
    part.eventCount += first.eventCount
    part.weight += first.weight
    part.longWeight += first.longWeight
    part.incomplete ||= first.incomplete
    part.heldIndex = first.isHeld ? first.ids.last : 0
    this.#ended = { block: part, hashes: [...hashes, part.hash] }
  }

  /** Drops the parts that have ended: another block has begun before the end of the next part. */
  dropEnded(): void {
    this.#ended = null
  }

  /** Block 1 has been handed on, or there is nothing of it. */
  clear(): void {
    this.#ended = null
    this.#withoutEnd.clear()
  }
}
