import { ByteWriter } from '#core/events/byte-writer'
import { bytesOf, uint, WireReader } from '#core/events/wire-reader'
import { enumType, type FieldType, type MessageType, messageType } from './descriptors.ts'
import { PREFIX_BYTES, writePrefix } from './prefix.ts'

/**
 * Gives the value of a field in what its message is encoded from; null or undefined if it has none. A value is as in JSON:
 * integers of 64 bits are texts, and enums their names. The value of a field that is a message is what that is encoded from.
 */
type ValueIn = (source: never) => unknown

/** Finds out where the values of a field are. */
export type FindValue = (type: MessageType, field: FieldType) => ValueIn

/** Writes the fields of a message. */
type Encode = (writer: ByteWriter, source: unknown) => void

/** Writes one value of a field that has one. */
type WriteValue = (writer: ByteWriter, value: unknown) => void

const NO_BYTES = Buffer.alloc(0)

/** Most digits of an integer that a number holds exactly. */
const MAX_EXACT_DIGITS = 15

/** Most memory that stays after a message: that of a page of 5,000 data points. */
const MAX_STAYING_BYTES = 2 * 1024 * 1024

/** Encodes messages from what contains their values, such as JSON or rows. What it derives from a type stays. */
export class MessageEncoder {
  readonly #find: FindValue
  readonly #encoders = new Map<MessageType, Encode>()
  /** Its memory is that of the longest message until now. */
  readonly #writer = new ByteWriter(0)

  constructor(find: FindValue) {
    this.#find = find
  }

  /**
   * Encodes a message. What is absent or null is left out, as are zeros and empty texts of fields that are not optional.
   *
   * @param maxBytes the most bytes that it may have
   * @throws {RangeError} if it has more.
   */
  encode(type: MessageType, source: unknown, maxBytes: number): Buffer {
    return this.#encodeAfter(0, type, source, maxBytes)
  }

  /** As {@link encode}, with the prefix of gRPC. */
  encodeFramed(type: MessageType, source: unknown, maxBytes: number): Buffer {
    const framed = this.#encodeAfter(PREFIX_BYTES, type, source, maxBytes)
    writePrefix(framed)
    return framed
  }

  /** Encodes a message after some other bytes. The result is no longer than these and the message. */
  #encodeAfter(headBytes: number, type: MessageType, source: unknown, maxBytes: number): Buffer {
    const writer = this.#writer
    writer.length = 0
    writer.reserve(headBytes + maxBytes)
    writer.length = headBytes
    this.#encoderOf(type)(writer, source)
    const encoded = writer.copy()
    if (writer.bytes.length > MAX_STAYING_BYTES) writer.take(0)
    return encoded
  }

  #encoderOf(type: MessageType): Encode {
    let encode = this.#encoders.get(type)
    if (encode === undefined) {
      const fields = type.fields.map((field) => ({
        isRepeated: field.isRepeated,
        valueIn: this.#find(type, field) as (source: unknown) => unknown,
        write: this.#valueWriter(field),
      }))
      encode = (writer, source) => {
        for (const { isRepeated, valueIn, write } of fields) {
          const value = valueIn(source)
          if (value === undefined || value === null) continue
          if (isRepeated) for (const one of value as unknown[]) write(writer, one)
          else write(writer, value)
        }
      }
      this.#encoders.set(type, encode)
    }
    return encode
  }

  #valueWriter({ number, kind, typeName, isOptional }: FieldType): WriteValue {
    const writeNumber = (writer: ByteWriter, value: number | bigint) => {
      if (isOptional && Number(value) === 0) writer.zero(number)
      else writer.field(number, value)
    }
    switch (kind) {
      case 'text':
        return (writer, value) => writeText(writer, number, value as string, isOptional)
      case 'bool':
        return (writer, value) => writeNumber(writer, Number(value))
      case 'int32':
        return (writer, value) => writeNumber(writer, BigInt(value as number))
      case 'int64':
      case 'uint64':
        return (writer, value) => writeNumber(writer, integerOf(value as string))
      case 'enum': {
        const numbers = enumType(typeName)
        return (writer, value) => writeNumber(writer, numbers.get(value as string)!)
      }
      case 'message': {
        let encode: Encode | null = null
        // Those of one field are about as long as each other.
        let sizeBytes = 1
        return (writer, value) => {
          encode ??= this.#encoderOf(messageType(typeName))
          const expected = sizeBytes
          const start = writer.open(number, expected)
          encode(writer, value)
          sizeBytes = writer.close(start, expected)
        }
      }
      default:
        return kind satisfies never
    }
  }
}

/** In an object, values have the names of their fields, in camel case. */
export const valueByName: FindValue = (_, { name }) => {
  return (message: Readonly<Record<string, unknown>>) => message[name]
}

const jsonEncoder = new MessageEncoder(valueByName)

/** Encodes a message from its JSON. @throws as {@link MessageEncoder.encode} */
export function encodeMessage(type: MessageType, json: object, maxBytes: number): Buffer {
  return jsonEncoder.encode(type, json, maxBytes)
}

/** A number takes less time than a BigInt, which holds any integer. */
function integerOf(digits: string): number | bigint {
  return digits.length <= MAX_EXACT_DIGITS && !digits.startsWith('-') ? Number(digits) : BigInt(digits)
}

/** Of an optional field, an empty text is written, too. */
function writeText(writer: ByteWriter, number: number, text: string, isOptional: boolean): void {
  writer.field(number, isOptional && text === '' ? NO_BYTES : text)
}

/** Reads a field of a message into its JSON. */
type ReadField = (reader: WireReader, message: Record<string, unknown>) => void

const decoders = new Map<MessageType, ReadonlyMap<number, ReadField>>()

/**
 * Decodes a request: the fields that it has, by their names in JSON; enums as numbers. No request has repeated fields. Fields of
 * other numbers or types are skipped, and of a field that comes again the last one counts.
 *
 * @throws {MalformedMessageError}
 */
export function decodeMessage(type: MessageType, bytes: Buffer): object {
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  return decode(type, reader)
}

function decode(type: MessageType, reader: WireReader): object {
  const fields = decoderOf(type)
  const message: Record<string, unknown> = {}
  while (reader.at < reader.end) {
    const tag = reader.tag()
    const read = fields.get(tag)
    if (read === undefined) reader.skip(tag)
    else read(reader, message)
  }
  return message
}

function decoderOf(type: MessageType): ReadonlyMap<number, ReadField> {
  let decoder = decoders.get(type)
  if (decoder === undefined) {
    decoder = new Map(type.fields.map((field) => [tagOf(field), fieldReader(field)]))
    decoders.set(type, decoder)
  }
  return decoder
}

const tagOf = ({ number, kind }: FieldType): number =>
  kind === 'text' || kind === 'message' ? bytesOf(number) : uint(number)

function fieldReader({ name, kind, typeName }: FieldType): ReadField {
  const reading = (read: (reader: WireReader) => unknown): ReadField => {
    return (reader, message) => {
      message[name] = read(reader)
    }
  }
  switch (kind) {
    case 'text':
      return reading((reader) => reader.text())
    case 'bool':
      return reading((reader) => reader.uint32() !== 0)
    case 'int32':
    case 'enum':
      return reading((reader) => reader.uint32() | 0)
    case 'int64':
      return reading((reader) => `${reader.int64()}`)
    case 'uint64':
      return reading((reader) => `${reader.uint64()}`)
    case 'message':
      return reading((reader) => {
        const { end } = reader
        reader.enter()
        const inner = decode(messageType(typeName), reader)
        reader.leave(end)
        return inner
      })
    default:
      return kind satisfies never
  }
}
