import { bytesOf, uint } from './wire-reader.ts'

/** From so many characters on, a text is written by one call of Node. */
const MIN_LONG_TEXT = 24

/** Most bytes of a character. */
const MAX_UTF8_BYTES = 4

/** A 64-bit integer, whose halves are read: calculating them takes longer. */
const halves = new DataView(new ArrayBuffer(8))

/**
 * A message by its field numbers. Null, and numbers and texts with proto3's default value, are left out, as by every
 * encoder; bytes are written even if they are empty. A list is a repeated field.
 */
export type Message = { readonly [field: number]: FieldValue }

export type FieldValue =
  | string
  | number
  | bigint
  | boolean
  | Uint8Array
  | Message
  | readonly FieldValue[]
  | null

/**
 * Writes protobuf fields into a buffer. Only `reserve` makes it grow, so callers reserve space first. `close` and `take`
 * throw a RangeError if more was written than reserved.
 */
export class ByteWriter {
  bytes: Buffer
  length = 0

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacity)
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, this.length + count))
    this.bytes.copy(grown, 0, 0, this.length)
    this.bytes = grown
  }

  /** Returns the written bytes and starts a new buffer of the given capacity. */
  take(capacity: number): Buffer {
    this.#checkRoom()
    const written = this.bytes.subarray(0, this.length)
    this.bytes = Buffer.allocUnsafeSlow(capacity)
    this.length = 0
    return written
  }

  /** A copy of the written bytes. */
  copy(): Buffer {
    this.#checkRoom()
    return Buffer.from(this.bytes.subarray(0, this.length))
  }

  /** Copies bytes that are already protobuf fields. */
  raw(source: Uint8Array): void {
    this.bytes.set(source, this.length)
    this.length += source.length
  }

  /** The fields of a message, in the order of their numbers. */
  message(message: Message): void {
    for (const field of Object.keys(message)) this.field(Number(field), message[field as unknown as number]!)
  }

  field(field: number, value: FieldValue): void {
    if (typeof value === 'string') this.#text(field, value)
    else if (typeof value === 'number') this.#uint(field, value)
    else if (typeof value === 'bigint') this.#int64(field, value)
    else if (typeof value === 'boolean') this.#uint(field, value ? 1 : 0)
    else if (ArrayBuffer.isView(value)) this.#content(field, value)
    else if (Array.isArray(value)) for (const element of value) this.field(field, element)
    else if (value !== null) {
      const start = this.open(field)
      this.message(value as Message)
      this.close(start)
    }
  }

  /** An integer field, 0 to 2^53 - 1. */
  #uint(field: number, value: number): void {
    if (value === 0) return
    this.#varint(uint(field))
    this.#varint(value)
  }

  /** An integer field of value 0, which is otherwise left out: for fields in which 0 differs from absent. */
  zero(field: number): void {
    this.#varint(uint(field))
    this.#varint(0)
  }

  /** A signed or unsigned 64-bit integer field. */
  #int64(field: number, value: bigint): void {
    if (value === 0n) return
    this.#varint(uint(field))
    halves.setBigInt64(0, value)
    const low = halves.getUint32(4)
    const high = halves.getUint32(0)
    // 28 bits of the low half make four groups of seven; the rest fits in a plain number.
    let at = this.length
    if (high !== 0) {
      for (let shift = 0; shift < 28; shift += 7) this.bytes[at++] = ((low >>> shift) & 0x7f) | 0x80
      this.length = at
      this.#varint(high * 16 + (low >>> 28))
    } else {
      this.#varint(low)
    }
  }

  #text(field: number, value: string): void {
    if (value === '') return
    const start = this.length
    this.#varint(bytesOf(field))
    this.#varint(value.length)
    // Most texts are ASCII.
    if (value.length < MIN_LONG_TEXT ? this.#shortAscii(value) : this.#longAscii(value)) return
    this.length = start
    this.#content(field, Buffer.from(value))
  }

  /** Writes a text if it is ASCII; returns whether it is. */
  #shortAscii(value: string): boolean {
    const { bytes } = this
    let at = this.length
    let codes = 0
    for (let i = 0; i < value.length; i++) {
      const code = value.charCodeAt(i)
      bytes[at++] = code
      codes |= code
    }
    if (codes >= 0x80) return false
    this.length = at
    return true
  }

  /** As {@link #shortAscii}; takes less time for longer texts. */
  #longAscii(value: string): boolean {
    // Beyond the end, it would be cut without an error.
    if (this.length + value.length + MAX_UTF8_BYTES > this.bytes.length) return this.#shortAscii(value)
    if (this.bytes.write(value, this.length) !== value.length) return false
    this.length += value.length
    return true
  }

  /** A text or bytes field, from bytes. */
  #content(field: number, value: Uint8Array): void {
    this.#varint(bytesOf(field))
    this.#varint(value.length)
    this.raw(value)
  }

  /**
   * Opens a nested message; `close` takes the returned position.
   *
   * @param sizeBytes how many bytes its size is expected to take
   */
  open(field: number, sizeBytes = 1): number {
    this.#varint(bytesOf(field))
    this.length += sizeBytes
    return this.length
  }

  /**
   * Closes the nested message that began at `start`, which moves if its size takes another number of bytes than expected; returns
   * that number.
   */
  close(start: number, expected = 1): number {
    const size = this.length - start
    let sizeBytes = 1
    for (let rest = size >>> 7; rest > 0; rest >>>= 7) sizeBytes++
    const begin = start - expected
    if (sizeBytes !== expected) this.bytes.copyWithin(begin + sizeBytes, start, this.length)
    this.length = begin
    this.#varint(size)
    this.length += size
    this.#checkRoom()
    return sizeBytes
  }

  /** Bytes written beyond the end of a buffer are lost without an error. */
  #checkRoom(): void {
    if (this.length > this.bytes.length) throw new RangeError('more was written than had been reserved')
  }

  #varint(value: number): void {
    const { bytes } = this
    let at = this.length
    let rest = value
    // Bit operations truncate to 32 bits, so larger numbers are divided.
    while (rest > 0x7fff_ffff) {
      bytes[at++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest > 0x7f) {
      bytes[at++] = (rest & 0x7f) | 0x80
      rest >>>= 7
    }
    bytes[at++] = rest
    this.length = at
  }
}

/** Shared: creating a buffer takes longer than writing a small message. */
const sharedWriter = new ByteWriter(0)

/** The bytes of a message of at most `maxBytes` bytes. */
export function encoded(message: Message, maxBytes: number): Buffer {
  sharedWriter.length = 0
  sharedWriter.reserve(maxBytes)
  sharedWriter.message(message)
  return sharedWriter.copy()
}
