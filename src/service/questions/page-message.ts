import type { Resource } from '#core/model/resource'
import { methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { encodeMessage } from '../protos/messages.ts'

const METHODS = methodsOf(TRADING_DATA)

/**
 * A page of a resource as the message that its method answers with: the fields have the names of the JSON, in which
 * numbers are texts and enums their names.
 */
export function pageMessage({ grpcMethod }: Resource, json: Buffer): Buffer {
  const { response } = METHODS[grpcMethod!]!
  return encodeMessage(response, JSON.parse(json.toString()) as object, json.length)
}
