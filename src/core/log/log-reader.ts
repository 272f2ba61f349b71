import { once } from 'node:events'
import type { LogSource, ReadableSegment } from './local-log.ts'
import { isSilent } from './receiver-file.ts'
import { PIECE_BYTES } from './segment-scan.ts'

/** How often a log is looked at without a sign of change, in milliseconds. */
const LOOK_MS = 1_000

/** A log counts if its core has sent an event within this time, in milliseconds. */
const COUNTS_MS = 10_000

/** A segment of one of several logs. */
export type LogSegment = ReadableSegment & { log: LogSource }

/** A piece of a segment. */
type LogPiece = {
  bytes: Buffer
  /** Offset in the segment of the byte after it. */
  end: number
  /** `sealed`: the segment ends here. `active`: more may come. `more`: there is more now. */
  isLast: 'sealed' | 'active' | 'more'
}

/** Why blocks of a segment cannot be read. */
type Unreadable = { from: bigint; to: bigint | null; reason: string }

/** Blocks that no log has, although there are later ones. */
type LogGap = { from: bigint; to: bigint }

/**
 * Reads one or several event logs by height: a block is read from the newest segment that has it. Several logs are one
 * source; their blocks are the same.
 */
export class LogReader {
  readonly #logs: readonly LogSource[]
  readonly #changes = new ChangeSignal()
  readonly #stops: (() => void)[]
  readonly #unreadable = new Map<string, Unreadable[]>()
  /** The segments of each log, and of all of them, as last looked at. */
  #listed: (readonly ReadableSegment[])[] = []
  #all: readonly LogSegment[] = []

  constructor(logs: readonly LogSource[]) {
    this.#logs = logs
    this.#stops = logs.map((log) => log.watch(() => this.hint()))
    for (const log of logs) log.refresh()
  }

  get logs(): readonly LogSource[] {
    return this.#logs
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
  lowest({ wantsWhole = false } = {}): bigint | null {
    const segments = this.#segments().filter(({ kind }) => !(wantsWhole && kind === 'part'))
    return lowestOf(segments.map(({ first }) => first))
  }

  /** The greatest height of any log; null if all are empty. */
  highest(): bigint | null {
    const [highest] = this.#segments()
      .map(({ last }) => last)
      .sort((a, b) => (a < b ? 1 : -1))
    return highest ?? null
  }

  /**
   * The segment to read a block from: the newest one that has it; one in which events of it are missing only if no other
   * has it. Null if none can be read.
   *
   * @param wantsWhole whether to pass over blocks of which events are missing
   */
  find(height: bigint, { wantsWhole = false } = {}): LogSegment | null {
    const having = withBothParts(
      height,
      this.#segments().filter((segment) => this.#delivers(segment, height)),
    )
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
   * The blocks from a height on that no log can give, although later ones are there; null if there is none, or a log that
   * is being written may still get them.
   */
  gapAt(height: bigint, options: { wantsWhole?: boolean } = {}): LogGap | null {
    // The block may have come a moment ago.
    this.refresh()
    if (this.find(height, options) !== null) return null
    const next = this.#nextAfter(height, this.#segments(), options)
    if (next === null || this.waitsFor(height).length > 0) return null
    return { from: height, to: next - 1n }
  }

  /**
   * The numbers of the logs, the first being 1, that are being written and have nothing after a height yet, although another
   * log does; with one log, none.
   */
  waitsFor(height: bigint): number[] {
    if (this.#logs.length < 2) return []
    return this.#logs.flatMap((log, index) => {
      const isBehind = !this.#segments().some((segment) => segment.log === log && segment.last > height)
      return isBehind && isWritten(log) ? [index + 1] : []
    })
  }

  /** The first log with a block after a height, the first being 1, and that block; null if none has one. */
  laterIn(height: bigint): { log: number; height: bigint } | null {
    for (const [index, log] of this.#logs.entries()) {
      const ofLog = this.#segments().filter((segment) => segment.log === log)
      const next = this.#nextAfter(height, ofLog, {})
      if (next !== null) return { log: index + 1, height: next }
    }
    return null
  }

  /**
   * The first of the blocks from which none is missing, whole, up to a height: of the segments with at most so many bytes, but
   * of one at least. The block after that height if it is not there.
   */
  firstBefore(height: bigint, bytes: number): bigint {
    let first = height + 1n
    let sum = 0
    for (let segment = this.find(height, { wantsWhole: true }); segment !== null; ) {
      sum += segment.bytes
      if (sum > bytes && first <= height) break
      first = segment.first
      segment = this.find(first - 1n, { wantsWhole: true })
    }
    return first
  }

  /** Blocks of a segment turned out not to be there: they are taken from another one, or are a gap. */
  cannotRead(segment: LogSegment, unreadable: Unreadable): void {
    const { to, reason } = unreadable
    // Those before its first one were looked for in it because no segment has them.
    const from = unreadable.from > segment.first ? unreadable.from : segment.first
    if (!this.#delivers(segment, from)) return
    const key = keyOf(segment)
    const known = this.#unreadable.get(key) ?? []
    this.#unreadable.set(key, [...known, { from, to, reason }])
  }

  /** Forgets what could not be read: the store has changed, or more events may be left out. */
  tryAgain(): void {
    this.#unreadable.clear()
  }

  /** The next bytes of a segment, up to what is committed of it. */
  async read(segment: LogSegment, offset: number): Promise<LogPiece> {
    const now = segment.log.segments.find((other) => isSameFile(other, segment)) ?? segment
    const isGzipped = now.name.endsWith('.gz')
    const most = isGzipped ? PIECE_BYTES : Math.min(PIECE_BYTES, now.bytes - offset)
    const bytes = most > 0 ? await segment.log.read(now, offset, most) : Buffer.alloc(0)
    const end = offset + bytes.length
    const isAtEnd = isGzipped ? bytes.length < PIECE_BYTES : end >= now.bytes || bytes.length === 0
    return { bytes, end, isLast: !isAtEnd ? 'more' : now.kind === 'active' ? 'active' : 'sealed' }
  }

  /**
   * Bytes of the segments with blocks after a height, but those before `current`, the end of that block if it is known: of
   * several logs, the most that any has.
   */
  bytesAfter(height: bigint | null, current: { segment: LogSegment; offset: number } | null): number {
    let bytes = 0
    for (const log of this.#logs) {
      let ofLog = 0
      for (const segment of log.segments) {
        if (height !== null && segment.last <= height) continue
        const isCurrent = current?.segment.log === log && isSameFile(current.segment, segment)
        ofLog += Math.max(0, segment.bytes - (isCurrent ? current.offset : 0))
      }
      bytes = Math.max(bytes, ofLog)
    }
    return bytes
  }

  /** The segments of all logs, made anew only if one of them has changed. */
  #segments(): readonly LogSegment[] {
    const isSame = this.#logs.every((log, index) => log.segments === this.#listed[index])
    if (isSame) return this.#all
    this.#listed = this.#logs.map(({ segments }) => segments)
    this.#all = this.#logs.flatMap((log) => log.segments.map((segment) => ({ ...segment, log })))
    return this.#all
  }

  #delivers(segment: LogSegment, height: bigint): boolean {
    if (height < segment.first || height > segment.last) return false
    const unreadable = this.#unreadable.get(keyOf(segment)) ?? []
    return !unreadable.some(({ from, to }) => height >= from && (to === null || height <= to))
  }

  #nextAfter(
    height: bigint,
    segments: readonly LogSegment[],
    { wantsWhole = false }: { wantsWhole?: boolean },
  ): bigint | null {
    const starts = segments
      .filter((segment) => segment.last > height && !(wantsWhole && segment.kind === 'part'))
      .flatMap((segment) => {
        let start = segment.first > height ? segment.first : height + 1n
        while (start <= segment.last && !this.#delivers(segment, start))
          start = this.#afterUnreadable(segment, start)
        return start <= segment.last ? start : []
      })
    return lowestOf(starts)
  }

  #afterUnreadable(segment: LogSegment, height: bigint): bigint {
    const at = this.#unreadable
      .get(keyOf(segment))!
      .find(({ from, to }) => height >= from && (to === null || height <= to))!
    return at.to === null ? segment.last + 1n : at.to + 1n
  }

  /** Why a block of a segment cannot be read; null if no segment was found to be damaged there. */
  reasonFor(height: bigint): string | null {
    const all = [...this.#unreadable.values()].flat()
    return all.find(({ from, to }) => height >= from && (to === null || height <= to))?.reason ?? null
  }
}

/** Of the segments with block 1, those in which another block follows its two parts: a core may have stopped between them. */
function withBothParts(height: bigint, segments: LogSegment[]): LogSegment[] {
  if (height !== 1n) return segments
  const followed = segments.filter(({ kind, last }) => kind !== 'part' && last > 1n)
  return followed.length > 0 ? followed : segments
}

function keyOf({ log, number, first }: LogSegment): string {
  return `${number} ${first} ${log.name}`
}

/** Whether two are the same segment of a log. A log that was deleted begins again with the first number, at another block. */
function isSameFile(one: ReadableSegment, other: ReadableSegment): boolean {
  return one.number === other.number && one.first === other.first
}

/** Whether two are the same segment of the same log. */
export function isSameSegment(one: LogSegment, other: LogSegment): boolean {
  return one.log === other.log && isSameFile(one, other)
}

/** Whether a receiver writes to a log, and its core sends. */
function isWritten(log: LogSource): boolean {
  const state = log.receiver()
  if (state === null || isSilent(state) || !state.coreConnected || state.lastEventAtMs === null) return false
  return Date.now() - state.lastEventAtMs < COUNTS_MS
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
