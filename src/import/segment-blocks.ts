import { firstAtLeast } from './sorted-numbers.ts'
import type { SourceBlock } from './source.ts'

/** Blocks per segment: real ones have a few thousand. */
export const MAX_SEGMENT_BLOCKS = 4_000_000

/** The blocks of a segment, by time. */
export class SegmentBlocks {
  /** Heights, ascending, and the times of the blocks in Unix microseconds, in the same order. */
  readonly heights: Float64Array
  readonly times: Float64Array
  /** Indices of the blocks by their times. */
  readonly #byTime: Uint32Array
  readonly #sortedTimes: Float64Array
  #last = 0

  /** Takes blocks in any order; each height and each time is there once, or {@link SegmentBlocks.twice} names one. */
  constructor(blocks: { heights: Float64Array; times: Float64Array }) {
    const byHeight = sortedBy(blocks.heights)
    this.heights = Float64Array.from(byHeight, (index) => blocks.heights[index]!)
    this.times = Float64Array.from(byHeight, (index) => blocks.times[index]!)
    this.#byTime = sortedBy(this.times)
    this.#sortedTimes = Float64Array.from(this.#byTime, (index) => this.times[index]!)
  }

  /** A height that is there twice, or the heights of two blocks of one time; null if there is neither. */
  get twice(): string | null {
    const same = repeated(this.heights)
    if (same !== null) return `block ${this.heights[same]} twice`
    const alike = repeated(this.#sortedTimes)
    if (alike === null) return null
    const [one, other] = [this.#byTime[alike - 1]!, this.#byTime[alike]!]
    return `blocks ${this.heights[one]} and ${this.heights[other]} have the same time`
  }

  /** The index by height of the block of a time; -1 if there is none. */
  find(time: number): number {
    const times = this.#sortedTimes
    // Rows mostly come in the order of time.
    for (let near = this.#last; near < this.#last + 4 && near < times.length; near++) {
      if (times[near] === time) {
        this.#last = near
        return this.#byTime[near]!
      }
    }
    const index = firstAtLeast(times, time)
    if (times[index] !== time) return -1
    this.#last = index
    return this.#byTime[index]!
  }

  /** The index of the first block that is not below a height. */
  from(height: number): number {
    return firstAtLeast(this.heights, height)
  }

  at(index: number): SourceBlock {
    return { height: this.heights[index]!, time: this.times[index]! }
  }
}

/** Indices of values in the order of the values. */
function sortedBy(values: Float64Array): Uint32Array {
  const order = Uint32Array.from(values, (_, index) => index)
  const isSorted = values.every((value, index) => index === 0 || values[index - 1]! <= value)
  return isSorted ? order : order.sort((a, b) => values[a]! - values[b]!)
}

/** Index of a repeated value in a sorted list; null if there is none. */
function repeated(sorted: Float64Array): number | null {
  for (let index = 1; index < sorted.length; index++) if (sorted[index] === sorted[index - 1]) return index
  return null
}
