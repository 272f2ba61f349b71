import type { EventPosition } from '../../domain/event-position.ts'
import { MAX_INT64 } from '../../domain/integers.ts'
import { GO_ZERO_TIME } from '../../domain/time.ts'
import type { EpochEvent } from '../../events/event.ts'
import type { LeftOutReason } from '../../events/left-out.ts'
import { decoderOf, int64Field, uint32Field, uint64Field } from '../../events/message-fields.ts'
import type { WireReader } from '../../events/wire-reader.ts'
import { type Batch, put } from '../../model/batch.ts'
import type { Projection } from '../../model/projection.ts'
import { putEpochHistory } from '../liquidity-provider-history/projection.ts'
import { epochEndTable, epochTable } from './table.ts'

/** `EpochEvent.Action`. */
const ACTIONS: readonly (EpochEvent['action'] | undefined)[] = [undefined, 'start', 'end']

type EpochFields = { seq: bigint; action: number; start: bigint; expiry: bigint; end: bigint }

const decodeFields = decoderOf<EpochFields>(
  {},
  {
    seq: uint64Field(1),
    action: uint32Field(2),
    start: int64Field(3),
    expiry: int64Field(4),
    end: int64Field(5),
  },
)

/** The start or the end of an epoch. An end also adds rows of provider history. */
export const epochProjection: Projection<EpochEvent> = {
  kind: 'epoch',
  numbers: [131],
  decode: decodeEpoch,
  faultOf: faultOfEpoch,
  project: (batch, event, position, block, at) => {
    if (event.action === 'start') return putStart(batch, event, position)
    putEnd(batch, event, position)
    putEpochHistory(batch, event, position, block, at)
  },
}

function putStart(
  batch: Batch,
  { epoch, start, expiry }: EpochEvent,
  { height, index }: EventPosition,
): void {
  put(batch, epochTable, {
    epoch,
    has_start: true,
    start_timestamp: start,
    expiry_timestamp: expiry,
    height,
    event_index: index,
  })
}

/** The end, and the row of an epoch whose start may not be stored. */
function putEnd(batch: Batch, event: EpochEvent, { height, index }: EventPosition): void {
  const { epoch } = event
  const position = { height, event_index: index }
  put(batch, epochTable, {
    epoch,
    has_start: false,
    start_timestamp: null,
    expiry_timestamp: null,
    ...position,
  })
  put(batch, epochEndTable, {
    epoch,
    start_timestamp: event.start,
    expiry_timestamp: event.expiry,
    end_timestamp: event.end,
    ...position,
  })
}

/** Decodes an epoch event; null if it is neither a start nor an end. */
function decodeEpoch(reader: WireReader): EpochEvent | null {
  const fields = decodeFields(reader)
  const action = ACTIONS[fields.action]
  if (action === undefined) return null
  return {
    kind: 'epoch',
    action,
    epoch: fields.seq,
    start: setTime(fields.start),
    expiry: setTime(fields.expiry),
    end: action === 'end' ? setTime(fields.end) : null,
  }
}

function setTime(time: bigint): bigint | null {
  return time === 0n || time === GO_ZERO_TIME ? null : time
}

/** Why an epoch is left out, from whatever source; null if it is stored. */
function faultOfEpoch({ epoch }: EpochEvent): LeftOutReason | null {
  return epoch > MAX_INT64 ? 'seq of 2^63 or more' : null
}
