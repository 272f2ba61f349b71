import type { MarketEvent } from '../events/event.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'

/** An event and its index within its block, the first being 1; of block 1, genesis' events count first. */
export type BlockEvent = { index: number; event: MarketEvent }

/** A complete block: the kept events from BeginBlock to EndBlock. */
export type Block = {
  height: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  events: BlockEvent[]
  /** Whether events of it are known to be missing. */
  isIncomplete?: boolean
  /** Events after this index replace the stored ones of the block; null if none are stored. */
  replacesAfter: number | null
  /** About how much memory the events take, in bytes. */
  weight: number
}

/** Blocks or events are missing in the stream: ingestion stops before the block that shows it. */
export class GapError extends EventStreamError {
  override name = 'GapError'
  readonly from: bigint
  readonly to: bigint

  constructor(message: string, from: bigint, to: bigint, position: RecordPosition) {
    super(message, position)
    this.from = from
    this.to = to
  }
}

/** Blocks below those that the store began with were added, and some between are still missing at the end. */
export class MissingHistoryError extends Error {
  override name = 'MissingHistoryError'
}

/** The stream is another network's than the store's, or changes its network within the input. */
export class ChainError extends EventStreamError {
  override name = 'ChainError'
}

/** An event that is not as it should be, where `--strict` asks to stop at such. */
export class StrictError extends EventStreamError {
  override name = 'StrictError'
}
