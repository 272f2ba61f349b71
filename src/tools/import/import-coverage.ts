import {
  type Coverage,
  type CoverageEnds,
  extended,
  type ImportedRange,
  startsAt,
} from '#core/domain/coverage'
import { GapList } from '#core/domain/gap-list'
import {
  byFrom,
  describeBlocks,
  type HeightRange,
  intersection,
  merged,
  without,
} from '#core/domain/height-ranges'
import { ImportError, ImportGapError } from './import-error.ts'
import { fromMicroseconds } from './reference-values.ts'
import type { SourceBlock } from './source.ts'

/**
 * Tracks a store's coverage during an import, by the rules of ingestion (docs/events.md, blocks). Missing blocks beyond the store
 * head are an error or a gap. Blocks below the first height extend the store downwards, and missing blocks are filled. Stored
 * blocks are never replaced.
 */
export class ImportCoverage {
  readonly #chainId: string
  readonly #allowGap: boolean
  #ends: CoverageEnds | null
  readonly #gaps: GapList
  #imported: GapList<ImportedRange>
  /** The heights in this import's source: of blocks imported now, and stored ones. */
  readonly #sourceHeights: HeightRange[] = []

  /**
   * @param before the store's coverage before the import; null if it is empty
   * @throws {ImportError} if the store is of another chain.
   */
  constructor(before: Coverage | null, chainId: string, allowGap: boolean) {
    if (before !== null && before.chainId !== chainId) {
      throw new ImportError(
        `the source is of chain ${JSON.stringify(chainId)}, but the store is of chain ${JSON.stringify(before.chainId)}: use one store for each chain`,
      )
    }
    this.#chainId = chainId
    this.#allowGap = allowGap
    this.#ends = before
    this.#gaps = new GapList(before?.gaps ?? [])
    this.#imported = new GapList<ImportedRange>(before?.imported ?? [])
  }

  /** The coverage once all added blocks are committed; null if the store is empty. */
  get coverage(): Coverage | null {
    const ends = this.#ends
    if (ends === null) return null
    return { ...ends, chainId: this.#chainId, gaps: this.#gaps.all, imported: this.#imported.all }
  }

  /** The lowest height of a source, from `from` on, at which something may be imported. */
  lowestWanted(from: number): number {
    if (this.#ends === null) return from
    const { first, height } = this.#ends
    if (BigInt(from) < first) return from
    const gap = this.#gaps.all.find(({ to, kind }) => kind === 'missing' && to >= from)
    const lowest = gap === undefined ? height + 1n : gap.from
    return Math.max(from, Number(lowest))
  }

  /** Whether a block is missing in the store. An incomplete block is not missing, and is not replaced. */
  wants(height: bigint): boolean {
    const ends = this.#ends
    if (ends === null || height < ends.first || height > ends.height) return true
    return this.#gaps.at(height)?.kind === 'missing'
  }

  /** Whether a block is stored, from events. */
  isFromEvents(height: bigint): boolean {
    return !this.wants(height) && !this.#imported.has(height)
  }

  /** Records that the source has blocks that are already stored. */
  passOver(from: bigint, to: bigint): void {
    const last = this.#sourceHeights.at(-1)
    if (last !== undefined && last.to + 1n === from) last.to = to
    else if (from <= to) this.#sourceHeights.push({ from, to })
  }

  /**
   * Adds a block for which `wants` is true. `missing` are the names of the resources that it does not have yet, ascending.
   *
   * @throws {ImportGapError} if blocks before it are missing, unless gaps are allowed.
   */
  add({ height, time }: SourceBlock, missing: readonly string[], source: string): void {
    const at = BigInt(height)
    const ends = this.#ends
    if (ends !== null && at > ends.height + 1n && !this.#allowGap) {
      const before = { from: ends.height + 1n, to: at - 1n }
      throw new ImportGapError(
        `${source}: expected block ${before.from}, found block ${at}: ${describeBlocks(before)} missing. ` +
          'Import or ingest these blocks, or continue without them with --allow-gap',
      )
    }
    this.#ends = extended(ends ?? startsAt(at), this.#gaps, at, fromMicroseconds(time))
    this.#imported.add({ from: at, to: at, lacks: missing.join(' ') })
    this.passOver(at, at)
  }

  /** Records that a resource is complete in the blocks of this import. */
  complete(resource: string): void {
    const all = merged(this.#sourceHeights)
    const ranges = this.#imported.all.flatMap((range) => {
      const { lacks } = range
      const left = lacks.split(' ').filter((name) => name !== resource)
      const done = intersection([range], all).map((part) => ({ ...part, lacks: left.join(' ') }))
      return [...done, ...without([range], all).map((part) => ({ ...part, lacks }))]
    })
    this.#imported = new GapList<ImportedRange>([])
    for (const range of ranges.sort(byFrom)) this.#imported.add(range)
  }
}
