// The way from the bytes of event logs to blocks for the store.
import type { Logger } from 'pino'
import { type Block, ChainError, GapError, StrictError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { type HeightRange, holdAll, rangeWith } from '#core/domain/height-ranges'
import type { LeftOutReason } from '#core/events/left-out'
import { isReadToEnd, type LogSegment, type SegmentOffset } from '#core/log/read/followed-log'
import { LogCursor, type SegmentReading } from '#core/log/read/log-cursor'
import type { LogReader } from '#core/log/read/log-reader'
import { isReadFault, LogUnreachableError } from '#core/log/read/log-source'
import type { RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { NeededBlocks } from './needed-blocks.ts'

/**
 * Thrown where a segment turns out to be worth leaving, within the sink that takes its frames; caught where these are handed
 * on.
 */
class LeaveSegment extends Error {
  override name = 'LeaveSegment'
}

type LogBlocksOptions = {
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
  /** The required chain of events; null: that of the log's head. */
  chain: string | null
  /** Whether blocks that no log has whole, and none may still get, may be missing; gaps are recorded. */
  allowGap: boolean
  /** Heights of which an operator has accepted that any may be missing: ascending, not adjacent. */
  accepted: readonly HeightRange[]
  strict: boolean
  logger: Logger
}

type LogBlocksListener = {
  /** Called with each block that has ended; with events missing only if they may be. */
  onBlock: (block: Block) => void
  /** Called with each event that is left out, and why. */
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

/**
 * The blocks of event logs that a store does not have, in their order. This reads segments, and decides when one is left for
 * another one; `NeededBlocks` assembles the blocks, and says which comes next.
 *
 * Damage is no end: a block of which an event cannot be read is taken from another segment, or is missing. What a segment turns
 * out not to have is noted in `SegmentChoice`, so that it is not chosen for that again. If the blocks are elsewhere, which means
 * that another segment has one of them, or that a log may still get it, the segment is left:
 *
 * | found in a segment | noted as unreadable there | the segment |
 * |---|---|---|
 * | damaged frames, or it cannot be inflated | the needed block, and all after it | is left |
 * | its bytes cannot be read at the moment, another segment that can be read comes next | nothing; for a while, others go first | is left |
| the same, and an operator has accepted that the needed block is missing | that, and the next ones that are accepted | is left if what follows them can be read |
| the same otherwise | nothing | is waited for; an error if it is gone |
 * | an event that cannot be decoded, or of another chain than the log | its block | is left if the block is elsewhere |
 * | a block begins, or the segment ends, after the needed block | those between | is left if they are elsewhere |
 * | blocks are missing, or incomplete | these blocks | is left if they are elsewhere; otherwise they may be missing, or it is a gap |
 *
 * Whenever a segment is left, another one comes next, or the needed block is noted as unreadable there: so this ends. A block
 * below the needed one, in a gap of the store, is taken if it is whole, and otherwise passed over: no segment is left, and no
 * gap is thrown for it.
 */
export class LogBlocks {
  readonly #reader: LogReader
  readonly #options: LogBlocksOptions
  readonly #cursor: LogCursor
  readonly #blocks: NeededBlocks
  #fault: LogUnreachableError | null = null

  constructor(reader: LogReader, options: LogBlocksOptions, listener: LogBlocksListener) {
    this.#reader = reader
    this.#options = options
    this.#cursor = new LogCursor({
      segmentFor: (height) => reader.gaps.findPastGap(height),
      beginSegment: (segment) => this.#beginSegment(segment),
    })
    const { stored, strict } = options
    const mayMiss = (missing: HeightRange) => this.#mayMiss(missing)
    this.#blocks = new NeededBlocks({ segments: reader.segments, stored, strict, mayMiss, ...listener })
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#blocks.coverage
  }

  /** How far the segment that was read last was read; null before the first, and once it was left. */
  get offset(): SegmentOffset | null {
    const { reading } = this.#cursor
    return reading === null ? null : { segment: reading.segment, offset: reading.frames.offset }
  }

  /** Why the last piece could not be read, if reading may go on where it was; otherwise null. */
  get fault(): LogUnreachableError | null {
    return this.#fault
  }

  /**
   * Reads the next piece, and hands on the blocks that end in it; false if there is nothing to read yet, or because of a
   * {@link fault}.
   *
   * @throws {GapError} if something is missing, unless that is accepted.
   * @throws {ChainError} for an event of another chain.
   * @throws {StrictError} for an invalid event, if `strict`.
   * @throws {LogUnreachableError} if the segment that was being read is gone, and none that can be read has the block.
   * @throws {NewerLogError} when a log's head is of a later version.
   */
  async readPiece(): Promise<boolean> {
    this.#fault = null
    const { needed } = this.#blocks
    if (needed === null) return false
    let reading: SegmentReading | null
    try {
      reading = await this.#cursor.read(needed)
    } catch (error) {
      return this.#leaveUnread(needed, error)
    }
    if (reading === null) return false
    this.#handOn(reading)
    return true
  }

  /**
   * Hands on what was read, and leaves the segment if that is enough of it.
   *
   * @throws {GapError} if blocks are missing that are not elsewhere, and must not be.
   */
  #handOn(reading: SegmentReading): void {
    try {
      reading.frames.handOn()
      this.#noteEnd(reading)
    } catch (error) {
      if (isUnreadable(error)) this.#noteDamage(reading.segment, error)
      else if (!(error instanceof LeaveSegment)) throw error
      this.#cursor.leave()
    }
  }

  /**
   * The next bytes of a segment cannot be read. Returns whether it was left, for another one or for what follows; otherwise the
   * {@link fault} is waited for.
   *
   * @throws the error, if it is neither damage nor a fault of reading, or there is no segment.
   * @throws {LogUnreachableError} if the segment is gone.
   */
  #leaveUnread(needed: bigint, error: unknown): boolean {
    const segment = this.#cursor.reading?.segment
    if (segment === undefined) throw error
    if (isUnreadable(error)) {
      this.#noteDamage(segment, error)
      this.#cursor.leave()
      return true
    }
    const fault = faultOf(error)
    if (fault === null) throw error
    this.#reader.segments.noteRefused(segment)
    if (this.#isNextAvailable(needed) || this.#doWithout(segment, needed, fault.message)) {
      this.#cursor.leave()
      return true
    }
    // Of a segment that is gone nothing can be read later, and the log may have no other one.
    if (segment.log.current(segment) === null) throw fault
    this.#fault = fault
    return false
  }

  /** Whether the segment that comes next, to read a block or what follows it, can be read at the moment. */
  #isNextAvailable(height: bigint): boolean {
    const { gaps, segments } = this.#reader
    const next = gaps.findPastGap(height)
    return next !== null && segments.isAvailable(next)
  }

  /**
   * A segment with the needed block cannot be read at the moment. If an operator has accepted that this and the blocks after it are
   * missing, and what follows them can be read, the log is not waited for: they are noted as unreadable in the segment. Returns whether
   * that is so.
   */
  #doWithout(segment: LogSegment, needed: bigint, reason: string): boolean {
    const accepted = rangeWith(this.#options.accepted, needed)
    if (accepted === null || !this.#isNextAvailable(accepted.to + 1n)) return false
    this.#reader.segments.noteUnreadable(segment, { from: needed, to: accepted.to, reason })
    return true
  }

  /** Begins a segment, and returns what receives its frames. */
  #beginSegment(segment: LogSegment): RecordSink {
    const ofLog = segment.log.chainId
    this.#blocks.beginSegment(this.#options.chain ?? ofLog)
    return (bytes, start, end, position) => {
      const reading = this.#cursor.reading!
      const accept = () => this.#accept(reading, bytes, start, end, position)
      try {
        accept()
      } catch (error) {
        // A log is of one chain: an event of another one is damaged.
        const isOfOther = error instanceof ChainError && ofLog !== null && ofLog === this.#blocks.chainId
        if (isUnreadable(error) || isOfOther) this.#noteUnreadableEvent(reading, error)
        else if (error instanceof GapError) {
          this.#noteGap(reading, error)
          // The event may begin another block than the one that is passed over.
          this.#orNoteGap(reading, accept)
        } else throw error
      }
    }
  }

  /** Takes an event; throws what `NeededBlocks.accept` throws, and {@link LeaveSegment}. */
  #accept(
    reading: SegmentReading,
    bytes: Buffer,
    start: number,
    end: number,
    position: RecordPosition,
  ): void {
    const begun = this.#blocks.accept(bytes, start, end, position)
    if (begun !== null) this.#noteSkipped(reading, begun)
  }

  // What a segment turns out not to have is noted. All but the last of these throw LeaveSegment if it is elsewhere.

  /** Once all of a segment was handed on: notes the last blocks that its name promises, and it does not have. */
  #noteEnd(reading: SegmentReading): void {
    const { segment, frames, isAtEnd } = reading
    // It may have grown since reading began.
    const current = segment.log.current(segment) ?? segment
    const { last } = current
    if (!isAtEnd && !isReadToEnd(current, frames.offset)) return
    this.#noteSkipped(reading, last + 1n)
    // A part of it that no segment has is missing without a sign: whether a chain has it is not known.
    if (isAtEnd && last === 1n) this.#orNoteGap(reading, () => this.#blocks.endBlockOne())
  }

  /**
   * Another block comes where the needed one should.
   *
   * @param next the block that has begun, or the one after the segment's last
   */
  #noteSkipped(reading: SegmentReading, next: bigint): void {
    const from = this.#blocks.needed
    if (from === null || from >= next) return
    this.#noteMissing(reading, { from, to: next - 1n })
  }

  /**
   * There is a gap. A block in a gap of the store is passed over.
   *
   * @throws {GapError} any other gap that is not elsewhere.
   */
  #noteGap(reading: SegmentReading, gap: GapError): void {
    this.#blocks.drop()
    this.#noteMissing(reading, gap)
    if (!this.#isBelowNeeded(gap)) throw gap
  }

  /** Does work, and notes a gap that it finds. */
  #orNoteGap(reading: SegmentReading, work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof GapError)) throw error
      this.#noteGap(reading, error)
    }
  }

  /** An event cannot be read: notes the block that it is in, which is dropped. */
  #noteUnreadableEvent(reading: SegmentReading, { message }: Error): void {
    const { logger } = this.#options
    if (!this.#blocks.isOpen) {
      logger.warn(`live ingestion: the beginning of a block cannot be read: ${message}`)
      return
    }
    const height = this.#blocks.drop()
    if (height === null) return
    logger.warn(`live ingestion: block ${height} cannot be read: ${message}`)
    this.#noteMissing(reading, { from: height, to: height }, message)
  }

  /** Notes everything in a segment from the needed block on. */
  #noteDamage(segment: LogSegment, { message: reason }: Error): void {
    const from = this.#blocks.needed
    if (from === null) return
    this.#options.logger.warn(
      `live ingestion: ${segment.name} cannot be read from block ${from} on: ${reason}`,
    )
    this.#reader.segments.noteUnreadable(segment, { from, to: null, reason })
  }

  /**
   * Notes blocks that a segment turned out not to have, as far as its name promises them, with the needed one if that should have
   * come before.
   *
   * @throws {LeaveSegment} if they are elsewhere, and not below the needed one.
   */
  #noteMissing(
    { segment }: SegmentReading,
    { from, to }: HeightRange,
    reason = `${segment.name} does not have it with all its events`,
  ): void {
    const needed = this.#blocks.needed ?? from
    this.#reader.segments.noteUnreadable(segment, { from: needed < from ? needed : from, to, reason })
    if (!this.#isBelowNeeded({ to }) && this.#areElsewhere(segment, { from, to })) throw new LeaveSegment()
  }

  /** Whether blocks may be missing, of which not all events are in the segment that is read. */
  #mayMiss(missing: HeightRange): boolean {
    const { allowGap, accepted } = this.#options
    const isAllowed = allowGap || holdAll(accepted, missing)
    if (!isAllowed || this.#isBelowNeeded(missing)) return false
    return !this.#areElsewhere(this.#cursor.reading!.segment, missing)
  }

  #isBelowNeeded({ to }: Pick<HeightRange, 'to'>): boolean {
    const { needed } = this.#blocks
    return needed !== null && to < needed
  }

  /** Whether another segment than the one that is read has one of some blocks, or a log may still get the first. */
  #areElsewhere(segment: LogSegment, { from, to }: HeightRange): boolean {
    const { segments, gaps } = this.#reader
    if (gaps.waitsFor(from).length > 0) return true
    const next = segments.nextAfter(from - 1n, { except: segment })
    return next !== null && next <= to
  }
}

/** Whether an error is damage in the log; the other EventStreamErrors are about what is missing, or refused by a setting. */
function isUnreadable(error: unknown): error is EventStreamError {
  const isOther = error instanceof GapError || error instanceof ChainError || error instanceof StrictError
  return error instanceof EventStreamError && !isOther
}

/** What operators are told of bytes that cannot be read; null for other errors, such as a log of a later version. */
function faultOf(error: unknown): LogUnreachableError | null {
  if (!isReadFault(error)) return null
  return new LogUnreachableError(`the event log cannot be read (${error.code ?? error.message})`, {
    cause: error,
  })
}
