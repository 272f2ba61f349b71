import { EventEmitter } from 'node:events'
import { Metadata, type ServerUnaryCall, type UntypedServiceImplementation } from '@grpc/grpc-js'
import type { PackageDefinition } from '@grpc/proto-loader'
import type { Resource } from '../../resources/resource.ts'
import { RESOURCES } from '../../resources/resources.ts'
import type { Position } from '../../store/page.ts'
import type { Reader } from '../../store/store.ts'
import { emptyStore, invalidParameter } from '../http/errors.ts'
import type { QueryPairs } from '../http/query-string.ts'
import type { CountRequest } from '../http/rate-limit.ts'
import type { PageTurns } from '../http/turns.ts'
import type { Pages } from '../pages/make-page.ts'
import { type CheckedPage, keptPage, type PageCache, scopeOfPage } from '../pages/page-cache.ts'
import { isLong, pageRequest } from '../pages/page-request.ts'
import { parameterReader, parametersOf } from '../pages/parameters.ts'
import { type Method, methodsOf, TRADING_DATA } from '../protos.ts'

export type ListMethodsOptions = {
  reader: Reader
  pages: Pages
  turns: PageTurns
  cache: PageCache | null
  countRequest: CountRequest
  /** The address that a call counts for. */
  addressOf: (call: Call) => string
  /** What a call that failed ends with. */
  statusOf: (error: unknown, call: Call) => object
}

/** A call whose request and answer are bytes: answers that are kept are not written again. */
export type Call = ServerUnaryCall<Buffer, Buffer>

/**
 * The methods that list resources, by the name of the method. They follow the rules of the REST operations, whose
 * parameters the fields of their requests are (docs/api.md).
 */
export function listMethods(
  protos: PackageDefinition,
  options: ListMethodsOptions,
): UntypedServiceImplementation {
  const methods = methodsOf(protos, TRADING_DATA)
  return Object.fromEntries(
    RESOURCES.flatMap((resource) =>
      resource.grpcMethod === undefined
        ? []
        : [[resource.grpcMethod, listMethod(resource, methods[resource.grpcMethod]!, options)]],
    ),
  )
}

function listMethod(resource: Resource, method: Method, options: ListMethodsOptions) {
  const { reader, pages, turns, cache, countRequest, addressOf, statusOf } = options
  const readParameters = parameterReader(parametersOf(resource))

  async function answer(call: Call, headers: Metadata): Promise<Buffer | null> {
    const address = addressOf(call)
    const limits = countRequest(address)
    for (const name in limits) headers.set(name, limits[name]!)
    const key = `grpc ${resource.grpcMethod} ${call.request.toString('latin1')}`
    const sendKept = ({ page: { body }, at }: CheckedPage): Buffer => {
      call.sendMetadata(withPosition(headers, at))
      return typeof body === 'string' ? Buffer.from(body, 'latin1') : body
    }
    const kept = await keptPage(cache, key)
    if (kept !== null) return sendKept(kept)
    const pairs = pairsOf(requestOf(method, call.request))
    const [marketId, values] = takeScope(resource, pairs)
    const asked = pageRequest(resource, marketId, readParameters(values))
    const inTurn = isLong(asked) ? turns.long : turns.usual
    return inTurn(
      async () => {
        if (call.cancelled) return null
        const meanwhile = await keptPage(cache, key)
        if (meanwhile !== null) return sendKept(meanwhile)
        const page = await pages.make(asked, 'protobuf')
        if (page === null) throw emptyStore()
        const { body, position, version, release } = page
        call.sendMetadata(withPosition(headers, position))
        const route = `${TRADING_DATA}/${resource.grpcMethod}`
        void cache?.put(key, {
          route,
          body,
          tag: '',
          isGzipped: false,
          scope: scopeOfPage(asked.query),
          version,
        })
        // The library copies it into the frame of the message.
        const message = release === undefined ? body : Buffer.from(body)
        release?.()
        return message
      },
      address,
      closingOf(call),
    )
  }

  return (call: Call, callback: (error: object | null, message?: Buffer) => void): void => {
    const headers = new Metadata()
    answer(call, headers).then(
      (message) => callback(null, message ?? Buffer.alloc(0)),
      async (error: unknown) => {
        const position = await reader.position().catch(() => null)
        call.sendMetadata(withPosition(headers, position))
        callback(statusOf(error, call))
      },
    )
  }
}

function withPosition(headers: Metadata, position: Position | null): Metadata {
  if (position === null) return headers
  headers.set('x-block-height', position.height)
  headers.set('x-block-timestamp', position.timestamp)
  return headers
}

/** @throws {ApiError} for bytes that are no request. */
function requestOf(method: Method, bytes: Buffer): object {
  try {
    return method.requestDeserialize(bytes)
  } catch (error) {
    throw invalidParameter(`the request is not a message of ${method.path}: ${(error as Error).message}`)
  }
}

/** The fields of a request as parameters of REST: `pagination.first`, its value as text. */
function pairsOf(message: object, head = ''): QueryPairs {
  return Object.entries(message).flatMap(([name, value]): QueryPairs => {
    if (typeof value === 'object' && value !== null) return pairsOf(value, `${head}${name}.`)
    return [[head + name, String(value)]]
  })
}

/** The market id that a resource has in its path, `""` where it is not given, and the other parameters. */
function takeScope(resource: Resource, pairs: QueryPairs): [marketId: string | null, others: QueryPairs] {
  if (resource.scope === null) return [null, pairs]
  const scope = resource.scope
  return [pairs.find(([name]) => name === scope)?.[1] ?? '', pairs.filter(([name]) => name !== scope)]
}

function closingOf(call: Call): EventEmitter {
  const closing = new EventEmitter()
  call.once('cancelled', () => closing.emit('close'))
  return closing
}
