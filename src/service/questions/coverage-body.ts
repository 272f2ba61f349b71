import { type GapText, gapText, type ImportedText, importedText } from '#core/domain/coverage'
import { byFrom, type HeightRange, type InText, inText, without } from '#core/domain/height-ranges'
import {
  ALL_CONTENTS,
  type ContentsQuery,
  type StoreContents,
} from '#core/store/queries/contents/store-contents'
import { encodeCoverageCursor } from './coverage-cursor.ts'

export const COVERAGE_PATH = '/api/v2/coverage'

/** The body of `GET /api/v2/coverage`; numbers are text. */
export type CoverageBody = {
  coverage: {
    chainId: string
    blocks: {
      /** Blocks that are held whole. */
      ranges: InText<HeightRange>[]
      /** Missing blocks between the first and the last one, and incomplete ones. */
      gaps: GapText[]
      /** Imported blocks: some of their events are missing, and all rows of the resources in `lacks`. */
      imported: ImportedText[]
      lastTimestamp: string
    }
    /** Resources that versions before did not know: the height from which on the store has them. */
    since: { resource: string; height: string; start: string | null }[]
    /** What to ask for the rest with, if there are more gaps or markets; null if this is all. */
    next: string | null
  } & Omit<StoreContents, 'coverage' | 'next'>
}

/**
 * Describes the requested part of a store's coverage. Over all parts, every height from the first to the last is in
 * exactly one range, gap or imported range.
 */
export function coverageBody(
  contents: StoreContents,
  { fromHeight }: ContentsQuery = ALL_CONTENTS,
): CoverageBody {
  const { coverage, next, ...rows } = contents
  return {
    coverage: {
      chainId: coverage.chainId,
      blocks: {
        ranges: fromHeight === null ? [] : wholeRanges(coverage, fromHeight, next?.fromHeight ?? null),
        gaps: coverage.gaps.map(gapText),
        imported: coverage.imported.map(importedText),
        lastTimestamp: coverage.timestamp.toString(),
      },
      since: coverage.since.map(({ resource, height, start }) => ({
        resource,
        height: height.toString(),
        start: start?.toString() ?? null,
      })),
      ...rows,
      next: next === null ? null : encodeCoverageCursor(next),
    },
  }
}

/** What lies between gaps and imported ranges, from a height on, and before another one if the rest is asked for later. */
function wholeRanges(
  { first, height, gaps, imported }: StoreContents['coverage'],
  start: bigint,
  end: bigint | null,
): InText<HeightRange>[] {
  const range = { from: start > first ? start : first, to: end === null ? height : end - 1n }
  return without([range], [...gaps, ...imported].sort(byFrom)).map(inText)
}
