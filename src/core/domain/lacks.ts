import { byFrom, type Coverage, firstGapFrom, type HeightRange, isWithin } from './coverage.ts'
import { least } from './integers.ts'
import { isBefore, type Place } from './place.ts'

/** The events after a place, up to the end of block `to`. */
export type PlaceRange = Place & { to: bigint }

/** A range not yet received; `imported`: the imported rows of these blocks were received, but not their events. */
export type LackedRange = PlaceRange & { imported?: true }

/**
 * What one who follows the stream has not had: all blocks below a height, blocks that were gaps or imported when the
 * stream passed them, ascending, and all events after a place. As a set of events it means the same to every holder, and
 * whatever store it is asked from; blocks that are added below or in a gap after the stream has passed are not lost.
 */
export type Lacks = {
  /** All blocks below this height. */
  first: bigint
  gaps: readonly LackedRange[]
  tail: Place
}

/** Gaps that are followed; in a stream that is full of holes those of the highest blocks. */
export const MAX_GAPS = 64

/** The ranges missing for a follower that has received everything up to a position, with this coverage. */
export function lacksAfter(place: Place, coverage: Coverage): Lacks {
  const { first } = coverage
  // A follower cannot have received what the store does not have.
  const tail = place.height < first ? { height: first, index: 0 } : place
  return { first, gaps: lastOf(lackedWithin(coverage, 0n, tail.height - 1n)), tail }
}

/** The ranges missing for a follower that has received everything stored. */
export function lacksAfterAll(coverage: Coverage): Lacks {
  return lacksAfter({ height: coverage.height + 1n, index: 0 }, coverage)
}

/** The stored parts of the missing ranges, ascending. */
export function heldOf(lacks: Lacks, coverage: Coverage): PlaceRange[] {
  const held = passed(lacks, coverage).flatMap((range) =>
    split(range, coverage).flatMap(({ range: part, state }) => {
      const isSent = state === 'events' || (state === 'imported' && !range.imported)
      return isSent ? [wholeWhereImported(part, coverage)] : []
    }),
  )
  const { first, height } = coverage
  const tail = lacks.tail.height < first ? { height: first, index: 0 } : lacks.tail
  if (tail.height <= height) held.push(wholeWhereImported({ ...tail, to: height }, coverage))
  return joined(held)
}

/** Positions within an imported block are invented: a follower that has some of its events is sent all of them. */
function wholeWhereImported({ height, index, to }: PlaceRange, { imported }: Coverage): PlaceRange {
  return { height, index: index > 0 && isWithin(imported, height) ? 0 : index, to }
}

/** The missing ranges below the tail, from the first stored height on. */
function passed(lacks: Lacks, { first }: Coverage): readonly LackedRange[] {
  return first < lacks.first ? [{ height: first, index: 0, to: lacks.first - 1n }, ...lacks.gaps] : lacks.gaps
}

/**
 * The ranges still missing after a follower received everything stored, or up to a position; an imported block all or
 * nothing.
 */
export function advance(lacks: Lacks, coverage: Coverage, upTo: Place | null): Lacks {
  const reached = upTo ?? { height: coverage.height + 1n, index: 0 }
  const place = isWithin(coverage.imported, reached.height) ? { ...reached, index: 0 } : reached
  const kept = passed(lacks, coverage).flatMap((range) =>
    split(range, coverage).flatMap(({ range: part, state }): LackedRange[] => {
      if (state === 'missing' || (state === 'imported' && range.imported)) return [part]
      const rest = afterPlace(part, place)
      if (state === 'events') return rest
      const to = least([part.to, place.height - 1n])
      return part.height <= to ? [{ ...part, to, imported: true }, ...rest] : rest
    }),
  )
  const first = least([lacks.first, coverage.first])
  if (!isBefore(lacks.tail, place)) return { first, gaps: lastOf(joined(kept)), tail: lacks.tail }
  // Incomplete blocks below the position are sent, or sent again, once complete.
  if (lacks.tail.height < coverage.first) kept.push({ ...lacks.tail, to: coverage.first - 1n })
  kept.push(...lackedWithin(coverage, lacks.tail.height, place.height - 1n))
  return { first, gaps: lastOf(joined(kept)), tail: place }
}

/** A part of a range, and whether it is held whole, from events or from an import, or not. */
type StatedRange = { range: LackedRange; state: 'missing' | 'imported' | 'events' }

function split(range: LackedRange, coverage: Coverage): StatedRange[] {
  const { first, height } = coverage
  const parts: StatedRange[] = []
  let from: Place = range
  const cut = (to: bigint, state: StatedRange['state']) => {
    if (to < from.height) return
    parts.push({ range: { ...range, height: from.height, index: from.index, to }, state })
    from = { height: to + 1n, index: 0 }
  }
  cut(least([first - 1n, range.to]), 'missing')
  for (const { from: start, to, imported } of notFromEvents(coverage, range.height, range.to)) {
    cut(start - 1n, 'events')
    cut(least([to, range.to]), imported ? 'imported' : 'missing')
  }
  cut(least([range.to, height]), 'events')
  cut(range.to, 'missing')
  return parts
}

/** The part of a range after a position. */
function afterPlace(range: LackedRange, place: Place): LackedRange[] {
  if (range.to < place.height) return []
  return [isBefore(range, place) ? { ...range, ...place } : range]
}

/** The gaps and imported ranges that lie in some heights, ascending. */
function notFromEvents(
  { gaps, imported }: Coverage,
  from: bigint,
  to: bigint,
): (HeightRange & { imported: boolean })[] {
  const within = (ranges: readonly HeightRange[], imported: boolean) =>
    ranges
      .slice(firstGapFrom(ranges, from), firstGapFrom(ranges, to + 1n) + 1)
      .filter((range) => range.from <= to)
      .map((range) => ({ from: range.from, to: range.to, imported }))
  const missing = within(gaps, false)
  if (imported.length === 0) return missing
  return [...missing, ...within(imported, true)].sort(byFrom)
}

/** The ranges of some heights missing for a follower that has received everything stored of them. */
function lackedWithin(coverage: Coverage, from: bigint, to: bigint): LackedRange[] {
  return notFromEvents(coverage, from, to).map((range) => ({
    ...{ height: range.from > from ? range.from : from, index: 0, to: least([range.to, to]) },
    ...(range.imported ? { imported: true } : {}),
  }))
}

/** Ranges, those that follow on each other as one. */
function joined(ranges: readonly LackedRange[]): LackedRange[] {
  const result: LackedRange[] = []
  for (const range of ranges) {
    const last = result.at(-1)
    const follows = last !== undefined && range.index === 0 && last.to + 1n === range.height
    if (follows && last.imported === range.imported) result[result.length - 1] = { ...last, to: range.to }
    else result.push(range)
  }
  return result
}

function lastOf(ranges: readonly LackedRange[]): readonly LackedRange[] {
  return ranges.length > MAX_GAPS ? ranges.slice(-MAX_GAPS) : ranges
}
