import type { Moment } from './series.ts'
import type { Range } from './tiles.ts'

/** A funding period as its points tell of it: from its first point to the first one of the next, nanoseconds. */
export type Period = Range & { seq: bigint }

/** More periods than this are not drawn: bands would be too narrow to see. */
export const MAX_PERIODS = 120

/**
 * The funding periods that points belong to. A point that a period takes over from the one before has its old
 * time, so the period seems to begin there, a little early.
 */
export function periodsOf(moments: readonly Moment[], end: bigint): Period[] {
  const periods: Period[] = []
  for (const { seq, timestamp } of moments) {
    const current = periods.at(-1)
    if (current !== undefined && seq <= current.seq) continue
    if (current !== undefined) current.to = timestamp
    periods.push({ seq, from: timestamp, to: end })
  }
  return periods
}
