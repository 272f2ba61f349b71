import { firstIndexWhere } from '../../../domain/binary-search.ts'
import { type FollowedLog, isSameSegment, type LogSegment } from '../followed-log.ts'

/** Blocks that a segment should have by its name, from one height to another (null: to its end), and why they cannot be read. */
export type Unreadable = { from: bigint; to: bigint | null; reason: string }

/** What is known of a segment: ascending, without overlap. */
type OfSegment = { segment: LogSegment; ranges: Unreadable[] }

/** Remembers which blocks of segments turned out not to be readable: they are taken from others, or are missing. */
export class UnreadableBlocks {
  readonly #known = new Map<FollowedLog, Map<string, OfSegment>>()

  /** Why a block of a segment cannot be read; null as long as it can be. */
  find(segment: LogSegment, height: bigint): Unreadable | null {
    return rangeAt(this.#rangesOf(segment) ?? [], height)
  }

  /** The first block of a segment from which all up to a height, which can be read, can be. */
  firstReadable(segment: LogSegment, height: bigint): bigint {
    const ranges = this.#rangesOf(segment)
    const before = ranges?.[endOf(ranges, height) - 1]?.to ?? null
    return before === null || before < segment.first ? segment.first : before + 1n
  }

  /**
   * Adds blocks of a segment. If the first of them are known, they keep their reason; ranges that begin within the rest are merged
   * into it.
   */
  add(segment: LogSegment, { from, to, reason }: Unreadable): void {
    const ranges = this.#rangesOf(segment) ?? this.#addSegment(segment)
    const start = firstOutside(ranges, from)
    if (start === null || (to !== null && start > to)) return
    const index = endOf(ranges, start)
    const past = to === null ? ranges.length : endOf(ranges, to)
    const last = index < past ? ranges[past - 1]! : null
    const isLonger = last !== null && to !== null && (last.to === null || last.to > to)
    ranges.splice(index, past - index, { from: start, to: isLonger ? last.to : to, reason })
  }

  /** Why a block cannot be read of a segment that is still there, and has it by its name; null if none was found to be damaged there. */
  reasonFor(height: bigint): string | null {
    for (const ofLog of this.#known.values())
      for (const { segment, ranges } of ofLog.values()) {
        const range = rangeAt(ranges, height)
        const current = segment.log.current(segment)
        if (range !== null && current !== null && height <= current.last) return range.reason
      }
    return null
  }

  clear(): void {
    this.#known.clear()
  }

  /** A log that was deleted begins again with the same numbers, of other segments. */
  #rangesOf(segment: LogSegment): Unreadable[] | null {
    const known = this.#known.get(segment.log)?.get(keyOf(segment))
    return known !== undefined && isSameSegment(known.segment, segment) ? known.ranges : null
  }

  #addSegment(segment: LogSegment): Unreadable[] {
    const { log } = segment
    const ranges: Unreadable[] = []
    const ofLog = this.#known.get(log) ?? new Map<string, OfSegment>()
    this.#known.set(log, ofLog.set(keyOf(segment), { segment, ranges }))
    return ranges
  }
}

/** Of a number alone there may be two: somebody may have put a file of another log into the folder. */
const keyOf = ({ number, first }: LogSegment) => `${number}-${first}`

/** The range with a height; null if none has it. */
function rangeAt(ranges: readonly Unreadable[], height: bigint): Unreadable | null {
  const range = ranges[endOf(ranges, height) - 1]
  return range !== undefined && (range.to === null || height <= range.to) ? range : null
}

/** The first height from another one on that is in no range; null if all are. */
function firstOutside(ranges: readonly Unreadable[], from: bigint): bigint | null {
  let height = from
  for (;;) {
    const range = rangeAt(ranges, height)
    if (range === null) return height
    if (range.to === null) return null
    height = range.to + 1n
  }
}

/** The index of the first range that begins after a height. */
const endOf = (ranges: readonly Unreadable[], height: bigint) =>
  firstIndexWhere(ranges, ({ from }) => from > height)
