import { inAuction, timeOutsideAuctions, timesOutsideAuctions } from './auctions.ts'
import { indexAfter, meanStart, type PricePoint, placePoint } from './point-list.ts'
import type { Period, SourceTwap } from './source-twap.ts'

/**
 * The TWAP of `points` (sorted by time) up to `time`, by the formula of docs/twap.md, "The number": each price
 * weighs with the time for which it held outside auctions; exact, rounded down once at the end. Null if there
 * are no points or the first one is later than `time`; 0 if all of the time was spent in auctions.
 */
export function plainMean(points: readonly PricePoint[], period: Period, time: bigint): bigint | null {
  const start = meanStart(points, period.start)
  const first = points[0]
  if (first === undefined || time < start) return null
  if (time === start) return inAuction(period.auctions, time) ? 0n : first.price
  const outside = timeOutsideAuctions(period.auctions, start, time)
  return outside === 0n ? 0n : weigh(points, period, start, time) / outside
}

/** The sum of the prices from `from`, which is not before the first point's time, up to `to`, each by the time for which it held outside auctions. */
function weigh(points: readonly PricePoint[], { auctions }: Period, from: bigint, to: bigint): bigint {
  const outsideOf = timesOutsideAuctions(auctions)
  let sum = 0n
  for (let i = 0; i < points.length && points[i]!.time < to; i++) {
    const next = points[i + 1]?.time ?? to
    sum += points[i]!.price * outsideOf(i === 0 ? from : points[i]!.time, next < to ? next : to)
  }
  return sum
}

/** A source's points of which those that have had all their weight are kept as a sum. */
export type SummedPoints = SourceTwap & {
  /**
   * Sums up the points that have been followed by `now`, the second of a block whose events have all come: no
   * auction of a later block reaches back to before it.
   */
  sumUp(now: bigint): void
  /** Whether a point has come that belongs among those summed up: the sum is not right any more. */
  readonly isLate: boolean
}

/**
 * Creates a source's points without a mean for each as it comes; the mean up to a time, not before that of the last sum,
 * is that of the plain formula. The memory is that of the points since the last sum, and the time too.
 */
export function createSummedPoints(period: Period): SummedPoints {
  const points: PricePoint[] = []
  let sum = 0n
  /** Where the mean begins, once something is summed up. */
  let start: bigint | null = null
  let isLate = false

  return {
    points,
    get isLate() {
      return isLate
    },
    add: (point) => {
      if (start !== null && point.time <= points[0]!.time) isLate = true
      else placePoint(points, period.start, point)
      return null
    },
    meanAt: (time) => {
      if (start === null) return plainMean(points, period, time)
      const outside = timeOutsideAuctions(period.auctions, start, time)
      return outside === 0n ? 0n : (sum + weigh(points, period, points[0]!.time, time)) / outside
    },
    sumUp: (now) => {
      const last = indexAfter(points, now) - 1
      if (last < 1) return
      const from = start === null ? meanStart(points, period.start) : points[0]!.time
      start ??= from
      sum += weigh(points, period, from, points[last]!.time)
      points.splice(0, last)
    },
  }
}

/** Creates a source's points with means by the plain formula: every mean is computed anew from the whole list. */
export function createPlainTwap(period: Period): SourceTwap {
  const points: PricePoint[] = []

  function add(point: PricePoint): bigint | null {
    switch (placePoint(points, period.start, point)) {
      case 'only':
      case 'first':
      case 'instead-of-first':
        return point.price
      case 'last':
      case 'between':
        // The point itself has held for no time yet: this is the mean of those before it.
        return plainMean(points, period, point.time)
      case 'duplicate':
      case 'too-old':
        return null
    }
  }

  return { points, add, meanAt: (time) => plainMean(points, period, time) }
}
