// What a store needs of its event logs: which block comes next, and what the events of it amount to.
import { type AssemblerOptions, BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { SegmentChoice } from '#core/log/read/segment-choice'
import type { RecordPosition } from '#core/records/record-position'

type NeededBlocksOptions = Omit<AssemblerOptions, 'coverage' | 'first'> & {
  /** Which heights the logs have. */
  segments: SegmentChoice
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
}

/**
 * Assembles the blocks of event logs that a store does not have, and says which one is needed next. A block that is open may be
 * forgotten: a new assembler then goes on after the last whole one.
 */
export class NeededBlocks {
  readonly #options: NeededBlocksOptions
  #assembler: BlockAssembler
  /** The store's last block, if it is to be read again since the store may have a part of it. */
  #readAgain: bigint | null

  constructor(options: NeededBlocksOptions) {
    this.#options = options
    this.#readAgain = options.stored?.height ?? null
    this.#assembler = this.#assemblerAfter(options.stored)
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#assembler.coverage
  }

  /** The chain that events must have; null before the first event, if the store is empty. */
  get chainId(): string | null {
    return this.#assembler.chainId
  }

  /** Whether a block has begun and not ended. */
  get isOpen(): boolean {
    return this.#assembler.isBlockOpen
  }

  /** The block to read next, from its beginning on; null if the logs and the store are empty. A block that is open is read on. */
  next(): bigint | null {
    const { pendingHeight, isBlockOpen } = this.#assembler
    if (isBlockOpen && pendingHeight !== null) return pendingHeight
    const again = this.#readAgain
    return again !== null && this.#options.segments.find(again) !== null ? again : this.nextAfterHandedOn()
  }

  /**
   * The first block that the store will not have once every block handed on is committed; null if the logs are empty, too. A block
   * that is open is not handed on, but block 1 is whole before it is handed on, when another one begins.
   */
  nextAfterHandedOn(): bigint | null {
    const { height, pendingHeight, isBlockOpen } = this.#assembler
    if (height !== null) return height + 1n
    return pendingHeight === 1n && !isBlockOpen ? 2n : this.#options.segments.lowest()
  }

  /**
   * Takes the event `bytes[start..end)`. Returns the block that begins with it; null if none does, or the store has that.
   *
   * @throws what `BlockAssembler.accept` throws.
   */
  accept(bytes: Buffer, start: number, end: number, position: RecordPosition): bigint | null {
    const before = this.#assembler.pendingHeight
    this.#assembler.accept(bytes, start, end, position)
    const { pendingHeight } = this.#assembler
    if (pendingHeight === null || pendingHeight === before) return null
    this.reached(pendingHeight)
    return pendingHeight
  }

  /** The logs were read up to a block: the store's last one need not be read again if that is behind. */
  reached(height: bigint): void {
    if (this.#readAgain !== null && height > this.#readAgain) this.#readAgain = null
  }

  /** What could be read for the block that was needed was read. */
  wasRead(): void {
    this.#readAgain = null
  }

  /** Forgets the block that is open, if any; returns its height, unless the store has it. Block 1, once it has ended, stays. */
  forgetOpen(): bigint | null {
    const { isBlockOpen, pendingHeight } = this.#assembler
    if (!isBlockOpen) return null
    this.beginAnew()
    return pendingHeight
  }

  /** Forgets everything that is not handed on. Must be called after an error. */
  beginAnew(): void {
    this.#assembler = this.#assemblerAfter(this.coverage)
  }

  #assemblerAfter(coverage: Coverage | null): BlockAssembler {
    // A first block that cannot be read is missing, too.
    const first = coverage === null ? this.#options.segments.lowest() : null
    return new BlockAssembler({ ...this.#options, coverage, first })
  }
}
