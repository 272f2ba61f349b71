import { type Coverage, firstGapFrom, type Gap } from './coverage.ts'

/** A place in the stream of events: after the event of an index (1, 2, ...) of a block; 0: before its first. */
export type Place = { height: bigint; index: number }

/** The events after a place, up to the end of block `to`. */
export type PlaceRange = Place & { to: bigint }

/**
 * What one who follows the stream has not had: all blocks below a height, blocks that were gaps when the stream
 * passed them, ascending, and all events after a place. As a set of events it means the same whoever holds it, and
 * whatever store it is asked from; blocks that are added below or in a gap after the stream has passed are not lost.
 */
export type Lacks = {
  /** All blocks below this height; null: below the height at which the store began, whichever is asked. */
  first: bigint | null
  gaps: readonly PlaceRange[]
  tail: Place
}

/** Gaps that are followed; in a stream that is full of holes those of the highest blocks. */
export const MAX_GAPS = 64

/** What one lacks who has had everything up to a place of a stream held with this coverage. */
export function lacksAfter(place: Place, { first, gaps }: Coverage): Lacks {
  // What the store does not hold, nobody has had from it.
  const tail = place.height < first ? { height: first, index: 0 } : place
  return { first, gaps: lastOf(gapsWithin(gaps, 0n, tail.height - 1n)), tail }
}

/** What one lacks who has had everything that is held. */
export function lacksAfterAll(coverage: Coverage): Lacks {
  return lacksAfter({ height: coverage.height + 1n, index: 0 }, coverage)
}

/** The parts of what is lacked that are held, ascending. */
export function heldOf(lacks: Lacks, coverage: Coverage): PlaceRange[] {
  const held = passed(lacks, coverage).flatMap((range) =>
    split(range, coverage).flatMap((part) => (part.isHeld ? [part.range] : [])),
  )
  const { first, height } = coverage
  const tail = lacks.tail.height < first ? { height: first, index: 0 } : lacks.tail
  if (tail.height <= height) held.push({ ...tail, to: height })
  return held
}

/** What is lacked below the tail, of the heights from the first one held on. */
function passed(lacks: Lacks, { first, began }: Coverage): readonly PlaceRange[] {
  const below = lacks.first ?? began
  return first < below ? [{ height: first, index: 0, to: below - 1n }, ...lacks.gaps] : lacks.gaps
}

/** What is lacked once all that is held has been had, up to a place where one is given. */
export function advance(lacks: Lacks, coverage: Coverage, upTo: Place | null): Lacks {
  const place = upTo ?? { height: coverage.height + 1n, index: 0 }
  const kept = passed(lacks, coverage).flatMap((range) =>
    split(range, coverage).flatMap((part) => (part.isHeld ? afterPlace(part.range, place) : [part.range])),
  )
  const first = lower(lacks.first ?? coverage.began, coverage.first)
  if (!isBefore(lacks.tail, place)) return { first, gaps: lastOf(joined(kept)), tail: lacks.tail }
  // What the place has passed and is not whole comes, or comes again, once it is.
  if (lacks.tail.height < coverage.first) kept.push({ ...lacks.tail, to: coverage.first - 1n })
  kept.push(...gapsWithin(coverage.gaps, lacks.tail.height, place.height - 1n))
  return { first, gaps: lastOf(joined(kept)), tail: place }
}

/** Whether a place stands before another one. */
export function isBefore(a: Place, b: Place): boolean {
  return a.height < b.height || (a.height === b.height && a.index < b.index)
}

/** A range in parts that are held whole, and parts that are not. */
function split(
  range: PlaceRange,
  { first, gaps, height }: Coverage,
): { range: PlaceRange; isHeld: boolean }[] {
  const parts: { range: PlaceRange; isHeld: boolean }[] = []
  let from: Place = range
  const cut = (to: bigint, isHeld: boolean) => {
    if (to < from.height) return
    parts.push({ range: { height: from.height, index: from.index, to }, isHeld })
    from = { height: to + 1n, index: 0 }
  }
  cut(lower(first - 1n, range.to), false)
  for (let index = firstGapFrom(gaps, range.height); index < gaps.length; index++) {
    const gap = gaps[index]!
    if (gap.from > range.to) break
    cut(gap.from - 1n, true)
    cut(lower(gap.to, range.to), false)
  }
  cut(lower(range.to, height), true)
  cut(range.to, false)
  return parts
}

/** What of a range lies after a place. */
function afterPlace(range: PlaceRange, place: Place): PlaceRange[] {
  if (range.to < place.height) return []
  return [isBefore(range, place) ? { ...place, to: range.to } : range]
}

/** Gaps as ranges, as far as they lie within heights. */
function gapsWithin(gaps: readonly Gap[], from: bigint, to: bigint): PlaceRange[] {
  return gaps
    .slice(firstGapFrom(gaps, from), firstGapFrom(gaps, to + 1n) + 1)
    .filter((gap) => gap.from <= to)
    .map((gap) => ({ height: gap.from > from ? gap.from : from, index: 0, to: lower(gap.to, to) }))
}

/** Ranges, those that follow on each other as one. */
function joined(ranges: readonly PlaceRange[]): PlaceRange[] {
  const result: PlaceRange[] = []
  for (const range of ranges) {
    const last = result.at(-1)
    if (last !== undefined && range.index === 0 && last.to + 1n === range.height) {
      result[result.length - 1] = { ...last, to: range.to }
    } else result.push(range)
  }
  return result
}

function lastOf(ranges: readonly PlaceRange[]): readonly PlaceRange[] {
  return ranges.length > MAX_GAPS ? ranges.slice(-MAX_GAPS) : ranges
}

function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}
