import { BlockAssembler } from '#core/blocks/block-assembler'
import { createEnvelope, EVENT_KIND, readEnvelope } from '#core/events/bus-event'
import { decodeUpgradeHeight } from '#core/events/protocol-upgrade'
import { MalformedMessageError } from '#core/events/wire-reader'
import { MAX_BLOCK_BYTES, type PinnedChain, RefusedEventError } from '#core/log/event-check'
import { RECORD_HEADER_BYTES } from '#core/records/record-framer'
import { describePosition, EventStreamError, type RecordPosition } from '#core/records/record-position'

/** Called with each complete block, except block 1, which may have a second part. */
export type OnWholeBlock = (block: { height: bigint; chainId: string }) => void

/** A message that may be kept. */
export type CheckedMessage = {
  /**
   * Whether it is part of a block. All else is passed over: a restarted core repeats its state with the height of its
   * snapshot, outside any block, and a receiver that gets this behind the block's end accepts nothing more.
   */
  isInBlock: boolean
  /** Whether it ends the block. */
  endsBlock: boolean
  /** The block begun before is of another chain, and can never be completed. */
  dropsBlock: boolean
  /** Of the block that it begins, the height. */
  begins: bigint | null
  /** Of the last block before a protocol upgrade, the height; the upgrade is announced between two blocks. */
  upgradeAfter: bigint | null
  chainId: string
}

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

  /** A core has connected: while no chain is pinned, its chain may differ from the previous core's. */
  function connected(): void {
    connectionChain = null
  }

  /** Forgets the block that has begun. */
  function dropOpenBlock(): void {
    assembler = createAssembler()
    chain = null
    blockBytes = 0
  }

  /**
   * The buffer ends within a block: its events, from its beginning, continue in those to come.
   */
  function resume(events: readonly Buffer[]): void {
    try {
      for (const event of events) check(event)
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error
      dropOpenBlock()
    }
    connectionChain = null
  }

  /**
   * Checks a message.
   *
   * @throws {RefusedEventError} for a message that must not be kept.
   */
  function check(message: Buffer): CheckedMessage {
    const chainId = readChain(message)
    const dropsBlock = chain !== null && chain !== chainId
    if (dropsBlock) dropOpenBlock()
    chain = connectionChain = chainId
    const { kind } = envelope
    const upgradeAfter = kind === EVENT_KIND.protocolUpgradeStarted ? readUpgrade() : null
    const passedOver = countPassedOver()
    acceptEvent(message)
    const isInBlock = countPassedOver() === passedOver
    const begins = kind === EVENT_KIND.beginBlock ? assembler.pendingHeight : null
    const endsBlock = isInBlock && kind === EVENT_KIND.endBlock
    const isBetweenBlocks = assembler.pendingHeight === null
    if (isInBlock) countBytes(message.length + RECORD_HEADER_BYTES)
    if (endsBlock) dropOpenBlock()
    return {
      isInBlock,
      endsBlock,
      dropsBlock,
      begins,
      upgradeAfter: isBetweenBlocks ? upgradeAfter : null,
      chainId,
    }
  }

  /** Events outside blocks that the assembler has seen. */
  function countPassedOver(): number {
    const { beforeFirstBlock, outsideBlocks } = assembler.counts
    return beforeFirstBlock + outsideBlocks
  }

  function countBytes(bytes: number): void {
    blockBytes += bytes
    if (blockBytes > MAX_BLOCK_BYTES) {
      throw new RefusedEventError(
        `more than ${MAX_BLOCK_BYTES / 1024 / 1024} MiB without the end of a block; no block is that large`,
        'block too large',
      )
    }
  }

  function acceptEvent(message: Buffer): void {
    try {
      assembler.accept(message, 0, message.length, position)
    } catch (error) {
      if (!(error instanceof EventStreamError)) throw error
      throw new RefusedEventError(error.message.slice(`${describePosition(position)}: `.length))
    }
  }

  function readUpgrade(): bigint {
    try {
      return decodeUpgradeHeight(envelope)
    } catch (error) {
      if (!(error instanceof MalformedMessageError)) throw error
      throw new RefusedEventError(`not an event: ${error.message}`)
    }
  }

  function readChain(message: Buffer): string {
    try {
      readEnvelope(message, 0, message.length, envelope)
    } catch (error) {
      throw new RefusedEventError(`not an event: ${(error as Error).message}`)
    }
    // The assembler refuses longer ids; a message of many megabytes must not be quoted.
    const end = Math.min(envelope.chainIdEnd, envelope.chainIdStart + 1_024)
    const chainId = message.toString('utf8', envelope.chainIdStart, end)
    const expected = self.pinned?.id ?? connectionChain ?? chainId
    if (envelope.version === 1 && chainId !== expected) {
      const pinnedBy = self.pinned?.pinnedBy ?? 'the connection began with chain'
      throw new RefusedEventError(
        `an event of chain ${JSON.stringify(chainId.slice(0, 80))}, but ${pinnedBy} ${JSON.stringify(expected)}`,
      )
    }
    return chainId
  }

  function createAssembler(): BlockAssembler {
    const assembler = new BlockAssembler({
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
      isCheck: true,
    })
    return assembler
  }

  const self = {
    /** Null while neither a setting nor a complete block gives the chain. */
    pinned,
    connected,
    dropOpenBlock,
    resume,
    check,
  }
  return self
}
