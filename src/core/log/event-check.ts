import { type BeginBlock, decodeBeginBlock, decodeEndBlock } from '../events/block-events.ts'
import { createEnvelope, EVENT_KIND, readEnvelope } from '../events/bus-event.ts'
import { copyBytes, equalBytes } from '../events/equal-bytes.ts'
import { BlockIds } from '../events/event-ids.ts'
import { chainIdOf, checkIdForm, checkIdOfBegin, hasIdOf, otherVersionOf } from '../events/event-origin.ts'
import { decodeUpgradeHeight } from '../events/protocol-upgrade.ts'
import { MalformedMessageError } from '../events/wire-reader.ts'
import { RECORD_HEADER_BYTES } from '../records/record-framer.ts'

/**
 * Bytes that a log holds of one block at most, its header bytes with them. Blocks of busy networks take a few megabytes; a
 * core that ends no block must not fill the disk.
 */
export const MAX_BLOCK_BYTES = 128 * 1024 * 1024

/** An event that must not be written: the connection that brought it is closed. */
export class RefusedEventError extends Error {
  override name = 'RefusedEventError'
  readonly fault: 'refused message' | 'block too large'

  constructor(message: string, fault: 'refused message' | 'block too large' = 'refused message') {
    super(message)
    this.fault = fault
  }
}

/** The required chain of events, and its source. */
export type PinnedChain = { id: string; pinnedBy: string }

/** A block that has begun, or ended. */
export type LoggedBlock = BeginBlock & {
  /** Whether no event before its last one is missing, by their ids; of one that has begun, true. */
  isWhole: boolean
}

/** What an event is to a log. */
export type CheckedEvent = {
  /**
   * `outside`: it is not written, since it belongs to no block, or not to the one that has begun, or is in that already. A
   * restarted core repeats its state with the height of its snapshot; a data node that gets this after a block's end accepts
   * nothing more.
   */
  role: 'begin' | 'within' | 'end' | 'outside'
  /** The block that it begins or ends; null otherwise. */
  block: LoggedBlock | null
  /**
   * Whether a block had begun that can never be completed: what was written of it is to be removed, before this event is
   * written.
   */
  dropsBlock: boolean
  /**
   * If the event announces a protocol upgrade, which it does between two blocks: the height of the last block before that.
   * Otherwise null.
   */
  upgradeAfter: bigint | null
}

type OpenBlock = LoggedBlock & { ids: BlockIds; bytes: number }

/**
 * Finds out to which block an event belongs, from its envelope alone: an event that this version cannot decode is kept for one
 * that can. The rules of blocks are those of docs/events.md.
 */
export class EventCheck {
  #pinned: PinnedChain | null
  readonly #envelope = createEnvelope()
  #open: OpenBlock | null = null
  /** The chain of the connection's events, and that of the last event; null before the first. */
  #connectionChain: string | null = null
  #chain: string | null = null
  #chainBytes = copyBytes(new Uint8Array(0))

  constructor(pinned: PinnedChain | null) {
    this.#pinned = pinned
  }

  /** Null while neither a setting, a store nor a whole block gives the chain. */
  get pinned(): PinnedChain | null {
    return this.#pinned
  }

  /** Requires a chain of all further events, unless one is required already. */
  pin(chain: PinnedChain): void {
    this.#pinned ??= chain
  }

  /** The chain of the last event; null before the first. */
  get chain(): string | null {
    return this.#chain
  }

  /** Whether a block has begun and not ended. */
  get isBlockOpen(): boolean {
    return this.#open !== null
  }

  /** Whether the last event, which has not been refused, has an id of a height, although it may be in no block. */
  isLastOf(height: bigint): boolean {
    return hasIdOf(this.#envelope, height)
  }

  /** The next event may be of another connection: while no chain is pinned, it may be of any. */
  forgetConnectionChain(): void {
    this.#connectionChain = null
  }

  /** Forgets the block that has begun. */
  dropOpenBlock(): void {
    this.#open = null
  }

  /**
   * Checks the event `bytes[start..end)`, the next one. Once a whole block has ended, its chain is pinned.
   *
   * @throws {RefusedEventError} for one that must not be written. Call {@link dropOpenBlock} before the next one.
   */
  check(bytes: Buffer, start: number, end: number): CheckedEvent {
    try {
      readEnvelope(bytes, start, end, this.#envelope)
      const isOtherChain = this.#checkOrigin()
      const dropsBlock = isOtherChain && this.#forgetOpenBlock()
      switch (this.#envelope.kind) {
        case EVENT_KIND.beginBlock:
          return this.#begin(dropsBlock, end - start)
        case EVENT_KIND.protocolUpgradeStarted:
          if (this.#open === null)
            return { ...OUTSIDE, dropsBlock, upgradeAfter: decodeUpgradeHeight(this.#envelope) }
      }
      const isWithin = this.#takeId(end - start)
      if (!isWithin) return dropsBlock ? { ...OUTSIDE, dropsBlock } : OUTSIDE
      return this.#envelope.kind === EVENT_KIND.endBlock ? this.#end() : WITHIN
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      throw new RefusedEventError(`not an event: ${error.message}`)
    }
  }

  #begin(dropsBefore: boolean, bytes: number): CheckedEvent {
    const block: LoggedBlock = { ...decodeBeginBlock(this.#envelope), isWhole: true }
    checkIdOfBegin(this.#envelope, block.height)
    const dropsBlock = this.#forgetOpenBlock() || dropsBefore
    this.#open = { ...block, ids: new BlockIds(block.height), bytes: 0 }
    this.#takeId(bytes)
    return { role: 'begin', block, dropsBlock, upgradeAfter: null }
  }

  #end(): CheckedEvent {
    const block = this.#open!
    const height = decodeEndBlock(this.#envelope)
    if (height !== block.height)
      throw new MalformedMessageError(`it ends block ${height}, but its id is of block ${block.height}`)
    this.#open = null
    if (block.isWhole) this.pin({ id: this.#chain!, pinnedBy: 'an earlier block is of chain' })
    return { role: 'end', block, dropsBlock: false, upgradeAfter: null }
  }

  /** Returns whether there was one. */
  #forgetOpenBlock(): boolean {
    const isOpen = this.#open !== null
    this.#open = null
    return isOpen
  }

  /**
   * Checks version and chain of an event; returns whether the chain is another one than that of the event before: the block that
   * has begun then never ends. Which chain is allowed:
   *
   * | a chain is pinned | the event is the connection's first | allowed |
   * |---|---|---|
   * | yes | either | the pinned one |
   * | no | no | that of the connection's first event |
   * | no | yes | any |
   *
   * @throws {RefusedEventError}
   */
  #checkOrigin(): boolean {
    const { bytes, chainIdStart, chainIdEnd } = this.#envelope
    const otherVersion = otherVersionOf(this.#envelope)
    if (otherVersion !== null) throw new RefusedEventError(otherVersion)
    // Almost all events are of the same chain as the one before, and that is still the expected one: their bytes are compared.
    const isLastExpected = this.#chain !== null && this.#chain === (this.#pinned?.id ?? this.#connectionChain)
    if (isLastExpected && equalBytes(this.#chainBytes, bytes, chainIdStart, chainIdEnd)) return false
    const chain = chainIdOf(this.#envelope)
    const expected = this.#pinned?.id ?? this.#connectionChain ?? chain
    if (chain !== expected) {
      const pinnedBy = this.#pinned?.pinnedBy ?? 'the connection began with chain'
      throw new RefusedEventError(
        `an event of chain ${JSON.stringify(chain.slice(0, 80))}, but ${pinnedBy} ${JSON.stringify(expected)}`,
      )
    }
    const isOther = this.#chain !== null && this.#chain !== chain
    this.#chain = this.#connectionChain = chain
    this.#chainBytes = copyBytes(bytes, chainIdStart, chainIdEnd)
    return isOther
  }

  /** Counts the event as one of the open block; false if it belongs to none or to another one, or is there already. */
  #takeId(bytes: number): boolean {
    const open = this.#open
    if (open === null) {
      checkIdForm(this.#envelope)
      return false
    }
    const expected = open.ids.next
    const place = open.ids.take(this.#envelope)
    // A core that is started again within a block may send events of it again.
    if (place === 'other' || place === 'repeated') return false
    if (place > expected) open.isWhole = false
    open.bytes += bytes + RECORD_HEADER_BYTES
    if (open.bytes > MAX_BLOCK_BYTES) {
      throw new RefusedEventError(
        `more than ${MAX_BLOCK_BYTES / 1024 / 1024} MiB without the end of a block; no block is that large`,
        'block too large',
      )
    }
    return true
  }
}

/** What belongs to no block. */
const OUTSIDE: CheckedEvent = { role: 'outside', block: null, dropsBlock: false, upgradeAfter: null }
const WITHIN: CheckedEvent = { role: 'within', block: null, dropsBlock: false, upgradeAfter: null }
