import { inAuction, timeOutsideAuctions } from './auctions.ts'
import { indexAfter, meanStart, type PricePoint, placementOf } from './point-list.ts'
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
  if (outside === 0n) return 0n
  let sum = 0n
  for (let i = 0; i < points.length && points[i]!.time < time; i++) {
    const from = i === 0 ? start : points[i]!.time
    const next = points[i + 1]?.time ?? time
    sum += points[i]!.price * timeOutsideAuctions(period.auctions, from, next < time ? next : time)
  }
  return sum / outside
}

/** Creates a source's points with means by the plain formula: every mean is computed anew from the whole list. */
export function createPlainTwap(period: Period): SourceTwap {
  const points: PricePoint[] = []

  function add(point: PricePoint): bigint | null {
    switch (placementOf(points, period.start, point.time)) {
      case 'only':
      case 'first':
        points.unshift(point)
        return point.price
      case 'instead-of-first':
        points[0] = point
        return point.price
      case 'last':
      case 'between': {
        const twap = plainMean(points, period, point.time)
        points.splice(indexAfter(points, point.time), 0, point)
        return twap
      }
      case 'duplicate':
      case 'too-old':
        return null
    }
  }

  return { points, add, meanAt: (time) => plainMean(points, period, time) }
}
