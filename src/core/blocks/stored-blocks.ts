import {
  type Coverage,
  type CoverageEnds,
  extended,
  type ImportedRange,
  spanOf,
  startsAt,
} from '../domain/coverage.ts'
import { GapList } from '../domain/gap-list.ts'
import { isWithin } from '../domain/height-ranges.ts'
import type { OpenBlock } from './open-block.ts'

/** The blocks of a store, as they are once every block handed on is committed. */
export class StoredBlocks {
  readonly #imported: readonly ImportedRange[]
  readonly #gaps: GapList
  /** Null while the store is empty. */
  #ends: CoverageEnds | null

  /** @param coverage the store's coverage; null if it is empty */
  constructor(coverage: Coverage | null) {
    this.#imported = coverage?.imported ?? []
    this.#gaps = new GapList(coverage?.gaps ?? [])
    this.#ends = coverage
  }

  /** The height of the last block; null if there is none. */
  get height(): bigint | null {
    return this.#ends?.height ?? null
  }

  /** Hashes of the parts of block 1; null if it is not stored, or they are unknown. */
  get blockOne(): readonly string[] | null {
    return this.#ends?.blockOne ?? null
  }

  /** The coverage of these blocks of a chain; null if there are none. */
  coverageOf(chainId: string | null): Coverage | null {
    if (this.#ends === null) return null
    return { ...this.#ends, chainId: chainId!, gaps: this.#gaps.all, imported: this.#imported }
  }

  /** Whether a block is stored, and not known to be incomplete. */
  hasWhole(height: bigint): boolean {
    return this.#isBetweenEnds(height) && !this.#gaps.has(height)
  }

  /** Whether any events of a block are stored. */
  hasAny(height: bigint): boolean {
    return this.#isBetweenEnds(height) && this.#gaps.at(height)?.kind !== 'missing'
  }

  /** Whether a block is recorded as incomplete. */
  isIncomplete(height: bigint): boolean {
    return this.#gaps.at(height)?.kind === 'incomplete'
  }

  /** Whether a block's rows are from an import. */
  isImported(height: bigint): boolean {
    return isWithin(this.#imported, height)
  }

  /**
   * Adds a block: it fills a gap, and skipped heights become one.
   *
   * @param blockOne hashes of the parts of block 1 that are stored then
   * @param firstBegun the height at which an empty store begins
   */
  add(
    { height, timestamp, isIncomplete }: OpenBlock,
    blockOne: readonly string[] | null,
    firstBegun: bigint,
  ): void {
    const span = isIncomplete ? spanOf(this.#ends, this.#gaps, height) : null
    const ends = this.#ends ?? startsAt(firstBegun)
    this.#ends = { ...extended(ends, this.#gaps, height, timestamp), blockOne }
    if (span !== null) this.#gaps.add({ from: height, to: height, kind: 'incomplete', ...span })
  }

  #isBetweenEnds(height: bigint): boolean {
    return this.#ends !== null && height >= this.#ends.first && height <= this.#ends.height
  }
}
