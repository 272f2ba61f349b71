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

  /** Takes blocks in any order; each height and each time is there once, or {@link SegmentBlocks.twice} names one. */
  constructor(heights: ArrayLike<number>, times: ArrayLike<number>) {
    const byHeight = sortedBy(heights)
    this.heights = Float64Array.from(byHeight, (index) => heights[index]!)
    this.times = Float64Array.from(byHeight, (index) => times[index]!)
    this.#byTime = sortedBy(this.times)
  }

  /** A height that is there twice, or the heights of two blocks of one time; null if there is neither. */
  get twice(): string | null {
    const same = this.heights.find((height, index) => height === this.heights[index - 1])
    if (same !== undefined) return `block ${same} twice`
    const { times } = this
    const alike = this.#byTime.findIndex((block, index) => times[block] === times[this.#byTime[index - 1]!])
    if (alike < 0) return null
    const [one, other] = [this.#byTime[alike - 1]!, this.#byTime[alike]!]
    return `blocks ${this.heights[one]} and ${this.heights[other]} have the same time`
  }

  /** The index by height of the block of a time; -1 if there is none. */
  find(time: number): number {
    let low = 0
    let high = this.#byTime.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.times[this.#byTime[middle]!]! < time) low = middle + 1
      else high = middle
    }
    const found = this.#byTime[low]
    return found !== undefined && this.times[found] === time ? found : -1
  }

  at(index: number): SourceBlock {
    return { height: this.heights[index]!, time: this.times[index]! }
  }
}

/** Indices of values in the order of the values. */
function sortedBy(values: ArrayLike<number>): Uint32Array {
  return new Uint32Array(values.length).map((_, index) => index).sort((a, b) => values[a]! - values[b]!)
}
