// The way from the bytes of event logs to blocks for the store.
import type { Logger } from 'pino'
import { type Block, ChainError, GapError, StrictError } from '#core/blocks/block'
import { BlockAssembler } from '#core/blocks/block-assembler'
import type { Coverage } from '#core/domain/coverage'
import type { HeightRange } from '#core/domain/height-ranges'
import type { LeftOutReason } from '#core/events/left-out'
import { isSameSegment, type LogSegment, type SegmentOffset } from '#core/log/read/followed-log'
import { LogCursor, type SegmentReading } from '#core/log/read/log-cursor'
import type { LogReader } from '#core/log/read/log-reader'
import { LogServerError } from '#core/log/read/url/log-server'
import type { RecordSink } from '#core/records/record-framer'
import { EventStreamError, type RecordPosition } from '#core/records/record-position'
import { StoreError } from '#core/store/errors'

/** A part of an event log that cannot be read at the moment. */
export class LogReadError extends StoreError {
  override name = 'LogReadError'
}

/** As {@link LogReadError}, but the segment is still listed: reading may go on where it was. */
export class LogAwayError extends LogReadError {
  override name = 'LogAwayError'
}

/** Thrown by the sink of a segment, to leave it: a block of it is taken from another one. */
class LeaveSegment extends Error {}

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
 * | its bytes cannot be read at the moment | nothing | is left if another log that can be read has the block |
 * | an event that cannot be decoded, or of another chain than the log | its block | is left if another one has the block |
 * | a block begins, or the segment ends, after the block that the store needs | those between | is left if another one has the first |
 * | the assembler refuses a gap | the missing blocks | is left if another one has the first, whole; otherwise the gap is thrown |
 *
 * For damage, and whenever a segment is left, a new assembler goes on after the last whole block: the open block is
 * forgotten. Otherwise the same one goes on in the same segment.
 */
export class LogBlocks {
  readonly #reader: LogReader
  readonly #options: LogBlocksOptions
  readonly #listener: LogBlocksListener
  readonly #cursor: LogCursor
  #assembler: BlockAssembler
  /** Whether nothing was read yet: the last stored block is then read again, since the store may have a part of it. */
  #isFirst = true

  constructor(reader: LogReader, options: LogBlocksOptions, listener: LogBlocksListener) {
    this.#reader = reader
    this.#options = options
    this.#listener = listener
    this.#cursor = new LogCursor(reader, (segment) => this.#sinkOf(segment))
    this.#assembler = this.#assemblerFor(options.stored)
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#assembler.coverage
  }

  /** How far the segment that is being read was read; null between two segments. */
  get offset(): SegmentOffset | null {
    const { reading } = this.#cursor
    return reading === null ? null : { segment: reading.segment, offset: reading.frames.offset }
  }

  /**
   * Reads the next piece, and hands on the blocks that end in it; false if there is nothing to read yet.
   *
   * @throws {GapError} if something is missing, unless that is accepted.
   * @throws {ChainError} for an event of another chain.
   * @throws {StrictError} for an invalid event, if `strict`.
   * @throws {LogReadError} if the log cannot be read at the moment; a {@link LogAwayError} if reading may go on where it was.
   */
  async readPiece(): Promise<boolean> {
    const next = this.#nextToRead()
    const reading = next === null ? null : await this.#read(next)
    if (reading === null) return false
    const { segment } = reading
    try {
      this.#handOn(reading)
    } catch (error) {
      if (isUnreadable(error)) this.#cannotReadRest(segment, error)
      else if (!(error instanceof LeaveSegment)) throw error
      this.#cursor.leave()
    }
    this.#isFirst = false
    return true
  }

  /**
   * Hands on the blocks that end in the bytes read.
   *
   * @throws {LeaveSegment} to go on in another segment.
   */
  #handOn({ segment, frames }: SegmentReading): void {
    const following = frames.handOn()
    if (following === 'nothing') this.#leaveIfMissing(segment, segment.last + 1n)
  }

  /**
   * The block to read next, from its beginning on; null if the logs and the store are empty. A block that is open is read on, and
   * the store's last one is read again at first.
   */
  #nextToRead(): bigint | null {
    const { pendingHeight, height } = this.#assembler
    if (pendingHeight !== null) return pendingHeight
    if (height === null) return this.#reader.segments.lowest()
    return this.#isFirst ? height : height + 1n
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

  /** Reads the next bytes that may have a block; null if there are none yet. */
  async #read(next: bigint): Promise<SegmentReading | null> {
    for (let height = next; ; height = this.#nextToRead() ?? height) {
      try {
        return await this.#cursor.read(height)
      } catch (error) {
        this.#leaveUnread(height, error)
      }
    }
  }

  /**
   * Leaves the segment whose bytes cannot be read.
   *
   * @throws {LogReadError} if no other one has the block.
   */
  #leaveUnread(needed: bigint, error: unknown): void {
    const segment = this.#cursor.reading?.segment
    if (isUnreadable(error) && segment !== undefined) this.#cannotReadRest(segment, error)
    else if (segment !== undefined && this.#isElsewhere(needed, segment)) this.#beginAnew()
    else throw explainReadError(error, segment)
    this.#cursor.leave()
  }

  /** Whether a block can be read from another segment than this one, which cannot be read at the moment. */
  #isElsewhere(needed: bigint, segment: LogSegment): boolean {
    const other = this.#reader.segments.find(needed)
    return other !== null && other.log.fault === null && !isSameSegment(other, segment)
  }

  #sinkOf(segment: LogSegment): RecordSink {
    const ofLog = segment.log.head?.chainId ?? null
    const expected = this.#options.chain ?? ofLog
    return (bytes, start, end, position) => {
      try {
        const before = this.#assembler.pendingHeight
        this.#assembler.accept(bytes, start, end, position)
        this.#checkChain(expected, position)
        const { pendingHeight } = this.#assembler
        if (pendingHeight === null || pendingHeight === before) return
        this.#leaveIfMissing(segment, pendingHeight)
      } catch (error) {
        if (error instanceof GapError) this.#leaveForGap(segment, error)
        // A log is of one chain: an event of another one is damaged.
        const isOfLog = error instanceof ChainError && ofLog !== null && ofLog === expected
        if (!isUnreadable(error) && !(isOfLog && this.#isOfChain(ofLog))) throw error
        this.#cannotReadBlock(segment, error)
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
   * @param next the block that has begun, or the one after the segment's last one
   */
  #leaveIfMissing(segment: LogSegment, next: bigint): void {
    const from = this.#nextAfterHandedOn()
    if (from === null || from >= next || from < segment.first || from > segment.last) return
    this.#noteUnreadable(segment, { from, to: next - 1n })
    if (this.#reader.segments.find(from) !== null) this.#leave()
  }

  /**
   * Leaves a segment because of a gap, if another one has the first missing block with all its events.
   *
   * @throws {LeaveSegment}
   * @throws {GapError} the error, if none has.
   */
  #leaveForGap(segment: LogSegment, error: GapError): never {
    const { from, to } = error
    if (segment.kind !== 'part' && from >= segment.first && from <= segment.last)
      this.#noteUnreadable(segment, { from, to: to < segment.last ? to : segment.last })
    if (this.#reader.segments.find(from, { wantsWhole: true }) === null) throw error
    this.#leave()
  }

  /**
   * Passes over the block that has begun, and leaves the segment if another one has it.
   *
   * @throws {LeaveSegment}
   */
  #cannotReadBlock(segment: LogSegment, { message }: Error): void {
    const height = this.#assembler.pendingHeight
    this.#beginAnew()
    if (height === null) return
    this.#options.logger.warn(`live ingestion: block ${height} cannot be read: ${message}`)
    this.#reader.segments.noteUnreadable(segment, { from: height, to: height, reason: message })
    if (this.#reader.segments.find(height) !== null) this.#leave()
  }

  /** Passes over everything in a segment from the next block on. */
  #cannotReadRest(segment: LogSegment, { message }: Error): void {
    const from = this.#nextToRead()
    this.#beginAnew()
    if (from === null) return
    this.#options.logger.warn(
      `live ingestion: ${segment.name} cannot be read from block ${from} on: ${message}`,
    )
    this.#reader.segments.noteUnreadable(segment, { from, to: null, reason: message })
  }

  #noteUnreadable(segment: LogSegment, { from, to }: HeightRange): void {
    const reason = `${segment.name} does not have it with all its events`
    this.#reader.segments.noteUnreadable(segment, { from, to, reason })
  }

  /** @throws {LeaveSegment} */
  #leave(): never {
    this.#beginAnew()
    throw new LeaveSegment()
  }

  /** Forgets the block that is open: a new assembler goes on with what was whole before. */
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

/** The error of bytes that cannot be read, for operators; others, such as a log of a later version, unchanged. */
function explainReadError(error: unknown, segment: LogSegment | undefined): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined && !(error instanceof LogServerError)) return error
  const text = `the event log cannot be read (${code ?? message})`
  // A segment that is gone is not read on: the block is looked for anew.
  const isGone = segment === undefined || segment.log.current(segment) === null
  return isGone ? new LogReadError(text, { cause: error }) : new LogAwayError(text, { cause: error })
}
