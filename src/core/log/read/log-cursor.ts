import type { RecordSink } from '../../records/record-framer.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import { Lag } from './choice/lag.ts'
import { isSameSegment, type LogSegment } from './followed-log.ts'
import type { LogReader } from './log-reader.ts'
import { framesOf } from './read-segment.ts'

/** A segment, and its frames from where it was read to. */
export type SegmentReading = {
  readonly segment: LogSegment
  readonly frames: SegmentFrames
  /** Whether nothing follows what was read. */
  isAtEnd: boolean
}

/**
 * Reads event logs on, from segment to segment: to read a block, it takes the segment that `SegmentChoice` names, reads that
 * to its end, and looks again. A block that no log has, and none may still get, is passed over once a later one is there.
 *
 * Whoever reads must note in `SegmentChoice` what a segment does not have although its name promises it: otherwise it is chosen
 * again for that, and read again and again.
 */
export class LogCursor {
  readonly #reader: LogReader
  readonly #sinkOf: (segment: LogSegment) => RecordSink
  #reading: SegmentReading | null = null
  readonly #lag = new Lag()

  /** @param sinkOf called when a segment is begun; gives what receives its frames, when it is {@link reading} */
  constructor(reader: LogReader, sinkOf: (segment: LogSegment) => RecordSink) {
    this.#reader = reader
    this.#sinkOf = sinkOf
  }

  /** What was read last, also after its end; null before the first, and once it was left. */
  get reading(): SegmentReading | null {
    return this.#reading
  }

  /**
   * Reads the next bytes that may contain a block, and returns {@link reading}; null if there are none yet. Before the next call,
   * the frames must be handed on ({@link SegmentFrames.handOn}). If it fails, the segment is {@link reading}.
   *
   * @throws {EventStreamError} for damage.
   * @throws what `FollowedLog.read` (followed-log.ts) throws.
   */
  async read(needed: bigint): Promise<SegmentReading | null> {
    for (;;) {
      if (this.#reading === null || this.#reading.isAtEnd) {
        const next = this.#segmentFor(needed)
        if (next === null) return null
        this.#begin(next)
      }
      const reading = this.#reading!
      const { bytes, following } = await reading.frames.read()
      reading.isAtEnd = following === 'nothing'
      if (bytes.length > 0 || reading.isAtEnd) return reading
      if (!this.#turnIfAhead(needed, reading.segment)) return null
    }
  }

  /** Leaves the segment that is read before its end: what is needed next is looked for in others, too. */
  leave(): void {
    this.#reading = null
  }

  /**
   * Turns from a segment that is being written to another one that has the block, once that has been ahead for long; at once if
   * no log has the block and none may still get it. Returns whether it has.
   */
  #turnIfAhead(needed: bigint, segment: LogSegment): boolean {
    const other = this.#segmentFor(needed)
    if (other === null || isSameSegment(other, segment)) return false
    if (other.first <= needed && !this.#lag.mayTurn(needed, segment, other)) return false
    this.#begin(other)
    return true
  }

  #begin(segment: LogSegment): void {
    const frames = framesOf(segment, this.#sinkOf(segment))
    this.#reading = { segment, frames, isAtEnd: false }
  }

  /** The segment to read a block from, or else the first one after it; null if there is none yet. */
  #segmentFor(needed: bigint): LogSegment | null {
    const { segments, gaps } = this.#reader
    const segment = segments.find(needed)
    if (segment !== null) return segment
    const gap = gaps.refreshAndFind(needed)
    // Without a gap, the block may have come meanwhile.
    return segments.find(gap === null ? needed : gap.to + 1n)
  }
}
