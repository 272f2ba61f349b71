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
type TimeSpan = { start: bigint | null; end: bigint | null }

/** Heights of blocks, both ends included. */
export type HeightRange = { from: bigint; to: bigint }

/**
 * The height from which a store has a resource in all blocks. An older version, which did not store it, ingested the blocks
 * below. Blocks below that arrive later have it, but the height stays.
 */
type Since = {
  resource: string
  height: bigint
  /** The time of that block, Unix nanoseconds; null if it is unknown. */
  start: bigint | null
}

/**
 * Imported heights; `lacks`: the names of the resources whose rows were unavailable or have not been written yet,
 * ascending, separated by spaces.
 */
export type ImportedRange = HeightRange & { lacks: string }

/** Orders ranges by their beginnings. */
export const byFrom = (a: HeightRange, b: HeightRange) => Number(a.from - b.from)

/** A range in JSON: 64-bit integers are text. */
export type InText<Range extends HeightRange> = Omit<Range, 'from' | 'to'> & { from: string; to: string }

/** A gap in JSON: 64-bit integers are text. */
export type GapText = InText<HeightRange> & Pick<Gap, 'kind'> & { start: string | null; end: string | null }

/** The part of a network's stream that a store contains. */
export type Coverage = {
  chainId: string
  /** The lowest stored height; lowered by blocks below it that arrive later. */
  first: bigint
  /** The time of that block, or of the nearest later one whose time is known, Unix nanoseconds; null if there is none. */
  firstTimestamp: bigint | null
  /**
   * Height of the first block ever committed: blocks below it were added later, and gaps there do not make current data
   * unavailable.
   */
  began: bigint
  /** Hashes of the parts of block 1 (genesis and the block itself); null if it is not stored, or they are unknown. */
  blockOne: readonly string[] | null
  /** The height of the last block committed: the store head. */
  height: bigint
  /** The time of that block, Unix nanoseconds. */
  timestamp: bigint
  /** Ascending, without overlap. */
  gaps: readonly Gap[]
  /** By resource; without those that all blocks have. */
  since: readonly Since[]
  /**
   * Heights whose rows are from an import, not from events: ascending, not adjacent, without missing heights. A block
   * counts as imported only once its last rows are committed, so that a stream sends it once.
   */
  imported: readonly ImportedRange[]
}

/** The parts of a coverage that change with every block. */
export type CoverageEnds = Omit<Coverage, 'chainId' | 'gaps' | 'imported'>

/** The ends of an empty store whose first block is `first` or a later one. */
export function startsAt(first: bigint): CoverageEnds {
  return {
    first,
    firstTimestamp: null,
    began: first,
    blockOne: null,
    height: first - 1n,
    timestamp: 0n,
    since: [],
  }
}

/** The ends after one more block: it fills a gap at its height, and skipped heights become a gap. */
export function extended(ends: CoverageEnds, gaps: GapList, at: bigint, timestamp: bigint): CoverageEnds {
  const { first, firstTimestamp, height } = ends
  if (at < first) {
    if (at + 1n < first) {
      gaps.add({ from: at + 1n, to: first - 1n, kind: 'missing', start: timestamp, end: firstTimestamp })
    }
    return { ...ends, first: at, firstTimestamp: timestamp }
  }
  if (at <= height) {
    gaps.fill(at, timestamp)
    return ends
  }
  const lastTimestamp = height < first ? null : ends.timestamp
  // If the last block is in a gap, this one is the first after it.
  gaps.endLast(timestamp)
  if (at > height + 1n) {
    gaps.add({ from: height + 1n, to: at - 1n, kind: 'missing', start: lastTimestamp, end: timestamp })
  }
  return { ...ends, firstTimestamp: firstTimestamp ?? timestamp, height: at, timestamp }
}

/** The times between which a block lies: those of its neighbours, as for a gap at its height. */
export function spanOf(ends: CoverageEnds | null, gaps: GapList, height: bigint): TimeSpan {
  const gap = gaps.at(height)
  if (gap !== null) return { start: gap.start, end: gap.end }
  if (ends === null || ends.height < ends.first) return { start: null, end: null }
  if (height < ends.first) return { start: null, end: ends.firstTimestamp }
  return { start: ends.timestamp, end: null }
}

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

/**
 * The index of the first gap that does not end below a height, by binary search: a stream may have as many gaps as blocks.
 */
export function firstGapFrom(gaps: readonly Pick<HeightRange, 'to'>[], height: bigint): number {
  let low = 0
  let high = gaps.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (gaps[middle]!.to < height) low = middle + 1
    else high = middle
  }
  return low
}

/** Whether adjacent ranges are joined. */
const isAlike = (a: { kind?: string; lacks?: string }, b: { kind?: string; lacks?: string }) =>
  a.kind === b.kind && a.lacks === b.lacks

/** An imported range in JSON; `lacks` only if resources are missing. */
export type ImportedText = InText<HeightRange> & { lacks?: string[] }

/** Numbers as text, and the resources as a list. */
export function importedText({ from, to, lacks }: ImportedRange): ImportedText {
  const ends = inText({ from, to })
  return lacks === '' ? ends : { ...ends, lacks: lacks.split(' ') }
}

/** The coverage of a resource: blocks without its imported rows count as missing. */
export function coverageOfResource(coverage: Coverage, resource: string): Coverage {
  const missing = coverage.imported.flatMap(({ from, to, lacks }): Gap[] =>
    lacks.split(' ').includes(resource) ? [{ from, to, kind: 'missing', start: null, end: null }] : [],
  )
  if (missing.length === 0) return coverage
  return { ...coverage, gaps: [...coverage.gaps, ...missing].sort(byFrom) }
}

/**
 * Describes the missing resources of a store, with the remedy under `''`: resources that an older version did not
 * store, and those of imported blocks.
 */
export function describeMissingResources({
  since,
  imported,
}: {
  since: readonly { resource: string; height: bigint | string }[]
  imported: readonly ImportedText[]
}): [resource: string, text: string][] {
  const missing = [...new Set(imported.flatMap(({ lacks = [] }) => lacks))].sort()
  return [
    ...since.map(({ resource, height }): [string, string] => [resource, `stored from block ${height} on`]),
    ...(since.length === 0 ? [] : [['', REBUILD] as [string, string]]),
    ...missing.map((resource): [string, string] => {
      const ranges = imported.filter(({ lacks = [] }) => lacks.includes(resource))
      return [
        resource,
        `not imported in ${describeRanges(ranges, LISTED_RANGES)}: its source did not have it, or the import was interrupted; then run it again`,
      ]
    }),
  ]
}

const REBUILD = 'to have it in all blocks, ingest the event files into a new store, then switch to that'

/** As {@link describeMissingResources}, in one line for each resource; none if the coverage is null. */
export function missingResourcesIn(coverage: Coverage | null): string[] {
  if (coverage === null) return []
  const { since, imported } = coverage
  const all = describeMissingResources({ since, imported: imported.map(importedText) })
  return all.map(([resource, text]) => (resource === '' ? text : `${resource}: ${text}`))
}

/** Maximum number of ranges that are listed one by one. */
const LISTED_RANGES = 5

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

/** Whether a height is in one of these ranges, which are ascending and without overlap. */
export function isWithin(ranges: readonly HeightRange[], height: bigint): boolean {
  const range = ranges[firstGapFrom(ranges, height)]
  return range !== undefined && range.from <= height
}

/** The missing heights below the first block that was committed, ascending. */
export function missingHistory({ gaps, began }: Coverage): Gap[] {
  return gaps.filter(({ from, kind }) => kind === 'missing' && from < began)
}

/** A gap in JSON. */
export function gapText({ from, to, kind, start, end }: Gap): GapText {
  const timeText = (time: bigint | null) => time?.toString() ?? null
  return { ...inText({ from, to }), kind, start: timeText(start), end: timeText(end) }
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
