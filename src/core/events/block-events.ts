import { MAX_INT64 } from '../domain/integers.ts'
import type { Envelope } from './bus-event.ts'
import { LENGTH_DELIMITED, MalformedMessageError, VARINT, WireReader } from './wire-reader.ts'

/** `BeginBlock`: height, time in Unix nanoseconds, block hash. */
export type BeginBlock = { height: bigint; timestamp: bigint; hash: string }

const reader = new WireReader()

/** @throws {MalformedMessageError} if the body is not a BeginBlock, or its height is 2^63 or more. */
export function decodeBeginBlock({ bytes, bodyStart, bodyEnd }: Envelope): BeginBlock {
  const block: BeginBlock = { height: 0n, timestamp: 0n, hash: '' }
  reader.reset(bytes, bodyStart, bodyEnd)
  while (reader.at < bodyEnd) {
    const tag = reader.tag()
    if (tag === ((1 << 3) | VARINT)) block.height = reader.uint64()
    else if (tag === ((2 << 3) | VARINT)) block.timestamp = reader.int64()
    else if (tag === ((3 << 3) | LENGTH_DELIMITED)) block.hash = reader.text()
    else reader.skip(tag)
  }
  if (block.height > MAX_INT64) throw new MalformedMessageError(`a block height of ${block.height}`)
  return block
}
