import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import { isDamage } from '../../records/record-position.ts'
import { type CheckedEvent, EventCheck, OUTSIDE, RefusedEventError } from '../event-check.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import { isReadable, isSameSegment, type LogSegment, type SegmentOffset } from './followed-log.ts'
import { Lag } from './lag.ts'
import type { LogReader } from './log-reader.ts'
import { framesOf } from './read-segment.ts'

/** A block with all its events; block 1 in each of its two parts. */
export type CompleteBlock = {
  height: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  /** Tells the parts of block 1 apart. */
  hash: string
  /** Its events, as the core sent them. */
  events: Buffer[]
  /** Its end, in the segment that it was read from. */
  end: SegmentOffset
}

/** Reads blocks of event logs that are complete, one after the other, by height. */
export class CompleteBlocks {
  readonly #reader: LogReader
  #reading: SegmentBlocks | null = null
  readonly #lag = new Lag()

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * The block of a height; null if no log has it complete, or not yet.
   *
   * @param partBefore the hash of a part of block 1, if the other part is looked for, which need not be there; otherwise null
   */
  async next(height: bigint, partBefore: string | null = null): Promise<CompleteBlock | null> {
    const isOtherPart = partBefore !== null
    for (;;) {
      const reading = this.#reading
      const block = reading?.blocks[0]
      if (reading === null || block === undefined) {
        if (!(await this.#readMore(height, isOtherPart))) return null
        continue
      }
      if (block.height === height && block.hash !== partBefore) return reading.take()
      if (block.height <= height) {
        // An earlier block, or the part of block 1 that was given already: it is dropped.
        reading.take()
        continue
      }
      // A later block follows. The other part of block 1 need not be there; any other block should be.
      if (isOtherPart) return null
      this.#noteMissing(reading, height, block.height - 1n)
    }
  }

  /**
   * Reads more of the segment that has a height; false if there is nothing more, or not yet. If there were no more bytes:
   *
   * | the segment that is read | the segment that has the height now | |
   * |---|---|---|
   * | either | none | false |
   * | goes on later | another one | turns to that once it has been ahead for long; false until then |
   * | has ended | another one | turns to that |
   * | goes on later | the same | false |
   * | has ended | the same | the height is missing there: it is looked for again; false for the other part of block 1 |
   */
  async #readMore(height: bigint, isOtherPart: boolean): Promise<boolean> {
    if (this.#reading?.mayHave(height) !== true) this.#turnToSegmentOf(height)
    const reading = this.#reading
    if (reading === null) return false
    if (!reading.isAtEnd && (await this.#readPiece(reading))) return true
    const segment = this.#find(height)
    if (segment === null) return false
    if (!reading.isOf(segment)) {
      if (!reading.isAtEnd && !this.#lag.isLong(height)) return false
      this.#turnToSegmentOf(height)
      return true
    }
    if (!reading.isAtEnd || isOtherPart) return false
    this.#noteMissing(reading, height, height)
    return true
  }

  #find(height: bigint): LogSegment | null {
    return this.#reader.segments.find(height, { wantsWhole: true })
  }

  /** Begins the segment that a height is to be read from, unless that is being read. */
  #turnToSegmentOf(height: bigint): void {
    const segment = this.#find(height)
    if (segment !== null && this.#reading?.isOf(segment) !== true)
      this.#reading = new SegmentBlocks(segment, height)
  }

  /** Returns whether there was more, or blocks of it are left. */
  async #readPiece(reading: SegmentBlocks): Promise<boolean> {
    try {
      return (await reading.readPiece()) || reading.blocks.length > 0
    } catch (error) {
      if (!isDamage(error)) throw error
      reading.endHere()
      this.#reader.segments.noteUnreadable(reading.segment, {
        from: reading.currentHeight,
        to: null,
        reason: error.message,
      })
      return reading.blocks.length > 0
    }
  }

  /**
   * Notes that the segment lacks blocks that its name promises: they are looked for in others from now on. If reading may have
   * passed them, nothing is noted, and the segment is read again from its beginning. For example, reading began for block 50 of
   * a segment with blocks 1 to 100, so earlier ones were dropped: block 20 may well be there. So may block 50, once it was taken.
   */
  #noteMissing(reading: SegmentBlocks, from: bigint, to: bigint): void {
    this.#reading = null
    const { segment, begunFor, taken } = reading
    if (from < begunFor || (taken !== null && from <= taken)) return
    this.#reader.segments.noteUnreadable(segment, {
      from,
      to,
      reason: `${segment.name} has no complete block ${from}`,
    })
  }
}

/** The complete blocks of a segment, as it is read from its beginning on. */
class SegmentBlocks {
  readonly segment: LogSegment
  /** The height because of which reading began: earlier blocks are dropped. */
  readonly begunFor: bigint
  /** Those that were read and not taken. */
  readonly blocks: CompleteBlock[] = []
  #isAtEnd = false
  #currentHeight: bigint
  #taken: bigint | null = null
  readonly #check = new EventCheck(null)
  readonly #frames: SegmentFrames
  #events: Buffer[] = []

  constructor(segment: LogSegment, begunFor: bigint) {
    this.segment = segment
    this.begunFor = begunFor
    this.#currentHeight = segment.first
    const source = `${segment.log.name}/${segment.name}`
    this.#frames = framesOf(segment, source, (bytes, start, end, { offset }) =>
      this.#accept(bytes, start, end, offset + RECORD_HEADER_BYTES + end - start),
    )
  }

  isOf(segment: LogSegment): boolean {
    return isSameSegment(this.segment, segment)
  }

  /** Whether it is still there, can be read, and may have a block by its name. */
  mayHave(height: bigint): boolean {
    const { first, last, kind } = this.segment.log.current(this.segment) ?? this.segment
    return isReadable(this.segment) && first <= height && (kind === 'active' || height <= last)
  }

  /** Whether nothing follows what was read. */
  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  /** The height of the block that is being read, or else follows. */
  get currentHeight(): bigint {
    return this.#currentHeight
  }

  /** The height that was taken last; null before the first. */
  get taken(): bigint | null {
    return this.#taken
  }

  /** Nothing more can be read. */
  endHere(): void {
    this.#isAtEnd = true
  }

  /**
   * Reads the next bytes; returns whether there were any.
   *
   * @throws {EventStreamError} for damage. Blocks of earlier pieces are there.
   */
  async readPiece(): Promise<boolean> {
    const { bytes, following } = await this.#frames.read()
    this.#isAtEnd = following === 'nothing'
    this.#frames.handOn()
    return bytes.length > 0
  }

  /** Takes the first of the blocks, which must be there. */
  take(): CompleteBlock {
    const block = this.blocks.shift()!
    this.#taken = block.height
    return block
  }

  /** What an event is; one that cannot be read belongs to no block, and the one that it is in never ends. */
  #checkedOrOutside(bytes: Buffer, start: number, end: number): CheckedEvent {
    // Each event may be of another connection.
    this.#check.forgetConnectionChain()
    try {
      return this.#check.check(bytes, start, end)
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error
      this.#check.dropOpenBlock()
      return OUTSIDE
    }
  }

  /** @param offset the end of the event's record */
  #accept(bytes: Buffer, start: number, end: number, offset: number): void {
    const { role, block } = this.#checkedOrOutside(bytes, start, end)
    if (role === 'outside') return
    if (role === 'begin') {
      this.#events = []
      this.#currentHeight = block!.height
    }
    this.#events.push(Buffer.from(bytes.subarray(start, end)))
    if (role !== 'end') return
    const { height, timestamp, hash, isWhole } = block!
    this.#currentHeight = height + 1n
    if (!isWhole) return
    const blockEnd = { segment: this.segment, offset }
    this.blocks.push({ height, timestamp, hash, events: this.#events, end: blockEnd })
  }
}
