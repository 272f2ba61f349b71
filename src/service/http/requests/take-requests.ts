import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress } from '../clients/client-address.ts'
import type { Connections } from '../clients/connections.ts'
import { ClientGoneError, type Queue } from '../clients/queue.ts'
import type { CountRequest } from '../clients/rate-limit.ts'
import { isPreflight } from '../cors.ts'
import { ALLOWED_METHODS, ApiError, type ExplainError, methodNotAllowed } from '../errors.ts'
import { Exchange, type Exchanges } from '../exchange.ts'
import { checkTarget, pathOf } from '../query-string.ts'
import type { FindRoute } from '../router.ts'
import { answerPreflight } from './preflight.ts'
import { checkHead } from './request-head.ts'

type RequestTakerOptions = {
  connections: Connections
  countRequest: CountRequest
  explainError: ExplainError
  findRoute: FindRoute
  /** The queue in which the answers of errors wait. */
  queue: Queue
  trustProxy: boolean
  exchanges: Exchanges
}

/** Creates the function that answers every request of the server. */
export function requestTaker(
  options: RequestTakerOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const { connections, countRequest, explainError, findRoute, queue, trustProxy, exchanges } = options

  function answer(exchange: Exchange): void {
    try {
      answerOf(exchange)?.catch((error) => fail(exchange, error))
    } catch (error) {
      fail(exchange, error)
    }
  }

  function fail(exchange: Exchange, error: unknown): void {
    if (error instanceof ClientGoneError) return
    const fault = explainError(error, { requestId: exchange.id })
    const { response, address } = exchange
    if (response.headersSent) {
      response.destroy()
      return
    }
    const send = () => exchange.sendError(fault, isUnlimited(exchange) ? null : undefined)
    queue(async () => send(), address, response).catch((late: unknown) => {
      if (!(late instanceof ClientGoneError)) send()
    })
  }

  /** Answers at once if it can. Throws, and rejects with, {@link ApiError} and faults of ours. */
  function answerOf(exchange: Exchange): Promise<void> | undefined {
    const { request, target } = exchange
    if (isPreflight(request)) {
      answerPreflight(exchange)
      return undefined
    }
    const found = findRoute(pathOf(target))
    const isKnown = !(found instanceof ApiError)
    if (isKnown) {
      exchange.route = found.route
      exchange.pathId = found.pathId
    }
    if (!isUnlimited(exchange)) exchange.limits = countRequest(exchange.address)
    checkHead(request)
    checkTarget(target)
    // `OPTIONS *` asks for the capabilities of the whole server (RFC 9110, 9.3.7).
    if (request.method === 'OPTIONS' && (isKnown || target === '*')) {
      exchange.send(204, { storeHead: exchanges.known.storeHead, headers: { allow: ALLOWED_METHODS } })
      return undefined
    }
    if (!isKnown) throw found
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed()
    return found.route.answer(exchange)
  }

  return (request, response) => {
    const exchange = new Exchange(exchanges, request, response, clientAddress(request, trustProxy))
    if (connections.takeTurnAtOnce(request, response)) answer(exchange)
    else {
      connections.takeTurn(request, response).then(
        (hasTurn) => {
          if (hasTurn) answer(exchange)
        },
        (error) => fail(exchange, error),
      )
    }
  }
}

/** Whether an answer is given whatever the rate and the store. */
function isUnlimited({ route }: Exchange): boolean {
  return route?.isUnlimited === true
}
