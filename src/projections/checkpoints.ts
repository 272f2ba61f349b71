import type { CheckpointEvent } from '../events/event.ts'
import { type Batch, put, type StreamPlace } from './batch.ts'

/** Every checkpoint is kept; one with the same block and hash as another is the same row. */
export function projectCheckpoint(
  batch: Batch,
  { atBlock, hash, blockHash }: CheckpointEvent,
  { height, eventIndex }: StreamPlace,
  blockTimestamp: bigint,
): void {
  put(batch, 'checkpoints', [atBlock, hash, blockHash, blockTimestamp, height, eventIndex])
}
