import { firstIndexWhere } from './binary-search.ts'

/** Heights of blocks, both ends included. */
export type HeightRange = { from: bigint; to: bigint }

/** A range in JSON: 64-bit integers are text. */
export type InText<Range extends HeightRange> = Omit<Range, 'from' | 'to'> & { from: string; to: string }

/** Orders ranges by their beginnings. */
export const byFrom = (a: HeightRange, b: HeightRange) => Number(a.from - b.from)

/**
 * The index of the first range that does not end below a height, by binary search: a stream may have as many gaps as blocks.
 */
export function firstGapFrom(gaps: readonly Pick<HeightRange, 'to'>[], height: bigint): number {
  return firstIndexWhere(gaps, ({ to }) => to >= height)
}

/** The parts of ranges that none of the others covers; both lists are ascending and without overlap. */
export function without(ranges: readonly HeightRange[], others: readonly HeightRange[]): HeightRange[] {
  return ranges.flatMap(({ from, to }) => {
    const rest: HeightRange[] = []
    let start = from
    for (let index = firstGapFrom(others, from); index < others.length; index++) {
      const other = others[index]!
      if (other.from > to) break
      if (start < other.from) rest.push({ from: start, to: other.from - 1n })
      start = other.to + 1n
    }
    if (start <= to) rest.push({ from: start, to })
    return rest
  })
}

/** Whether ranges, ascending and without overlap, contain every height of another one. */
export function holdAll(ranges: readonly HeightRange[], range: HeightRange): boolean {
  return without([range], ranges).length === 0
}

/** The range that contains a height, of those that are ascending and without overlap; null if none does. */
export function rangeWith(ranges: readonly HeightRange[], height: bigint): HeightRange | null {
  const range = ranges[firstGapFrom(ranges, height)]
  return range !== undefined && range.from <= height ? range : null
}

/** Whether a height is in one of these ranges, which are ascending and without overlap. */
export function isWithin(ranges: readonly HeightRange[], height: bigint): boolean {
  return rangeWith(ranges, height) !== null
}

/** The parts of ranges that others also cover; both lists are ascending and without overlap. */
export function intersection(ranges: readonly HeightRange[], others: readonly HeightRange[]): HeightRange[] {
  return without(ranges, without(ranges, others))
}

/** Ranges in any order as a list that is ascending and not adjacent. */
export function merged(ranges: readonly HeightRange[]): HeightRange[] {
  const result: HeightRange[] = []
  for (const range of ranges.toSorted(byFrom)) {
    const last = result.at(-1)
    if (last === undefined || range.from > last.to + 1n) result.push({ ...range })
    else if (range.to > last.to) last.to = range.to
  }
  return result
}

/** 64-bit integers as text; other fields are copied. */
export function inText<Range extends HeightRange>(range: Range): InText<Range> {
  return { ...range, from: range.from.toString(), to: range.to.toString() }
}

/** `block 12` or `blocks 12 to 15`. */
export function describeBlocks({ from, to }: HeightRange | InText<HeightRange>): string {
  return from === to ? `block ${from}` : `blocks ${from} to ${to}`
}

/** Ranges of heights, for people: the first `most` of them. */
export function describeRanges(ranges: readonly (HeightRange | InText<HeightRange>)[], most: number): string {
  const shown = ranges.slice(0, most).map(describeBlocks)
  return [...shown, ...(shown.length < ranges.length ? ['more'] : [])].join(', ')
}
