import { MAX_INT64 } from '../domain/integers.ts'
import type { Envelope } from './bus-event.ts'
import { decoderOf, int64Field, textField, uint64Field } from './message-fields.ts'
import { MalformedMessageError, WireReader } from './wire-reader.ts'

/** `BeginBlock`: height, time in Unix nanoseconds, block hash. */
export type BeginBlock = { height: bigint; timestamp: bigint; hash: string }

const reader = new WireReader()

const decodeFields = decoderOf<BeginBlock>(
  {},
  { height: uint64Field(1), timestamp: int64Field(2), hash: textField(3) },
)

/** @throws {MalformedMessageError} if the body is not a BeginBlock, or its height is 2^63 or more. */
export function decodeBeginBlock({ bytes, bodyStart, bodyEnd }: Envelope): BeginBlock {
  reader.reset(bytes, bodyStart, bodyEnd)
  const block = decodeFields(reader)
  if (block.height > MAX_INT64) throw new MalformedMessageError(`a block height of ${block.height}`)
  return block
}

const decodeHeight = decoderOf<{ height: bigint }>({}, { height: uint64Field(1) })

/**
 * The height of an EndBlock.
 *
 * @throws {MalformedMessageError} if the body is not an EndBlock.
 */
export function decodeEndBlock({ bytes, bodyStart, bodyEnd }: Envelope): bigint {
  reader.reset(bytes, bodyStart, bodyEnd)
  return decodeHeight(reader).height
}
