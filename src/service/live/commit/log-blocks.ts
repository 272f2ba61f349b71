// The way from the bytes of event logs to blocks for the store.
import type { Logger } from 'pino'
import { type Block, ChainError, GapError, StrictError } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { HeightRange } from '#core/domain/height-ranges'
import type { LeftOutReason } from '#core/events/left-out'
import { isReachable, isSameSegment, type LogSegment, type SegmentOffset } from '#core/log/read/followed-log'
import { LogCursor, type SegmentReading } from '#core/log/read/log-cursor'
import type { LogReader } from '#core/log/read/log-reader'
import { ShortSegmentError } from '#core/log/read/read-segment'
import type { ChoiceOptions } from '#core/log/read/segment-choice'
import type { Unreadable } from '#core/log/read/unreadable-blocks'
import { LogServerError } from '#core/log/read/url/log-server'
import type { RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { StoreError } from '#core/store/errors'

/** An event log, or a segment of it, cannot be read at the moment. */
export class LogUnreachableError extends StoreError {
  override name = 'LogUnreachableError'
}

/** Thrown by the sink of a segment, to leave it: a block of it is taken from another one. Caught where the segment is read. */
class LeaveSegment extends Error {
  override name = 'LeaveSegment'
}

/** Blocks that a segment turned out not to have, and why. */
type MissingBlocks = HeightRange & Pick<Unreadable, 'reason'>

type LogBlocksOptions = {
  /** The store's coverage; null while it is empty. */
  stored: Coverage | null
  /** The required chain of events; null: that of the log's head. */
  chain: string | null
  allowGap: boolean
  strict: boolean
  /** Heights whose gaps are accepted: ascending, without overlap. */
  accepted: readonly HeightRange[]
  logger: Logger
}

type LogBlocksListener = {
  /** Called with each whole block. */
  onBlock: (block: Block) => void
  /** Called with each event that is left out, and why. */
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
}

/**
 * The blocks of event logs that a store does not have, in their order. Damage is no end: a block of which an event cannot be
 * read is taken from another segment, or is missing. What a segment turns out not to have is noted in `SegmentChoice`, and
 * if another segment has it, this one is left:
 *
 * | found in a segment | noted as unreadable there | the segment |
 * |---|---|---|
 * | damaged frames, or it cannot be inflated | the needed block, and all after it | is left |
 * | its bytes cannot be read at the moment | nothing; for a while others go first | is left if another one has the block |
 * | an event that cannot be decoded, or of another chain than the log | its block | is left if another one has the block |
 * | a block begins, or the segment ends, after the block that the store needs | those between | is left if another one has any |
 * | the assembler refuses a gap | the missing blocks | is left if another one has any, whole; otherwise the gap is thrown |
 *
 * For damage, and whenever a segment is left, the open block is forgotten: a new assembler goes on after the last whole block.
 * Otherwise the same one goes on in the same segment.
 *
 * A segment is left only for the block that it was begun for, or a later one. A block below that, in a gap of the store, is taken if
 * it is whole, and otherwise passed over: no gap is thrown for it.
 */
export class LogBlocks {
  readonly #reader: LogReader
  readonly #options: LogBlocksOptions
  readonly #listener: LogBlocksListener
  readonly #cursor: LogCursor
  #assembler: BlockAssembler
  /** The store's last block until something was read: it is read again if a log has it, since the store may have a part of it. */
  #readAgain: bigint | null
  /** What the cursor was last asked for: the open block, which may be below the store's last one; the store's last one; or the next. */
  #needed = 0n
  /** The block that the segment that is being read was begun for. */
  #begunFor = 0n
  /** The segment that was left last, and for which block another one was to be read; null once that is read. */
  #left: { segment: LogSegment; needed: bigint } | null = null
  #fault: LogUnreachableError | null = null

  constructor(reader: LogReader, options: LogBlocksOptions, listener: LogBlocksListener) {
    this.#reader = reader
    this.#options = options
    this.#listener = listener
    this.#readAgain = options.stored?.height ?? null
    this.#cursor = new LogCursor(reader, (segment) => {
      this.#begunFor = this.#needed
      return this.#sinkOf(segment)
    })
    this.#assembler = this.#assemblerFor(options.stored)
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#assembler.coverage
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
    const needed = this.#nextToRead()
    if (needed === null) return false
    this.#needed = needed
    let reading: SegmentReading | null
    try {
      reading = await this.#cursor.read(needed)
    } catch (error) {
      return this.#leaveUnread(error)
    }
    if (reading === null) return false
    const { segment } = reading
    this.#refuseAgain(segment)
    try {
      if (reading.frames.handOn() === 'nothing') {
        this.#leaveIfMissing(segment)
        // A segment ends with a whole block.
        this.#forgetOpenBlock()
      }
      this.#readAgain = null
    } catch (error) {
      if (isUnreadable(error)) this.#cannotReadRest(segment, error)
      else if (!(error instanceof LeaveSegment)) throw error
      this.#leave(segment)
    }
    return true
  }

  /** The block to read next, from its beginning on; null if the logs and the store are empty. A block that is open is read on. */
  #nextToRead(): bigint | null {
    const { pendingHeight, isBlockOpen } = this.#assembler
    if (isBlockOpen && pendingHeight !== null) return pendingHeight
    const again = this.#readAgain
    return again !== null && this.#reader.segments.find(again) !== null ? again : this.#nextAfterHandedOn()
  }

  /**
   * The first block that the store will not have once every block handed on is committed; null if the logs are empty, too. A block
   * that is open is not handed on, but block 1 is whole before it is handed on, when another one begins.
   */
  #nextAfterHandedOn(): bigint | null {
    const { height, pendingHeight, isBlockOpen } = this.#assembler
    if (height !== null) return height + 1n
    return pendingHeight === 1n && !isBlockOpen ? 2n : this.#reader.segments.lowest()
  }

  /**
   * The next bytes of a segment cannot be read. Returns whether it was left, for another one or for what follows; otherwise the
   * {@link fault} is waited for.
   *
   * @throws the error, if it is neither damage nor a fault of reading.
   * @throws {LogUnreachableError} if the segment is gone.
   */
  #leaveUnread(error: unknown): boolean {
    const segment = this.#cursor.reading?.segment
    if (segment === undefined) throw error
    if (isUnreadable(error)) this.#cannotReadRest(segment, error)
    else {
      const fault = faultOf(error)
      if (fault === null) throw error
      this.#reader.segments.noteRefused(segment)
      if (!this.#isElsewhere(this.#needed, segment)) {
        // A segment that is gone is not read on: the block is looked for anew.
        if (segment.log.current(segment) === null) throw fault
        this.#fault = fault
        return false
      }
      this.#forgetOpenBlock()
    }
    this.#leave(segment)
    return true
  }

  /** Leaves a segment: what is needed next is looked for in others, too. */
  #leave(segment: LogSegment): void {
    this.#left = { segment, needed: this.#needed }
    this.#cursor.leave()
  }

  /** @throws {LogUnreachableError} for the segment that was left for the same block: it would be read again and again. */
  #refuseAgain(segment: LogSegment): void {
    const left = this.#left
    this.#left = null
    if (left === null || left.needed !== this.#needed || !isSameSegment(left.segment, segment)) return
    throw new LogUnreachableError(
      `${segment.name} was left for block ${this.#needed}, and chosen again; report this if it lasts`,
    )
  }

  /** Whether a block can be read from another segment than this one, which cannot be read at the moment. */
  #isElsewhere(needed: bigint, segment: LogSegment): boolean {
    const other = this.#reader.segments.find(needed)
    return other !== null && isReachable(other) && !isSameSegment(other, segment)
  }

  #sinkOf(segment: LogSegment): RecordSink {
    const ofLog = segment.log.chainId
    const expected = this.#options.chain ?? ofLog
    return (bytes, start, end, position) => {
      try {
        const before = this.#assembler.pendingHeight
        this.#assembler.accept(bytes, start, end, position)
        this.#checkChain(expected, position)
        const { pendingHeight } = this.#assembler
        if (pendingHeight === null || pendingHeight === before) return
        this.#readFurtherThan(pendingHeight)
        this.#leaveIfMissing(segment, pendingHeight)
      } catch (error) {
        if (error instanceof GapError) {
          this.#leaveForGap(segment, error)
          return
        }
        // A log is of one chain: an event of another one is damaged.
        const isOfLog = error instanceof ChainError && ofLog !== null && ofLog === expected
        if (!isUnreadable(error) && !(isOfLog && this.#isOfChain(ofLog))) throw error
        this.#cannotReadEvent(segment, error)
      }
    }
  }

  /** @throws {ChainError} if the first event was of another chain than expected. */
  #checkChain(expected: string | null, position: RecordPosition): void {
    const { chainId } = this.#assembler
    if (expected === null || chainId === expected) return
    throw new ChainError(
      `an event of chain ${JSON.stringify(chainId)}, but ${JSON.stringify(expected)} is expected`,
      position,
    )
  }

  /**
   * Leaves a segment that does not have all the blocks of its name, if another one has them.
   *
   * @throws {LeaveSegment}
   *
   * @param begun the block that has begun; undefined at the end of the segment
   */
  #leaveIfMissing(segment: LogSegment, begun?: bigint): void {
    const from = this.#nextAfterHandedOn()
    // It may have grown since reading began.
    const { last } = segment.log.current(segment) ?? segment
    const next = begun ?? last + 1n
    if (from === null || from >= next || from > last) return
    this.#leaveWithout(segment, { from, to: next - 1n, reason: notWhole(segment) })
  }

  /**
   * Leaves a segment because of a gap, if another one has one of the missing blocks with all its events. A block in a gap of the
   * store, which is not whole here either, is passed over.
   *
   * @throws {LeaveSegment}
   * @throws {GapError} the error, if none has.
   */
  #leaveForGap(segment: LogSegment, error: GapError): void {
    const { from, to } = error
    // The assembler must not be used after it.
    this.#beginAnew()
    this.#leaveWithout(segment, { from, to, reason: notWhole(segment) }, { wantsWhole: true })
    if (to >= this.#begunFor) throw error
  }

  /**
   * Passes over an event, and over the block that it is in; leaves the segment if another one has that.
   *
   * @throws {LeaveSegment}
   */
  #cannotReadEvent(segment: LogSegment, { message }: Error): void {
    const { isBlockOpen, pendingHeight: height } = this.#assembler
    if (!isBlockOpen) {
      this.#options.logger.warn(`live ingestion: the beginning of a block cannot be read: ${message}`)
      return
    }
    this.#forgetOpenBlock()
    if (height === null) return
    this.#options.logger.warn(`live ingestion: block ${height} cannot be read: ${message}`)
    this.#leaveWithout(segment, { from: height, to: height, reason: message })
  }

  /**
   * Notes blocks that a segment turned out not to have, as far as its name promises them, and leaves it if another one has any of
   * them; not for blocks below the one that it was begun for.
   *
   * @throws {LeaveSegment}
   */
  #leaveWithout(segment: LogSegment, missing: MissingBlocks, options: ChoiceOptions = {}): void {
    const { segments } = this.#reader
    const { from, to } = missing
    segments.noteUnreadable(segment, missing)
    if (to < this.#begunFor) return
    const next = segments.nextAfter(from - 1n, options)
    if (next === null || next > to) return
    this.#readFurtherThan(from)
    this.#forgetOpenBlock()
    throw new LeaveSegment()
  }

  /** Passes over everything in a segment from the next block on. */
  #cannotReadRest(segment: LogSegment, { message }: Error): void {
    const from = this.#nextToRead()
    this.#forgetOpenBlock()
    if (from === null) return
    this.#options.logger.warn(
      `live ingestion: ${segment.name} cannot be read from block ${from} on: ${message}`,
    )
    this.#reader.segments.noteUnreadable(segment, { from, to: null, reason: message })
    this.#readFurtherThan(from)
  }

  /** What was read reaches up to a block: the store's last one, if that was read for, need not be read once more. */
  #readFurtherThan(height: bigint): void {
    if (height > this.#needed) this.#readAgain = null
  }

  /** Forgets the block that is open, if any. Block 1, which is whole before it is handed on, stays. */
  #forgetOpenBlock(): void {
    if (this.#assembler.isBlockOpen) this.#beginAnew()
  }

  /** A new assembler goes on with what was handed on before. */
  #beginAnew(): void {
    this.#assembler = this.#assemblerFor(this.#assembler.coverage)
  }

  /** Whether the store is of a chain, or empty. */
  #isOfChain(chain: string): boolean {
    const stored = this.#assembler.coverage
    return stored === null || stored.chainId === chain
  }

  #assemblerFor(coverage: Coverage | null): BlockAssembler {
    const { allowGap, strict, accepted } = this.#options
    return new BlockAssembler({ allowGap, strict, accepted, ...this.#listener, coverage })
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
  const isKnown = error instanceof LogServerError || error instanceof ShortSegmentError
  if (code === undefined && !isKnown) return null
  return new LogUnreachableError(`the event log cannot be read (${code ?? message})`, { cause: error })
}

const notWhole = ({ name }: LogSegment) => `${name} does not have it with all its events`
