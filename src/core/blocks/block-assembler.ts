import {
  type Coverage,
  type CoverageEnds,
  describeBlocks,
  extended,
  GapList,
  type HeightRange,
  holdAll,
  isWithin,
  spanOf,
  startsAt,
} from '../domain/coverage.ts'
import { decodeBeginBlock } from '../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../events/bus-event.ts'
import { copyBytes, equalBytes } from '../events/equal-bytes.ts'
import { countIds, IdSequence } from '../events/event-ids.ts'
import { type LeftOutReason, MAX_KEY_LENGTH } from '../events/left-out.ts'
import { MalformedMessageError } from '../events/wire-reader.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'
import { decodeEvent, mayBeLong, mostBytesOf } from '../resources/arrivals.ts'
import { type Block, ChainError, GapError, StrictError } from './block.ts'
import { checkPart, type EndedParts, joinPart } from './block-one.ts'
import { lastIndexOf, type OpenBlock } from './open-block.ts'

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
  /** Checks and counts events, and forgets them: the blocks have none. */
  isCheck?: boolean
}

/**
 * Assembles blocks from events by the rules of docs/events.md (blocks), the only place that knows them. Files
 * and live streams share it. Takes one event at a time, in the order of the stream.
 */
export function createBlockAssembler(options: AssemblerOptions) {
  const { onBlock, onLeftOut, allowGap, accepted = [], strict, isCheck = false } = options
  const { imported = [], chainId: storedChain = null } = options.coverage ?? {}
  const counts: AssemblerCounts = {
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
  const envelope = createEnvelope()
  let ends: CoverageEnds | null = options.coverage
  const gaps = new GapList(options.coverage?.gaps ?? [])
  let chainId = storedChain
  let chainIdBytes = copyBytes(Buffer.from(chainId ?? ''))
  let open: OpenBlock | null = null
  /** The parts of block 1 that have ended; null if none has, or a later block has begun. */
  let ended: EndedParts | null = null
  /** Hashes of parts of block 1 that have begun and not ended. */
  const lost = new Set<string>()
  /** Of the last event. */
  let position: RecordPosition
  /** The lowest height that has begun; an empty store begins there. */
  let firstBegun: bigint | null = null

  /**
   * The input ends: block 1 is whole if the store holds block 2.
   *
   * @throws {GapError} as {@link accept}.
   */
  function end(): void {
    if (open === null && holds(2n)) emitBlockOne()
  }

  /**
   * Takes the event `bytes[start..end)`.
   *
   * @throws {EventStreamError} for bytes that are not a BusEvent of version 1, and for a block too large.
   * @throws {ChainError} for an event of another chain.
   * @throws {GapError} where something is missing, unless gaps are allowed.
   * @throws {StrictError} for an event not as it should be, where strictness is asked for.
   */
  function accept(bytes: Buffer, start: number, end: number, at: RecordPosition): void {
    counts.records++
    position = at
    try {
      readEnvelope(bytes, start, end, envelope)
      checkOrigin()
      checkSize()
      switch (envelope.kind) {
        case EVENT_KIND.beginBlock:
          begin()
          return
        case EVENT_KIND.endBlock:
          if (nextIndex() !== null) endBlock(open!)
          return
        default:
          keep()
      }
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      throw new EventStreamError(`not a BusEvent: ${error.message}`, position, { cause: error })
    }
  }

  function checkOrigin(): void {
    const { bytes, chainIdStart, chainIdEnd, version } = envelope
    if (version !== BUS_EVENT_VERSION) {
      throw new EventStreamError(
        `an event of version ${version}; this program reads version ${BUS_EVENT_VERSION}`,
        position,
      )
    }
    if (chainId !== null && equalBytes(chainIdBytes, bytes, chainIdStart, chainIdEnd)) return
    const given = bytes.toString('utf8', chainIdStart, chainIdEnd)
    if (given === '' || given.length > MAX_KEY_LENGTH || given.includes('\0')) {
      throw new EventStreamError(
        `not a BusEvent: a chain id of ${JSON.stringify(given.slice(0, 80))}`,
        position,
      )
    }
    if (chainId !== null) {
      const other = storedChain === null ? 'the input began with' : 'the store contains'
      throw new ChainError(
        `an event of chain ${JSON.stringify(given)}, but ${other} chain ${JSON.stringify(chainId)}: use one store for each chain`,
        position,
      )
    }
    chainId = given
    chainIdBytes = copyBytes(bytes, chainIdStart, chainIdEnd)
  }

  function checkSize(): void {
    const { kind, bodyStart, bodyEnd } = envelope
    const most = mostBytesOf(kind)
    if (bodyEnd - bodyStart <= most) return
    throw new EventStreamError(
      `an event of kind ${kind} with ${bodyEnd - bodyStart} bytes, more than the ${most} allowed: the input is damaged here`,
      position,
    )
  }

  function begin(): void {
    const { height, timestamp, hash } = decodeBeginBlock(envelope)
    dropUnfinished(height)
    if (height !== 1n) emitBlockOne()
    if (firstBegun === null || height < firstBegun) firstBegun = height
    const isHeld = height === 1n ? isPartHeld(hash) : isBlockHeld(height)
    open = {
      height,
      timestamp,
      hash,
      isHeld,
      idPrefix: `${height}-`,
      ids: new IdSequence(),
      indexBefore: 0,
      heldIndex: 0,
      incomplete: false,
      events: [],
      eventCount: 0,
      weight: 0,
      longWeight: 0,
    }
    nextIndex()
  }

  /**
   * Block 1 is whole, or there is nothing of it: the places of its events count from the first of genesis, and
   * would be wrong if some are missing.
   */
  function emitBlockOne(): void {
    if (ended?.block.isHeld === false) {
      const { block, hashes } = ended
      if (lost.size > 0) {
        markIncomplete(block, 'the end of a part of block 1, genesis or the block itself,')
      }
      if (block.incomplete) counts.unfinishedBlocks++
      else if (lacksHeldPart(hashes)) counts.heldBlocks++
      else emit(block, hashes)
    }
    ended = null
    lost.clear()
  }

  /**
   * Whether a part of block 1, genesis or the block itself, is to be skipped; they have different hashes. An ended or
   * stored part is; a part that is not stored is not, nor anything after it: positions in the second part count from the
   * last event of the first.
   */
  function isPartHeld(hash: string): boolean {
    const hashes = ended?.hashes ?? []
    if (hashes.includes(hash)) return true
    checkPart([...hashes, ...lost], hash, position)
    if (!isBlockHeld(1n)) return false
    return isImported(1n) || (ended?.block.isHeld !== false && ends!.blockOne?.includes(hash) === true)
  }

  /** Whether the store has a part of block 1 that the input does not; their order is then unknown. */
  function lacksHeldPart(hashes: readonly string[]): boolean {
    if (!isBlockHeld(1n)) return false
    const held = ends!.blockOne
    // Stores that came from version 0.1.0 do not know their parts: two parts are more than one, one may be the one held.
    if (held === null) return hashes.length < 2
    if (held.every((hash) => hashes.includes(hash))) return false
    if (mayMiss(1n, 1n)) return true
    throw new GapError(
      'block 1 has two parts, genesis and the block itself: the store contains one of them and this input has only ' +
        'the other. Ingest the files with both parts in one call, or keep the stored one with --allow-gap',
      1n,
      1n,
      position,
    )
  }

  /** A block without EndBlock when `next` begins is dropped, with its first part. */
  function dropUnfinished(next: bigint): void {
    const dropped = open
    open = null
    if (dropped === null || dropped.isHeld) return
    counts.unfinishedBlocks++
    if (dropped.height !== next) ended = null
    else if (next === 1n) lost.add(dropped.hash)
  }

  /**
   * Whether the store holds a block that begins, and is not known to lack events of it. Imported blocks are final.
   *
   * @throws {GapError} for a block beyond the next one, unless those between may be missing
   */
  function isBlockHeld(height: bigint): boolean {
    // In an empty store the first block that has begun is the next one.
    const from = ends === null ? firstBegun! : ends.height + 1n
    if (height > from && !mayMiss(from, height - 1n)) {
      throw new GapError(
        `expected block ${from}, found block ${height}: ${describeBlocks({ from, to: height - 1n })} missing or incomplete. ` +
          'Ingest files that contain these blocks completely, or continue without them with --allow-gap',
        from,
        height - 1n,
        position,
      )
    }
    return isBetweenEnds(height) && !gaps.has(height)
  }

  /** Whether gaps are allowed, or these heights are accepted as one. */
  function mayMiss(from: bigint, to: bigint): boolean {
    return allowGap || holdAll(accepted, { from, to })
  }

  /** Whether some of a height's events are held. */
  function holds(height: bigint): boolean {
    return isBetweenEnds(height) && gaps.at(height)?.kind !== 'missing'
  }

  function isBetweenEnds(height: bigint): boolean {
    return ends !== null && height >= ends.first && height <= ends.height
  }

  /**
   * Checks an event's id against the open block; returns its index within the block, or null if the
   * event is to be passed over.
   */
  function nextIndex(): number | null {
    if (open === null) {
      if (firstBegun === null) counts.beforeFirstBlock++
      else counts.outsideBlocks++
      return null
    }
    // Of block 1 the second part's places count from the last of the first, whether that is held or not.
    if (open.isHeld && open.height !== 1n) return 0
    const index = indexInBlock(open.idPrefix)
    // An event of another height, as a restarted core sends: the open block goes on.
    if (index === null) {
      counts.outsideBlocks++
      return null
    }
    const { ids } = open
    if (ids.isTaken(index)) {
      counts.repeated++
      return null
    }
    if (index > ids.next) missEvents(open, index)
    ids.take(index, countIds(envelope))
    return index
  }

  /** The number after the height in the event's id; null if the height is not the open block's. */
  function indexInBlock(prefix: string): number | null {
    const { bytes, idStart, idEnd } = envelope
    const digits = idStart + prefix.length
    let index = 0
    if (digits < idEnd && idEnd - digits <= 9 && beginsWith(bytes, idStart, prefix)) {
      for (let at = digits; at < idEnd; at++) {
        const digit = bytes[at]! - 0x30
        if (digit < 0 || digit > 9) return refuseId()
        index = index * 10 + digit
      }
      return index
    }
    const id = bytes.toString('latin1', idStart, idEnd)
    return EVENT_ID.test(id) && idEnd - digits <= 9 ? null : refuseId()
  }

  function refuseId(): never {
    const { bytes, idStart, idEnd } = envelope
    const id = bytes.toString('utf8', idStart, Math.min(idEnd, idStart + 80))
    throw new EventStreamError(
      `not a BusEvent: its id is ${JSON.stringify(id)} and not "<height>-<index in block>"`,
      position,
    )
  }

  function missEvents(block: OpenBlock, index: number): void {
    const first = block.ids.next
    const missing = first === index - 1 ? `event ${first}` : `events ${first} to ${index - 1}`
    markIncomplete(block, `${missing} of block ${block.height}`)
  }

  function markIncomplete(block: OpenBlock, missing: string): void {
    const { isHeld, height } = block
    if (isHeld) return
    // A block recorded as incomplete may arrive incomplete again.
    const isKnown = gaps.at(height)?.kind === 'incomplete'
    if (!isKnown && !mayMiss(height, height)) {
      throw new GapError(
        `${missing} missing: the whole of block ${height} is needed. Ingest files that contain the complete block, let the ` +
          'core send it again, or keep the incomplete one with --allow-gap',
        height,
        height,
        position,
      )
    }
    block.incomplete = true
  }

  function keep(): void {
    const index = nextIndex()
    if (index === null || open!.isHeld) return
    const event = decodeEvent(envelope, leaveOut, isCheck)
    if (event === null) return
    const block = open!
    const { kind, bodyStart, bodyEnd } = envelope
    const weight = EVENT_WEIGHT + BYTE_WEIGHT * (bodyEnd - bodyStart)
    block.weight += weight
    if (mayBeLong(kind)) block.longWeight += weight
    if (block.weight - block.longWeight > MAX_BLOCK_WEIGHT || block.longWeight > MAX_LONG_WEIGHT) {
      throw new EventStreamError(
        `block ${block.height} has ${block.eventCount + 1} events to keep and no end: more than any real block, the file is damaged`,
        position,
      )
    }
    block.eventCount++
    if (isCheck) return
    block.events.push({ index: index + (ended === null ? 0 : lastIndexOf(ended.block)), event })
  }

  /** Leaves out something of the last event. One function for all: one for each event would be most of their garbage. */
  function leaveOut(reason: LeftOutReason): void {
    if (strict) {
      throw new StrictError(
        `${reason}, in an event of block ${open!.height}. Without --strict it would be skipped`,
        position,
      )
    }
    counts.leftOut.set(reason, (counts.leftOut.get(reason) ?? 0) + 1)
    onLeftOut(reason, position)
  }

  function endBlock(block: OpenBlock): void {
    const { height, hash, isHeld } = block
    open = null
    // Block 1 has two parts.
    if (isHeld && (height !== 1n || ended === null)) {
      counts.heldBlocks++
      if (isImported(height)) counts.importedBlocks++
    }
    if (height === 1n) {
      lost.delete(hash)
      if (!ended?.hashes.includes(hash)) ended = joinPart(ended, block)
    } else if (!isHeld) emit(block)
  }

  function isImported(height: bigint): boolean {
    return isWithin(imported, height)
  }

  /** Hands a whole block on; `hashes` are those of block 1's parts. */
  function emit(block: OpenBlock, hashes: readonly string[] | null = ends?.blockOne ?? null): void {
    const { height, timestamp, events, incomplete: isIncomplete, heldIndex, weight } = block
    if (isIncomplete && gaps.at(height)?.kind === 'incomplete') {
      counts.heldBlocks++
      return
    }
    const replacesAfter = holds(height) ? heldIndex : null
    const span = isIncomplete ? spanOf(ends, gaps, height) : null
    ends = { ...extended(ends ?? startsAt(firstBegun!), gaps, height, timestamp), blockOne: hashes }
    if (span !== null) gaps.add({ from: height, to: height, kind: 'incomplete', ...span })
    counts.blocks++
    onBlock({ height, timestamp, events, isIncomplete, weight, replacesAfter })
  }

  return {
    counts,
    /** The store's coverage once every block handed on is committed. */
    get coverage(): Coverage | null {
      return ends && { ...ends, chainId: chainId!, gaps: gaps.all, imported }
    },
    /** The required chain of events; null before the first event, if the store is empty. */
    get chainId(): string | null {
      return chainId
    },
    /** The height of an open block that is not stored; null if there is none. */
    get pendingHeight(): bigint | null {
      return [open, ended?.block].find((block) => block?.isHeld === false)?.height ?? null
    },
    ...{ end, accept },
  }
}

export type BlockAssembler = ReturnType<typeof createBlockAssembler>

/** Whether a text of ASCII stands at a place of bytes. */
function beginsWith(bytes: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false
  }
  return true
}
