import { inAuction, timeOutsideAuctions } from './auctions.ts'
import { indexAfter, meanStart, type PricePoint, placementOf } from './point-list.ts'
import type { SourceTwap, TwapPeriod } from './source-twap.ts'

/**
 * Creates a source's points with means from a running sum, as in the core (docs/twap.md, "Differences from the plain
 * formula"): price times time outside auctions, summed from the mean's start up to `end`. Each piece is calculated with the
 * auctions that are known when it is added or subtracted, and `meanAt` advances the sum, so the result depends on when means
 * are requested. It differs from the plain formula in two cases: an auction begins or ends before a time that the sum has
 * already passed, or a mean is requested for a time before the last point, after the sum has passed that point.
 */
export function createRunningSum(period: TwapPeriod): SourceTwap {
  const points: PricePoint[] = []
  let sum = 0n
  let end = 0n

  /** The contribution of `price` to the sum between two times. */
  function piece(price: bigint, from: bigint, to: bigint): bigint {
    return price * timeOutsideAuctions(period.auctions, from, to)
  }

  /** Subtracts the last price's contribution after its own time, which is in the period. */
  function takeOffTail(): void {
    const last = points.at(-1)!
    sum -= piece(last.price, last.time, end)
    end = last.time
  }

  /** The sum up to `time`, which is before the last point: subtracts pieces, from the last point backwards. */
  function sumBefore(time: bigint): bigint {
    let rest = sum
    for (let i = points.length - 1; i > 0 && points[i]!.time > time; i--) {
      const { time: from, price } = points[i - 1]!
      rest -= piece(price, from > time ? from : time, points[i]!.time)
    }
    return rest
  }

  function meanAt(time: bigint): bigint | null {
    const start = meanStart(points, period.start)
    const last = points.at(-1)
    if (last === undefined || time < start) return null
    if (time === start) return inAuction(period.auctions, time) ? 0n : points[0]!.price
    if (time < last.time) return mean(sumBefore(time), start, time)
    sum += time > end ? piece(last.price, end, time) : -piece(last.price, time, end)
    end = time
    return mean(sum, start, time)
  }

  function mean(upTo: bigint, start: bigint, time: bigint): bigint {
    const outside = timeOutsideAuctions(period.auctions, start, time)
    return outside === 0n ? 0n : upTo / outside
  }

  /** Calculates the sum anew, with the auctions known so far. */
  function sumUp(): void {
    end = meanStart(points, period.start)
    sum = 0n
    for (let i = 1; i < points.length; i++) {
      sum += piece(points[i - 1]!.price, end, points[i]!.time)
      end = points[i]!.time
    }
  }

  function insert(point: PricePoint): bigint | null {
    const index = indexAfter(points, point.time)
    const before = points[index - 1]!
    const after = points[index]!
    takeOffTail()
    const twap = meanAt(point.time)
    const from = point.time
    sum += piece(point.price, from, after.time) - piece(before.price, from, after.time)
    points.splice(index, 0, point)
    return twap
  }

  function add(point: PricePoint): bigint | null {
    switch (placementOf(points, period.start, point.time)) {
      case 'only':
      case 'first':
        points.unshift(point)
        sumUp()
        return point.price
      case 'instead-of-first':
        points[0] = point
        sumUp()
        return point.price
      case 'last': {
        const twap = meanAt(point.time)
        points.push(point)
        return twap
      }
      case 'between':
        return insert(point)
      case 'duplicate':
        // A point that the core refuses between others leaves no event, but subtracts the tail (docs/twap.md).
        if (point.time !== points[0]!.time && point.time !== points.at(-1)!.time) takeOffTail()
        return null
      case 'too-old':
        return null
    }
  }

  function meanAfterRefusal(time: bigint): bigint | null {
    const last = points.at(-1)
    // The core refuses only a point at the time of another one between the first and the last.
    if (last === undefined || points.length < 3 || time >= last.time || end <= last.time) return null
    const [carriedSum, carriedEnd] = [sum, end]
    takeOffTail()
    const twap = meanAt(time)
    sum = carriedSum
    end = carriedEnd
    return twap
  }

  return { points, add, meanAt, meanAfterRefusal }
}
