import type { Resource } from '#core/model/resource'
import { RESOURCES } from '#core/resources/resources'
import { createNodeAnswers } from '../answers/node-answers.ts'
import { invalidParameter } from '../http/errors.ts'
import type { QueryPairs } from '../http/query-string.ts'
import { type Method, methodsOf, TRADING_DATA } from '../protos/descriptors.ts'
import { decodeMessage, encodeMessage } from '../protos/messages.ts'
import { parameterReader } from '../questions/parameters.ts'
import { questionAt } from '../questions/question-at.ts'
import { addStoreHead, type MethodHandler } from './call.ts'
import { framed } from './framing.ts'
import type { GrpcOptions } from './options.ts'

/** Bytes of the answers about the node: a version and a commit, or a time. */
const MAX_NODE_ANSWER_BYTES = 1_024

const DESCRIBED = methodsOf(TRADING_DATA)

/**
 * The data node's methods that Lyra has, by path. Those that list resources follow the rules of the REST operations: the
 * fields of their requests are the parameters there (docs/api.md).
 */
export function tradingDataMethods(options: GrpcOptions): [path: string, MethodHandler][] {
  const { reader, known } = options
  const { ping, info, vegaTime } = createNodeAnswers(reader)
  const others = { Ping: ping, Info: info, GetVegaTime: vegaTime }
  const methods: [name: string, MethodHandler][] = [
    ...RESOURCES.flatMap((resource): [string, MethodHandler][] =>
      resource.grpcMethod === undefined ? [] : [[resource.grpcMethod, listMethod(resource, options)]],
    ),
    ...Object.entries(others).map(([name, answer]): [string, MethodHandler] => [
      name,
      {
        unary: async ({ metadata }) => {
          const { message, storeHead } = await answer()
          addStoreHead(metadata, storeHead, known)
          return framed(encodeMessage(DESCRIBED[name]!.response, message, MAX_NODE_ANSWER_BYTES))
        },
      },
    ]),
  ]
  return methods.map(([name, method]) => [DESCRIBED[name]!.path, method])
}

function listMethod(resource: Resource, { answers, known }: GrpcOptions): MethodHandler {
  const described = DESCRIBED[resource.grpcMethod!]!
  const question = questionAt(resource.path)
  const readParameters = parameterReader(question.parameters, 'ignored')
  return {
    unary: async ({ stream, address, metadata }, request) => {
      let answer: Buffer | string = Buffer.alloc(0)
      await answers.answer(question, {
        key: `grpc ${resource.grpcMethod} ${request.toString('latin1')}`,
        form: 'grpc',
        check: () => {
          const [marketId, values] = takeScope(resource, pairsOf(requestOf(described, request)))
          return question.check(readParameters(values), marketId)
        },
        address,
        connection: stream,
        // Not when the stream closes, which may be while the connection still reads.
        onceSent: (free) => stream.once('finish', free),
        sendCached: ({ body }, storeHead) => {
          addStoreHead(metadata, storeHead, known)
          answer = body
        },
        sendRendered: async ({ body, storeHead }) => {
          addStoreHead(metadata, storeHead, known)
          answer = body
          return { body, tag: '', headers: {} }
        },
      })
      return typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer
    },
  }
}

/** The decoded request of a method. @throws {ApiError} for bytes that are no request. */
function requestOf(method: Method, bytes: Buffer): object {
  try {
    return decodeMessage(method.request, bytes)
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

/** The market id, if the resource has one in its path (`""` if it is not given), and the other parameters. */
function takeScope(resource: Resource, pairs: QueryPairs): [marketId: string | null, others: QueryPairs] {
  if (resource.scope === null) return [null, pairs]
  const scope = resource.scope
  return [pairs.find(([name]) => name === scope)?.[1] ?? '', pairs.filter(([name]) => name !== scope)]
}
