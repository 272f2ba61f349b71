import { greatestOrNull, least, leastOrNull } from '../../../domain/integers.ts'
import { type FollowedLog, isReachable, isSameSegment, type LogSegment } from '../followed-log.ts'
import { SegmentsByHeight } from './segments-by-height.ts'
import { type Unreadable, UnreadableBlocks } from './unreadable-blocks.ts'

/** Which segments a block may be read from. */
export type ChoiceOptions = {
  /** Whether to pass over `incomplete` segments. */
  wantsWhole?: boolean
  /** A segment not to read it from. */
  except?: LogSegment
}

/** For how long other segments go first after one could not be read, in milliseconds. */
const REFUSED_MS = 60_000

/** What is known of a log: its sealed segments by height, as long as it lists the same ones. */
type Listed = { sealed: readonly LogSegment[]; whole: SegmentsByHeight; incomplete: SegmentsByHeight }

/**
 * Chooses the segment to read a block from. Of those that have it, by their names and as far as is known, goes first, in this
 * order: one that has it whole, for block 1 one that goes on with block 2; whose bytes were not refused a moment ago; the
 * newest of its log; of a log without a fault; a sealed one; of active ones that which is further; that of the log which was
 * named first. It owns what is known of blocks that cannot be read.
 */
export class SegmentChoice {
  readonly #logs: readonly FollowedLog[]
  readonly #unreadable = new UnreadableBlocks()
  readonly #listed = new Map<FollowedLog, Listed>()
  /** Segments whose bytes could not be read, and until when others go first. */
  #refused: { segment: LogSegment; untilMs: number }[] = []

  constructor(logs: readonly FollowedLog[]) {
    this.#logs = logs
  }

  /** The segment to read a block from; null if none has it, or all that do cannot be read there. */
  find(height: bigint, options: ChoiceOptions = {}): LogSegment | null {
    return this.#findIn(this.#logs, height, options)
  }

  /** The least height after another one that some log can give; null if there is none. */
  nextAfter(
    height: bigint,
    options: ChoiceOptions = {},
    logs: readonly FollowedLog[] = this.#logs,
  ): bigint | null {
    let next: bigint | null = height + 1n
    while (next !== null && this.#findIn(logs, next, options) === null)
      next = this.#nextStart(logs, next, options)
    return next
  }

  /** The lowest height of any log; null if all are empty, or one has not answered yet. */
  lowest(options: ChoiceOptions = {}): bigint | null {
    if (this.#logs.some(({ isAwaited }) => isAwaited)) return null
    const ofActive = this.#logs.map(({ active }) => active?.first ?? null)
    const ofSealed = this.#logs.flatMap((log) => this.#searched(log, options).map(({ lowest }) => lowest))
    return leastOrNull([...ofActive, ...ofSealed])
  }

  /** The greatest height of some logs; null if all are empty. */
  highest(logs: readonly FollowedLog[] = this.#logs): bigint | null {
    return greatestOrNull(
      logs.flatMap((log) => [
        log.active?.last ?? null,
        ...this.#searched(log, {}).map(({ highest }) => highest),
      ]),
    )
  }

  /**
   * Notes blocks that cannot be read from a segment, as far as its name promises them, as it is now: they are taken from another
   * one, or are a gap. What a segment that is being written gets later is not among them, unless its rest is noted.
   */
  noteUnreadable(begun: LogSegment, { from, to, reason }: Unreadable): void {
    // It may have grown since reading began.
    const segment = begun.log.current(begun) ?? begun
    const start = from > segment.first ? from : segment.first
    if (start > segment.last || (to !== null && start > to)) return
    this.#unreadable.add(segment, { from: start, to: to === null ? null : least([to, segment.last]), reason })
  }

  /** The bytes of a segment could not be read: for a while, other segments with a block go first. */
  noteRefused(segment: LogSegment): void {
    const now = performance.now()
    const others = this.#refused.filter((one) => one.untilMs > now && !isSameSegment(one.segment, segment))
    this.#refused = [...others, { segment, untilMs: now + REFUSED_MS }]
  }

  /** Whether a segment can be read at the moment, as far as is known. */
  isAvailable(segment: LogSegment): boolean {
    return isReachable(segment) && !this.#isRefused(segment)
  }

  /** The first block of a segment from which all up to a height can be read, as far as is known; the height can be. */
  firstReadable(segment: LogSegment, height: bigint): bigint {
    return this.#unreadable.firstReadable(segment, height)
  }

  /** Why a block cannot be read; null if no segment was found to be damaged there. */
  reasonFor(height: bigint): string | null {
    return this.#unreadable.reasonFor(height)
  }

  /** Forgets which blocks are unreadable: the store has changed, or more events may be left out. */
  tryAgain(): void {
    this.#unreadable.clear()
  }

  #findIn(logs: readonly FollowedLog[], height: bigint, options: ChoiceOptions): LogSegment | null {
    const { except } = options
    const having = logs
      .flatMap((log) => this.#having(log, height, options))
      .filter((segment) => except === undefined || !isSameSegment(segment, except))
      .filter((segment) => this.#unreadable.find(segment, height) === null)
    const whole = having.filter(({ kind }) => kind !== 'incomplete')
    const preferred = height === 1n ? withBothParts(whole) : whole
    const choice = preferred.length > 0 ? preferred : having
    const notRefused = choice.filter((segment) => !this.#isRefused(segment))
    const candidates = notRefused.length > 0 ? notRefused : choice
    const ofEach = logs.flatMap((log) => newestOf(candidates.filter((segment) => segment.log === log)) ?? [])
    return ofEach.reduce<LogSegment | null>(
      (best, segment) => (best === null || isBetter(segment, best) ? segment : best),
      null,
    )
  }

  #isRefused(segment: LogSegment): boolean {
    if (this.#refused.length === 0) return false
    const now = performance.now()
    return this.#refused.some((one) => one.untilMs > now && isSameSegment(one.segment, segment))
  }

  /**
   * After a block that cannot be read, the next one that may be: of a segment that begins there, or can be read on from there.
   * With segments 1 to 9, of which 4 to 6 cannot be read, and 20 to 30, block 7 follows block 4, and block 20 follows block 10.
   */
  #nextStart(logs: readonly FollowedLog[], height: bigint, options: ChoiceOptions): bigint | null {
    const starts = logs.flatMap((log) => {
      const { active } = log
      const ofActive = active !== null && active.first > height ? active.first : null
      const ofSealed = this.#searched(log, options).map((segments) => segments.firstAfter(height))
      const afterUnreadable = this.#having(log, height, options).map((segment) => {
        const to = this.#unreadable.find(segment, height)?.to ?? null
        return to === null || to >= segment.last ? null : to + 1n
      })
      return [ofActive, ...ofSealed, ...afterUnreadable]
    })
    return leastOrNull(starts)
  }

  /** The segments of a log that have a block by their names. */
  #having(log: FollowedLog, height: bigint, options: ChoiceOptions): LogSegment[] {
    const sealed = this.#searched(log, options).flatMap((segments) => segments.having(height))
    const { active } = log
    return active !== null && hasHeight(active, height) ? [...sealed, active] : sealed
  }

  #searched(log: FollowedLog, { wantsWhole = false }: ChoiceOptions): SegmentsByHeight[] {
    let listed = this.#listed.get(log)
    if (listed?.sealed !== log.sealed) {
      const { sealed } = log
      const whole = sealed.filter(({ kind }) => kind !== 'incomplete')
      const incomplete = sealed.filter(({ kind }) => kind === 'incomplete')
      listed = { sealed, whole: new SegmentsByHeight(whole), incomplete: new SegmentsByHeight(incomplete) }
      this.#listed.set(log, listed)
    }
    return wantsWhole ? [listed.whole] : [listed.whole, listed.incomplete]
  }
}

/**
 * Of segments with block 1, those that go on with block 2 by their names. A segment with block 1 alone may have only one of its
 * two parts, since a core may have stopped between them. If there are no others, it is read all the same.
 */
function withBothParts(segments: readonly LogSegment[]): readonly LogSegment[] {
  const followed = segments.filter(({ last }) => last > 1n)
  return followed.length > 0 ? followed : segments
}

/** The newest of some segments of a log; null without any. */
function newestOf(segments: readonly LogSegment[]): LogSegment | null {
  return segments.reduce<LogSegment | null>(
    (newest, segment) => (newest === null || segment.number > newest.number ? segment : newest),
    null,
  )
}

/** Whether a block is rather read from one log's segment than from an earlier log's: the blocks are the same. */
function isBetter(one: LogSegment, other: LogSegment): boolean {
  const hasFault = one.log.fault !== null
  if (hasFault !== (other.log.fault !== null)) return !hasFault
  if (one.kind !== other.kind) return one.kind === 'sealed'
  return one.kind === 'active' && one.last > other.last
}

function hasHeight({ first, last }: LogSegment, height: bigint): boolean {
  return first <= height && height <= last
}
