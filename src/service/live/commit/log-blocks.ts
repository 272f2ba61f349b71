// The way from the bytes of event logs to blocks for the store.
import type { Logger } from 'pino'
import { type Block, ChainError, GapError, StrictError } from '#core/blocks/block'
import type { Coverage } from '#core/domain/coverage'
import { type HeightRange, holdAll } from '#core/domain/height-ranges'
import type { LeftOutReason } from '#core/events/left-out'
import { isReadToEnd, isSameSegment, type LogSegment, type SegmentOffset } from '#core/log/read/followed-log'
import { LogCursor, type SegmentReading } from '#core/log/read/log-cursor'
import type { LogReader } from '#core/log/read/log-reader'
import { LogUnreachableError } from '#core/log/read/log-source'
import type { ChoiceOptions } from '#core/log/read/segment-choice'
import type { RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { NeededBlocks } from './needed-blocks.ts'

/** Thrown by the sink of a segment, to leave it: a block of it is taken from another one. Caught where the segment is read. */
class LeaveSegment extends Error {
  override name = 'LeaveSegment'
}

/** Why blocks are missing, and whether only whole ones of another segment count. */
type MissingOptions = ChoiceOptions & { reason?: string }

type LogBlocksOptions = {
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
  /** The required chain of events; null: that of the log's head. */
  chain: string | null
  /** Whether blocks that no log has whole may be missing; gaps are recorded. */
  allowGap: boolean
  /** Heights of which any may be missing: ascending, without overlap. */
  accepted: readonly HeightRange[]
  strict: boolean
  logger: Logger
}

type LogBlocksListener = {
  /** Called with each whole block. */
  onBlock: (block: Block) => void
  /** Called with each event that is left out, and why. */
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

/**
 * The blocks of event logs that a store does not have, in their order. This reads segments, and decides when one is left for
 * another one; `NeededBlocks` assembles the blocks, and says which comes next.
 *
 * Damage is no end: a block of which an event cannot be read is taken from another segment, or is missing. What a segment turns
 * out not to have is noted in `SegmentChoice`, and if another segment has it, this one is left:
 *
 * | found in a segment | noted as unreadable there | the segment |
 * |---|---|---|
 * | damaged frames, or it cannot be inflated | the needed block, and all after it | is left |
 * | its bytes cannot be read at the moment | nothing; for a while others go first | is left if another one has the block |
 * | an event that cannot be decoded, or of another chain than the log | its block | is left if another one has the block |
 * | a block begins, or the segment ends, after the block that the store needs | those between | is left if another one has any |
 * | blocks are missing, or incomplete | these blocks | is left if another one has any whole; otherwise they may be missing, or it is a gap |
 *
 * For damage, and whenever a segment is left, the open block is forgotten; otherwise the same segment is read on.
 *
 * A segment is left only for the block that it was begun for, or a later one. A block below that, in a gap of the store, is taken if
 * it is whole, and otherwise passed over: no gap is thrown for it.
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
    this.#cursor = new LogCursor(reader, (segment) => this.#sinkOf(segment))
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
   * @throws {LogUnreachableError} if the segment that was being read is gone.
   */
  async readPiece(): Promise<boolean> {
    this.#fault = null
    const needed = this.#blocks.next()
    if (needed === null) return false
    let reading: SegmentReading | null
    try {
      reading = await this.#cursor.read(needed)
    } catch (error) {
      return this.#leaveUnread(needed, error)
    }
    if (reading === null) return false
    try {
      this.#handOn(reading)
    } catch (error) {
      if (isUnreadable(error)) this.#cannotReadRest(reading.segment, error)
      else if (!(error instanceof LeaveSegment)) throw error
      this.#cursor.leave()
    }
    return true
  }

  /** @throws {LeaveSegment} if blocks turn out to be missing that another segment has. */
  #handOn(reading: SegmentReading): void {
    const { segment, frames } = reading
    const following = frames.handOn()
    // It may have grown since reading began.
    const current = segment.log.current(segment) ?? segment
    if (following === 'nothing' || isReadToEnd(current, frames.offset))
      this.#leaveIfMissing(reading, current.last + 1n)
    // A segment ends with a whole block.
    if (following === 'nothing') this.#blocks.forgetOpen()
    this.#blocks.wasRead()
  }

  /**
   * The next bytes of a segment cannot be read. Returns whether it was left, for another one or for what follows; otherwise the
   * {@link fault} is waited for.
   *
   * @throws the error, if it is neither damage nor a fault of reading.
   * @throws {LogUnreachableError} if no segment is being read, or that is gone.
   */
  #leaveUnread(needed: bigint, error: unknown): boolean {
    const segment = this.#cursor.reading?.segment
    const fault = faultOf(error)
    if (segment === undefined) throw fault ?? error
    if (isUnreadable(error)) {
      this.#cannotReadRest(segment, error)
      this.#cursor.leave()
      return true
    }
    if (fault === null) throw error
    this.#reader.segments.noteRefused(segment)
    if (this.#isElsewhere(needed, segment)) {
      this.#blocks.forgetOpen()
      this.#cursor.leave()
      return true
    }
    // A segment that is gone is not read on: the block is looked for anew.
    if (segment.log.current(segment) === null) throw fault
    this.#fault = fault
    return false
  }

  /** Whether a block can be read from another segment than this one, which cannot be read at the moment. */
  #isElsewhere(needed: bigint, segment: LogSegment): boolean {
    const { segments } = this.#reader
    const other = segments.find(needed)
    return other !== null && segments.isAvailable(other) && !isSameSegment(other, segment)
  }

  #sinkOf(segment: LogSegment): RecordSink {
    const ofLog = segment.log.chainId
    const expected = this.#options.chain ?? ofLog
    return (bytes, start, end, position) => {
      const reading = this.#cursor.reading!
      try {
        const begun = this.#blocks.accept(bytes, start, end, position)
        this.#checkChain(expected, position)
        if (begun !== null) this.#leaveIfMissing(reading, begun)
      } catch (error) {
        if (error instanceof GapError) {
          this.#leaveForGap(reading, error)
          return
        }
        // A log is of one chain: an event of another one is damaged.
        const isOfLog = error instanceof ChainError && ofLog !== null && ofLog === expected
        if (!isUnreadable(error) && !(isOfLog && this.#isOfChain(ofLog))) throw error
        this.#cannotReadEvent(reading, error)
      }
    }
  }

  /** @throws {ChainError} if the first event was of another chain than expected. */
  #checkChain(expected: string | null, position: RecordPosition): void {
    const { chainId } = this.#blocks
    if (expected === null || chainId === expected) return
    throw new ChainError(
      `an event of chain ${JSON.stringify(chainId)}, but ${JSON.stringify(expected)} is expected`,
      position,
    )
  }

  /** Whether the store is of a chain, or empty. */
  #isOfChain(chain: string): boolean {
    const stored = this.#blocks.coverage
    return stored === null || stored.chainId === chain
  }

  /**
   * Leaves a segment in which the needed blocks do not precede another one, although its name promises them, if another segment has
   * them.
   *
   * @throws {LeaveSegment}
   *
   * @param next the block that has begun, or the one after the segment's last
   */
  #leaveIfMissing(reading: SegmentReading, next: bigint): void {
    const from = this.#blocks.nextAfterHandedOn()
    if (from === null || from >= next) return
    this.#leaveWithout(reading, { from, to: next - 1n })
  }

  /** Whether blocks that are missing in the segment that is read, or incomplete, may be: not if another one has any of them whole. */
  #mayMiss(missing: HeightRange): boolean {
    return this.#isAllowed(missing) && !this.#isInOther(this.#cursor.reading!, missing, { wantsWhole: true })
  }

  #isAllowed(missing: HeightRange): boolean {
    const { allowGap, accepted } = this.#options
    return allowGap || holdAll(accepted, missing)
  }

  /**
   * Leaves a segment because of a gap, if another one has one of the missing blocks whole. A block in a gap of the store, which is
   * not whole here either, is passed over.
   *
   * @throws {LeaveSegment}
   * @throws {GapError} the error, if none has.
   */
  #leaveForGap(reading: SegmentReading, error: GapError): void {
    this.#blocks.beginAnew()
    this.#leaveWithout(reading, error, { wantsWhole: true })
    if (error.to >= reading.begunFor) throw error
  }

  /**
   * Passes over an event, and over the block that it is in; leaves the segment if another one has that.
   *
   * @throws {LeaveSegment}
   */
  #cannotReadEvent(reading: SegmentReading, { message }: Error): void {
    if (!this.#blocks.isOpen) {
      this.#options.logger.warn(`live ingestion: the beginning of a block cannot be read: ${message}`)
      return
    }
    const height = this.#blocks.forgetOpen()
    if (height === null) return
    this.#options.logger.warn(`live ingestion: block ${height} cannot be read: ${message}`)
    this.#leaveWithout(reading, { from: height, to: height }, { reason: message })
  }

  /**
   * Leaves a segment that turned out not to have some blocks, if another one has any of them.
   *
   * @throws {LeaveSegment}
   */
  #leaveWithout(reading: SegmentReading, missing: HeightRange, options: MissingOptions = {}): void {
    if (!this.#isInOther(reading, missing, options)) return
    this.#blocks.reached(missing.from)
    this.#blocks.forgetOpen()
    throw new LeaveSegment()
  }

  /**
   * Notes blocks that a segment turned out not to have, as far as its name promises them. Returns whether another one has any of
   * them; false for blocks below the one that it was begun for. If they may be missing, one that cannot be read at the moment does
   * not count.
   */
  #isInOther(
    { segment, begunFor }: SegmentReading,
    missing: HeightRange,
    { reason = `${segment.name} does not have it with all its events`, ...choice }: MissingOptions,
  ): boolean {
    const { segments } = this.#reader
    const { from, to } = missing
    segments.noteUnreadable(segment, { from, to, reason })
    if (to < begunFor) return false
    const next = segments.nextAfter(from - 1n, choice)
    if (next === null || next > to) return false
    return !this.#isAllowed(missing) || segments.isAvailable(segments.find(next, choice)!)
  }

  /** Passes over everything in a segment from the next block on. */
  #cannotReadRest(segment: LogSegment, { message }: Error): void {
    const from = this.#blocks.next()
    this.#blocks.forgetOpen()
    if (from === null) return
    this.#options.logger.warn(
      `live ingestion: ${segment.name} cannot be read from block ${from} on: ${message}`,
    )
    this.#reader.segments.noteUnreadable(segment, { from, to: null, reason: message })
    this.#blocks.reached(from)
  }
}

/** Whether an error is damage in the log; all others are about what is missing, or refused by a setting. */
function isUnreadable(error: unknown): error is EventStreamError {
  const isOther = error instanceof GapError || error instanceof ChainError || error instanceof StrictError
  return error instanceof EventStreamError && !isOther
}

/** What operators are told of bytes that cannot be read; null for other errors, such as a log of a later version. */
function faultOf(error: unknown): LogUnreachableError | null {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined && !(error instanceof LogUnreachableError)) return null
  return new LogUnreachableError(`the event log cannot be read (${code ?? message})`, { cause: error })
}
