import { isSilent } from '../receiver-file.ts'
import { PIECE_BYTES } from '../segment-frames.ts'
import { ChangeSignal } from './change-signal.ts'
import { isSameSegment, type LogSegment, type LogSource } from './local-log.ts'
import { type ChoiceOptions, SegmentChoice } from './segment-choice.ts'
import type { Unreadable } from './unreadable-blocks.ts'

/** How often a log is looked at without a sign of change, in milliseconds. */
const LOOK_MS = 1_000

/** A log counts if its core has sent an event within this time, in milliseconds. */
const COUNTS_MS = 10_000

/** A piece of a segment. */
type LogPiece = {
  bytes: Buffer
  /** Offset in the segment of the byte after it. */
  end: number
  /** `sealed`: the segment ends here. `active`: more may come. `more`: there is more now. */
  isLast: 'sealed' | 'active' | 'more'
}

/** Blocks that no log has, although there are later ones. */
type LogGap = { from: bigint; to: bigint }

/**
 * Reads one or several event logs by height, and waits for them to change. Several logs are one source; their blocks are the
 * same.
 */
export class LogReader {
  readonly #logs: readonly LogSource[]
  readonly #choice: SegmentChoice
  readonly #changes = new ChangeSignal()
  readonly #stops: (() => void)[]

  constructor(logs: readonly LogSource[]) {
    this.#logs = logs
    this.#choice = new SegmentChoice(logs)
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
  lowest(options: ChoiceOptions = {}): bigint | null {
    return this.#choice.lowest(options)
  }

  /** The greatest height of any log; null if all are empty. */
  highest(): bigint | null {
    return this.#choice.highest()
  }

  /** The segment to read a block from; null if none has it, or it cannot be read. */
  find(height: bigint, options: ChoiceOptions = {}): LogSegment | null {
    return this.#choice.find(height, options)
  }

  /**
   * The blocks from a height on that no log can give, although later ones are there; null if there is none, or a log that
   * is being written may still get them.
   */
  gapAt(height: bigint, options: ChoiceOptions = {}): LogGap | null {
    // The block may have come a moment ago.
    this.refresh()
    if (this.find(height, options) !== null) return null
    const next = this.#choice.nextAfter(height, options)
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
      const highest = this.#choice.highest([log])
      const isBehind = highest === null || highest <= height
      return isBehind && isWritten(log) ? [index + 1] : []
    })
  }

  /** The first log with a block after a height, the first being 1, and that block; null if none has one. */
  laterIn(height: bigint): { log: number; height: bigint } | null {
    for (const [index, log] of this.#logs.entries()) {
      const next = this.#choice.nextAfter(height, {}, [log])
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
  cannotRead(segment: LogSegment, { from, to, reason }: Unreadable): void {
    // Those before its first one were looked for in it because no segment has them.
    const start = from > segment.first ? from : segment.first
    if (!this.#choice.isReadable(segment, start)) return
    this.#choice.unreadable.add(segment, { from: start, to, reason })
  }

  /** Why a block cannot be read; null if no segment was found to be damaged there. */
  reasonFor(height: bigint): string | null {
    return this.#choice.unreadable.reasonFor(height)
  }

  /** Forgets what could not be read: the store has changed, or more events may be left out. */
  tryAgain(): void {
    this.#choice.unreadable.clear()
  }

  /** The next bytes of a segment, up to what is committed of it. */
  async read(segment: LogSegment, offset: number): Promise<LogPiece> {
    const now = segment.log.current(segment) ?? segment
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
        const isCurrent = current !== null && isSameSegment(current.segment, segment)
        ofLog += Math.max(0, segment.bytes - (isCurrent ? current.offset : 0))
      }
      bytes = Math.max(bytes, ofLog)
    }
    return bytes
  }
}

/** Whether a receiver writes to a log, and its core sends. */
function isWritten(log: LogSource): boolean {
  const state = log.receiver()
  if (state === null || isSilent(state) || !state.coreConnected || state.lastEventAtMs === null) return false
  return Date.now() - state.lastEventAtMs < COUNTS_MS
}
