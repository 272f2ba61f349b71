import { ByteWriter } from '#core/events/byte-writer'
import { bytesOf, uint, WireReader } from '#core/events/wire-reader'
import { enumType, type FieldType, type MessageType, messageType } from './descriptors.ts'

/** A message as JSON: names in camel case; integers of 64 bits are texts, and enums in it their names. */
type Json = Readonly<Record<string, unknown>>

/** Writes the fields of a message. */
type Encode = (writer: ByteWriter, message: Json) => void

/** Writes one value of a field that has one. */
type WriteValue = (writer: ByteWriter, value: unknown) => void

const NO_BYTES = Buffer.alloc(0)

const encoders = new Map<MessageType, Encode>()

/**
 * Encodes a message from its JSON. What is absent or null is left out, as are zeros and empty texts of fields that are not
 * optional.
 *
 * @param maxBytes the most bytes that it may have; those of its JSON are always enough
 * @throws {RangeError} if it has more.
 */
export function encodeMessage(type: MessageType, message: object, maxBytes: number): Buffer {
  const writer = new ByteWriter(maxBytes)
  encoderOf(type)(writer, message as Json)
  return writer.take(0)
}

function encoderOf(type: MessageType): Encode {
  let encode = encoders.get(type)
  if (encode === undefined) {
    const fields = type.fields.map((field) => ({ ...field, write: valueWriter(field) }))
    encode = (writer, message) => {
      for (const { name, isRepeated, write } of fields) {
        const value = message[name]
        if (value === undefined || value === null) continue
        if (isRepeated) for (const one of value as unknown[]) write(writer, one)
        else write(writer, value)
      }
    }
    encoders.set(type, encode)
  }
  return encode
}

function valueWriter({ number, kind, typeName, isOptional }: FieldType): WriteValue {
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
      return (writer, value) => writeNumber(writer, BigInt(value as string))
    case 'enum': {
      const numbers = enumType(typeName)
      return (writer, value) => writeNumber(writer, numbers.get(value as string)!)
    }
    case 'message': {
      let encode: Encode | null = null
      // Those of one field are about as long as each other.
      let sizeBytes = 1
      return (writer, value) => {
        encode ??= encoderOf(messageType(typeName))
        const expected = sizeBytes
        const start = writer.open(number, expected)
        encode(writer, value as Json)
        sizeBytes = writer.close(start, expected)
      }
    }
    default:
      return kind satisfies never
  }
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
