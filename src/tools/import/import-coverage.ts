import {
  byFrom,
  type Coverage,
  type CoverageEnds,
  describeBlocks,
  extended,
  GapList,
  type HeightRange,
  type ImportedRange,
  intersection,
  merged,
  startsAt,
  without,
} from '#core/domain/coverage'
import { ImportError, ImportGapError } from './import-error.ts'
import { fromMicroseconds } from './reference-values.ts'
import type { SourceBlock } from './source.ts'

/**
 * Tracks a store's coverage during an import, by the rules of ingestion (docs/events.md, blocks). Missing blocks beyond the
 * store head are an error or a gap. Blocks below the first height extend the store downwards, and missing blocks are
 * filled. Stored blocks are never replaced.
 */
export type ImportCoverage = {
  /** The coverage once all added blocks are committed; null if the store is empty. */
  readonly coverage: Coverage | null
  /** The lowest height of a source, from `from` on, at which something may be imported. */
  lowestWanted(from: number): number
  /** Whether a block is missing in the store. An incomplete block is not missing, and is not replaced. */
  wants(height: bigint): boolean
  /** Whether a block is stored, from events. */
  isFromEvents(height: bigint): boolean
  /** Records that the source has blocks that are already stored. */
  passOver(from: bigint, to: bigint): void
  /**
   * Adds a block for which `wants` is true. `missing` are the names of the resources that it does not have yet, ascending.
   *
   * @throws {ImportGapError} if blocks before it are missing, unless gaps are allowed.
   */
  add(block: SourceBlock, missing: readonly string[], source: string): void
  /** Records that a resource is complete in the blocks of this import. */
  complete(resource: string): void
}

/**
 * The coverage of the store before the import.
 *
 * @throws {ImportError} if the store is of another chain.
 */
export function createImportCoverage(
  before: Coverage | null,
  chainId: string,
  allowGap: boolean,
): ImportCoverage {
  if (before !== null && before.chainId !== chainId) {
    throw new ImportError(
      `the source is of chain ${JSON.stringify(chainId)}, but the store is of chain ${JSON.stringify(before.chainId)}: use one store for each chain`,
    )
  }
  let ends: CoverageEnds | null = before
  const gaps = new GapList(before?.gaps ?? [])
  let imported = new GapList<ImportedRange>(before?.imported ?? [])
  /** The heights in this import's source: of blocks imported now, and stored ones. */
  const seen: HeightRange[] = []

  function lowestWanted(from: number): number {
    if (ends === null) return from
    const { first, height } = ends
    if (BigInt(from) < first) return from
    const gap = gaps.all.find(({ to, kind }) => kind === 'missing' && to >= from)
    const lowest = gap === undefined ? height + 1n : gap.from
    return Math.max(from, Number(lowest))
  }

  function wants(height: bigint): boolean {
    if (ends === null || height < ends.first || height > ends.height) return true
    return gaps.at(height)?.kind === 'missing'
  }

  function isFromEvents(height: bigint): boolean {
    return !wants(height) && !imported.has(height)
  }

  function passOver(from: bigint, to: bigint): void {
    const last = seen.at(-1)
    if (last !== undefined && last.to + 1n === from) last.to = to
    else if (from <= to) seen.push({ from, to })
  }

  function add({ height, time }: SourceBlock, missing: readonly string[], source: string): void {
    const at = BigInt(height)
    if (ends !== null && at > ends.height + 1n && !allowGap) {
      const missing = { from: ends.height + 1n, to: at - 1n }
      throw new ImportGapError(
        `${source}: expected block ${missing.from}, found block ${at}: ${describeBlocks(missing)} missing. ` +
          'Import or ingest these blocks, or continue without them with --allow-gap',
      )
    }
    ends = extended(ends ?? startsAt(at), gaps, at, fromMicroseconds(time))
    imported.add({ from: at, to: at, lacks: missing.join(' ') })
    passOver(at, at)
  }

  function complete(resource: string): void {
    const all = merged(seen)
    const ranges = imported.all.flatMap((range) => {
      const { lacks } = range
      const left = lacks.split(' ').filter((name) => name !== resource)
      const done = intersection([range], all).map((part) => ({ ...part, lacks: left.join(' ') }))
      return [...done, ...without([range], all).map((part) => ({ ...part, lacks }))]
    })
    imported = new GapList<ImportedRange>([])
    for (const range of ranges.sort(byFrom)) imported.add(range)
  }

  return {
    get coverage(): Coverage | null {
      return ends && { ...ends, chainId, gaps: gaps.all, imported: imported.all }
    },
    lowestWanted,
    wants,
    isFromEvents,
    passOver,
    add,
    complete,
  }
}
