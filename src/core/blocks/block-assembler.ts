import {
  type Coverage,
  describeBlocks,
  GapList,
  type HeightRange,
  holdAll,
  isWithin,
} from '../domain/coverage.ts'
import { decodeBeginBlock } from '../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../events/bus-event.ts'
import { copyBytes, equalBytes } from '../events/equal-bytes.ts'
import type { LeftOutReason } from '../events/left-out.ts'
import { MalformedMessageError } from '../events/wire-reader.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import { decodeEvent, mayBeLong, mostBytesOf } from '../resources/arrivals.ts'
import { type Block, ChainError, GapError, StrictError } from './block.ts'
import { BlockOne } from './block-one.ts'
import type { HeightClass, OpenBlock } from './open-block.ts'

/** The only version of the event format there is. */
const BUS_EVENT_VERSION = 1

/**
 * Memory for the events of one block before its end: for kinds that may be as long as a record, and for all others. Blocks of
 * busy networks take a few megabytes; a stream without an end of block must not fill the memory.
 */
const MAX_LONG_WEIGHT = 512 * 1024 * 1024
const MAX_BLOCK_WEIGHT = 64 * 1024 * 1024

/** Upper bounds of the memory of decoded events: per object, and per byte. */
const EVENT_WEIGHT = 256
const BYTE_WEIGHT = 4

const EVENT_ID = /^\d+-\d+$/

/** Counts for the final report. */
export type AssemblerCounts = {
  records: number
  blocks: number
  /** Events before the first BeginBlock of the input. */
  beforeFirstBlock: number
  /** Events between an EndBlock and the next BeginBlock. */
  outsideBlocks: number
  /** Events whose index was already seen in their block. */
  repeated: number
  /** Blocks without an EndBlock, dropped. */
  unfinishedBlocks: number
  /** Complete blocks that were already stored. */
  heldBlocks: number
  /** Those whose rows are from an import: their events are not used. */
  importedBlocks: number
  leftOut: Map<LeftOutReason, number>
}

export type AssemblerOptions = {
  /** The store's coverage; null if it is empty. */
  coverage: Coverage | null
  /** Takes each block once it is whole; `coverage` of the assembler then includes it. */
  onBlock: (block: Block) => void
  /** Called with each event that is left out. */
  onLeftOut: (reason: LeftOutReason, position: RecordPosition) => void
  /** Records gaps and continues, instead of stopping. */
  allowGap: boolean
  /** Heights whose gaps are always recorded: ascending, without overlap. */
  accepted?: readonly HeightRange[]
  /** Stops at an invalid event instead of skipping it. */
  strict: boolean
}

/**
 * Assembles blocks from events by the rules of docs/events.md (blocks), the only place that knows them. Files
 * and live streams share it. Takes one event at a time, in the order of the stream.
 */
export class BlockAssembler {
  readonly counts: AssemblerCounts = {
    records: 0,
    blocks: 0,
    beforeFirstBlock: 0,
    outsideBlocks: 0,
    repeated: 0,
    unfinishedBlocks: 0,
    heldBlocks: 0,
    importedBlocks: 0,
    leftOut: new Map(),
  }
  readonly #options: AssemblerOptions
  readonly #envelope = createEnvelope()
  #coverage: Omit<Coverage, 'gaps'> | null
  readonly #gaps: GapList
  #chainId: string | null
  #chainIdBytes: DataView
  #open: OpenBlock | null = null
  readonly #blockOne = new BlockOne()
  #lastPosition: RecordPosition | null = null
  /** The lowest height that has begun; an empty store begins there. */
  #firstBegun: bigint | null = null

  constructor(options: AssemblerOptions) {
    this.#options = options
    this.#coverage = options.coverage
    this.#gaps = new GapList(options.coverage?.gaps ?? [])
    this.#chainId = options.coverage?.chainId ?? null
    this.#chainIdBytes = copyBytes(Buffer.from(this.#chainId ?? ''))
  }

  /** The store's coverage once every block handed on is committed. */
  get coverage(): Coverage | null {
    return this.#coverage === null ? null : { ...this.#coverage, gaps: this.#gaps.all }
  }

  /** The required chain of events; null before the first event, if the store is empty. */
  get chainId(): string | null {
    return this.#chainId
  }

  /** The height of an open block that is not stored; null if there is none. */
  get pendingHeight(): bigint | null {
    const open = this.#open?.class === 'held' ? null : this.#open
    return open?.height ?? (this.#blockOne.isPending ? 1n : null)
  }

  /**
   * The input ends: block 1 is whole if the store holds block 2.
   *
   * @throws {GapError} as {@link accept}.
   */
  end(): void {
    if (this.#lastPosition === null || this.#open !== null || this.#coverage === null) return
    if (this.#holds(2n)) this.#emitBlockOne(this.#lastPosition)
  }

  /**
   * Takes the event `bytes[start..end)`.
   *
   * @throws {EventStreamError} for bytes that are not a BusEvent of version 1, and for a block too large.
   * @throws {ChainError} for an event of another chain.
   * @throws {GapError} where something is missing, unless gaps are allowed.
   * @throws {StrictError} for an event not as it should be, where strictness is asked for.
   */
  accept(bytes: Buffer, start: number, end: number, position: RecordPosition): void {
    this.counts.records++
    this.#lastPosition = position
    try {
      readEnvelope(bytes, start, end, this.#envelope)
      this.#checkOrigin(position)
      this.#checkSize(position)
      switch (this.#envelope.kind) {
        case EVENT_KIND.beginBlock:
          this.#begin(position)
          return
        case EVENT_KIND.endBlock:
          if (this.#nextIndex(position) !== null) this.#end()
          return
        default:
          this.#keep(position)
      }
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      throw new EventStreamError(`not a BusEvent: ${error.message}`, position, { cause: error })
    }
  }

  #checkOrigin(position: RecordPosition): void {
    const { bytes, chainIdStart, chainIdEnd, version } = this.#envelope
    if (version !== BUS_EVENT_VERSION) {
      throw new EventStreamError(
        `an event of version ${version}; this program reads version ${BUS_EVENT_VERSION}`,
        position,
      )
    }
    if (this.#chainId !== null && equalBytes(this.#chainIdBytes, bytes, chainIdStart, chainIdEnd)) return
    const chainId = bytes.toString('utf8', chainIdStart, chainIdEnd)
    if (chainId === '' || chainId.length > 256 || chainId.includes('\0')) {
      throw new EventStreamError(
        `not a BusEvent: a chain id of ${JSON.stringify(chainId.slice(0, 80))}`,
        position,
      )
    }
    if (this.#chainId !== null) {
      const other = this.#options.coverage === null ? 'the input began with' : 'the store contains'
      throw new ChainError(
        `an event of chain ${JSON.stringify(chainId)}, but ${other} chain ${JSON.stringify(this.#chainId)}: use one store for each chain`,
        position,
      )
    }
    this.#chainId = chainId
    this.#chainIdBytes = copyBytes(bytes, chainIdStart, chainIdEnd)
  }

  #checkSize(position: RecordPosition): void {
    const { kind, bodyStart, bodyEnd } = this.#envelope
    const most = mostBytesOf(kind)
    if (bodyEnd - bodyStart <= most) return
    throw new EventStreamError(
      `an event of kind ${kind} with ${bodyEnd - bodyStart} bytes, more than the ${most} allowed: the input is damaged here`,
      position,
    )
  }

  #begin(position: RecordPosition): void {
    const { height, timestamp, hash } = decodeBeginBlock(this.#envelope)
    this.#dropUnfinished(height)
    if (height !== 1n) this.#emitBlockOne(position)
    if (this.#firstBegun === null || height < this.#firstBegun) this.#firstBegun = height
    const known = height === 1n ? this.#classifyPart(hash, position) : this.#classify(height, position)
    this.#open = {
      height,
      timestamp,
      hash,
      class: known,
      idPrefix: `${height}-`,
      lastIndex: 0,
      heldIndex: 0,
      incomplete: false,
      events: [],
      weight: 0,
      longWeight: 0,
    }
    this.#nextIndex(position)
  }

  /**
   * Block 1 is whole, or there is nothing of it: the places of its events count from the first of genesis, and
   * would be wrong if some are missing.
   */
  #emitBlockOne(position: RecordPosition): void {
    const { ended } = this.#blockOne
    if (ended?.isNew) {
      const { block, hashes } = ended
      if (this.#blockOne.hasLostPart) {
        this.#markIncomplete(block, 'the end of a part of block 1, genesis or the block itself,', position)
      }
      if (block.incomplete) this.counts.unfinishedBlocks++
      else if (this.#lacksHeldPart(hashes, position)) this.counts.heldBlocks++
      else this.#emit(block, hashes)
    }
    this.#blockOne.clear()
  }

  /**
   * Classifies a part of block 1, genesis or the block itself; they have different hashes. An ended or stored part is
   * skipped; a part that is not stored is not, nor anything after it: positions in the second part count from the last
   * event of the first.
   */
  #classifyPart(hash: string, position: RecordPosition): HeightClass {
    if (this.#blockOne.hasEnded(hash)) return 'held'
    this.#blockOne.checkPart(hash, position)
    const known = this.#classify(1n, position)
    if (known !== 'held' || this.#isImported(1n)) return known
    const held = this.#coverage?.blockOne
    return held?.includes(hash) && !this.#blockOne.ended?.isNew ? known : 'fills'
  }

  /** Whether the store has a part of block 1 that the input does not; their order is then unknown. */
  #lacksHeldPart(hashes: readonly string[], position: RecordPosition): boolean {
    const known = this.#classify(1n, position)
    if (known !== 'held') return false
    const held = this.#coverage!.blockOne
    // Stores that came from version 0.1.0 do not know their parts: two parts are more than one, one may be the one held.
    if (held === null) return hashes.length < 2
    if (held.every((hash) => hashes.includes(hash))) return false
    if (this.#mayMiss(1n, 1n)) return true
    throw new GapError(
      'block 1 has two parts, genesis and the block itself: the store contains one of them and this input has only ' +
        'the other. Ingest the files with both parts in one call, or keep the stored one with --allow-gap',
      1n,
      1n,
      position,
    )
  }

  /** A block without EndBlock when `next` begins is dropped, with its first part. */
  #dropUnfinished(next: bigint): void {
    const open = this.#open
    this.#open = null
    if (open === null || open.class === 'held') return
    this.counts.unfinishedBlocks++
    if (open.height !== next) this.#blockOne.forgetEnded()
    else if (next === 1n) this.#blockOne.lose(open.hash)
  }

  #classify(height: bigint, position: RecordPosition): HeightClass {
    const from = this.#expectedHeight()
    if (height === from) return 'next'
    if (this.#coverage !== null && height < this.#coverage.first) return 'below'
    if (height < from) {
      // Imported blocks are final.
      return this.#gaps.has(height) ? 'fills' : 'held'
    }
    if (this.#mayMiss(from, height - 1n)) return 'beyond'
    throw new GapError(
      `expected block ${from}, found block ${height}: ${describeBlocks({ from, to: height - 1n })} missing or incomplete. ` +
        'Ingest files that contain these blocks completely, or continue without them with --allow-gap',
      from,
      height - 1n,
      position,
    )
  }

  /** Whether gaps are allowed, or these heights are accepted as one. */
  #mayMiss(from: bigint, to: bigint): boolean {
    const { allowGap, accepted = [] } = this.#options
    return allowGap || holdAll(accepted, { from, to })
  }

  /** Whether some of a height's events are held. */
  #holds(height: bigint): boolean {
    const { first, height: last } = this.#coverage!
    return height >= first && height <= last && this.#gaps.at(height)?.kind !== 'missing'
  }

  /** The height that has to come next: in an empty store the first one that has begun. */
  #expectedHeight(): bigint {
    return this.#coverage === null ? this.#firstBegun! : this.#coverage.height + 1n
  }

  /**
   * Checks an event's id against the open block; returns its index within the block, or null if the
   * event is to be passed over.
   */
  #nextIndex(position: RecordPosition): number | null {
    const open = this.#open
    if (open === null) {
      if (this.#firstBegun === null) this.counts.beforeFirstBlock++
      else this.counts.outsideBlocks++
      return null
    }
    // Of block 1 the second part's places count from the last of the first, whether that is held or not.
    if (open.class === 'held' && open.height !== 1n) return 0
    const index = this.#indexInBlock(open.idPrefix, position)
    if (index === null) {
      this.#dropUnfinished(-1n)
      this.counts.outsideBlocks++
      return null
    }
    if (index <= open.lastIndex) {
      this.counts.repeated++
      return null
    }
    if (index > open.lastIndex + 1) this.#missEvents(open, index, position)
    open.lastIndex = index
    return index
  }

  /** The number after the height in the event's id; null if the height is not the open block's. */
  #indexInBlock(prefix: string, position: RecordPosition): number | null {
    const { bytes, idStart, idEnd } = this.#envelope
    const digits = idStart + prefix.length
    let index = 0
    if (digits < idEnd && idEnd - digits <= 9 && isText(prefix, bytes, idStart, digits)) {
      for (let at = digits; at < idEnd; at++) {
        const digit = bytes[at]! - 0x30
        if (digit < 0 || digit > 9) return this.#refuseId(position)
        index = index * 10 + digit
      }
      return index
    }
    const id = bytes.toString('latin1', idStart, idEnd)
    return EVENT_ID.test(id) && idEnd - digits <= 9 ? null : this.#refuseId(position)
  }

  #refuseId(position: RecordPosition): never {
    const { bytes, idStart, idEnd } = this.#envelope
    const id = bytes.toString('utf8', idStart, Math.min(idEnd, idStart + 80))
    throw new EventStreamError(
      `not a BusEvent: its id is ${JSON.stringify(id)} and not "<height>-<index in block>"`,
      position,
    )
  }

  #missEvents(open: OpenBlock, index: number, position: RecordPosition): void {
    const first = open.lastIndex + 1
    const missing = first === index - 1 ? `event ${first}` : `events ${first} to ${index - 1}`
    this.#markIncomplete(open, `${missing} of block ${open.height}`, position)
  }

  #markIncomplete(open: OpenBlock, missing: string, position: RecordPosition): void {
    if (open.class === 'held') return
    // A block recorded as incomplete may arrive incomplete again.
    const isKnown = this.#gaps.at(open.height)?.kind === 'incomplete'
    if (!isKnown && !this.#mayMiss(open.height, open.height)) {
      throw new GapError(
        `${missing} missing. Ingest files that contain the complete block, or keep the incomplete one with --allow-gap`,
        open.height,
        open.height,
        position,
      )
    }
    open.incomplete = true
  }

  #keep(position: RecordPosition): void {
    const index = this.#nextIndex(position)
    const open = this.#open
    if (index === null || open === null || open.class === 'held') return
    const event = decodeEvent(this.#envelope, this.#leaveOut)
    if (event === null) return
    const { kind, bodyStart, bodyEnd } = this.#envelope
    const weight = EVENT_WEIGHT + BYTE_WEIGHT * (bodyEnd - bodyStart)
    open.weight += weight
    if (mayBeLong(kind)) open.longWeight += weight
    if (open.weight - open.longWeight > MAX_BLOCK_WEIGHT || open.longWeight > MAX_LONG_WEIGHT) {
      throw new EventStreamError(
        `block ${open.height} has ${open.events.length + 1} events to keep and no end: more than any real block, the file is damaged`,
        position,
      )
    }
    open.events.push({ index: index + this.#blockOne.lastIndex, event })
  }

  /** Leaves out something of the last event. One function for all: one for each event would be most of their garbage. */
  readonly #leaveOut = (reason: LeftOutReason): void => {
    const position = this.#lastPosition!
    if (this.#options.strict) {
      throw new StrictError(
        `${reason}, in an event of block ${this.#open?.height}. Without --strict it would be skipped`,
        position,
      )
    }
    this.counts.leftOut.set(reason, (this.counts.leftOut.get(reason) ?? 0) + 1)
    this.#options.onLeftOut(reason, position)
  }

  #end(): void {
    const open = this.#open!
    this.#open = null
    // Block 1 has two parts.
    if (open.class === 'held' && (open.height !== 1n || this.#blockOne.ended === null))
      this.#countHeld(open.height)
    if (open.height === 1n) this.#blockOne.endPart(open)
    else if (open.class !== 'held') this.#emit(open)
  }

  #countHeld(height: bigint): void {
    this.counts.heldBlocks++
    if (this.#isImported(height)) this.counts.importedBlocks++
  }

  #isImported(height: bigint): boolean {
    return isWithin(this.#coverage?.imported ?? [], height)
  }

  /** Hands a whole block on; `hashes` are those of block 1's parts. */
  #emit(open: OpenBlock, hashes: readonly string[] | null = null): void {
    const { height, timestamp, events, incomplete: isIncomplete, weight } = open
    const known = this.#gaps.at(height)?.kind
    if (known === 'incomplete' && open.incomplete) {
      this.counts.heldBlocks++
      return
    }
    const first = this.#coverage?.first ?? this.#firstBegun!
    const replacesAfter = open.class === 'fills' && known !== 'missing' ? open.heldIndex : null
    if (open.class === 'fills') this.#gaps.fill(height)
    if (open.class === 'below' && height + 1n < first) {
      this.#gaps.add({ from: height + 1n, to: first - 1n, kind: 'missing' })
    }
    if (open.class === 'beyond') {
      this.#gaps.add({ from: this.#expectedHeight(), to: height - 1n, kind: 'missing' })
    }
    if (open.incomplete) this.#gaps.add({ from: height, to: height, kind: 'incomplete' })
    this.#cover(open, first, hashes)
    this.counts.blocks++
    this.#options.onBlock({ height, timestamp, events, isIncomplete, weight, replacesAfter })
  }

  /** Adds a block to the coverage. */
  #cover(
    { height, timestamp, class: known }: OpenBlock,
    first: bigint,
    hashes: readonly string[] | null,
  ): void {
    const before = this.#coverage
    const blockOne = hashes ?? before?.blockOne ?? null
    if (before === null) {
      const ends = { first, began: first, blockOne, height, timestamp }
      this.#coverage = { chainId: this.#chainId!, ...ends, since: [], imported: [] }
    } else if (known === 'fills') this.#coverage = { ...before, blockOne }
    else if (known === 'below') this.#coverage = { ...before, first: height, blockOne }
    else this.#coverage = { ...before, blockOne, height, timestamp }
  }
}

/** Whether `bytes[start..end)` are a text of ASCII. */
function isText(expected: string, bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== expected.length) return false
  for (let index = 0; index < expected.length; index++) {
    if (expected.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
