import type { Gap, GapList, TimeSpan } from './gap-list.ts'
import { byFrom, describeRanges, type HeightRange, type InText, inText } from './height-ranges.ts'

/**
 * The height from which a store has a resource in all blocks. An older version, which did not store it, ingested the blocks
 * below. Blocks below that arrive later have it, but the height stays.
 */
export type Since = {
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

/** Whether imported blocks are without the rows of a resource. */
export function isImportedWithout({ lacks }: Pick<ImportedRange, 'lacks'>, resource: string): boolean {
  return lacks.split(' ').includes(resource)
}

/** Whether two coverages are of the same blocks. Null is that of an empty store. */
export function haveSameBlocks(one: Coverage | null, other: Coverage | null): boolean {
  if (one === null || other === null) return one === other
  return (
    one.chainId === other.chainId &&
    one.first === other.first &&
    one.height === other.height &&
    areSame(one.gaps, other.gaps, (a, b) => a.kind === b.kind) &&
    areSame(one.imported, other.imported, (a, b) => a.lacks === b.lacks)
  )
}

function areSame<Range extends HeightRange>(
  ones: readonly Range[],
  others: readonly Range[],
  isAlike: (a: Range, b: Range) => boolean,
): boolean {
  if (ones === others) return true
  if (ones.length !== others.length) return false
  return ones.every((one, at) => {
    const other = others[at]!
    return one.from === other.from && one.to === other.to && isAlike(one, other)
  })
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

/** An imported range in JSON; `lacks` only if resources are missing. */
export type ImportedText = InText<HeightRange> & { lacks?: string[] }

/** Numbers as text, and the resources as a list. */
export function importedText({ from, to, lacks }: ImportedRange): ImportedText {
  const ends = inText({ from, to })
  return lacks === '' ? ends : { ...ends, lacks: lacks.split(' ') }
}

/** The coverage of a resource: blocks without its imported rows count as missing. */
export function coverageOfResource(coverage: Coverage, resource: string): Coverage {
  const missing = coverage.imported
    .filter((range) => isImportedWithout(range, resource))
    .map(({ from, to }): Gap => ({ from, to, kind: 'missing', start: null, end: null }))
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

/** The missing heights below the first block that was committed, ascending. */
export function missingHistory({ gaps, began }: Coverage): Gap[] {
  return gaps.filter(({ from, kind }) => kind === 'missing' && from < began)
}

/** A gap in JSON. */
export function gapText({ from, to, kind, start, end }: Gap): GapText {
  const timeText = (time: bigint | null) => time?.toString() ?? null
  return { ...inText({ from, to }), kind, start: timeText(start), end: timeText(end) }
}
