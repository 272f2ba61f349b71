import { firstIndexWhere } from '../../../domain/binary-search.ts'
import type { LogSegment } from '../followed-log.ts'

/**
 * Segments, collected by height. A log may have tens of thousands of them, and they overlap if a core has sent blocks again:
 * hence an interval tree, without nodes of its own. Of any range of the sorted segments the middle one is the root, and
 * remembers the greatest height of the range.
 */
export class SegmentsByHeight {
  /** By their first blocks. */
  readonly #sorted: readonly LogSegment[]
  /** For each of them, the greatest height of the range whose middle it is. */
  readonly #greatest: bigint[]

  constructor(segments: readonly LogSegment[]) {
    this.#sorted = segments.toSorted((a, b) =>
      a.first === b.first ? a.number - b.number : a.first < b.first ? -1 : 1,
    )
    this.#greatest = this.#sorted.map(({ last }) => last)
    this.#noteGreatest(0, segments.length)
  }

  /** The lowest height; null if there is no segment. */
  get lowest(): bigint | null {
    return this.#sorted[0]?.first ?? null
  }

  /** The greatest height; null if there is no segment. */
  get highest(): bigint | null {
    return this.#greatest[middleOf(0, this.#sorted.length)] ?? null
  }

  /** The segments whose names say that they have a block, in any order. */
  having(height: bigint): LogSegment[] {
    const collected: LogSegment[] = []
    this.#collect(height, 0, this.#sorted.length, collected)
    return collected
  }

  /** The least height after another one with which a segment begins; null if none does. */
  firstAfter(height: bigint): bigint | null {
    return this.#sorted[firstIndexWhere(this.#sorted, ({ first }) => first > height)]?.first ?? null
  }

  #noteGreatest(from: number, to: number): bigint {
    if (from >= to) return -1n
    const middle = middleOf(from, to)
    for (const greatest of [this.#noteGreatest(from, middle), this.#noteGreatest(middle + 1, to)])
      if (greatest > this.#greatest[middle]!) this.#greatest[middle] = greatest
    return this.#greatest[middle]!
  }

  #collect(height: bigint, from: number, to: number, collected: LogSegment[]): void {
    if (from >= to) return
    const middle = middleOf(from, to)
    if (this.#greatest[middle]! < height) return
    this.#collect(height, from, middle, collected)
    const segment = this.#sorted[middle]!
    if (segment.first > height) return
    if (segment.last >= height) collected.push(segment)
    this.#collect(height, middle + 1, to, collected)
  }
}

function middleOf(from: number, to: number): number {
  return (from + to) >> 1
}
