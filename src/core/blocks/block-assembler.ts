import type { Coverage } from '../domain/coverage.ts'
import { describeBlocks, type HeightRange } from '../domain/height-ranges.ts'
import { decodeBeginBlock } from '../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../events/bus-event.ts'
import { BlockIds } from '../events/event-ids.ts'
import { checkIdOfBegin, hasIdOf } from '../events/event-origin.ts'
import type { LeftOutReason } from '../events/left-out.ts'
import { MalformedMessageError } from '../events/wire-reader.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import { decodeEvent, mayBeLong } from '../resources/projections.ts'
import { type Block, GapError, StrictError } from './block.ts'
import { BlockOne } from './block-one.ts'
import { EventGuard } from './event-guard.ts'
import type { OpenBlock } from './open-block.ts'
import { StoredBlocks } from './stored-blocks.ts'

/**
 * Maximum memory for the events of one block before its end: for kinds that may be as long as a record, and for all others.
 * Blocks of busy networks take a few megabytes. A stream without an end of block must not fill the memory.
 */
const MAX_LONG_WEIGHT = 512 * 1024 * 1024
const MAX_BLOCK_WEIGHT = 64 * 1024 * 1024

/** Upper bounds of the memory of decoded events: per object, and per byte. */
const EVENT_WEIGHT = 256
const BYTE_WEIGHT = 4

/** Counts for the final report. */
export type AssemblerCounts = {
  records: number
  blocks: number
  /** Events before the first BeginBlock of the input. */
  beforeFirstBlock: number
  /** Events between an EndBlock and the next BeginBlock, and of other heights within a block. */
  outsideBlocks: number
  /** Events whose index was already seen in their block. */
  repeated: number
  /** Beginnings without an EndBlock, and each block 1 of which a part is missing: they are dropped. */
  incompleteBlocks: number
  /** Blocks that are not handed on because the store has them, complete or incomplete. */
  storedBlocks: number
  /** Of these, blocks whose rows are from an import: their events are not used. */
  importedBlocks: number
  leftOut: Map<LeftOutReason, number>
}

export type AssemblerOptions = {
  /** The store's coverage; null if it is empty. */
  coverage: Coverage | null
  /** The block with which an empty store must begin; null or absent: the lowest one that begins. */
  first?: bigint | null
  /** The chain that events must have, if the store is empty; null or absent: that of the first event. */
  chainId?: string | null
  /** Called with each block that has ended, which the assembler's `coverage` then includes. */
  onBlock: (block: Block) => void
  /** Called with each event that is left out. */
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
  /**
   * Called with blocks that are missing, or of which events are: whether they may be. If not, a GapError is thrown; if so, they are
   * recorded as a gap, unless the store has as much of them.
   */
  mayMiss: (blocks: HeightRange) => boolean
  /** Stops at an invalid event instead of skipping it. */
  strict: boolean
}

/**
 * Assembles blocks from events by the rules of docs/events.md (blocks), of files and of event logs. Takes one event at a time,
 * in the order of the stream; must not be used after an error, but for one of an event outside of blocks that cannot be read.
 */
export class BlockAssembler {
  readonly counts: AssemblerCounts = {
    records: 0,
    blocks: 0,
    beforeFirstBlock: 0,
    outsideBlocks: 0,
    repeated: 0,
    incompleteBlocks: 0,
    storedBlocks: 0,
    importedBlocks: 0,
    leftOut: new Map(),
  }
  readonly #options: AssemblerOptions
  readonly #stored: StoredBlocks
  readonly #envelope = createEnvelope()
  readonly #guard: EventGuard
  /** The block that has begun and not ended. */
  #open: OpenBlock | null = null
  readonly #blockOne = new BlockOne()
  /** The position of the last event. */
  #position: RecordPosition = { source: '', record: 0, offset: 0 }
  /** Whether an event could not be read since the last block ended: it may have begun one. */
  #mayLackBeginning = false
  /** The lowest height that has begun, or must begin; an empty store begins there. */
  #firstBegun: bigint | null

  constructor(options: AssemblerOptions) {
    const { coverage } = options
    this.#options = options
    this.#firstBegun = options.first ?? null
    this.#stored = new StoredBlocks(coverage)
    this.#guard = new EventGuard(coverage?.chainId ?? null, options.chainId)
  }

  /** The store's coverage once every block handed on is committed; null while there is none. */
  get coverage(): Coverage | null {
    return this.#stored.coverageOf(this.#guard.chainId)
  }

  /** The store's last block once every block handed on is committed; null while there is none. */
  get height(): bigint | null {
    return this.#stored.height
  }

  /** The chain that events must have; null before the first event, if the store is empty. */
  get chainId(): string | null {
    return this.#guard.chainId
  }

  /** The height of a block that has begun and is neither stored nor handed on; null if there is none. */
  get pendingHeight(): bigint | null {
    if (this.#open?.isStored === false) return this.#open.height
    return this.#blockOne.ended?.block.isStored === false ? 1n : null
  }

  /** Whether a block has begun and not ended. */
  get isBlockOpen(): boolean {
    return this.#open !== null
  }

  /** How many parts of block 1 have ended, as long as it is not handed on. */
  get endedParts(): number {
    return this.#blockOne.ended?.hashes.length ?? 0
  }

  /** Whether the store has only a part of a block, which is recorded. */
  isIncomplete(height: bigint): boolean {
    return this.#stored.isIncomplete(height)
  }

  /**
   * Takes the event `bytes[start..end)`.
   *
   * @throws {EventStreamError} for bytes that are not a BusEvent of version 1, and for a block that is too large.
   * @throws {ChainError} for an event of another chain.
   * @throws {GapError} if something is missing that must not be.
   * @throws {StrictError} for an invalid event, if `strict`.
   */
  accept(bytes: Buffer, start: number, end: number, at: RecordPosition): void {
    this.counts.records++
    this.#position = at
    try {
      readEnvelope(bytes, start, end, this.#envelope)
      this.#guard.check(this.#envelope, at)
      switch (this.#envelope.kind) {
        case EVENT_KIND.beginBlock:
          this.#beginBlock()
          return
        case EVENT_KIND.endBlock:
          if (this.#nextIndex() !== null) this.#endBlock(this.#open!)
          return
        default:
          this.#addEvent()
      }
    } catch (error) {
      this.#mayLackBeginning = this.#open === null
      if (!(error instanceof MalformedMessageError)) throw error
      throw new EventStreamError(`not a BusEvent: ${error.message}`, this.#position, { cause: error })
    }
  }

  /**
   * Must be called at the end of the input: block 1 is then whole if the store has block 2.
   *
   * @throws {GapError} as {@link accept}.
   */
  end(): void {
    if (this.#stored.hasAny(2n)) this.endBlockOne()
  }

  /** A part of block 1 cannot be read: the block is incomplete. */
  missPart(): void {
    this.#blockOne.partIsMissing()
  }

  /**
   * No other part of block 1 follows: it is handed on, if one has ended, and none is open.
   *
   * @throws {GapError} as {@link accept}.
   */
  endBlockOne(): void {
    if (this.#open === null) this.#handOnBlockOne()
  }

  #beginBlock(): void {
    const { height, timestamp, hash } = decodeBeginBlock(this.#envelope)
    checkIdOfBegin(this.#envelope, height)
    this.#dropOpenBlock(height)
    if (height !== 1n) this.#handOnBlockOne()
    if (this.#firstBegun === null || height < this.#firstBegun) this.#firstBegun = height
    this.#checkGapBefore(height)
    this.#open = {
      height,
      timestamp,
      hash,
      isStored: height === 1n ? this.#isPartStored(hash) : this.#stored.hasWhole(height),
      ids: new BlockIds(height),
      storedIndex: 0,
      isIncomplete: false,
      events: [],
      weight: 0,
      longWeight: 0,
    }
    this.#mayLackBeginning = false
    this.#nextIndex()
  }

  /**
   * Drops the open block, whose EndBlock is missing when block `next` begins. Ended parts of block 1 are dropped too, unless
   * another part of it begins.
   */
  #dropOpenBlock(next: bigint): void {
    const dropped = this.#open
    this.#open = null
    if (dropped === null || dropped.isStored) return
    this.counts.incompleteBlocks++
    if (dropped.height !== next) this.#blockOne.dropEnded()
    else if (next === 1n) this.#blockOne.partHasNoEnd(dropped.hash)
  }

  #endBlock(block: OpenBlock): void {
    const { height, isStored } = block
    const { ended } = this.#blockOne
    this.#open = null
    // Block 1 has two parts.
    if (isStored && (height !== 1n || ended === null)) {
      this.counts.storedBlocks++
      if (this.#stored.isImported(height)) this.counts.importedBlocks++
    }
    if (height === 1n) this.#blockOne.endPart(block)
    else if (!isStored) this.#handOn(block, this.#stored.blockOne)
  }

  /**
   * Hands on block 1, complete or not at all: the positions of its events count from the first event of genesis, and would
   * be wrong if some were missing.
   */
  #handOnBlockOne(): void {
    const { ended, isPartCut } = this.#blockOne
    if (ended?.block.isStored === false) {
      const { block, hashes } = ended
      if (isPartCut) {
        this.#markIncomplete(
          block,
          'the beginning or the end of a part of block 1, genesis or the block itself,',
        )
      }
      if (block.isIncomplete) this.counts.incompleteBlocks++
      else if (this.#hasOtherPartStored(hashes)) this.counts.storedBlocks++
      else this.#handOn(block, hashes)
    }
    this.#blockOne.clear()
  }

  /**
   * Whether a part of block 1 is skipped, because it has ended before or is stored. After a part that is not stored, no
   * part counts as stored: positions in the second part count from the last event of the first.
   *
   * @throws {EventStreamError} for a third part.
   */
  #isPartStored(hash: string): boolean {
    if (this.#blockOne.hasEnded(hash)) return true
    this.#blockOne.checkPart(hash, this.#position)
    if (!this.#stored.hasWhole(1n)) return false
    if (this.#stored.isImported(1n)) return true
    return this.#blockOne.ended?.block.isStored !== false && this.#stored.blockOne?.includes(hash) === true
  }

  /** Whether the store has a part of block 1 that the input does not have; the order of the parts is then unknown. */
  #hasOtherPartStored(hashes: readonly string[]): boolean {
    if (!this.#stored.hasWhole(1n)) return false
    const stored = this.#stored.blockOne
    // Stores from version 0.1.0 do not know their parts. Two parts are more than the store has; a single one may be the
    // stored one.
    if (stored === null) return hashes.length < 2
    if (stored.every((hash) => hashes.includes(hash))) return false
    if (this.#mayMiss(1n, 1n)) return true
    throw new GapError(
      'block 1 has two parts, genesis and the block itself: the store contains one of them and this input has only ' +
        'the other. Ingest the files with both parts in one call, or keep the stored one with --allow-gap',
      1n,
      1n,
      this.#position,
    )
  }

  /** @throws {GapError} for a block beyond the next one, unless the blocks between may be missing. */
  #checkGapBefore(height: bigint): void {
    // In an empty store, the next block is the first one that has begun.
    const from = this.#stored.height === null ? this.#firstBegun! : this.#stored.height + 1n
    if (height <= from || this.#mayMiss(from, height - 1n)) return
    throw new GapError(
      `expected block ${from}, found block ${height}: ${describeBlocks({ from, to: height - 1n })} missing or incomplete. ` +
        'Ingest files that contain these blocks completely, or continue without them with --allow-gap',
      from,
      height - 1n,
      this.#position,
    )
  }

  /** Checks an event's id against the open block. Returns its index within the block; null if the event is skipped. */
  #nextIndex(): number | null {
    const open = this.#open
    if (open === null) {
      if (this.#firstBegun === null) this.counts.beforeFirstBlock++
      else this.counts.outsideBlocks++
      if (this.#mayLackBeginning && hasIdOf(this.#envelope, 1n)) this.#blockOne.partIsMissing()
      return null
    }
    // Positions in the second part of block 1 count from the last event of the first part, even if that is stored.
    if (open.isStored && open.height !== 1n) return 0
    const expected = open.ids.next
    const place = open.ids.take(this.#envelope)
    // A restarted core sends events of other heights; the open block continues.
    if (place === 'other') {
      this.counts.outsideBlocks++
      return null
    }
    if (place === 'repeated') {
      this.counts.repeated++
      return null
    }
    if (place > expected) this.#missEvents(open, expected, place - 1)
    return place
  }

  #missEvents(block: OpenBlock, from: number, to: number): void {
    const missing = from === to ? `event ${from}` : `events ${from} to ${to}`
    this.#markIncomplete(block, `${missing} of block ${block.height}`)
  }

  #mayMiss(from: bigint, to: bigint): boolean {
    return this.#options.mayMiss({ from, to })
  }

  /** @throws {GapError} unless the block may be incomplete. */
  #markIncomplete(block: OpenBlock, missing: string): void {
    const { isStored, height } = block
    if (isStored) return
    // A block recorded as incomplete may arrive incomplete again.
    if (!this.#stored.isIncomplete(height) && !this.#mayMiss(height, height)) {
      throw new GapError(
        `${missing} missing: the whole of block ${height} is needed. Ingest files that contain the complete block, let the ` +
          'core send it again, or keep the incomplete one with --allow-gap',
        height,
        height,
        this.#position,
      )
    }
    block.isIncomplete = true
  }

  /** Adds the last event to the open block, unless there is none or it is stored. */
  #addEvent(): void {
    const index = this.#nextIndex()
    const block = this.#open
    if (index === null || block === null || block.isStored) return
    const event = decodeEvent(this.#envelope, this.#leaveOut)
    if (event === null) return
    const { kind, bodyStart, bodyEnd } = this.#envelope
    const weight = EVENT_WEIGHT + BYTE_WEIGHT * (bodyEnd - bodyStart)
    block.weight += weight
    if (mayBeLong(kind)) block.longWeight += weight
    if (block.weight - block.longWeight > MAX_BLOCK_WEIGHT || block.longWeight > MAX_LONG_WEIGHT) {
      throw new EventStreamError(
        `block ${block.height} has ${block.events.length + 1} events to keep and no end: more than any real block, the file is damaged`,
        this.#position,
      )
    }
    const before = block.height === 1n ? this.#blockOne.lastIndex : 0
    block.events.push({ index: index + before, event })
  }

  /**
   * Leaves out the last event or a part of it. One function for all events: one for each would be most of their garbage.
   */
  readonly #leaveOut = (reason: LeftOutReason): void => {
    const { strict, onLeftOut } = this.#options
    if (strict) {
      throw new StrictError(
        `${reason}, in an event of block ${this.#open!.height}. Without --strict it would be skipped`,
        this.#position,
      )
    }
    this.counts.leftOut.set(reason, (this.counts.leftOut.get(reason) ?? 0) + 1)
    onLeftOut(reason, this.#position)
  }

  /** Hands on a block that has ended. `blockOne` are the hashes of the parts of block 1 that the store then has. */
  #handOn(block: OpenBlock, blockOne: readonly string[] | null): void {
    const { height, timestamp, events, isIncomplete, storedIndex, weight } = block
    if (isIncomplete && this.#stored.isIncomplete(height)) {
      this.counts.storedBlocks++
      return
    }
    const replacesAfter = this.#stored.hasAny(height) ? storedIndex : null
    this.#stored.add(block, blockOne, this.#firstBegun!)
    this.counts.blocks++
    this.#options.onBlock({ height, timestamp, events, isIncomplete, weight, replacesAfter })
  }
}
