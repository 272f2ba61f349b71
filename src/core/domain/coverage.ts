/** Heights that the store does not hold whole, both ends included. */
export type Gap = {
  from: bigint
  to: bigint
  /** `missing`: no block of these heights is stored; `incomplete`: some of the block's events are missing. */
  kind: 'missing' | 'incomplete'
}

/**
 * Heights of blocks, both ends included, that are held without the events that a resource is made from: a version
 * that did not know it has ingested them.
 */
export type ResourceGap = { resource: string; from: bigint; to: bigint }

/** Heights of blocks, both ends included. */
export type HeightRange = { from: bigint; to: bigint }

/** Orders ranges by their beginnings. */
export const byFrom = (a: HeightRange, b: HeightRange) => Number(a.from - b.from)

/** Such a range as JSON has it: numbers of 64 bits are text. */
export type InText<Range extends HeightRange> = Omit<Range, 'from' | 'to'> & { from: string; to: string }

/** What part of one network's stream a store holds. */
export type Coverage = {
  chainId: string
  /** The lowest height held. Blocks below it that come later are added, and lower it. */
  first: bigint
  /**
   * Height of the first block ever committed: blocks below it were added later, and gaps there do not make current data
   * unavailable.
   */
  began: bigint
  /** Hashes of the parts of block 1 (genesis and the block itself), if it is held and they are known. */
  blockOne: readonly string[] | null
  /** The height of the last block committed: the store's position. */
  height: bigint
  /** That block's time, Unix nanoseconds. */
  timestamp: bigint
  /** Ascending, without overlap. */
  gaps: readonly Gap[]
  /** By resource ascending and without overlap; never of heights that are missing. */
  resourceGaps: readonly ResourceGap[]
  /**
   * Heights whose rows come from an import and not from events: ascending, apart from each other, and never of heights
   * that are missing. A block counts as imported from the commit on that brings the last of its rows: a stream sends it
   * once.
   */
  imported: readonly HeightRange[]
}

/**
 * Gaps, or other ranges of heights, while blocks are ingested: ascending, without overlap, changed in place. A stream
 * full of holes has as many gaps as blocks.
 */
export class GapList<Range extends HeightRange & { kind?: Gap['kind'] } = Gap> {
  readonly #gaps: Range[]
  #snapshot: readonly Range[] | null

  constructor(gaps: readonly Range[]) {
    this.#gaps = gaps.map((gap) => ({ ...gap }))
    this.#snapshot = gaps
  }

  /** The gaps as they are now; the same array until something changes. */
  get all(): readonly Range[] {
    this.#snapshot ??= this.#gaps.map((gap) => ({ ...gap }))
    return this.#snapshot
  }

  /** The gap that a height lies in; null if it lies in none. */
  at(height: bigint): Range | null {
    const gap = this.#gaps[firstGapFrom(this.#gaps, height)]
    return gap !== undefined && gap.from <= height ? gap : null
  }

  /** Whether a height lies in a gap. */
  has(height: bigint): boolean {
    return this.at(height) !== null
  }

  /** Removes a height from the gap that it lies in, which may split that. */
  fill(height: bigint): void {
    const index = firstGapFrom(this.#gaps, height)
    const gap = this.#gaps[index]
    if (gap === undefined || height < gap.from) return
    const rest: Range[] = []
    if (gap.from < height) rest.push({ ...gap, to: height - 1n })
    if (height < gap.to) rest.push({ ...gap, from: height + 1n })
    this.#gaps.splice(index, 1, ...rest)
    this.#snapshot = null
  }

  /** Adds a gap that overlaps no other; one that continues a gap of its kind lengthens that. */
  add(gap: Range): void {
    const index = firstGapFrom(this.#gaps, gap.from)
    const joined = { ...gap }
    let start = index
    let end = index
    const before = this.#gaps[index - 1]
    if (before !== undefined && before.kind === gap.kind && before.to + 1n === gap.from) {
      joined.from = before.from
      start--
    }
    const after = this.#gaps[index]
    if (after !== undefined && after.kind === gap.kind && gap.to + 1n === after.from) {
      joined.to = after.to
      end++
    }
    this.#gaps.splice(start, end - start, joined)
    this.#snapshot = null
  }
}

/**
 * The index of the first of sorted gaps that does not end below a height, by binary search: a stream may be full of
 * gaps.
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

/** The gaps of resources while blocks are ingested, as {@link GapList}. */
export class ResourceGapList {
  readonly #lists: Map<string, GapList<HeightRange>>
  #snapshot: readonly ResourceGap[] | null

  constructor(gaps: readonly ResourceGap[]) {
    const byResource = Map.groupBy(gaps, ({ resource }) => resource)
    this.#lists = new Map(
      [...byResource].map(([resource, own]) => [
        resource,
        new GapList<HeightRange>(own.map(({ from, to }) => ({ from, to }))),
      ]),
    )
    this.#snapshot = gaps
  }

  /** The gaps as they are now; the same array until something changes. */
  get all(): readonly ResourceGap[] {
    this.#snapshot ??= [...this.#lists]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([resource, list]) => list.all.map(({ from, to }) => ({ resource, from, to })))
    return this.#snapshot
  }

  /** The resources that are missing in a block. */
  at(height: bigint): string[] {
    return [...this.#lists].flatMap(([resource, list]) => (list.has(height) ? [resource] : []))
  }

  /** A block is held without the events of a resource. */
  add(resource: string, height: bigint): void {
    let list = this.#lists.get(resource)
    if (list === undefined) {
      list = new GapList<HeightRange>([])
      this.#lists.set(resource, list)
    }
    list.add({ from: height, to: height })
    this.#snapshot = null
  }

  /** Blocks hold the events of one resource now; their heights are ascending and apart. */
  complete(resource: string, heights: readonly HeightRange[]): void {
    const list = this.#lists.get(resource)
    if (list === undefined) return
    this.#lists.set(resource, new GapList<HeightRange>(without(list.all, heights)))
    this.#snapshot = null
  }

  /** A block's events are there now, of every resource. */
  fill(height: bigint): void {
    for (const list of this.#lists.values()) {
      if (!list.has(height)) continue
      list.fill(height)
      this.#snapshot = null
    }
  }
}

/** The coverage of a resource: blocks without its events count as missing. */
export function coverageOfResource(coverage: Coverage, resource: string): Coverage {
  const own = coverage.resourceGaps.filter((gap) => gap.resource === resource)
  if (own.length === 0) return coverage
  // Of a block that is incomplete some events are there; without those of the resource it is missing.
  const lacking = new GapList(own.map(({ from, to }) => ({ from, to, kind: 'missing' })))
  const gaps = coverage.gaps.filter(({ from, kind }) => kind === 'missing' || !lacking.has(from))
  const all = [...gaps, ...lacking.all].sort(byFrom)
  return { ...coverage, gaps: all, imported: without(coverage.imported, own) }
}

/** The parts of ranges that lie in none of others; both ascending and without overlap. */
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

/** Whether ranges that are ascending and without overlap hold every height of another one. */
export function holdAll(ranges: readonly HeightRange[], range: HeightRange): boolean {
  return without([range], ranges).length === 0
}

/** Whether a height lies in one of ranges that are ascending and without overlap. */
export function isWithin(ranges: readonly HeightRange[], height: bigint): boolean {
  const range = ranges[firstGapFrom(ranges, height)]
  return range !== undefined && range.from <= height
}

/** Heights, ascending or not, as ranges: ascending, and apart. */
export function rangesOf(heights: readonly bigint[]): HeightRange[] {
  return merged(heights.map((height) => ({ from: height, to: height })))
}

/** The heights below the block at which a store began that are missing, ascending. */
export function missingHistory({ gaps, began }: Coverage): Gap[] {
  return gaps.filter(({ from, kind }) => kind === 'missing' && from < began)
}

export function inText<Range extends HeightRange>(range: Range): InText<Range> {
  return { ...range, from: range.from.toString(), to: range.to.toString() }
}

/** `height 12` or `heights 12 to 15`. */
export function describeHeights({ from, to }: HeightRange | InText<HeightRange>): string {
  return from === to ? `height ${from}` : `heights ${from} to ${to}`
}

/** Ranges of heights, for people: so many at most. */
export function describeRanges(ranges: readonly (HeightRange | InText<HeightRange>)[], most: number): string {
  const shown = ranges.slice(0, most).map(describeHeights)
  return [...shown, ...(shown.length < ranges.length ? ['more'] : [])].join(', ')
}

/** The parts of ranges that lie in others, too; both ascending and without overlap. */
export function intersection(ranges: readonly HeightRange[], others: readonly HeightRange[]): HeightRange[] {
  return without(ranges, without(ranges, others))
}

/** Ranges in any order as a list that is ascending and apart. */
export function merged(ranges: readonly HeightRange[]): HeightRange[] {
  const result: HeightRange[] = []
  for (const range of ranges.toSorted(byFrom)) {
    const last = result.at(-1)
    if (last === undefined || range.from > last.to + 1n) result.push({ ...range })
    else if (range.to > last.to) last.to = range.to
  }
  return result
}
