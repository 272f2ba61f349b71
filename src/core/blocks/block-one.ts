import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import type { OpenBlock } from './open-block.ts'

/** The parts of block 1 that have ended, together, and their hashes in the order in which they came. */
type EndedParts = {
  block: OpenBlock
  hashes: string[]
  /** Whether a part is new: false while all parts are known to be stored. */
  isNew: boolean
}

/**
 * Block 1 as it comes: in two parts with different hashes, genesis and the block itself, both of height 1. It is whole
 * once block 2 begins (docs/events.md, blocks).
 */
export class BlockOne {
  #ended: EndedParts | null = null
  /** Hashes of parts that have begun and not ended. */
  readonly #lost = new Set<string>()

  get ended(): EndedParts | null {
    return this.#ended
  }

  get hasLostPart(): boolean {
    return this.#lost.size > 0
  }

  /** Whether an ended part is not completely stored. */
  get isPending(): boolean {
    return this.#ended?.isNew ?? false
  }

  /** The index of the last event of the parts that have ended: those of the next part continue there. */
  get lastIndex(): number {
    return this.#ended?.block.lastIndex ?? 0
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
    const others = new Set([...(this.#ended?.hashes ?? []), ...this.#lost])
    if (others.delete(hash) || others.size < 2) return
    throw new EventStreamError(
      `block 1 begins a third time with another hash, ${JSON.stringify(hash.slice(0, 80))}: it may begin at most twice, as genesis and as the block itself`,
      position,
    )
  }

  /** A part ends: its events follow those of the part before. */
  endPart(open: OpenBlock): void {
    this.#lost.delete(open.hash)
    if (this.hasEnded(open.hash)) return
    const genesis = this.#ended
    if (genesis !== null) {
      const { block } = genesis
      open.lastIndex += block.lastIndex
      open.events = [...block.events, ...open.events]
      open.weight += block.weight
      open.longWeight += block.longWeight
      open.incomplete ||= block.incomplete
      open.heldIndex = genesis.isNew ? block.heldIndex : block.lastIndex
    }
    const isNew = open.class !== 'held' || genesis?.isNew === true
    this.#ended = { block: open, hashes: [...(genesis?.hashes ?? []), open.hash], isNew }
  }

  /** A part has begun, and another one begins before it has ended. */
  lose(hash: string): void {
    this.#lost.add(hash)
  }

  forgetEnded(): void {
    this.#ended = null
  }

  /** A later block has begun. */
  clear(): void {
    this.#ended = null
    if (this.#lost.size > 0) this.#lost.clear()
  }
}
