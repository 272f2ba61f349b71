import type { RecordSink } from '../../records/record-framer.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import { Lag } from './choice/lag.ts'
import { isSameSegment, type LogSegment } from './followed-log.ts'
import { framesOf } from './read-segment.ts'

/** A segment, and its frames from where it was read to. */
export type SegmentReading = Readonly<{
  segment: LogSegment
  frames: SegmentFrames
  /** Whether nothing follows what was read. */
  isAtEnd: boolean
}>

type CursorOptions = {
  /** The segment to read a block from, or from which to go on without it; null if there is none yet. */
  segmentFor: (height: bigint) => LogSegment | null
  /** Begins a segment, and returns what receives its frames, when it is {@link LogCursor.reading}. */
  beginSegment: (segment: LogSegment) => RecordSink
}

/**
 * Reads event logs on, from segment to segment: to read a block, it takes the segment that it is told, reads that to its end, and
 * asks again.
 *
 * Whoever reads must note in `SegmentChoice` what a segment does not have although its name promises it: otherwise it is chosen
 * again for that, and read again and again.
 */
export class LogCursor {
  readonly #options: CursorOptions
  #reading: SegmentReading | null = null
  readonly #lag = new Lag()

  constructor(options: CursorOptions) {
    this.#options = options
  }

  /** What was read last, also after its end; null before the first, and once it was left. */
  get reading(): SegmentReading | null {
    return this.#reading
  }

  /**
   * Reads the next bytes that may contain a block, and returns {@link reading}; null if there are none yet. Before the next call,
   * the frames must be handed on ({@link SegmentFrames.handOn}). If bytes cannot be read, their segment is {@link reading}.
   *
   * @throws {EventStreamError} for damage.
   * @throws what `FollowedLog.read` (followed-log.ts) throws.
   */
  async read(height: bigint): Promise<SegmentReading | null> {
    for (;;) {
      if (this.#reading === null || this.#reading.isAtEnd) {
        const next = this.#options.segmentFor(height)
        if (next === null) return null
        this.#begin(next)
      }
      const { segment, frames } = this.#reading!
      const { bytes, following } = await frames.read()
      this.#reading = { segment, frames, isAtEnd: following === 'nothing' }
      if (bytes.length > 0 || this.#reading.isAtEnd) return this.#reading
      if (!this.#turnIfAhead(height, segment)) return null
    }
  }

  /** Leaves the segment that is read before its end: what is needed next is looked for in others, too. */
  leave(): void {
    this.#reading = null
  }

  /**
   * Turns from a segment that is being written to another one: if that has the block, once it has had it for long; otherwise, which
   * is to go on without the block, at once. Returns whether it has.
   */
  #turnIfAhead(height: bigint, segment: LogSegment): boolean {
    const other = this.#options.segmentFor(height)
    if (other === null || isSameSegment(other, segment)) return false
    const hasBlock = other.first <= height
    if (hasBlock && !this.#lag.mayTurn(height, segment, other)) return false
    this.#begin(other)
    return true
  }

  #begin(segment: LogSegment): void {
    const frames = framesOf(segment, this.#options.beginSegment(segment))
    this.#reading = { segment, frames, isAtEnd: false }
  }
}
