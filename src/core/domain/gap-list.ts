import { firstGapFrom, type HeightRange } from './height-ranges.ts'

/** Heights whose blocks are not stored completely, both ends included. */
export type Gap = {
  from: bigint
  to: bigint
  /** `missing`: no block of these heights is stored; `incomplete`: some of the block's events are missing. */
  kind: 'missing' | 'incomplete'
} & TimeSpan

/**
 * The times between which a range of heights lies, Unix nanoseconds: those of the last stored block before it and of the
 * first one after it. Null if there is no such block, or its time is unknown: the range is then open on that side.
 */
export type TimeSpan = { start: bigint | null; end: bigint | null }

/**
 * Gaps, or other ranges of heights, while blocks are ingested: ascending, without overlap. They are changed in place,
 * because a stream may have as many gaps as blocks.
 */
export class GapList<
  Range extends HeightRange & Partial<TimeSpan> & { kind?: Gap['kind']; lacks?: string } = Gap,
> {
  readonly #gaps: Range[]
  #snapshot: readonly Range[] | null

  constructor(gaps: readonly Range[]) {
    this.#gaps = gaps.map((gap) => ({ ...gap }))
    this.#snapshot = gaps
  }

  /** The current gaps; the same array until something changes. */
  get all(): readonly Range[] {
    this.#snapshot ??= this.#gaps.map((gap) => ({ ...gap }))
    return this.#snapshot
  }

  /** The gap that contains a height; null if none does. */
  at(height: bigint): Range | null {
    const gap = this.#gaps[firstGapFrom(this.#gaps, height)]
    return gap !== undefined && gap.from <= height ? gap : null
  }

  /** Whether a gap contains a height. */
  has(height: bigint): boolean {
    return this.at(height) !== null
  }

  /** Removes a height, whose block has this time, from the gap that contains it, which may split the gap. */
  fill(height: bigint, timestamp: bigint): void {
    const index = firstGapFrom(this.#gaps, height)
    const gap = this.#gaps[index]
    if (gap === undefined || height < gap.from) return
    const rest: Range[] = []
    if (gap.from < height) rest.push({ ...gap, to: height - 1n, end: timestamp })
    if (height < gap.to) rest.push({ ...gap, from: height + 1n, start: timestamp })
    this.#gaps.splice(index, 1, ...rest)
    this.#snapshot = null
  }

  /** Sets the time of the first block after the last gap, unless it is known. */
  endLast(timestamp: bigint): void {
    const last = this.#gaps.at(-1)
    if (last === undefined || last.end !== null) return
    last.end = timestamp
    this.#snapshot = null
  }

  /** Adds a gap that overlaps no other. If it continues a gap of its kind, that one becomes longer. */
  add(gap: Range): void {
    const index = firstGapFrom(this.#gaps, gap.from)
    const joined = { ...gap }
    let start = index
    let end = index
    const before = this.#gaps[index - 1]
    if (before !== undefined && isAlike(before, gap) && before.to + 1n === gap.from) {
      joined.from = before.from
      if (before.start !== undefined) joined.start = before.start
      start--
    }
    const after = this.#gaps[index]
    if (after !== undefined && isAlike(after, gap) && gap.to + 1n === after.from) {
      joined.to = after.to
      if (after.end !== undefined) joined.end = after.end
      end++
    }
    this.#gaps.splice(start, end - start, joined)
    this.#snapshot = null
  }
}

/** Whether adjacent ranges are joined. */
const isAlike = (a: { kind?: string; lacks?: string }, b: { kind?: string; lacks?: string }) =>
  a.kind === b.kind && a.lacks === b.lacks
