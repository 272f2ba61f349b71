import { isDamage } from '../../records/record-position.ts'
import { isReadToEnd, type LogSegment } from './followed-log.ts'
import { LogCursor, type SegmentReading } from './log-cursor.ts'
import type { LogReader } from './log-reader.ts'
import { type CompleteBlock, SegmentBlocks } from './segment-blocks.ts'

/**
 * Reads blocks of event logs that are complete, one after the other, by height. What a segment turns out not to have is noted in
 * `SegmentChoice`, and looked for in others.
 */
export class CompleteBlocks {
  readonly #reader: LogReader
  readonly #cursor: LogCursor
  /** Of the segment that was read last; null before the first. */
  #blocks: SegmentBlocks | null = null
  /** Blocks below it may have been passed. */
  #height = 0n

  constructor(reader: LogReader) {
    this.#reader = reader
    this.#cursor = new LogCursor({
      segmentFor: (height) => reader.segments.find(height, { wantsWhole: true }),
      beginSegment: (segment) => {
        const blocks = new SegmentBlocks(segment)
        this.#blocks = blocks
        return (bytes, start, end, position) => blocks.accept(bytes, start, end, position)
      },
    })
  }

  /**
   * The block of a height; null if no log has it complete, or not yet.
   *
   * @throws what `FollowedLog.read` (followed-log.ts) throws; may be called again.
   */
  async next(height: bigint): Promise<CompleteBlock | null> {
    if (height < this.#height) this.#leave()
    this.#height = height
    for (;;) {
      const block = this.#blocks?.from(height) ?? null
      if (block?.height === height) return block
      if (block !== null) {
        this.#noteMissing(block.end.segment, height, block.height - 1n)
        this.#leave()
      }
      if (!(await this.#readMore(height))) return null
    }
  }

  /** Reads more; false if there is nothing more yet. */
  async #readMore(height: bigint): Promise<boolean> {
    try {
      const reading = await this.#cursor.read(height)
      if (reading === null) return false
      reading.frames.handOn()
      this.#noteEnd(reading)
    } catch (error) {
      this.#leaveUnread(error)
    }
    return true
  }

  /**
   * Once all of a segment was handed on: the last blocks that its name promises, and that are not complete in it, are looked for in
   * others.
   */
  #noteEnd({ segment, frames, isAtEnd }: SegmentReading): void {
    const blocks = this.#blocks!
    // It may have grown since reading began.
    const current = segment.log.current(segment) ?? segment
    if (isAtEnd) this.#endBlocks(current)
    else if (blocks.isInBlockOne || !isReadToEnd(current, frames.offset)) return
    if (blocks.nextHeight > current.last) return
    this.#noteMissing(segment, blocks.nextHeight, current.last)
    // The blocks before them were read.
    this.#cursor.leave()
  }

  /** Nothing follows in a segment. A chain may have only one part of block 1, and a segment may end after that. */
  #endBlocks(segment: LogSegment): void {
    const blocks = this.#blocks!
    blocks.end()
    const others = { wantsWhole: true, except: segment }
    if (blocks.isInBlockOne && segment.last === 1n && this.#reader.segments.find(1n, others) === null)
      blocks.endBlockOne()
  }

  /**
   * The rest of a segment cannot be read: it is looked for in others.
   *
   * @throws the error, if it is no damage. For a while, others go first; this one is read from its beginning if it is chosen again.
   */
  #leaveUnread(error: unknown): void {
    const { segments } = this.#reader
    const segment = this.#cursor.reading?.segment
    if (segment !== undefined && isDamage(error)) {
      segments.noteUnreadable(segment, { from: this.#blocks!.nextHeight, to: null, reason: error.message })
      this.#cursor.leave()
      return
    }
    if (segment !== undefined) segments.noteRefused(segment)
    this.#leave()
    throw error
  }

  /** Forgets what was read. */
  #leave(): void {
    this.#cursor.leave()
    this.#blocks = null
  }

  #noteMissing(segment: LogSegment, from: bigint, to: bigint): void {
    const reason = `${segment.name} has no complete block ${from}`
    this.#reader.segments.noteUnreadable(segment, { from, to, reason })
  }
}
