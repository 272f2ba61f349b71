import { ByteWriter, type Message } from '#core/events/byte-writer'
import type { EventType } from './event-types.ts'
import { HEX_LENGTH } from './random.ts'

/** Size at which a chunk of records is handed out. */
const RECORD_CHUNK_BYTES = 256 * 1024

/** Room for one record, besides what its writer says that it takes more. */
const USUAL_RECORD_BYTES = 4 * 1024

const BUFFER_BYTES = RECORD_CHUNK_BYTES + USUAL_RECORD_BYTES

const HEADER_BYTES = 12
const SEQUENCE_BYTES = 8
const BUS_EVENT_VERSION = 1

/**
 * Writes framed records: 4-byte big-endian size of the rest, 8-byte big-endian sequence number, BusEvent
 * (docs/events.md, event files). Numbers the records and, within a block, the events, as the core counts them.
 */
export type RecordWriter = {
  /** Events from here on belong to this block; their ids count from 1. */
  beginBlock(height: number, upperCaseHash: Uint8Array): void
  /**
   * Writes an event of the block. `txHash` null: the block's own hash, as events outside transactions have it.
   *
   * @param parts the event's fields: as such, or as bytes
   */
  write(event: EventType, txHash: Uint8Array | null, ...parts: (Message | Uint8Array)[]): void
  /** Writes expired or cancelled orders as {@link write} does; they take as many ids as they have orders, so none if they have none. */
  writeOrders(event: EventType, txHash: Uint8Array | null, body: Message, orders: number): void
  /** Hands out the chunks that are full. */
  takeFull(): Buffer[]
  /** Hands out all that is written. */
  takeAll(): Buffer[]
}

export function createRecordWriter(chainId: string): RecordWriter {
  const out = new ByteWriter(BUFFER_BYTES)
  const chain = Buffer.from(chainId, 'latin1')
  /** The block hash as events carry it, in upper case. */
  const blockHash = Buffer.alloc(HEX_LENGTH)
  let full: Buffer[] = []
  let sequence = 0n
  let blockHeight = 0
  /** The index of the block's next event. */
  let index = 1

  function beginBlock(height: number, upperCaseHash: Uint8Array): void {
    blockHeight = height
    blockHash.set(upperCaseHash)
    index = 1
  }

  function write(event: EventType, txHash: Uint8Array | null, ...parts: (Message | Uint8Array)[]): void {
    writeRecord(event, txHash, parts)
    index++
  }

  function writeOrders(event: EventType, txHash: Uint8Array | null, body: Message, orders: number): void {
    writeRecord(event, txHash, [body])
    index += orders
  }

  function writeRecord(
    event: EventType,
    txHash: Uint8Array | null,
    parts: readonly (Message | Uint8Array)[],
  ): void {
    out.reserve(USUAL_RECORD_BYTES)
    const recordStart = out.length
    out.length += HEADER_BYTES
    // One by one, because most records are of this kind.
    out.field(1, `${blockHeight}-${index}`)
    out.field(2, blockHash)
    out.field(3, event.type)
    out.field(4, BUS_EVENT_VERSION)
    out.field(5, chain)
    out.field(6, txHash ?? blockHash)
    const bodyStart = out.open(event.kind)
    for (const part of parts) {
      if (!ArrayBuffer.isView(part)) out.message(part)
      else {
        out.reserve(USUAL_RECORD_BYTES + part.length)
        out.raw(part)
      }
    }
    out.close(bodyStart)
    const size = out.length - recordStart - HEADER_BYTES + SEQUENCE_BYTES
    out.bytes.writeUInt32BE(size, recordStart)
    out.bytes.writeBigUInt64BE(sequence++, recordStart + 4)
    if (out.length >= RECORD_CHUNK_BYTES) full.push(out.take(BUFFER_BYTES))
  }

  function takeFull(): Buffer[] {
    const chunks = full
    full = []
    return chunks
  }

  function takeAll(): Buffer[] {
    const chunks = takeFull()
    if (out.length > 0) chunks.push(out.take(BUFFER_BYTES))
    return chunks
  }

  return { beginBlock, write, writeOrders, takeFull, takeAll }
}
