import type { RecordSink } from '../../records/record-framer.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import { isReadable, isSameSegment, type LogSegment } from './followed-log.ts'
import { Lag } from './lag.ts'
import type { LogReader } from './log-reader.ts'
import { framesOf } from './read-segment.ts'

/** A segment that is being read, and its frames from where it was read to. */
export type SegmentReading = { segment: LogSegment; frames: SegmentFrames }

/**
 * Reads event logs on, from segment to segment: to read a block, it takes the segment that `SegmentChoice` names, reads that
 * to its end, and looks again. A block that no log has, and none may still get, is passed over once a later one is there.
 */
export class LogCursor {
  readonly #reader: LogReader
  readonly #sinkOf: (segment: LogSegment) => RecordSink
  #reading: SegmentReading | null = null
  /**
   * The segment that was read last to its end, and not left: what it did not give of its blocks, it does not have. Null after
   * {@link leave}, since of a segment that was left a block may be needed again.
   */
  #ended: LogSegment | null = null
  readonly #lag = new Lag()

  /** @param sinkOf gives what receives the frames of a segment */
  constructor(reader: LogReader, sinkOf: (segment: LogSegment) => RecordSink) {
    this.#reader = reader
    this.#sinkOf = sinkOf
  }

  /** What is being read; null between two segments. */
  get reading(): SegmentReading | null {
    return this.#reading
  }

  /**
   * Reads the next bytes that may contain a block, and returns the segment; null if there are none yet. Before the next call,
   * its frames must be handed on ({@link SegmentFrames.handOn}).
   */
  async read(needed: bigint): Promise<SegmentReading | null> {
    for (;;) {
      this.#reading ??= this.#begin(this.#segmentFor(needed))
      const reading = this.#reading
      if (reading === null) return null
      const { bytes, following } = await reading.frames.read()
      const isEnd = following === 'nothing'
      if (isEnd) {
        this.#reading = null
        this.#ended = reading.segment
      }
      if (bytes.length > 0 || isEnd) return reading
      if (!this.#turnIfAhead(needed, reading.segment)) return null
    }
  }

  /** Leaves a segment before its end: what is needed next is looked for in others, too. */
  leave(): void {
    this.#reading = null
    this.#ended = null
  }

  /**
   * Turns from a segment that is being written to another one that has the block, once that has been ahead for long; at once if
   * no log has the block and none may still get it. Returns whether it has.
   */
  #turnIfAhead(needed: bigint, segment: LogSegment): boolean {
    const other = this.#segmentFor(needed)
    if (other === null || isSameSegment(other, segment)) return false
    const isAhead = other.log !== segment.log && other.first <= needed
    if (isAhead && isReadable(segment) && !this.#lag.isLong(needed)) return false
    this.#reading = this.#begin(other)
    return true
  }

  #begin(segment: LogSegment | null): SegmentReading | null {
    if (segment === null) return null
    return { segment, frames: framesOf(segment, segment.name, this.#sinkOf(segment)) }
  }

  /** The segment to read a block from, or else the first one after it; null if there is none yet. */
  #segmentFor(needed: bigint): LogSegment | null {
    const ended = this.#ended
    // After a segment with blocks 1 to 9 of which it gave only 1 to 7, block 10 is looked for, and not block 8 in it again.
    const from = ended !== null && ended.first <= needed && needed <= ended.last ? ended.last + 1n : needed
    const { segments, gaps } = this.#reader
    const segment = segments.find(from)
    if (segment !== null) return segment
    const gap = gaps.refreshAndFind(from)
    // Without a gap, the block may have come meanwhile.
    return segments.find(gap === null ? from : gap.to + 1n)
  }
}
