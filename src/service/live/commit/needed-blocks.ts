// What a store needs of its event logs: which block comes next, and what its events amount to.
import { type AssemblerOptions, BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { SegmentChoice } from '#core/log/read/choice/segment-choice'
import type { RecordPosition } from '#core/records/record-position'

type NeededBlocksOptions = Omit<AssemblerOptions, 'coverage' | 'first' | 'chainId'> & {
  /** Which heights the logs have. */
  segments: SegmentChoice
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
}

/** The last block of a store, and whether it is there without all its events. */
export type LastBlock = { height: bigint; isIncomplete: boolean }

/**
 * The block that a store needs next of event logs: the one after its last block, or that itself, if it is incomplete there, and a log
 * has it whole. Null if the store is empty, and no log has a block, or one has not answered yet.
 *
 * @param last null: the store is empty
 */
export function neededBlock(last: LastBlock | null, segments: SegmentChoice): bigint | null {
  if (last === null) return segments.lowest()
  const { height, isIncomplete } = last
  return isIncomplete && segments.find(height, { wantsWhole: true }) !== null ? height : height + 1n
}

/**
 * Assembles the blocks of event logs that a store does not have, and says which one is needed next. Each segment is begun anew:
 * a block is of one segment, block 1 with both its parts, too.
 */
export class NeededBlocks {
  readonly #options: NeededBlocksOptions
  /** The chain of the segment that is read, if it is known. */
  #chainId: string | null = null
  #assembler: BlockAssembler

  constructor(options: NeededBlocksOptions) {
    this.#options = options
    this.#assembler = this.#assemblerAfter(options.stored)
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#assembler.coverage
  }

  /** The chain that events must have; null before the first event, if nothing says it. */
  get chainId(): string | null {
    return this.#assembler.chainId
  }

  /** The block to read next, as {@link neededBlock} says of the store that it is once every block handed on is committed. */
  get needed(): bigint | null {
    const { height } = this.#assembler
    const last = height === null ? null : { height, isIncomplete: this.#assembler.isIncomplete(height) }
    return neededBlock(last, this.#options.segments)
  }

  /** Whether a block has begun and not ended. */
  get isOpen(): boolean {
    return this.#assembler.isBlockOpen
  }

  /** Begins a segment of a chain, and forgets everything that is not handed on; null: the chain is not known. */
  beginSegment(chainId: string | null): void {
    this.#chainId = chainId
    this.#assembler = this.#assemblerAfter(this.coverage)
  }

  /**
   * Takes the event `bytes[start..end)`. Returns the block that begins with it; null if none does, it has begun before, or the
   * store has it.
   *
   * @throws what `BlockAssembler.accept` throws.
   */
  accept(bytes: Buffer, start: number, end: number, position: RecordPosition): bigint | null {
    const before = this.#assembler.pendingHeight
    this.#assembler.accept(bytes, start, end, position)
    const { pendingHeight } = this.#assembler
    if (pendingHeight === 1n && this.#assembler.endedParts === 2) this.endBlockOne()
    return pendingHeight === before ? null : pendingHeight
  }

  /**
   * No other part of block 1 follows: it is handed on, if one has ended.
   *
   * @throws {GapError} if a part of it is missing that must not be.
   */
  endBlockOne(): void {
    this.#assembler.endBlockOne()
  }

  /**
   * Forgets the block that is not handed on, of which not all can be read; must be called after an error within a block.
   * Returns its height; null if none has begun, or the store has it.
   */
  drop(): bigint | null {
    const { pendingHeight } = this.#assembler
    this.#assembler = this.#assemblerAfter(this.coverage)
    // The other part may follow: it must not be handed on alone.
    if (pendingHeight === 1n) this.#assembler.missPart()
    return pendingHeight
  }

  #assemblerAfter(coverage: Coverage | null): BlockAssembler {
    // An empty store begins with the lowest block of the logs, also if that cannot be read: it is a gap then.
    const first = coverage === null ? this.#options.segments.lowest() : null
    return new BlockAssembler({ ...this.#options, coverage, first, chainId: this.#chainId })
  }
}
