import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { boolField, readerOf, textField, uint32Field } from '#core/events/message-fields'
import { WireReader } from '#core/events/wire-reader'
import { PACKAGE_ROOT } from '../version.ts'

/*
 * The types of the messages that are spoken over gRPC, read from the files that `npm run build:protos` compiles: a
 * `google.protobuf.FileDescriptorSet` (google/protobuf/descriptor.proto, whose field numbers are below).
 */

/** The service whose methods list resources. */
export const TRADING_DATA = 'datanode.api.v2.TradingDataService'

export const HEALTH = 'grpc.health.v1.Health'

/** The names of the services. */
export const SERVICES = [TRADING_DATA, HEALTH]

/** The folder `proto` of the package: what clients can make their code from. */
const FOLDER = join(PACKAGE_ROOT, 'proto')

/** The kinds of values that fields have here, by their numbers in `FieldDescriptorProto.Type`. */
const VALUE_KINDS = {
  3: 'int64',
  4: 'uint64',
  5: 'int32',
  8: 'bool',
  9: 'text',
  11: 'message',
  14: 'enum',
} as const

type ValueKind = (typeof VALUE_KINDS)[keyof typeof VALUE_KINDS]

const REPEATED = 3

export type FieldType = {
  /** As in JSON: `startTimestamp`. */
  name: string
  number: number
  kind: ValueKind
  isRepeated: boolean
  /** Whether a value of zero, or an empty text, differs from none. */
  isOptional: boolean
  /** The full name of a message's or an enum's type. */
  typeName: string
}

export type MessageType = { name: string; fields: readonly FieldType[] }

/** The numbers of an enum's values, by name. */
type EnumType = ReadonlyMap<string, number>

export type Method = {
  /** `/datanode.api.v2.TradingDataService/ListCheckpoints` */
  path: string
  request: MessageType
  response: MessageType
}

/** A file as reflection sends it. */
export type ProtoFile = {
  /** A `FileDescriptorProto`. */
  bytes: Buffer
  name: string
  package: string
  imports: readonly string[]
}

type FieldDescriptor = {
  name: string
  number: number
  label: number
  type: number
  typeName: string
  isProto3Optional: boolean
}
type EnumDescriptor = { name: string; values: { name: string; number: number }[] }
type MessageDescriptor = {
  name: string
  fields: FieldDescriptor[]
  nested: MessageDescriptor[]
  enums: EnumDescriptor[]
}
type MethodDescriptor = { name: string; inputType: string; outputType: string }
type ServiceDescriptor = { name: string; methods: MethodDescriptor[] }
type FileDescriptor = {
  name: string
  package: string
  imports: string[]
  messages: MessageDescriptor[]
  enums: EnumDescriptor[]
  services: ServiceDescriptor[]
}

const readField = readerOf<FieldDescriptor>({
  name: textField(1),
  number: uint32Field(3),
  label: uint32Field(4),
  type: uint32Field(5),
  typeName: textField(6),
  isProto3Optional: boolField(17),
})

const readEnumValue = readerOf<EnumDescriptor['values'][number]>({
  name: textField(1),
  number: uint32Field(2),
})

const readEnum = readerOf<EnumDescriptor>(
  { name: textField(1) },
  { 2: (reader, { values }) => values.push(readEnumValue(reader, { name: '', number: 0 })) },
)

const readMessage: (reader: WireReader, message: MessageDescriptor) => MessageDescriptor =
  readerOf<MessageDescriptor>(
    { name: textField(1) },
    {
      2: (reader, { fields }) => fields.push(readField(reader, noField())),
      3: (reader, { nested }) => nested.push(readMessage(reader, noMessage())),
      4: (reader, { enums }) => enums.push(readEnum(reader, { name: '', values: [] })),
    },
  )

const readMethod = readerOf<MethodDescriptor>({
  name: textField(1),
  inputType: textField(2),
  outputType: textField(3),
})

const readService = readerOf<ServiceDescriptor>(
  { name: textField(1) },
  {
    2: (reader, { methods }) => methods.push(readMethod(reader, { name: '', inputType: '', outputType: '' })),
  },
)

const readFile = readerOf<FileDescriptor>(
  { name: textField(1), package: textField(2) },
  {
    3: ({ bytes, at, end }, { imports }) => imports.push(bytes.toString('utf8', at, end)),
    4: (reader, { messages }) => messages.push(readMessage(reader, noMessage())),
    5: (reader, { enums }) => enums.push(readEnum(reader, { name: '', values: [] })),
    6: (reader, { services }) => services.push(readService(reader, { name: '', methods: [] })),
  },
)

const readFiles = readerOf<Buffer[]>(
  {},
  { 1: ({ bytes, at, end }, files) => files.push(bytes.subarray(at, end)) },
)

const noField = (): FieldDescriptor => ({
  name: '',
  number: 0,
  label: 0,
  type: 0,
  typeName: '',
  isProto3Optional: false,
})

const noMessage = (): MessageDescriptor => ({ name: '', fields: [], nested: [], enums: [] })

/** The files, in the order in which they were compiled: each after those that it imports. */
export const PROTO_FILES: readonly ProtoFile[] = []

const messages = new Map<string, MessageType>()
const enums = new Map<string, EnumType>()
const services = new Map<string, ServiceDescriptor>()

for (const bytes of readFiles(readerAt(readFileSync(join(FOLDER, 'descriptors.binpb'))), [])) {
  const file: FileDescriptor = { name: '', package: '', imports: [], messages: [], enums: [], services: [] }
  readFile(readerAt(bytes), file)
  addTypes(file.package, file)
  for (const service of file.services) services.set(`${file.package}.${service.name}`, service)
  const { name, imports } = file
  ;(PROTO_FILES as ProtoFile[]).push({ bytes, name, package: file.package, imports })
}

function readerAt(bytes: Buffer): WireReader {
  const reader = new WireReader()
  reader.reset(bytes, 0, bytes.length)
  return reader
}

/** Adds the types of a file, or of a message within it. */
function addTypes(scope: string, own: { messages: MessageDescriptor[]; enums: EnumDescriptor[] }): void {
  for (const { name, values } of own.enums) {
    enums.set(`${scope}.${name}`, new Map(values.map((value) => [value.name, value.number])))
  }
  for (const { name, fields, nested, enums: inner } of own.messages) {
    const full = `${scope}.${name}`
    messages.set(full, { name: full, fields: fields.map((field) => fieldType(full, field)) })
    addTypes(full, { messages: nested, enums: inner })
  }
}

/** @throws {TypeError} for a kind of values that no message here has had until now. */
function fieldType(
  message: string,
  { name, number, label, type, typeName, isProto3Optional }: FieldDescriptor,
): FieldType {
  const kind = (VALUE_KINDS as Record<number, ValueKind | undefined>)[type]
  if (kind === undefined)
    throw new TypeError(`${message}.${name}: its type ${type} is not among those that are read`)
  return {
    name: name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    number,
    kind,
    isRepeated: label === REPEATED,
    isOptional: isProto3Optional,
    typeName: withoutDot(typeName),
  }
}

/** Names are full ones, with a dot before. */
function withoutDot(name: string): string {
  return name.replace(/^\./, '')
}

/** @throws {TypeError} for a name that no message has. */
export function messageType(name: string): MessageType {
  const type = messages.get(name)
  if (type === undefined) throw new TypeError(`there is no message ${name}`)
  return type
}

/** @throws {TypeError} for a name that no enum has. */
export function enumType(name: string): EnumType {
  const type = enums.get(name)
  if (type === undefined) throw new TypeError(`there is no enum ${name}`)
  return type
}

/** Whether a message, an enum or a service has a full name. */
export function isDeclared(name: string): boolean {
  return messages.has(name) || enums.has(name) || services.has(name)
}

/** The methods of a service, by name. */
export function methodsOf(service: string): Record<string, Method> {
  const { methods } = services.get(service)!
  return Object.fromEntries(
    methods.map(({ name, inputType, outputType }): [string, Method] => [
      name,
      {
        path: `/${service}/${name}`,
        request: messageType(withoutDot(inputType)),
        response: messageType(withoutDot(outputType)),
      },
    ]),
  )
}
