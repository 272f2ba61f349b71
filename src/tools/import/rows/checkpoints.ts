import type { CheckpointEvent } from '#core/events/event'
import { faultOf } from '#core/resources/projections'
import type { SourceRow } from '../source.ts'
import { eventIndexOf, faultOfIndex, type LeftOutRows, naturalOf, rowUnlessFault } from './row-values.ts'

/** A checkpoint, and its index in the block. */
export function checkpointOf(
  row: SourceRow,
  leaveOut: LeftOutRows,
): { event: CheckpointEvent; index: number } | null {
  const [hash, blockHash, height, seqNum] = row
  const event: CheckpointEvent = {
    kind: 'checkpoint',
    hash: hash ?? '',
    blockHash: blockHash ?? '',
    atBlock: naturalOf(height),
  }
  const index = eventIndexOf(seqNum)
  return rowUnlessFault({ event, index }, faultOf(event) ?? faultOfIndex(index), leaveOut)
}
