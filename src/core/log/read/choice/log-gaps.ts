import type { HeightRange } from '../../../domain/height-ranges.ts'
import { isSilent } from '../../files/receiver-file.ts'
import type { FollowedLog, LogSegment } from '../followed-log.ts'
import type { ChoiceOptions, SegmentChoice } from './segment-choice.ts'

/** A log is being written if its core has sent an event within this time, in milliseconds. */
const WRITTEN_MS = 10_000

/** Tells blocks that several logs do not have from those that one of them may still get. */
export class LogGaps {
  readonly #logs: readonly FollowedLog[]
  readonly #segments: SegmentChoice

  constructor(logs: readonly FollowedLog[], segments: SegmentChoice) {
    this.#logs = logs
    this.#segments = segments
  }

  /**
   * Refreshes all logs, since a block may have come a moment ago, and finds the blocks from a height on that no log can give,
   * although later ones are there; null if there are none, or a log that is being written may still get them.
   *
   * @throws {NewerLogError} when a log's head is of a later version.
   */
  refreshAndFind(height: bigint, options: ChoiceOptions = {}): HeightRange | null {
    for (const log of this.#logs) log.refresh()
    if (this.#segments.find(height, options) !== null) return null
    const next = this.#segments.nextAfter(height, options)
    if (next === null || this.waitsFor(height).length > 0) return null
    return { from: height, to: next - 1n }
  }

  /**
   * The segment to read a block from, or that with which to go on if no log has the block, and none may still get it; null if there
   * is none yet.
   *
   * @throws {NewerLogError} as {@link refreshAndFind}.
   */
  findPastGap(height: bigint): LogSegment | null {
    const segment = this.#segments.find(height)
    if (segment !== null) return segment
    const gap = this.refreshAndFind(height)
    // Without a gap, the block may have come meanwhile.
    return this.#segments.find(gap === null ? height : gap.to + 1n)
  }

  /** Whether another segment has one of some blocks that one does not have, or a log may still get the first of them. */
  mayComeFromAnother({ from, to }: HeightRange, segment: LogSegment): boolean {
    if (this.waitsFor(from).length > 0) return true
    const next = this.#segments.nextAfter(from - 1n, { except: segment })
    return next !== null && next <= to
  }

  /**
   * The numbers (from 1) of the logs that may still get block `height`: they are being written, and have nothing after it. With one
   * log, none.
   */
  waitsFor(height: bigint): number[] {
    if (this.#logs.length < 2) return []
    return this.#logs.flatMap((log, index) => {
      const highest = this.#segments.highest([log])
      const isBehind = highest === null || highest <= height
      return isBehind && isWritten(log) ? [index + 1] : []
    })
  }

  /** The first log with a block after a height, the first being 1, and that block; null if none has one. */
  laterIn(height: bigint): { log: number; height: bigint } | null {
    for (const [index, log] of this.#logs.entries()) {
      const next = this.#segments.nextAfter(height, {}, [log])
      if (next !== null) return { log: index + 1, height: next }
    }
    return null
  }
}

/** Whether a receiver writes to a log, and its core sends. */
function isWritten(log: FollowedLog): boolean {
  const state = log.receiver()
  if (state === null || isSilent(state) || !state.coreConnected || state.lastEventAtMs === null) return false
  return Date.now() - state.lastEventAtMs < WRITTEN_MS
}
