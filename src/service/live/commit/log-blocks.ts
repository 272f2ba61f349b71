// The way from the bytes of event logs to blocks for the store: what it means that a segment is damaged, ends early or cannot be read.
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

/** Ends the reading of a segment before its end; caught in `LogBlocks.#handOn`. */
class LeaveSegment extends Error {
  override name = 'LeaveSegment'
}

type LogBlocksOptions = {
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
  /** The required chain of events; null: the store's, or else that of the log's head. */
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

/** What becomes of blocks that are missing, or incomplete, in the segment that is read. */
type Decision = 'pass over' | 'leave' | 'record' | 'gap'

/**
 * The blocks of event logs that a store does not have, in their order. This reads segments, and decides when one is left for
 * another one; `NeededBlocks` assembles the blocks, and says which comes next.
 *
 * Damage is no end: a block of which an event cannot be read is taken from another segment, or is missing. What a segment turns
 * out not to have is given up there: it is noted in `SegmentChoice`, so that the segment is not chosen for that again.
 *
 * | found in a segment | given up there | then |
 * |---|---|---|
 * | damaged frames, or it cannot be inflated | the needed block, and all after it | the segment is left |
 * | bytes that cannot be read at the moment | nothing, or accepted blocks | see `#onReadError` |
 * | within a block, an event that cannot be decoded, or is of another chain than the log | the block | it is decided |
 * | blocks are missing or incomplete, also because the segment ends before the needed one | these blocks | it is decided |
 *
 * | decision | if the blocks | what happens |
 * |---|---|---|
 * | pass over | are below the needed one: in a gap of the store, of which a block is taken only if it is whole | reading goes on |
 * | leave | may come from another segment | the segment is left |
 * | record | may be missing (`allowGap`, `accepted`) | reading goes on, and the assembler records them as missing, or incomplete |
 * | gap | are none of these | the GapError |
 *
 * The assembler asks by `mayMiss`, which is true only for *record*. Otherwise it throws a GapError, and `#giveUpGap` decides.
 * Whenever a segment is left, it is not chosen again for the needed block, or others go first for a minute: so this ends. Random logs
 * are played against these rules in test/log/damaged-logs.test.ts and changing-logs.test.ts; more of them are in test/live/log-blocks.test.ts.
 */
export class LogBlocks {
  readonly #reader: LogReader
  readonly #options: LogBlocksOptions
  readonly #cursor: LogCursor
  readonly #blocks: NeededBlocks
  #fault: LogUnreachableError | null = null
  /** Whether events outside of blocks that cannot be read were reported for this segment. */
  #hasReportedOutside = false

  constructor(reader: LogReader, options: LogBlocksOptions, listener: LogBlocksListener) {
    this.#reader = reader
    this.#options = options
    this.#cursor = new LogCursor({
      // Past a gap between segments, its first block makes the assembler ask whether those before it may be missing.
      segmentFor: (height) => reader.gaps.findPastGap(height),
      beginSegment: (segment) => this.#beginSegment(segment),
    })
    const { stored, strict } = options
    const mayMiss = (missing: HeightRange) => this.#decide(missing) === 'record'
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
   * @throws {GapError} if blocks are missing, or incomplete, that must not be (`allowGap`, `accepted`).
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
      return this.#onReadError(needed, error)
    }
    if (reading === null) return false
    this.#handOn(reading)
    return true
  }

  /**
   * Hands on what was read. Leaves the segment at damage, or if what it does not have is elsewhere.
   *
   * @throws {GapError} if blocks are missing that are not elsewhere, and must not be.
   */
  #handOn(reading: SegmentReading): void {
    try {
      reading.frames.handOn()
      this.#endSegment(reading)
    } catch (error) {
      if (isUnreadable(error)) this.#noteRest(reading.segment, error)
      else if (!(error instanceof LeaveSegment)) throw error
      this.#cursor.leave()
    }
  }

  /**
   * The next bytes of a segment cannot be read. Returns whether it was left:
   *
   * - if they are damaged;
   * - if they cannot be read at the moment, and another segment with the needed block can be: for a minute, others go first;
   * - if an operator does without the needed block, and what follows can be read (`#noteAccepted`).
   *
   * Otherwise the {@link fault} is set, and the same bytes are read again by the next call.
   *
   * @throws the error, if it is neither damage nor a fault of reading, or there is no segment.
   * @throws {LogUnreachableError} if the segment is gone.
   */
  #onReadError(needed: bigint, error: unknown): boolean {
    const segment = this.#cursor.reading?.segment
    if (segment === undefined) throw error
    if (isUnreadable(error)) {
      this.#noteRest(segment, error)
      this.#cursor.leave()
      return true
    }
    const fault = faultOf(error)
    if (fault === null) throw error
    // Before both questions: from now on, another one with the block is chosen, if there is one.
    this.#reader.segments.noteRefused(segment)
    if (this.#isNextAvailable(needed) || this.#noteAccepted(segment, needed, fault.message)) {
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
   * If an operator has accepted that the needed block and those after it are missing, and what follows them can be read: notes that a
   * segment that cannot be read at the moment does not have them. Returns whether that is so.
   */
  #noteAccepted(segment: LogSegment, needed: bigint, reason: string): boolean {
    const accepted = rangeWith(this.#options.accepted, needed)
    if (accepted === null || !this.#isNextAvailable(accepted.to + 1n)) return false
    this.#reader.segments.noteUnreadable(segment, { from: needed, to: accepted.to, reason })
    return true
  }

  /** Begins a segment, and returns what receives its frames. */
  #beginSegment(segment: LogSegment): RecordSink {
    this.#blocks.beginSegment(this.#options.chain ?? segment.log.chainId)
    this.#hasReportedOutside = false
    return (bytes, start, end, position) => this.#takeEvent(bytes, start, end, position)
  }

  /**
   * Takes an event of the segment that is read, and gives up what it shows to be missing there.
   *
   * @throws GapError, ChainError and StrictError, as {@link readPiece} says.
   * @throws {LeaveSegment}
   */
  #takeEvent(bytes: Buffer, start: number, end: number, position: RecordPosition): void {
    const reading = this.#cursor.reading!
    let begun: bigint | null = null
    try {
      begun = this.#blocks.accept(bytes, start, end, position)
    } catch (error) {
      if (isUnreadable(error) || this.#isOfOtherChain(reading.segment, error))
        this.#giveUpOpen(reading, error)
      else if (error instanceof GapError) {
        this.#giveUpGap(reading, error)
        // It may be the beginning of block 2, which was refused because of block 1. That is dropped now.
        this.#takeEvent(bytes, start, end, position)
      } else throw error
    }
    if (begun !== null) this.#giveUpBefore(begun, reading)
  }

  /** A log is of one chain: if that is the required one, an event of another chain is damaged. */
  #isOfOtherChain({ log }: LogSegment, error: unknown): error is ChainError {
    return error instanceof ChainError && log.chainId !== null && log.chainId === this.#blocks.chainId
  }

  /**
   * Once all of a segment was handed on: gives up the last blocks that its name promises, and it does not have.
   *
   * @throws {LeaveSegment}
   */
  #endSegment(reading: SegmentReading): void {
    const { segment, frames, isAtEnd } = reading
    // It may have grown since reading began.
    const current = segment.log.current(segment) ?? segment
    const { last } = current
    // Of block 1, the other part may follow in a segment that is being written.
    const isRead = isAtEnd || (last > 1n && isReadToEnd(current, frames.offset))
    if (!isRead) return
    this.#giveUpBefore(last + 1n, reading)
    if (last === 1n) this.#endBlockOne(reading)
  }

  /** No other segment has block 1, or it would have been left for that. It is handed on with one part: a chain may have only one. */
  #endBlockOne(reading: SegmentReading): void {
    try {
      this.#blocks.endBlockOne()
    } catch (error) {
      if (!(error instanceof GapError)) throw error
      this.#giveUpGap(reading, error)
    }
  }

  // What a segment turns out not to have is given up.

  /**
   * Another block comes where the needed one should: that which has begun, or the one after the segment's last.
   *
   * @throws {LeaveSegment}
   */
  #giveUpBefore(next: bigint, reading: SegmentReading): void {
    const from = this.#blocks.needed
    if (from !== null && from < next) this.#giveUp({ from, to: next - 1n }, reading)
  }

  /**
   * The assembler has found a gap.
   *
   * @throws {LeaveSegment | GapError} unless it is passed over.
   */
  #giveUpGap(reading: SegmentReading, gap: GapError): void {
    this.#blocks.drop()
    const decision = this.#giveUp(gap, reading)
    // A log may have stopped getting the block since the assembler asked. It is dropped: to be recorded, it is read again.
    if (decision === 'record') throw new LeaveSegment()
    if (decision === 'gap') throw gap
  }

  /**
   * An event cannot be read: the block that is open is dropped. If the segment is not left, the beginning of the next block shows that
   * it is missing.
   *
   * @throws {LeaveSegment}
   */
  #giveUpOpen(reading: SegmentReading, { message }: Error): void {
    if (!this.#blocks.isOpen) {
      this.#reportOutside(message)
      return
    }
    const height = this.#blocks.drop()
    if (height === null) return
    this.#options.logger.warn(`live ingestion: block ${height} cannot be read: ${message}`)
    this.#giveUp({ from: height, to: height }, reading, message)
  }

  /** Reports that events outside of blocks cannot be read, such as the rest of a dropped block: once of a segment. */
  #reportOutside(reason: string): void {
    if (this.#hasReportedOutside) return
    this.#hasReportedOutside = true
    this.#options.logger.warn(
      `live ingestion: an event outside any block, or the first one of a block, cannot be read: ${reason}`,
    )
  }

  /** The rest of a segment cannot be read. The caller leaves it. */
  #noteRest(segment: LogSegment, { message: reason }: Error): void {
    const from = this.#blocks.needed
    if (from === null) return
    this.#options.logger.warn(
      `live ingestion: ${segment.name} cannot be read from block ${from} on: ${reason}`,
    )
    this.#reader.segments.noteUnreadable(segment, { from, to: null, reason })
  }

  /**
   * Notes that the segment has none of these blocks, nor any from the needed one up to them, which would have come earlier. The needed
   * block is another one then, if it was the incomplete last one of the store. Returns what is decided.
   *
   * @throws {LeaveSegment} if that is to leave.
   */
  #giveUp(
    missing: HeightRange,
    { segment }: SegmentReading,
    reason = `${segment.name} does not have it with all its events`,
  ): Exclude<Decision, 'leave'> {
    const { needed } = this.#blocks
    const from = needed !== null && needed < missing.from ? needed : missing.from
    this.#reader.segments.noteUnreadable(segment, { from, to: missing.to, reason })
    const decision = this.#decide(missing)
    if (decision === 'leave') throw new LeaveSegment()
    return decision
  }

  #decide(missing: HeightRange): Decision {
    const { needed } = this.#blocks
    if (needed !== null && missing.to < needed) return 'pass over'
    const { segment } = this.#cursor.reading!
    if (this.#reader.gaps.mayComeFromAnother(missing, segment)) return 'leave'
    const { allowGap, accepted } = this.#options
    return allowGap || holdAll(accepted, missing) ? 'record' : 'gap'
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
