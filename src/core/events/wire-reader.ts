import { isUtf8 } from 'node:buffer'
import type { CachedIds } from './cached-ids.ts'

/** The bytes are not a protobuf message of the expected kind. */
export class MalformedMessageError extends Error {
  override name = 'MalformedMessageError'
}

/** Wire types of the protobuf encoding. */
const VARINT = 0
const FIXED64 = 1
export const LENGTH_DELIMITED = 2
const FIXED32 = 5

/** The tag of a varint field. */
export const uint = (field: number) => (field << 3) | VARINT

/** The tag of a text, or of a nested message. */
export const bytesOf = (field: number) => (field << 3) | LENGTH_DELIMITED

/**
 * A position in a protobuf message. One reader serves any number of messages, also nested ones, and allocates only the
 * texts that it returns: identifying a record must be cheap.
 */
export class WireReader {
  bytes: Buffer = Buffer.alloc(0)
  at = 0
  end = 0

  /** Points the reader at `bytes[start..end)`. */
  reset(bytes: Buffer, start: number, end: number): void {
    this.bytes = bytes
    this.at = start
    this.end = end
  }

  /** The next field's tag: field number times 8 plus wire type. */
  tag(): number {
    const tag = this.uint32()
    if (tag < 8) throw new MalformedMessageError('a field number of 0')
    return tag
  }

  /** A varint of which only the low 32 bits count (tags, lengths, enums, booleans). */
  uint32(): number {
    const { bytes, at, end } = this
    // Most tags and lengths take one byte or two.
    if (at + 1 < end) {
      const first = bytes[at]!
      if (first < 0x80) {
        this.at = at + 1
        return first
      }
      const second = bytes[at + 1]!
      if (second < 0x80) {
        this.at = at + 2
        return (second << 7) | (first & 0x7f)
      }
    }
    return this.#longUint32()
  }

  #longUint32(): number {
    const { bytes, end } = this
    let at = this.at
    let value = 0
    let shift = 0
    for (;;) {
      if (at >= end || shift > 63) throw new MalformedMessageError('a varint that does not end')
      const byte = bytes[at++]!
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) break
      shift += 7
    }
    this.at = at
    return value >>> 0
  }

  /** A varint as an unsigned 64-bit integer. */
  uint64(): bigint {
    const { bytes, end } = this
    let low = 0
    let middle = 0
    let high = 0
    for (let index = 0; index < 10; index++) {
      if (this.at >= end) throw new MalformedMessageError('a varint that does not end')
      const byte = bytes[this.at++]!
      const bits = byte & 0x7f
      if (index < 4) low |= bits << (7 * index)
      else if (index < 8) middle |= bits << (7 * (index - 4))
      else high |= bits << (7 * (index - 8))
      if (byte < 0x80) {
        const value = middle * 0x10000000 + low
        if (high === 0 && value <= Number.MAX_SAFE_INTEGER) return BigInt(value)
        return BigInt.asUintN(64, (BigInt(high) << 56n) | (BigInt(middle) << 28n) | BigInt(low))
      }
    }
    throw new MalformedMessageError('a varint of more than ten bytes')
  }

  /** A varint as a signed 64-bit integer. */
  int64(): bigint {
    return BigInt.asIntN(64, this.uint64())
  }

  /** Reads a length and returns the end of the field's bytes; they start at `at`. */
  fieldEnd(): number {
    const length = this.uint32()
    const end = this.at + length
    if (end > this.end) throw new MalformedMessageError('a field that is longer than its message')
    return end
  }

  /** A text field. Proto3 texts are UTF-8. */
  text(): string {
    const start = this.at
    const end = this.fieldEnd()
    const from = this.at
    this.at = end
    const { bytes } = this
    for (let at = from; at < end; at++) {
      if (bytes[at]! >= 0x80) {
        if (!isUtf8(bytes.subarray(from, end))) {
          this.at = start
          throw new MalformedMessageError('a text that is not UTF-8')
        }
        return bytes.toString('utf8', from, end)
      }
    }
    return bytes.toString('latin1', from, end)
  }

  /** An id in lower case; null if the text is not an id. */
  id(ids: CachedIds): string | null {
    const start = this.at
    const end = this.fieldEnd()
    const id = ids.read(this.bytes, this.at, end)
    this.at = end
    if (id === null) {
      this.at = start
      this.text()
    }
    return id
  }

  /** Skips a text. Returns whether it is ASCII without NUL, of at most `maxLength` characters. */
  skipPlainText(maxLength: number): boolean {
    const end = this.fieldEnd()
    if (end - this.at > maxLength) return false
    const { bytes } = this
    for (let at = this.at; at < end; at++) {
      const byte = bytes[at]!
      if (byte === 0 || byte >= 0x80) return false
    }
    this.at = end
    return true
  }

  /** Narrows the reader to the nested message that begins here; returns the message's end. */
  enter(): number {
    this.end = this.fieldEnd()
    return this.end
  }

  /** Widens the reader again to the outer message, which ends at `end`. */
  leave(end: number): void {
    this.at = this.end
    this.end = end
  }

  /** Skips a field after its tag. */
  skip(tag: number): void {
    switch (tag & 7) {
      case VARINT:
        this.uint32()
        return
      case FIXED64:
        this.#advance(8)
        return
      case LENGTH_DELIMITED:
        this.at = this.fieldEnd()
        return
      case FIXED32:
        this.#advance(4)
        return
      default:
        throw new MalformedMessageError(`a field of wire type ${tag & 7}`)
    }
  }

  #advance(count: number): void {
    this.at += count
    if (this.at > this.end) throw new MalformedMessageError('a field that is longer than its message')
  }
}
