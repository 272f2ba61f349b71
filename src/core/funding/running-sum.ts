import { inAuction, timeOutsideAuctions } from './auctions.ts'
import { indexAfter, meanStart, type PricePoint, placementOf } from './point-list.ts'
import type { SourceTwap, TwapPeriod } from './source-twap.ts'

/**
 * A source's points with means from a running sum, as in the core (docs/twap.md, "Differences from the plain
 * formula"): price times time outside auctions, summed from the mean's start up to `end`. Each piece is calculated with the
 * auctions that are known when it is added or subtracted, and `meanAt` advances the sum, so the result depends on when means
 * are requested. It differs from the plain formula in two cases: an auction begins or ends before a time that the sum has
 * already passed, or a mean is requested for a time before the last point, after the sum has passed that point.
 */
export class RunningSum implements SourceTwap {
  readonly #period: TwapPeriod
  readonly #points: PricePoint[] = []
  #sum = 0n
  /** The time up to which the sum is. */
  #end = 0n

  constructor(period: TwapPeriod) {
    this.#period = period
  }

  get points(): readonly PricePoint[] {
    return this.#points
  }

  add(point: PricePoint): bigint | null {
    const points = this.#points
    switch (placementOf(points, this.#period.start, point.time)) {
      case 'only':
      case 'first':
        points.unshift(point)
        this.#sumUp()
        return point.price
      case 'instead-of-first':
        points[0] = point
        this.#sumUp()
        return point.price
      case 'last': {
        const twap = this.meanAt(point.time)
        points.push(point)
        return twap
      }
      case 'between':
        return this.#insert(point)
      case 'duplicate':
        // A point that the core refuses between others leaves no event, but subtracts the tail (docs/twap.md).
        if (point.time !== points[0]!.time && point.time !== points.at(-1)!.time) this.#subtractTail()
        return null
      case 'too-old':
        return null
    }
  }

  meanAt(time: bigint): bigint | null {
    const { start: periodStart, auctions } = this.#period
    const start = meanStart(this.#points, periodStart)
    const last = this.#points.at(-1)
    if (last === undefined || time < start) return null
    if (time === start) return inAuction(auctions, time) ? 0n : this.#points[0]!.price
    if (time < last.time) return this.#mean(this.#sumBefore(time), start, time)
    const end = this.#end
    this.#sum += time > end ? this.#piece(last.price, end, time) : -this.#piece(last.price, time, end)
    this.#end = time
    return this.#mean(this.#sum, start, time)
  }

  meanAfterRefusal(time: bigint): bigint | null {
    const last = this.#points.at(-1)
    // The core refuses only a point at the time of another one between the first and the last.
    if (last === undefined || this.#points.length < 3 || time >= last.time || this.#end <= last.time)
      return null
    const [sum, end] = [this.#sum, this.#end]
    this.#subtractTail()
    const twap = this.meanAt(time)
    this.#sum = sum
    this.#end = end
    return twap
  }

  #insert(point: PricePoint): bigint | null {
    const index = indexAfter(this.#points, point.time)
    const before = this.#points[index - 1]!
    const after = this.#points[index]!
    this.#subtractTail()
    const twap = this.meanAt(point.time)
    const from = point.time
    this.#sum += this.#piece(point.price, from, after.time) - this.#piece(before.price, from, after.time)
    this.#points.splice(index, 0, point)
    return twap
  }

  /** Calculates the sum anew, with the auctions known so far. */
  #sumUp(): void {
    const points = this.#points
    this.#end = meanStart(points, this.#period.start)
    this.#sum = 0n
    for (let i = 1; i < points.length; i++) {
      this.#sum += this.#piece(points[i - 1]!.price, this.#end, points[i]!.time)
      this.#end = points[i]!.time
    }
  }

  /** Subtracts the last price's contribution after its own time, which is in the period. */
  #subtractTail(): void {
    const last = this.#points.at(-1)!
    this.#sum -= this.#piece(last.price, last.time, this.#end)
    this.#end = last.time
  }

  /** The sum up to `time`, which is before the last point: subtracts pieces, from the last point backwards. */
  #sumBefore(time: bigint): bigint {
    const points = this.#points
    let rest = this.#sum
    for (let i = points.length - 1; i > 0 && points[i]!.time > time; i--) {
      const { time: from, price } = points[i - 1]!
      rest -= this.#piece(price, from > time ? from : time, points[i]!.time)
    }
    return rest
  }

  /** The contribution of `price` to the sum between two times. */
  #piece(price: bigint, from: bigint, to: bigint): bigint {
    return price * timeOutsideAuctions(this.#period.auctions, from, to)
  }

  /** The mean of a sum from `start` to `time`; 0 if auctions take all of the time. */
  #mean(sum: bigint, start: bigint, time: bigint): bigint {
    const outside = timeOutsideAuctions(this.#period.auctions, start, time)
    return outside === 0n ? 0n : sum / outside
  }
}
