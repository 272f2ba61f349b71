import { type BlockAssembler, createBlockAssembler } from '#core/blocks/block-assembler'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { describePosition, EventStreamError, type RecordPosition } from '#core/records/record-position'

/**
 * Bytes that the buffer holds of one block at most, its header bytes with them. Blocks of busy networks take a few
 * megabytes; a core that ends no block must not fill the disk.
 */
export const MAX_BLOCK_BYTES = 128 * 1024 * 1024

/** A message that is refused: its connection is closed. */
export class RefusedMessageError extends Error {
  override name = 'RefusedMessageError'
  readonly fault: 'refused message' | 'block too large'

  constructor(message: string, fault: 'refused message' | 'block too large' = 'refused message') {
    super(message)
    this.fault = fault
  }
}

/** The required chain of events, and its source. */
export type PinnedChain = { id: string; pinnedBy: string }

/** Called with each complete block, except block 1, which may have a second part. */
export type OnWholeBlock = (block: { height: bigint; chainId: string }) => void

/**
 * Refuses events that could not be read from the buffer, where they would stop the ingestion for good. Assembles each block
 * as the ingestion does, as for an empty store, so that every event is checked.
 */
export function createIncomingCheck(pinned: PinnedChain | null, onWholeBlock: OnWholeBlock = () => {}) {
  let assembler = createAssembler()
  const envelope = createEnvelope()
  const position: RecordPosition = { source: 'core', record: 0, offset: 0 }
  /** Chain of the events since the last end of a block, and of the connection; null before the first. */
  let chain: string | null = null
  let connectionChain: string | null = null
  let blockBytes = 0
  /** Whether the last block of the connection has ended, and none has begun since. */
  let isBetweenBlocks = false

  /** A core has connected: while no chain is pinned, its chain may differ from the previous core's. */
  function connected(): void {
    connectionChain = null
    isBetweenBlocks = false
  }

  /** Forgets the block that has begun. */
  function dropOpenBlock(): void {
    assembler = createAssembler()
    chain = null
    blockBytes = 0
  }

  /**
   * Checks a message. `isWhole`: no block is open after it. `dropsBlock`: the block begun before is of another chain,
   * and can never be completed.
   *
   * @throws {RefusedMessageError} for a message that must not be kept.
   */
  function check(message: Buffer): { isWhole: boolean; dropsBlock: boolean } {
    const chainId = readChain(message)
    const dropsBlock = chain !== null && chain !== chainId
    if (dropsBlock) dropOpenBlock()
    chain = connectionChain = chainId
    blockBytes += message.length + RECORD_HEADER_BYTES
    if (blockBytes > MAX_BLOCK_BYTES) {
      throw new RefusedMessageError(
        `more than ${MAX_BLOCK_BYTES / 1024 / 1024} MiB without the end of a block; no block is that large`,
        'block too large',
      )
    }
    try {
      assembler.accept(message, 0, message.length, position)
    } catch (error) {
      if (!(error instanceof EventStreamError)) throw error
      throw new RefusedMessageError(error.message.slice(`${describePosition(position)}: `.length))
    }
    const { kind } = envelope
    if (kind === EVENT_KIND.endBlock) {
      dropOpenBlock()
      isBetweenBlocks = true
    } else if (kind === EVENT_KIND.beginBlock || dropsBlock) {
      isBetweenBlocks = false
    }
    return { isWhole: isBetweenBlocks, dropsBlock }
  }

  function readChain(message: Buffer): string {
    try {
      readEnvelope(message, 0, message.length, envelope)
    } catch (error) {
      throw new RefusedMessageError(`not an event: ${(error as Error).message}`)
    }
    // The assembler refuses longer ids; a message of many megabytes must not be quoted.
    const end = Math.min(envelope.chainIdEnd, envelope.chainIdStart + 1_024)
    const chainId = message.toString('utf8', envelope.chainIdStart, end)
    const expected = self.pinned?.id ?? connectionChain ?? chainId
    if (envelope.version === 1 && chainId !== expected) {
      const pinnedBy = self.pinned?.pinnedBy ?? 'the connection began with chain'
      throw new RefusedMessageError(
        `an event of chain ${JSON.stringify(chainId.slice(0, 80))}, but ${pinnedBy} ${JSON.stringify(expected)}`,
      )
    }
    return chainId
  }

  function createAssembler(): BlockAssembler {
    const assembler: BlockAssembler = createBlockAssembler({
      coverage: null,
      onBlock: ({ height }) => {
        // Incomplete blocks may never be committed.
        if (assembler.coverage!.gaps.length > 0) return
        const chainId = chain!
        self.pinned ??= { id: chainId, pinnedBy: 'an earlier block is of chain' }
        onWholeBlock({ height, chainId })
      },
      onLeftOut: () => {},
      allowGap: true,
      strict: false,
    })
    return assembler
  }

  const self = {
    /** Null while neither a setting nor a complete block gives the chain. */
    pinned,
    connected,
    dropOpenBlock,
    check,
  }
  return self
}
