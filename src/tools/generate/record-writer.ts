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
 * (docs/events.md, event files). Numbers the records and, within a block, the events.
 */
export class RecordWriter {
  readonly #out = new ByteWriter(BUFFER_BYTES)
  readonly #chainId: Buffer
  /** The block hash as events carry it, in upper case. */
  readonly #blockHash = Buffer.alloc(HEX_LENGTH)
  #full: Buffer[] = []
  #sequence = 0n
  #height = ''
  #index = 0

  constructor(chainId: string) {
    this.#chainId = Buffer.from(chainId, 'latin1')
  }

  /** Events from here on belong to this block; their ids count from 1. */
  beginBlock(height: number, upperCaseHash: Uint8Array): void {
    this.#height = String(height)
    this.#blockHash.set(upperCaseHash)
    this.#index = 0
  }

  /**
   * Writes an event of the block. `txHash` null: the block's own hash, as events outside transactions have it.
   *
   * @param parts the event's fields: as such, or as bytes
   */
  write(event: EventType, txHash: Uint8Array | null, ...parts: (Message | Uint8Array)[]): void {
    const out = this.#out
    out.reserve(USUAL_RECORD_BYTES)
    const recordStart = out.length
    out.length += HEADER_BYTES
    // One by one, because most records are of this kind.
    out.field(1, `${this.#height}-${++this.#index}`)
    out.field(2, this.#blockHash)
    out.field(3, event.type)
    out.field(4, BUS_EVENT_VERSION)
    out.field(5, this.#chainId)
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

  /** Hands out the chunks that are full. */
  takeFull(): Buffer[] {
    const chunks = this.#full
    this.#full = []
    return chunks
  }

  /** Hands out all that is written. */
  takeAll(): Buffer[] {
    const chunks = this.takeFull()
    if (this.#out.length > 0) chunks.push(this.#out.take(BUFFER_BYTES))
    return chunks
  }
}
