import { MIN_INT64 } from './integers.ts'
import { indexAt } from './series.ts'
import { SECOND } from './time.ts'

/*
 * Series are read from buckets of several lengths. Once points are stored, all buckets of a market and source that end by a
 * certain time are built, except ranges whose points have changed since. Everything else is read from shorter buckets and,
 * in the end, from the points (store/charts/build-series.ts, store/queries/series/series.ts).
 */

/** A length of buckets, in seconds. Its buckets are built from those of `of`, the shortest ones from the points. */
export type Level = { seconds: bigint; nanoseconds: bigint; of: Level | null }

/** The shortest buckets. */
export const BASE = levelOf(30n, null)
const MINUTES_5 = levelOf(300n, BASE)
const MINUTES_30 = levelOf(1_800n, MINUTES_5)
const HOURS_4 = levelOf(14_400n, MINUTES_30)
const HOURS_24 = levelOf(86_400n, HOURS_4)

/** Shortest first; each is built from the one before it. */
export const LEVELS: readonly Level[] = [
  BASE,
  MINUTES_5,
  MINUTES_30,
  HOURS_4,
  HOURS_24,
  levelOf(7n * HOURS_24.seconds, HOURS_24),
  levelOf(365n * HOURS_24.seconds, HOURS_24),
]

function levelOf(seconds: bigint, of: Level | null): Level {
  return { seconds, nanoseconds: seconds * SECOND, of }
}

/** The index of the shortest bucket that contains a time, Unix nanoseconds. */
export function baseAt(time: bigint): bigint {
  return indexAt(time, BASE.nanoseconds)
}

/** The first bucket of any point. */
export const FIRST_BASE = baseAt(MIN_INT64)

/** Adjacent buckets of one length, by their indexes: `from` is included, `to` is not. */
export type BucketRange = { from: bigint; to: bigint }

/**
 * The buckets of a length that overlap ranges of the shortest ones: ascending, each once.
 *
 * @param slack maximum number of buckets between two ranges that are joined
 */
export function bucketRanges({ seconds }: Level, ranges: readonly BucketRange[], slack = 0n): BucketRange[] {
  const ratio = seconds / BASE.seconds
  const joined: BucketRange[] = []
  for (const range of ranges.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const from = indexAt(range.from, ratio)
    const to = indexAt(range.to - 1n, ratio) + 1n
    const last = joined.at(-1)
    if (last === undefined || from > last.to + slack) joined.push({ from, to })
    else if (to > last.to) last.to = to
  }
  return joined
}
