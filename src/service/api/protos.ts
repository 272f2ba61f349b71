import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { loadSync, type MethodDefinition, type PackageDefinition } from '@grpc/proto-loader'
import { readerOf } from '#core/events/message-fields'
import { WireReader } from '#core/events/wire-reader'

/** The service whose methods list resources. */
export const TRADING_DATA = 'datanode.api.v2.TradingDataService'

export const HEALTH = 'grpc.health.v1.Health'

/** The folder `proto` of the package: what clients can make their code from. */
const FOLDER = new URL('../../../proto/', import.meta.url)

/** The services and messages that are spoken over gRPC, by name. 64-bit integers become texts, names camel case. */
export const PROTOS: PackageDefinition = loadSync(
  ['datanode/api/v2/trading_data.proto', 'grpc/health/v1/health.proto'],
  { includeDirs: [fileURLToPath(FOLDER)], longs: String },
)

/** Reads a `FileDescriptorSet`. */
const readFiles = readerOf<Buffer[]>(
  {},
  { 1: ({ bytes, at, end }, files) => files.push(bytes.subarray(at, end)) },
)

/** The names of the services. */
export const SERVICES = [TRADING_DATA, HEALTH]

/** A method of gRPC, by its name; its messages are plain objects. */
export type Method = MethodDefinition<object, object>

/** The methods of a service. */
export function methodsOf(service: string): Record<string, Method> {
  return PROTOS[service] as unknown as Record<string, Method>
}

/**
 * The compiled files (`npm run build:protos`), a `FileDescriptorProto` each, for reflection. The loader's own
 * descriptors have no imports.
 */
export function fileDescriptors(): Buffer[] {
  const set = readFileSync(new URL('descriptors.binpb', FOLDER))
  const reader = new WireReader()
  reader.reset(set, 0, set.length)
  return readFiles(reader, [])
}
