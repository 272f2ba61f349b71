import { EventStreamError, type RecordPosition } from './record-position.ts'

/** Maximum value of a record's size field: 64 MiB (docs/events.md, event files). */
export const MAX_RECORD_SIZE = 64 * 1024 * 1024

/** Bytes before a record's event: the size field (4) and the sequence number (8). */
export const RECORD_HEADER_BYTES = 12

/** Receives one record, whose event is `bytes[start..end)`. The bytes are valid only during the call. */
export type RecordSink = (bytes: Buffer, start: number, end: number, position: RecordPosition) => void

/** The bytes after the last whole record: the file was still being written, or was truncated. */
type CutOff = { offset: number; bytes: number }

/**
 * Cuts the uncompressed bytes of one event file into records: 4 bytes big-endian size, 8 bytes sequence number, then size -
 * 8 bytes of event. The position passed to the sink is one object, which changes from call to call.
 */
export class RecordFramer {
  readonly position: RecordPosition
  /** How often the sequence number did not increase by one from a record to the next. */
  sequenceBreaks = 0
  readonly #sink: RecordSink
  /** The beginning of an incomplete record: `#pendingBytes` of its `#neededBytes` bytes. */
  #pending: Buffer = Buffer.alloc(0)
  #pendingBytes = 0
  #neededBytes = 0
  /** Offset in the source of the first byte not yet handed on. */
  #offset = 0
  #sequenceHigh = -1
  #sequenceLow = -1

  /** @param offset position in the source of the first pushed byte */
  constructor(source: string, sink: RecordSink, offset = 0) {
    this.#offset = offset
    this.position = { source, record: 0, offset: 0 }
    this.#sink = sink
  }

  /**
   * Takes the next bytes and hands on every record that they complete.
   *
   * @throws {EventStreamError} for a size below 8 or above 64 MiB. Earlier records have been handed on.
   */
  push(chunk: Buffer): void {
    let rest = chunk
    while (this.#pendingBytes > 0 && rest.length > 0) {
      const copied = rest.copy(this.#pending, this.#pendingBytes, 0, this.#neededBytes - this.#pendingBytes)
      rest = rest.subarray(copied)
      this.#pendingBytes += copied
      if (this.#pendingBytes < this.#neededBytes) return
      this.#pendingBytes = 0
      this.#consume(this.#pending.subarray(0, this.#neededBytes))
    }
    if (rest.length > 0) this.#consume(rest)
  }

  /** Offset in the source of the first byte after the last whole record. */
  get offset(): number {
    return this.#offset
  }

  /** Ends the source. Returns the bytes after the last whole record; null if there are none. */
  end(): CutOff | null {
    return this.#pendingBytes === 0 ? null : { offset: this.#offset, bytes: this.#pendingBytes }
  }

  #consume(bytes: Buffer): void {
    const base = this.#offset
    let at = 0
    let needed = 4
    while (at + 4 <= bytes.length) {
      const size = bytes.readUInt32BE(at)
      if (size < 8 || size > MAX_RECORD_SIZE) {
        this.position.record++
        this.position.offset = base + at
        throw new EventStreamError(
          `a record's size of ${size} is outside 8 to ${MAX_RECORD_SIZE}: the file is damaged here or is not an event file`,
          this.position,
        )
      }
      needed = 4 + size
      if (at + needed > bytes.length) break
      this.position.record++
      this.position.offset = base + at
      this.#checkSequence(bytes.readUInt32BE(at + 4), bytes.readUInt32BE(at + 8))
      const end = at + needed
      this.#sink(bytes, at + RECORD_HEADER_BYTES, end, this.position)
      at = end
      needed = 4
    }
    this.#offset = base + at
    if (at === bytes.length) return
    if (this.#pending.length < needed) this.#growPending(needed)
    this.#neededBytes = needed
    this.#pendingBytes = bytes.copy(this.#pending, 0, at)
  }

  /** Doubles the buffer, so that records of growing size do not leave behind one large buffer each. */
  #growPending(needed: number): void {
    const size = Math.max(needed, Math.min(2 * this.#pending.length, MAX_RECORD_SIZE + 4))
    this.#pending = Buffer.allocUnsafeSlow(size)
  }

  #checkSequence(high: number, low: number): void {
    const followsOn =
      this.#sequenceHigh === -1 ||
      (high === this.#sequenceHigh && low === this.#sequenceLow + 1) ||
      (low === 0 && high === this.#sequenceHigh + 1 && this.#sequenceLow === 0xffffffff)
    if (!followsOn) this.sequenceBreaks++
    this.#sequenceHigh = high
    this.#sequenceLow = low
  }
}
