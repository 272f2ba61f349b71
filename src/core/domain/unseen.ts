import type { Coverage } from './coverage.ts'
import { type EventPosition, isBefore } from './event-position.ts'
import { firstGapFrom, type HeightRange } from './height-ranges.ts'
import { least } from './integers.ts'

/** The events after a position, up to the end of block `to`. */
export type PositionRange = EventPosition & { to: bigint }

/**
 * The events that a follower of the stream has not received: all blocks below a height, blocks that were gaps when the
 * stream passed them, ascending, and all events after a position. This set of events is the same for every store. Blocks
 * that are added below the height or in a gap after the stream has passed are not lost.
 */
export type Unseen = {
  /** All blocks below this height. */
  first: bigint
  gaps: readonly PositionRange[]
  tail: EventPosition
}

/** Maximum number of gaps that are followed: the highest ones. */
export const MAX_GAPS = 64

/** The unseen events of a follower that has received everything up to a position, in a store with this coverage. */
export function unseenAfter(position: EventPosition, coverage: Coverage): Unseen {
  const { first } = coverage
  // A follower cannot have received rows that the store does not have.
  const tail = position.height < first ? { height: first, index: 0 } : position
  return { first, gaps: lastGaps(gapRangesWithin(coverage, 0n, tail.height - 1n)), tail }
}

/** The unseen events of a follower that has received everything stored. */
export function unseenAfterAll(coverage: Coverage): Unseen {
  return unseenAfter({ height: coverage.height + 1n, index: 0 }, coverage)
}

/** The parts of the unseen ranges that are stored, ascending. */
export function storedPartsOf(unseen: Unseen, coverage: Coverage): PositionRange[] {
  const stored = passed(unseen, coverage).flatMap((range) =>
    split(range, coverage).flatMap(({ range: part, isStored }) => (isStored ? [part] : [])),
  )
  const { first, height } = coverage
  const tail = unseen.tail.height < first ? { height: first, index: 0 } : unseen.tail
  if (tail.height <= height) stored.push({ ...tail, to: height })
  return joinAdjacent(stored)
}

/** The unseen ranges below the tail that are not below the first stored height. */
function passed(unseen: Unseen, { first }: Coverage): readonly PositionRange[] {
  return first < unseen.first
    ? [{ height: first, index: 0, to: unseen.first - 1n }, ...unseen.gaps]
    : unseen.gaps
}

/** The unseen events after the follower has received all stored ones, or all up to a position. */
export function advance(unseen: Unseen, coverage: Coverage, upTo: EventPosition | null): Unseen {
  const position = upTo ?? { height: coverage.height + 1n, index: 0 }
  const rest = passed(unseen, coverage).flatMap((range) =>
    split(range, coverage).flatMap(({ range: part, isStored }) =>
      isStored ? afterPosition(part, position) : [part],
    ),
  )
  const first = least([unseen.first, coverage.first])
  if (!isBefore(unseen.tail, position))
    return { first, gaps: lastGaps(joinAdjacent(rest)), tail: unseen.tail }
  // Incomplete blocks below the position are sent, or sent again, once complete.
  if (unseen.tail.height < coverage.first) rest.push({ ...unseen.tail, to: coverage.first - 1n })
  const gaps = gapRangesWithin(coverage, unseen.tail.height, position.height - 1n)
  return { first, gaps: lastGaps(joinAdjacent([...rest, ...gaps])), tail: position }
}

/** A part of a range, and whether its blocks are stored whole. */
type StatedRange = { range: PositionRange; isStored: boolean }

function split(range: PositionRange, coverage: Coverage): StatedRange[] {
  const { first, height } = coverage
  const parts: StatedRange[] = []
  let from: EventPosition = range
  const cut = (to: bigint, isStored: boolean) => {
    if (to < from.height) return
    parts.push({ range: { ...from, to }, isStored })
    from = { height: to + 1n, index: 0 }
  }
  cut(least([first - 1n, range.to]), false)
  for (const { from: start, to } of gapsWithin(coverage, range.height, range.to)) {
    cut(start - 1n, true)
    cut(least([to, range.to]), false)
  }
  cut(least([range.to, height]), true)
  cut(range.to, false)
  return parts
}

/** The part of a range after a position. */
function afterPosition(range: PositionRange, position: EventPosition): PositionRange[] {
  if (range.to < position.height) return []
  return [isBefore(range, position) ? { ...position, to: range.to } : range]
}

/** The gaps between two heights, ascending. */
function gapsWithin({ gaps }: Coverage, from: bigint, to: bigint): HeightRange[] {
  return gaps.slice(firstGapFrom(gaps, from), firstGapFrom(gaps, to + 1n) + 1).filter((gap) => gap.from <= to)
}

/** The gaps between two heights as ranges: unseen by a follower that has received all stored rows there. */
function gapRangesWithin(coverage: Coverage, from: bigint, to: bigint): PositionRange[] {
  return gapsWithin(coverage, from, to).map((gap) => ({
    height: gap.from > from ? gap.from : from,
    index: 0,
    to: least([gap.to, to]),
  }))
}

/** Ranges, with adjacent ones joined. */
function joinAdjacent(ranges: readonly PositionRange[]): PositionRange[] {
  const result: PositionRange[] = []
  for (const range of ranges) {
    const last = result.at(-1)
    const isComplete = range.index === 0 && range.within === undefined
    const follows = last !== undefined && isComplete && last.to + 1n === range.height
    if (follows) result[result.length - 1] = { ...last, to: range.to }
    else result.push(range)
  }
  return result
}

function lastGaps(ranges: readonly PositionRange[]): readonly PositionRange[] {
  return ranges.length > MAX_GAPS ? ranges.slice(-MAX_GAPS) : ranges
}
