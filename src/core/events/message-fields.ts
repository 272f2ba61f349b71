import { MARKET_IDS, PARTY_IDS } from './cached-ids.ts'
import { bytesOf, uint, type WireReader } from './wire-reader.ts'

/**
 * A field of a message: its tag, its value if it is absent, and how it is read. `known` is the value read so far, if the
 * field is repeated.
 */
type MessageField<Value> = {
  tag: number
  initial: Value
  read: (reader: WireReader, known: Value) => Value
}

function messageField<Value>(
  tag: number,
  initial: Value,
  read: MessageField<Value>['read'],
): MessageField<Value> {
  return { tag, initial, read }
}

/** A text; `""` if it is absent. */
export const textField = (field: number) => messageField(bytesOf(field), '', (reader) => reader.text())
/** An unsigned 64-bit integer; 0 if it is absent. */
export const uint64Field = (field: number) => messageField(uint(field), 0n, (reader) => reader.uint64())
/** A signed 64-bit integer; 0 if it is absent. */
export const int64Field = (field: number) => messageField(uint(field), 0n, (reader) => reader.int64())
/** A boolean; false if it is absent. */
export const boolField = (field: number) =>
  messageField(uint(field), false, (reader) => reader.uint32() !== 0)

/** A 32-bit number, or an enum; 0 if it is absent. */
export const uint32Field = <Enum extends number>(field: number) =>
  messageField(uint(field), 0 as Enum, (reader) => reader.uint32() as Enum)

/** A market id in lower case; `""` if it is invalid or absent. */
export const marketField = (field: number) =>
  messageField(bytesOf(field), '', (reader) => reader.id(MARKET_IDS) ?? '')
/** A party id in lower case, or `network`; `""` if it is invalid or absent. */
export const partyField = (field: number) =>
  messageField(bytesOf(field), '', (reader) => reader.id(PARTY_IDS) ?? '')

/** The same field, but null if it is absent. */
export const optional = <Value>({ tag, initial, read }: MessageField<Value>) =>
  messageField<Value | null>(tag, null, (reader) => read(reader, initial))

/** A text that is null if it is empty. */
export const textFieldOrNull = (field: number) =>
  messageField<string | null>(bytesOf(field), null, (reader) => reader.text() || null)

type Fields<Message> = { [Name in Exclude<keyof Message, 'kind'>]: MessageField<Message[Name]> }

function namedFields<Message>(fields: Partial<Fields<Message>>) {
  return Object.entries(fields) as [keyof Message, MessageField<Message[keyof Message]>][]
}

/** Reads the rest of the reader's message into an object. `given` is a value of the outer message for nested ones. */
export type ReadInto<Message, Given = void> = (reader: WireReader, message: Message, given: Given) => unknown

/** As {@link ReadInto}; returns the object. */
type MessageReader<Message, Given> = (reader: WireReader, message: Message, given: Given) => Message

/**
 * Creates a function that reads the rest of the reader's message into an object, and skips other fields than these.
 *
 * @param nested readers of nested messages, by field number, that write into the same object
 */
export function readerOf<Message extends object, Given = void>(
  fields: Partial<Fields<Message>>,
  nested: Readonly<Record<number, ReadInto<Message, Given>>> = {},
): MessageReader<Message, Given> {
  const byTag = new Map<number, ReadInto<Message, Given>>()
  for (const [name, { tag, read }] of namedFields(fields)) {
    byTag.set(tag, (reader, message) => {
      message[name] = read(reader, message[name])
    })
  }
  for (const [field, read] of Object.entries(nested)) {
    byTag.set(bytesOf(Number(field)), (reader, message, given) => {
      const { end } = reader
      reader.enter()
      read(reader, message, given)
      reader.leave(end)
    })
  }
  return (reader, message, given) => {
    while (reader.at < reader.end) {
      const tag = reader.tag()
      const read = byTag.get(tag)
      if (read === undefined) reader.skip(tag)
      else read(reader, message, given)
    }
    return message
  }
}

/**
 * Creates a function that decodes the rest of the reader's message: with these fields, and an event's kind if it is one.
 */
export function decoderOf<Message extends object>(
  kind: Partial<Message>,
  fields: Fields<Message>,
): (reader: WireReader) => Message {
  const read = readerOf<Message>(fields)
  const initial = namedFields<Message>(fields).map(([name, field]) => [name, field.initial])
  const absent = { ...kind, ...Object.fromEntries(initial) } as Message
  return (reader) => read(reader, { ...absent })
}
