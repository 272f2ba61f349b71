import {
  byFrom,
  type Coverage,
  describeBlocks,
  GapList,
  type HeightRange,
  type ImportedRange,
  intersection,
  merged,
  without,
} from '#core/domain/coverage'
import { ImportError, ImportGapError } from './import-error.ts'
import { fromMicroseconds } from './reference-values.ts'
import type { SourceBlock } from './source.ts'

/**
 * Tracks a store's coverage during an import, by the rules of ingestion (docs/events.md, blocks): a hole beyond the
 * position is an error or a gap, blocks below the first height extend it downwards, and missing ones are filled. Stored
 * blocks are never replaced.
 */
export class ImportCoverage {
  readonly #chainId: string
  readonly #allowGap: boolean
  #ends: Omit<Coverage, 'chainId' | 'gaps' | 'imported'> | null
  readonly #gaps: GapList
  #imported: GapList<ImportedRange>
  /** Heights of the blocks that this import has seen, imported now or before. */
  readonly #seen: HeightRange[] = []

  /** @throws {ImportError} if the store holds another chain. */
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
    if (this.#ends === null) return null
    const { first, began, height, timestamp, blockOne, since } = this.#ends
    return {
      ...{ chainId: this.#chainId, first, began, blockOne, height, timestamp },
      gaps: this.#gaps.all,
      since,
      imported: this.#imported.all,
    }
  }

  /** The lowest height from which on something may be imported, of a source's heights. */
  lowestWanted(from: number): number {
    if (this.#ends === null) return from
    const { first, height } = this.#ends
    if (BigInt(from) < first) return from
    const gap = this.#gaps.all.find(({ to, kind }) => kind === 'missing' && to >= from)
    const lowest = gap === undefined ? height + 1n : gap.from
    return Math.max(from, Number(lowest))
  }

  /** Whether a block is missing in the store: a partly stored one is left as it is. */
  wants(height: bigint): boolean {
    if (this.#ends === null || height < this.#ends.first || height > this.#ends.height) return true
    return this.#gaps.at(height)?.kind === 'missing'
  }

  /** Whether a block is held, and from events. */
  isFromEvents(height: bigint): boolean {
    return !this.wants(height) && !this.#imported.has(height)
  }

  /** Notes that the source has blocks that are held already. */
  passOver(from: bigint, to: bigint): void {
    const last = this.#seen.at(-1)
    if (last !== undefined && last.to + 1n === from) last.to = to
    else if (from <= to) this.#seen.push({ from, to })
  }

  /**
   * Adds a wanted block, in which some resources are still missing: their names, ascending.
   *
   * @throws {ImportGapError} if blocks before it are missing, unless gaps are allowed.
   */
  add({ height, time }: SourceBlock, lacking: readonly string[], source: string): void {
    const at = BigInt(height)
    const timestamp = fromMicroseconds(time)
    const ends = this.#ends
    if (ends === null) {
      this.#ends = { first: at, began: at, blockOne: null, height: at, timestamp, since: [] }
    } else if (at < ends.first) {
      if (at + 1n < ends.first) this.#gaps.add({ from: at + 1n, to: ends.first - 1n, kind: 'missing' })
      this.#ends = { ...ends, first: at }
    } else if (at <= ends.height) {
      this.#gaps.fill(at)
    } else {
      if (at > ends.height + 1n) this.#skip(ends.height + 1n, at - 1n, source)
      this.#ends = { ...ends, height: at, timestamp }
    }
    this.#imported.add({ from: at, to: at, lacks: lacking.join(' ') })
    this.passOver(at, at)
  }

  /** Marks a resource as complete in the imported blocks of this import. */
  complete(resource: string): void {
    const seen = merged(this.#seen)
    const ranges = this.#imported.all.flatMap((range) => {
      const { lacks } = range
      const left = lacks.split(' ').filter((name) => name !== resource)
      const done = intersection([range], seen).map((part) => ({ ...part, lacks: left.join(' ') }))
      return [...done, ...without([range], seen).map((part) => ({ ...part, lacks }))]
    })
    this.#imported = new GapList<ImportedRange>([])
    for (const range of ranges.sort(byFrom)) this.#imported.add(range)
  }

  #skip(from: bigint, to: bigint, source: string): void {
    if (!this.#allowGap) {
      throw new ImportGapError(
        `${source}: expected block ${from}, found block ${to + 1n}: ${describeBlocks({ from, to })} missing. ` +
          'Import or ingest these blocks, or continue without them with --allow-gap',
      )
    }
    this.#gaps.add({ from, to, kind: 'missing' })
  }
}
