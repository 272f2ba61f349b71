import type { RecordSink } from '../../records/record-framer.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import type { LogReader } from './log-reader.ts'
import { isSameSegment, type LogSegment } from './log-source.ts'
import { framesOf } from './read-segment.ts'

/** A segment, and how far it was read. */
export type SegmentPlace = { segment: LogSegment; frames: SegmentFrames }

/**
 * Reads event logs on, from segment to segment: to read a block, it takes the newest segment that has it, reads that to its
 * end, and looks again. A block that no log has is passed over once a later one is there.
 */
export class LogCursor {
  readonly #reader: LogReader
  readonly #sinkOf: (segment: LogSegment) => RecordSink
  #place: SegmentPlace | null = null
  /**
   * The segment that was read last to its end, and not left: what it did not give of its blocks, it does not have. Null after
   * {@link leave}, since of a segment that was left a block may be needed again.
   */
  #ended: LogSegment | null = null

  /** @param sinkOf gives what receives the frames of a segment */
  constructor(reader: LogReader, sinkOf: (segment: LogSegment) => RecordSink) {
    this.#reader = reader
    this.#sinkOf = sinkOf
  }

  /** Where it has come to; null between two segments. */
  get place(): SegmentPlace | null {
    return this.#place
  }

  /**
   * Reads the next bytes for whoever needs a block, and returns where, for {@link SegmentFrames.handOn}; null if there are none
   * yet.
   */
  async read(needed: bigint): Promise<SegmentPlace | null> {
    for (;;) {
      this.#place ??= this.#begin(this.#find(needed))
      const place = this.#place
      if (place === null) return null
      const { bytes, following } = await place.frames.read()
      const isEnd = following === 'nothing'
      if (isEnd) {
        this.#place = null
        this.#ended = place.segment
      }
      if (bytes.length > 0 || isEnd) return place
      if (!this.#goesOnElsewhere(needed, place.segment)) return null
    }
  }

  /** Leaves a segment before its end: what is needed next is looked for in others, too. */
  leave(): void {
    this.#place = null
    this.#ended = null
  }

  /** Leaves a segment that is being written if another one has the block, or it will never come. */
  #goesOnElsewhere(needed: bigint, segment: LogSegment): boolean {
    const other = this.#find(needed)
    if (other === null || isSameSegment(other, segment)) return false
    this.#place = this.#begin(other)
    return true
  }

  #begin(segment: LogSegment | null): SegmentPlace | null {
    if (segment === null) return null
    return { segment, frames: framesOf(segment, segment.name, this.#sinkOf(segment)) }
  }

  /** The segment to read a block from, or else the first one after it; null if there is none yet. */
  #find(needed: bigint): LogSegment | null {
    const ended = this.#ended
    // After a segment with blocks 1 to 9 of which it gave only 1 to 7, block 10 is looked for, and not block 8 in it again.
    const from = ended !== null && ended.first <= needed && needed <= ended.last ? ended.last + 1n : needed
    const { segments, gaps } = this.#reader
    const segment = segments.find(from)
    if (segment !== null) return segment
    const gap = gaps.at(from)
    // Without a gap, the block may have come meanwhile.
    return segments.find(gap === null ? from : gap.to + 1n)
  }
}
