import type { CheckpointEvent } from '../events/event.ts'
import type { Batch, StreamPlace } from './batch.ts'

/** Every checkpoint is kept; one with the same block and hash as another is the same row. */
export function projectCheckpoint(
  batch: Batch,
  event: CheckpointEvent,
  place: StreamPlace,
  blockTimestamp: bigint,
): void {
  batch.checkpoints.push({
    atBlock: event.atBlock,
    hash: event.hash,
    blockHash: event.blockHash,
    blockTimestamp,
    height: place.height,
    eventIndex: place.eventIndex,
  })
}
