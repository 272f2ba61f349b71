import { RECORD_HEADER_BYTES } from '../../records/record-framer.ts'
import type { RecordPosition } from '../../records/record-position.ts'
import { type CheckedEvent, EventCheck, RefusedEventError } from '../event-check.ts'
import type { LogSegment, SegmentOffset } from './followed-log.ts'

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

/** The complete blocks of a segment, whose events it is given from its beginning on. */
export class SegmentBlocks {
  readonly #segment: LogSegment
  readonly #check = new EventCheck(null)
  /** Those that have not been passed. */
  readonly #blocks: CompleteBlock[] = []
  #nextHeight: bigint
  /** Whether an event could not be read since the last block ended: it may have begun one. */
  #mayLackBeginning = false
  /** The events of the open block. */
  #events: Buffer[] = []
  /** Null unless block 1 is read, or is what the segment begins with. */
  #blockOne: BlockOneParts | null = null

  constructor(segment: LogSegment) {
    this.#segment = segment
    this.#nextHeight = segment.first
    // The beginning of a part may be missing, too.
    if (segment.first === 1n) this.#blockOne = new BlockOneParts()
  }

  /** The block after the last complete one; at first, that with which the segment begins by its name. */
  get nextHeight(): bigint {
    return this.#nextHeight
  }

  /** Whether a part of block 1 has ended, and none is cut: the other one, or block 2, may follow. */
  get isInBlockOne(): boolean {
    return this.#blockOne?.whole != null
  }

  /** The next complete block from a height on, and nothing before it any more; null if none was given yet. */
  from(height: bigint): CompleteBlock | null {
    for (;;) {
      const [block] = this.#blocks
      if (block === undefined) return null
      if (block.height >= height) return block
      this.#blocks.shift()
    }
  }

  /** Takes the event `bytes[start..end)` at a position of the segment, the next one. */
  accept(bytes: Buffer, start: number, end: number, { offset }: RecordPosition): void {
    const checked = this.#checked(bytes, start, end)
    if (checked === null) return
    const { role, block, dropsBlock } = checked
    if (dropsBlock) this.#blockOne?.cut()
    if (role === 'outside') {
      if (this.#mayLackBeginning && this.#check.isLastOf(1n)) this.#blockOne?.cut()
      return
    }
    if (role === 'begin') {
      this.#mayLackBeginning = false
      if (block!.height === 1n) this.#blockOne ??= new BlockOneParts()
      else this.endBlockOne()
      this.#events = []
    }
    this.#events.push(Buffer.from(bytes.subarray(start, end)))
    if (role !== 'end') return
    const { height, timestamp, hash, isWhole } = block!
    const recordEnd = { segment: this.#segment, offset: offset + RECORD_HEADER_BYTES + end - start }
    const ended = { height, timestamp, events: this.#events, end: recordEnd }
    if (height === 1n) this.#endPart(ended, hash, isWhole)
    else if (isWhole) this.#add(ended)
  }

  /** Nothing follows: a part of block 1 that has begun never ends. */
  end(): void {
    if (this.#check.isBlockOpen) this.#blockOne?.cut()
  }

  /** No other part of block 1 follows: it is complete, if one has ended and none is cut. */
  endBlockOne(): void {
    const whole = this.#blockOne?.whole ?? null
    this.#blockOne = null
    if (whole !== null) this.#add(whole)
  }

  /** What an event is; null for one that cannot be read: the block that it is in never ends. */
  #checked(bytes: Buffer, start: number, end: number): CheckedEvent | null {
    // Each event may be of another connection.
    this.#check.forgetConnectionChain()
    try {
      return this.#check.check(bytes, start, end)
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error
      if (this.#check.isBlockOpen) this.#blockOne?.cut()
      else this.#mayLackBeginning = true
      this.#check.dropOpenBlock()
      return null
    }
  }

  #endPart(part: CompleteBlock, hash: string, isWhole: boolean): void {
    const parts = this.#blockOne!
    if (!isWhole) parts.cut()
    if (parts.add(part, hash) === 2) this.endBlockOne()
  }

  #add(block: CompleteBlock): void {
    this.#blocks.push(block)
    this.#nextHeight = block.height + 1n
  }
}

/**
 * Block 1 as far as its parts have ended, genesis and the block itself: each has a hash of its own. A store follows the same rules
 * with decoded events (blocks/block-one.ts).
 */
class BlockOneParts {
  #block: CompleteBlock | null = null
  readonly #hashes = new Set<string>()
  #isCut = false

  /** The block with the parts that have ended; null if none has, or one is cut. */
  get whole(): CompleteBlock | null {
    return this.#isCut ? null : this.#block
  }

  /** An event of a part is missing, or cannot be read. */
  cut(): void {
    this.#isCut = true
  }

  /** Adds a part that has ended, unless it has come before. Returns how many there are. */
  add(part: CompleteBlock, hash: string): number {
    if (!this.#hashes.has(hash))
      this.#block = { ...part, events: [...(this.#block?.events ?? []), ...part.events] }
    return this.#hashes.add(hash).size
  }
}
