import type { DecodedEvent } from '../events/event.ts'
import { EventStreamError, type RecordPosition } from '../records/record-position.ts'

/** An event and its index within its block, the first being 1. In block 1, the events of genesis are counted first. */
export type BlockEvent = { index: number; event: DecodedEvent }

/** A block that has ended: its events of the kinds that are stored. */
export type Block = {
  height: bigint
  /** Unix nanoseconds. */
  timestamp: bigint
  events: BlockEvent[]
  /** Whether events of it are known to be missing. */
  isIncomplete?: boolean
  /** Events after this index replace the stored ones of the block; null if none are stored. */
  replacesAfter: number | null
  /** Approximate memory of the events, in bytes. */
  weight: number
}

/** Blocks or events are missing in the stream. Ingestion stops before the block at which this shows. */
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

/** Blocks below the store's first one were added, and some between are still missing at the end. */
export class MissingHistoryError extends Error {
  override name = 'MissingHistoryError'
}

/** The stream is from another network than the store, or changes its network within the input. */
export class ChainError extends EventStreamError {
  override name = 'ChainError'
}

/** An invalid event, at which `--strict` stops. */
export class StrictError extends EventStreamError {
  override name = 'StrictError'
}
