import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import { isDamage } from '../../records/record-position.ts'
import { type CheckedEvent, EventCheck, OUTSIDE, RefusedEventError } from '../event-check.ts'
import type { SegmentFrames } from '../segment-frames.ts'
import { Lag } from './choice/lag.ts'
import {
  isReachable,
  isReadToEnd,
  isSameSegment,
  type LogSegment,
  type SegmentOffset,
} from './followed-log.ts'
import type { LogReader } from './log-reader.ts'
import { framesOf } from './read-segment.ts'

/** A block with all its events; block 1 with those of both its parts, genesis and the block itself. */
export type CompleteBlock = {
  height: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  /** Its events, as the core sent them. */
  events: readonly Buffer[]
  /** Its end, in the segment that it was read from. */
  end: SegmentOffset
}

/** Reads blocks of event logs that are complete, one after the other, by height. */
export class CompleteBlocks {
  readonly #reader: LogReader
  #reading: SegmentBlocks | null = null
  /** Of the segment that is read, blocks below it were given or dropped. */
  #nextHeight = 0n
  readonly #lag = new Lag()

  constructor(reader: LogReader) {
    this.#reader = reader
  }

  /**
   * The block of a height; null if no log has it complete, or not yet.
   *
   * @throws what `FollowedLog.read` (followed-log.ts) throws; may be called again.
   */
  async next(height: bigint): Promise<CompleteBlock | null> {
    // A block that was given or dropped is looked for anew.
    if (height < this.#nextHeight) this.#reading = null
    this.#nextHeight = height
    for (;;) {
      const reading = this.#reading
      const block = reading?.blocks[0]
      if (reading === null || block === undefined) {
        if (!(await this.#readMore(height))) return null
        continue
      }
      if (block.height > height) {
        this.#noteMissing(reading.segment, height, block.height - 1n)
        this.#reading = null
        continue
      }
      reading.blocks.shift()
      if (block.height < height) continue
      this.#nextHeight = height + 1n
      return block
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
   * | goes on later | the same, with more bytes now, or of block 1 only a part has ended | false |
   * | has ended, by its name with block 1, and one part of it | the same | block 1 is in another segment, or has one part |
   * | either | the same, all of it read | the height is missing there: it is looked for again |
   */
  async #readMore(height: bigint): Promise<boolean> {
    if (this.#reading === null || !this.#reading.mayHave(height)) this.#turnToSegmentOf(height)
    const reading = this.#reading
    if (reading === null) return false
    if (!reading.isAtEnd && (await this.#readPiece(reading))) return true
    const segment = this.#find(height)
    if (segment === null) return false
    if (!isSameSegment(reading.segment, segment)) {
      if (!reading.isAtEnd && !this.#lag.mayTurn(height, reading.segment, segment)) return false
      this.#turnToSegmentOf(height)
      return true
    }
    if (!reading.isAtEnd && (reading.isInBlockOne || !isReadToEnd(segment, reading.offset))) return false
    this.#noteMissing(segment, height, height)
    // A chain may have only one part of it, and a segment may end after that.
    if (reading.isInBlockOne && segment.last === 1n && this.#find(height) === null) reading.endBlockOne()
    else this.#reading = null
    return true
  }

  /** Returns whether there was more. */
  async #readPiece(reading: SegmentBlocks): Promise<boolean> {
    try {
      return await reading.readPiece()
    } catch (error) {
      // For a while, others go first; this one is read from its beginning if it is chosen again.
      this.#reader.segments.noteRefused(reading.segment)
      this.#reading = null
      throw error
    }
  }

  #find(height: bigint): LogSegment | null {
    return this.#reader.segments.find(height, { wantsWhole: true })
  }

  /** Begins the segment that a height is to be read from, unless that is being read; leaves the one that is read if there is none. */
  #turnToSegmentOf(height: bigint): void {
    const segment = this.#find(height)
    if (segment === null) {
      this.#reading = null
      return
    }
    if (this.#reading !== null && isSameSegment(this.#reading.segment, segment)) return
    this.#reading = new SegmentBlocks(segment, (from, reason) =>
      this.#reader.segments.noteUnreadable(segment, { from, to: null, reason }),
    )
  }

  /** Notes blocks that a segment turned out not to have whole: they are looked for in others from now on. */
  #noteMissing(segment: LogSegment, from: bigint, to: bigint): void {
    const reason = `${segment.name} has no complete block ${from}`
    this.#reader.segments.noteUnreadable(segment, { from, to, reason })
  }
}

/** The complete blocks of a segment, as it is read from its beginning on. */
class SegmentBlocks {
  readonly segment: LogSegment
  /** Those that were read and not taken. */
  readonly blocks: CompleteBlock[] = []
  readonly #onDamage: (from: bigint, reason: string) => void
  #isAtEnd = false
  /** The block that is being read, or else follows. */
  #height: bigint
  readonly #check = new EventCheck(null)
  readonly #frames: SegmentFrames
  /** The events of the open block. */
  #events: Buffer[] = []
  /** Block 1 as far as its parts have ended; null if none has, or it is given. */
  #blockOne: { block: CompleteBlock; hash: string } | null = null
  /** Whether an event of block 1 is missing, or cannot be read. */
  #isBlockOneCut = false

  /** @param onDamage called if nothing can be read from a block on, with the reason */
  constructor(segment: LogSegment, onDamage: (from: bigint, reason: string) => void) {
    this.segment = segment
    this.#onDamage = onDamage
    this.#height = segment.first
    this.#frames = framesOf(segment, (bytes, start, end, { offset }) =>
      this.#accept(bytes, start, end, offset + RECORD_HEADER_BYTES + end - start),
    )
  }

  /** Whether it is still there, can be read, and may have a block by its name. */
  mayHave(height: bigint): boolean {
    const { first, last, kind } = this.segment.log.current(this.segment) ?? this.segment
    return isReachable(this.segment) && first <= height && (kind === 'active' || height <= last)
  }

  /** Everything before it was read. */
  get offset(): number {
    return this.#frames.offset
  }

  /** Whether nothing follows what was read, or can be read. */
  get isAtEnd(): boolean {
    return this.#isAtEnd
  }

  /** Whether one part of block 1 has ended: the other one, or block 2, may follow. */
  get isInBlockOne(): boolean {
    return this.#blockOne !== null && !this.#isBlockOneCut
  }

  /** No other part of block 1 follows: it is among the blocks now, if it is complete. */
  endBlockOne(): void {
    if (this.#blockOne !== null && !this.#isBlockOneCut) this.blocks.push(this.#blockOne.block)
    this.#blockOne = null
    this.#height = 2n
  }

  /** Reads the next bytes; returns whether there were any, or there are blocks before a damage. */
  async readPiece(): Promise<boolean> {
    try {
      const { bytes, following } = await this.#frames.read()
      this.#isAtEnd = following === 'nothing'
      this.#frames.handOn()
      // The other part never ends.
      if (this.#isAtEnd && this.#check.isBlockOpen) this.#cutBlockOne()
      return bytes.length > 0
    } catch (error) {
      if (!isDamage(error)) throw error
      this.#isAtEnd = true
      this.#blockOne = null
      this.#onDamage(this.#height, error.message)
      return this.blocks.length > 0
    }
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
      this.#cutBlockOne()
      return OUTSIDE
    }
  }

  /** @param offset the end of the event's record */
  #accept(bytes: Buffer, start: number, end: number, offset: number): void {
    const { role, block, dropsBlock } = this.#checkedOrOutside(bytes, start, end)
    if (dropsBlock) this.#cutBlockOne()
    if (role === 'outside') return
    if (role === 'begin') {
      if (this.#height === 1n && block!.height !== 1n) this.endBlockOne()
      this.#events = []
      this.#height = block!.height
    }
    this.#events.push(Buffer.from(bytes.subarray(start, end)))
    if (role !== 'end') return
    const { height, timestamp, hash, isWhole } = block!
    const ended = { height, timestamp, events: this.#events, end: { segment: this.segment, offset } }
    if (height === 1n) {
      if (!isWhole) this.#cutBlockOne()
      this.#endPart(ended, hash)
      return
    }
    this.#height = height + 1n
    if (isWhole) this.blocks.push(ended)
  }

  /** If this is in block 1, that is not complete. */
  #cutBlockOne(): void {
    if (this.#height === 1n) this.#isBlockOneCut = true
  }

  /** A part of block 1 has ended. With both, the block is complete. */
  #endPart(part: CompleteBlock, hash: string): void {
    const first = this.#blockOne
    if (first?.hash === hash) return
    const events = [...(first?.block.events ?? []), ...part.events]
    this.#blockOne = { block: { ...part, events }, hash }
    if (first !== null) this.endBlockOne()
  }
}
