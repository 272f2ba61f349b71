import { MAX_INT64 } from '../../domain/integers.ts'
import { EVENT_KIND } from '../../events/bus-event.ts'
import type { CheckpointEvent } from '../../events/event.ts'
import { isKey, type LeftOutReason } from '../../events/left-out.ts'
import { decoderOf, textField, uint64Field } from '../../events/message-fields.ts'
import { put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { checkpointTable } from './table.ts'

const decodeCheckpoint = decoderOf<CheckpointEvent>(
  { kind: 'checkpoint' },
  { hash: textField(1), blockHash: textField(2), atBlock: uint64Field(3) },
)

/** A checkpoint of the network, which is a row. */
export const checkpointProjection: Projection<CheckpointEvent> = {
  kind: 'checkpoint',
  numbers: [EVENT_KIND.checkpoint],
  decode: decodeCheckpoint,
  faultOf: faultOfCheckpoint,
  /** Every checkpoint is stored. Two with the same block and hash are the same row. */
  project: (batch, { atBlock, hash, blockHash }, { height, index }, { timestamp }) => {
    put(batch, checkpointTable, {
      at_block: atBlock,
      hash,
      block_hash: blockHash,
      block_timestamp: timestamp,
      height,
      event_index: index,
    })
  },
}

/** Why a checkpoint is left out, from whatever source; null if it is stored. */
function faultOfCheckpoint({ atBlock, hash, blockHash }: CheckpointEvent): LeftOutReason | null {
  if (atBlock > MAX_INT64) return 'height of 2^63 or more'
  return isKey(hash) && isKey(blockHash) ? null : 'text that cannot be kept'
}
