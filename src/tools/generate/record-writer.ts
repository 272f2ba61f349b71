import { ByteWriter, type Message } from '#core/events/byte-writer'
import type { EventType } from './event-types.ts'
import { HEX_LENGTH } from './random.ts'

/** Size at which a chunk of records is handed out. */
const RECORD_CHUNK_BYTES = 256 * 1024

/** Space for one record, in addition to the size that its writer requests. */
const USUAL_RECORD_BYTES = 4 * 1024

const BUFFER_BYTES = RECORD_CHUNK_BYTES + USUAL_RECORD_BYTES

const HEADER_BYTES = 12
const SEQUENCE_BYTES = 8
const BUS_EVENT_VERSION = 1

/**
 * Writes framed records of events of one chain: 4-byte big-endian size of the rest, 8-byte big-endian sequence number from 0,
 * BusEvent (docs/events.md, event files). It numbers the records and, within a block, the events, as the core does.
 */
export class RecordWriter {
  readonly #out = new ByteWriter(BUFFER_BYTES)
  readonly #chain: Buffer
  /** The block hash as in events, in upper case. */
  readonly #blockHash = Buffer.alloc(HEX_LENGTH)
  /** The chunks that are full. */
  #full: Buffer[] = []
  #sequence = 0n
  #blockHeight = 0
  /** The index of the block's next event. */
  #index = 1

  constructor(chainId: string) {
    this.#chain = Buffer.from(chainId, 'latin1')
  }

  /** Begins a block, to which later events belong; their ids count from 1. */
  beginBlock(height: number, upperCaseHash: Uint8Array): void {
    this.#blockHeight = height
    this.#blockHash.set(upperCaseHash)
    this.#index = 1
  }

  /**
   * Writes an event of the block. `txHash` is null for the block's own hash, as in events outside transactions.
   *
   * @param parts the event's fields, as a message or as bytes
   */
  write(event: EventType, txHash: Uint8Array | null, ...parts: (Message | Uint8Array)[]): void {
    this.#writeRecord(event, txHash, parts)
    this.#index++
  }

  /** Writes expired or cancelled orders as {@link write} does. They take one id for each order, and none without orders. */
  writeOrders(event: EventType, txHash: Uint8Array | null, body: Message, orders: number): void {
    this.#writeRecord(event, txHash, [body])
    this.#index += orders
  }

  /** Hands out the chunks that are full. */
  takeFull(): Buffer[] {
    const chunks = this.#full
    this.#full = []
    return chunks
  }

  /** Hands out everything that has been written. */
  takeAll(): Buffer[] {
    const chunks = this.takeFull()
    if (this.#out.length > 0) chunks.push(this.#out.take(BUFFER_BYTES))
    return chunks
  }

  #writeRecord(event: EventType, txHash: Uint8Array | null, parts: readonly (Message | Uint8Array)[]): void {
    const out = this.#out
    out.reserve(USUAL_RECORD_BYTES)
    const recordStart = out.length
    out.length += HEADER_BYTES
    // Written one by one, because most records are of this kind.
    out.field(1, `${this.#blockHeight}-${this.#index}`)
    out.field(2, this.#blockHash)
    out.field(3, event.type)
    out.field(4, BUS_EVENT_VERSION)
    out.field(5, this.#chain)
    out.field(6, txHash ?? this.#blockHash)
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
    out.bytes.writeBigUInt64BE(this.#sequence++, recordStart + 4)
    if (out.length >= RECORD_CHUNK_BYTES) this.#full.push(out.take(BUFFER_BYTES))
  }
}
