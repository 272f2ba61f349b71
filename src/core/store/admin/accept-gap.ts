import { withOpen } from '../../concurrency/with-open.ts'
import type { Coverage } from '../../domain/coverage.ts'
import { describeRanges, type HeightRange, without } from '../../domain/height-ranges.ts'
import { StoreError } from '../errors.ts'
import { readAcceptedGaps, readCoverage } from '../queries/coverage.ts'
import { readStore } from '../read-store.ts'
import { tableOf } from '../schema/tables.ts'
import type { StoreAdmin } from '../store.ts'

/** Number of ranges that a refusal or a report names. */
export const MAX_NAMED = 3

/**
 * Records that a store may continue, or begin, without these blocks. Live ingestion then skips them if they are missing, and
 * records the gap, which can be filled later as any other.
 *
 * @returns the missing blocks before them that nobody has accepted, which ingestion must get before it arrives there
 *
 * @throws {StoreError} if the store contains one of the blocks.
 */
export async function acceptGap(store: StoreAdmin, accepted: HeightRange): Promise<HeightRange[]> {
  const coverage = await readStore(store, readCoverage)
  const stored = coverage === null ? [] : without([accepted], missingIn(coverage, accepted.to))
  if (stored.length > 0) {
    throw new StoreError(
      `${store.name}: contains ${describeRanges(stored, MAX_NAMED)}; name only blocks that are missing, see lyra status`,
    )
  }
  await withOpen(store.openUpkeep(), (upkeep) =>
    upkeep.write(function* () {
      const row = { from_height: accepted.from, to_height: accepted.to }
      yield { table: tableOf('accepted_gaps'), rows: [row] }
      return 1
    }),
  )
  if (coverage === null) return []
  const before = { from: coverage.height + 1n, to: accepted.from - 1n }
  return before.from > before.to ? [] : without([before], await readStore(store, readAcceptedGaps))
}

/** The heights up to another one that a store does not have whole. */
const missingIn = ({ first, height, gaps }: Coverage, to: bigint): HeightRange[] => [
  { from: 0n, to: first - 1n },
  ...gaps,
  { from: height + 1n, to },
]
