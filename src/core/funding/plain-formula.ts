import { inAuction, timeOutsideAuctions, timesOutsideAuctions } from './auctions.ts'
import { meanStart, type PricePoint, placePoint } from './point-list.ts'
import type { SourceTwap, TwapPeriod } from './source-twap.ts'

/**
 * The TWAP of `points` (sorted by time) up to `time`, by the formula of docs/twap.md, "The number". Each price is weighted
 * with the time for which it was valid outside auctions; the result is exact, rounded down once at the end. Null if there
 * are no points, or the first one is later than `time`; 0 if auctions take all of the time.
 */
export function plainMean(points: readonly PricePoint[], period: TwapPeriod, time: bigint): bigint | null {
  const start = meanStart(points, period.start)
  const first = points[0]
  if (first === undefined || time < start) return null
  if (time === start) return inAuction(period.auctions, time) ? 0n : first.price
  const outsideOf = timesOutsideAuctions(period.auctions)
  let sum = 0n
  for (let i = 0; i < points.length && points[i]!.time < time; i++) {
    const next = points[i + 1]?.time ?? time
    sum += points[i]!.price * outsideOf(i === 0 ? start : points[i]!.time, next < time ? next : time)
  }
  const outside = timeOutsideAuctions(period.auctions, start, time)
  return outside === 0n ? 0n : sum / outside
}

/** Creates a source's points with means by the plain formula: every mean is calculated anew from all points. */
export function createPlainTwap(period: TwapPeriod): SourceTwap {
  const points: PricePoint[] = []

  function add(point: PricePoint): bigint | null {
    switch (placePoint(points, period.start, point)) {
      case 'only':
      case 'first':
      case 'instead-of-first':
        return point.price
      case 'last':
      case 'between':
        // The point itself was valid for no time yet, so this is the mean of the points before it.
        return plainMean(points, period, point.time)
      case 'duplicate':
      case 'too-old':
        return null
    }
  }

  return { points, add, meanAt: (time) => plainMean(points, period, time) }
}
