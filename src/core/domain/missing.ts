import { type Coverage, isImportedWithout } from './coverage.ts'
import type { TimeSpan } from './gap-list.ts'
import { byFrom, type HeightRange } from './height-ranges.ts'

/** Rows from which an answer follows: of a resource, in a range of times, Unix nanoseconds; null for an open end. */
type RowsUsed = { resource: string } & TimeSpan

/** Heights of which rows may be missing, and the times between which they lie. */
type MissingBlocks = HeightRange & TimeSpan

/** What an answer may be without, because a store does not have it. */
export type Missing = {
  /** Gaps, incomplete blocks, and imported blocks without a resource: the newest ones, by height. */
  missing: readonly MissingBlocks[]
  /** From where the store has the resources, if the ranges begin before it. */
  since: { height: bigint; start: bigint | null } | null
}

/** So many ranges of missing blocks are named: a store may have as many as blocks. */
export const MOST_MISSING = 1_000

/** The blocks in which such rows may be missing. A block whose time is unknown may be in any range on that side. */
export function missingOf({ gaps, imported, since }: Coverage, used: readonly RowsUsed[]): Missing {
  const touched = gaps.filter((gap) =>
    used.some((range) => isBefore(gap.start, range.end) && isBefore(range.start, gap.end)),
  )
  // Imported blocks have no times.
  const notImported = imported.filter((range) =>
    used.some(({ resource }) => isImportedWithout(range, resource)),
  )
  const missing = [
    ...touched.map(({ from, to, start, end }) => ({ from, to, start, end })),
    ...notImported.map(({ from, to }) => ({ from, to, start: null, end: null })),
  ]
  const partial = since.filter(({ resource, start }) =>
    used.some((range) => range.resource === resource && isBefore(range.start, start)),
  )
  const latest = partial.sort((a, b) => (a.height < b.height ? -1 : 1)).at(-1)
  return {
    missing: missing.sort(byFrom).slice(-MOST_MISSING),
    since: latest === undefined ? null : { height: latest.height, start: latest.start },
  }
}

/** Whether a time is before another one; null is open, and before and after every other. */
function isBefore(time: bigint | null, other: bigint | null): boolean {
  return time === null || other === null || time < other
}
