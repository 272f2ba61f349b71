import { MAX_INT64 } from '../domain/integers.ts'
import type { Envelope } from './bus-event.ts'
import { bytesOf, MalformedMessageError, uint, WireReader } from './wire-reader.ts'

/** `BeginBlock`: height, time in Unix nanoseconds, block hash. */
export type BeginBlock = { height: bigint; timestamp: bigint; hash: string }

const reader = new WireReader()

/** @throws {MalformedMessageError} if the body is not a BeginBlock, or its height is 2^63 or more. */
export function decodeBeginBlock({ bytes, bodyStart, bodyEnd }: Envelope): BeginBlock {
  const block: BeginBlock = { height: 0n, timestamp: 0n, hash: '' }
  reader.reset(bytes, bodyStart, bodyEnd)
  while (reader.at < bodyEnd) {
    const tag = reader.tag()
    if (tag === uint(1)) block.height = reader.uint64()
    else if (tag === uint(2)) block.timestamp = reader.int64()
    else if (tag === bytesOf(3)) block.hash = reader.text()
    else reader.skip(tag)
  }
  if (block.height > MAX_INT64) throw new MalformedMessageError(`a block height of ${block.height}`)
  return block
}
