import { ByteWriter } from '../events/byte-writer.ts'
import type { EventType } from './event-types.ts'
import { HEX_LENGTH } from './random.ts'

/** Size at which a chunk of records is handed out. */
const CHUNK_BYTES = 256 * 1024

/** Room for one record, besides what its writer says that it takes more. */
const USUAL_RECORD_BYTES = 4 * 1024

const BUFFER_BYTES = CHUNK_BYTES + USUAL_RECORD_BYTES

const HEADER_BYTES = 12
const SEQUENCE_BYTES = 8
const BUS_EVENT_VERSION = 1

/**
 * Writes framed records: 4-byte big-endian size of the rest, 8-byte big-endian sequence number, BusEvent
 * (docs/events.md, event files). Numbers the records and, within a block, the events.
 */
export class RecordWriter {
  /** Takes the body of the event that has been begun. */
  readonly body = new ByteWriter(BUFFER_BYTES)
  readonly #chainId: Buffer
  /** The block hash as events carry it, in upper case. */
  readonly #blockHash = Buffer.alloc(HEX_LENGTH)
  #full: Buffer[] = []
  #sequence = 0
  #height = ''
  #index = 0
  #recordStart = 0
  #bodyStart = 0

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
   * Begins an event of the block. `txHash` null: the block's own hash, as events outside transactions have it.
   * `bodyBytes`: room for what makes the body larger than usual.
   */
  begin(event: EventType, txHash: Uint8Array | null, bodyBytes = 0): void {
    const out = this.body
    out.reserve(USUAL_RECORD_BYTES + bodyBytes)
    this.#recordStart = out.length
    out.length += HEADER_BYTES
    out.text(1, `${this.#height}-${++this.#index}`)
    out.content(2, this.#blockHash)
    out.uint(3, event.type)
    out.uint(4, BUS_EVENT_VERSION)
    out.content(5, this.#chainId)
    out.content(6, txHash ?? this.#blockHash)
    this.#bodyStart = out.open(event.kind)
  }

  /** Ends the event that has been begun, and with it its record. */
  end(): void {
    const out = this.body
    out.close(this.#bodyStart)
    const size = out.length - this.#recordStart - HEADER_BYTES + SEQUENCE_BYTES
    out.bytes.writeUInt32BE(size, this.#recordStart)
    out.bytes.writeUInt32BE(Math.floor(this.#sequence / 0x1_0000_0000), this.#recordStart + 4)
    out.bytes.writeUInt32BE(this.#sequence % 0x1_0000_0000, this.#recordStart + 8)
    this.#sequence++
    if (out.length >= CHUNK_BYTES) this.#full.push(out.take(BUFFER_BYTES))
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
    if (this.body.length > 0) chunks.push(this.body.take(BUFFER_BYTES))
    return chunks
  }
}
