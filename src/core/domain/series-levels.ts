/*
 * Series are read from buckets of several lengths. Of each length a run has the buckets that are closed: those before the
 * one that contains the run's closing time, which is the timestamp of its last point, or the market's latest period
 * start if that is later. The rest is read from shorter buckets and, in the end, from the points. So a point that arrives
 * in the order of time changes no bucket, and every bucket is written once.
 */

/** A length of buckets, in seconds; they are made from those of `of`, the shortest ones from the points. */
export type Level = { seconds: bigint; nanoseconds: bigint; of: Level | null }

/** The shortest ones. */
export const BASE = levelOf(30n, null)
const MINUTES_5 = levelOf(300n, BASE)
const MINUTES_30 = levelOf(1_800n, MINUTES_5)
const HOURS_4 = levelOf(14_400n, MINUTES_30)
const DAY = levelOf(86_400n, HOURS_4)

/** Shortest first; each after the one that it is made from. */
export const LEVELS: readonly Level[] = [
  ...[BASE, MINUTES_5, MINUTES_30, HOURS_4, DAY],
  ...[levelOf(7n * DAY.seconds, DAY), levelOf(365n * DAY.seconds, DAY)],
]

function levelOf(seconds: bigint, of: Level | null): Level {
  return { seconds, nanoseconds: seconds * 1_000_000_000n, of }
}

/** The closing time of a run, by the timestamp of its last point and the latest start of a period of the market. */
export function closingTime(last: bigint | null, start: bigint | string | number | null): bigint | null {
  if (last === null || start === null) return last
  return BigInt(start) > last ? BigInt(start) : last
}
