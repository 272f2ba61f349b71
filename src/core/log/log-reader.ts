import { once } from 'node:events'
import type { LogSource, ReadableSegment } from './local-log.ts'
import { PIECE_BYTES } from './segment-scan.ts'

/** How often a log is looked at without a sign of change, in milliseconds. */
const LOOK_MS = 1_000

/** A segment of one of several logs. */
export type LogSegment = ReadableSegment & { log: LogSource }

/** A piece of a segment. */
export type LogPiece = {
  bytes: Buffer
  /** Offset in the segment of the byte after it. */
  end: number
  /** `sealed`: the segment ends here. `active`: more may come. `more`: there is more now. */
  isLast: 'sealed' | 'active' | 'more'
}

/** Blocks that no log has, although there are later ones. */
export type LogGap = { from: bigint; to: bigint }

/**
 * Reads one or several event logs by height: a block is read from the newest segment that has it. Several logs are one
 * source; their blocks are the same.
 */
export class LogReader {
  readonly #logs: readonly LogSource[]
  readonly #changes = new ChangeSignal()
  readonly #stops: (() => void)[]

  constructor(logs: readonly LogSource[]) {
    this.#logs = logs
    this.#stops = logs.map((log) => log.watch(() => this.hint()))
    for (const log of logs) log.refresh()
  }

  /** A log may have grown. */
  hint(): void {
    this.#changes.tell()
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  /** Reads the heads and names of all logs again; returns whether anything has changed. */
  refresh(): boolean {
    let hasChanged = false
    for (const log of this.#logs) hasChanged = log.refresh() || hasChanged
    return hasChanged
  }

  /**
   * Resolves once a log has changed, at the latest after a second, or when the signal is aborted. Changes since the last
   * {@link refresh} count.
   */
  async untilChange(signal: AbortSignal): Promise<void> {
    await this.#changes.next(LOOK_MS, signal)
    this.refresh()
  }

  /** The lowest height of any log; null if all are empty. */
  lowest(): bigint | null {
    return lowestOf(this.#segments().map(({ first }) => first))
  }

  /**
   * The segment to read a block from: the newest one that has it; one in which events of it are missing only if no other
   * has it. Null if none can be read.
   *
   * @param wantsWhole whether to pass over blocks of which events are missing
   */
  find(height: bigint, { wantsWhole = false } = {}): LogSegment | null {
    const having = this.#segments().filter(({ first, last }) => first <= height && height <= last)
    const candidates = this.#logs.flatMap((log) => {
      const ofLog = having.filter((segment) => segment.log === log)
      return ofLog.findLast(({ kind }) => kind !== 'part') ?? (wantsWhole ? [] : (ofLog.at(-1) ?? []))
    })
    const rank = (segment: LogSegment) => ['part', 'active', 'sealed'].indexOf(segment.kind)
    return candidates.reduce<LogSegment | null>((best, segment) => {
      if (best === null || rank(segment) > rank(best)) return segment
      const isFurther = rank(segment) === rank(best) && segment.kind === 'active' && segment.last > best.last
      return isFurther ? segment : best
    }, null)
  }

  /**
   * The blocks from a height on that no log can give, although later ones are there; null if there is none.
   */
  gapAt(height: bigint, { wantsWhole = false } = {}): LogGap | null {
    // The block may have come a moment ago.
    this.refresh()
    if (this.find(height, { wantsWhole }) !== null) return null
    const later = this.#segments()
      .filter(({ first, kind }) => first > height && !(wantsWhole && kind === 'part'))
      .map(({ first }) => first)
    const next = lowestOf(later)
    return next === null ? null : { from: height, to: next - 1n }
  }

  /** The next bytes of a segment, up to what is committed of it. */
  async read(segment: LogSegment, offset: number): Promise<LogPiece> {
    const now = segment.log.segments.find(({ number }) => number === segment.number) ?? segment
    const isGzipped = now.name.endsWith('.gz')
    const most = isGzipped ? PIECE_BYTES : Math.min(PIECE_BYTES, now.bytes - offset)
    const bytes = most > 0 ? await segment.log.read(now, offset, most) : Buffer.alloc(0)
    const end = offset + bytes.length
    const isAtEnd = isGzipped ? bytes.length < PIECE_BYTES : end >= now.bytes || bytes.length === 0
    return { bytes, end, isLast: !isAtEnd ? 'more' : now.kind === 'active' ? 'active' : 'sealed' }
  }

  #segments(): LogSegment[] {
    return this.#logs.flatMap((log) => log.segments.map((segment) => ({ ...segment, log })))
  }
}

function lowestOf(heights: readonly bigint[]): bigint | null {
  return heights.reduce<bigint | null>(
    (lowest, height) => (lowest === null || height < lowest ? height : lowest),
    null,
  )
}

/** A sign that something has changed, kept until someone waits for it. */
class ChangeSignal {
  #isThere = false
  readonly #target = new EventTarget()

  tell(): void {
    this.#isThere = true
    this.#target.dispatchEvent(new Event('change'))
  }

  /** Resolves at once if something has changed since the last call; otherwise with the next change, after a time, or when aborted. */
  async next(atMostMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#isThere && !signal.aborted) {
      const either = AbortSignal.any([signal, AbortSignal.timeout(atMostMs)])
      await once(this.#target, 'change', { signal: either }).catch(() => {})
    }
    this.#isThere = false
  }
}
