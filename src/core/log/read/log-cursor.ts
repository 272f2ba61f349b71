import { isSameSegment, type LogSegment } from './local-log.ts'
import type { LogReader } from './log-reader.ts'

/** The next bytes of a log: those of a segment from `offset` on; none if it turns out to have ended there. */
export type LogBytes = {
  segment: LogSegment
  offset: number
  bytes: Buffer
  /** Whether the segment ends with them; of one that is being written this is never known. */
  isEnd: boolean
}

/**
 * Reads event logs on, from segment to segment: to read a block, it takes the newest segment that has it, reads that to its
 * end, and looks again. A block that no log has is passed over once a later one is there.
 */
export class LogCursor {
  readonly #reader: LogReader
  #place: { segment: LogSegment; offset: number } | null = null
  /** The segment that was read last to its end. */
  #ended: LogSegment | null = null

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /** Where it has come to; null between two segments. */
  get place(): { segment: LogSegment; offset: number } | null {
    return this.#place
  }

  /** The next bytes for a reader that needs a block; null if there are none yet. */
  async read(needed: bigint): Promise<LogBytes | null> {
    for (;;) {
      const place = this.#place ?? this.#find(needed)
      if (place === null) return null
      this.#place = place
      const { segment, offset } = place
      const { bytes, end, isLast } = await this.#reader.read(segment, offset)
      const isEnd = isLast === 'sealed'
      if (isEnd) this.#leaveAtEnd(segment)
      else place.offset = end
      if (bytes.length > 0 || isEnd) return { segment, offset, bytes, isEnd }
      if (!this.#goesOnElsewhere(needed, segment)) return null
    }
  }

  /** Leaves a segment before its end: what is needed next is looked for in others, too. */
  leave(): void {
    this.#place = null
    this.#ended = null
  }

  #leaveAtEnd(segment: LogSegment): void {
    this.#place = null
    this.#ended = segment
  }

  /** Leaves a segment that is being written if another one has the block, or it will never come. */
  #goesOnElsewhere(needed: bigint, segment: LogSegment): boolean {
    const other = this.#find(needed)
    if (other === null || isSameSegment(other.segment, segment)) return false
    this.#place = other
    return true
  }

  #find(needed: bigint): { segment: LogSegment; offset: number } | null {
    const ended = this.#ended
    // What it did not give of its blocks, it does not have.
    const from = ended !== null && ended.first <= needed && needed <= ended.last ? ended.last + 1n : needed
    const segment = this.#reader.find(from) ?? this.#afterGap(from)
    return segment === null ? null : { segment, offset: 0 }
  }

  #afterGap(from: bigint): LogSegment | null {
    const gap = this.#reader.gapAt(from)
    return gap === null ? this.#reader.find(from) : this.#reader.find(gap.to + 1n)
  }
}
