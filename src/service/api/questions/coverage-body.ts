import { byFrom, type Coverage, type Gap, type ImportedText, importedText } from '#core/domain/coverage'
import { ALL_HOLDINGS, type Holdings, type HoldingsQuery } from '#core/store/readings/holdings'
import { encodeCoverageCursor } from './coverage-cursor.ts'

export const COVERAGE_PATH = '/api/v2/coverage'

/** Heights, both ends included, as text. */
export type BlockRange = { from: string; to: string }

/** The body of `GET /api/v2/coverage`; numbers are text. */
export type CoverageBody = {
  coverage: {
    chainId: string
    blocks: {
      /** Blocks that are held whole. */
      ranges: BlockRange[]
      /** Missing blocks between the first and the last one, and incomplete ones. */
      gaps: (BlockRange & { kind: Gap['kind'] })[]
      /** Imported blocks: some of their events are missing, and all rows of the resources in `lacks`. */
      imported: ImportedText[]
      lastTimestamp: string
    }
    /** Resources that versions before did not know: the height from which on the store has them. */
    since: { resource: string; height: string }[]
    /** What to ask for the rest with, if there are more gaps or markets; null if this is all. */
    next: string | null
  } & Omit<Holdings, 'coverage' | 'next'>
}

/**
 * Describes the requested part of a store's coverage. Over all parts, every height from the first to the last is in
 * exactly one range, gap or imported range.
 */
export function coverageBody(holdings: Holdings, { fromHeight }: HoldingsQuery = ALL_HOLDINGS): CoverageBody {
  const { coverage, next, ...rows } = holdings
  return {
    coverage: {
      chainId: coverage.chainId,
      blocks: {
        ranges: fromHeight === null ? [] : wholeRanges(coverage, fromHeight, next?.fromHeight ?? null),
        gaps: coverage.gaps.map(({ from, to, kind }) => ({ ...range(from, to), kind })),
        imported: coverage.imported.map(importedText),
        lastTimestamp: coverage.timestamp.toString(),
      },
      since: coverage.since.map(({ resource, height }) => ({ resource, height: height.toString() })),
      ...rows,
      next: next === null ? null : encodeCoverageCursor(next),
    },
  }
}

/** What lies between gaps and imported ranges, from a height on, and before another one if the rest is asked for later. */
function wholeRanges(
  { first, height, gaps, imported }: Coverage,
  start: bigint,
  end: bigint | null,
): BlockRange[] {
  const ranges: BlockRange[] = []
  let from = start > first ? start : first
  for (const other of [...gaps, ...imported].sort(byFrom)) {
    if (from < other.from) ranges.push(range(from, other.from - 1n))
    from = other.to + 1n
  }
  if (end === null && from <= height) ranges.push(range(from, height))
  return ranges
}

function range(from: bigint, to: bigint): BlockRange {
  return { from: from.toString(), to: to.toString() }
}
