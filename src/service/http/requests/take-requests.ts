import type { IncomingMessage, ServerResponse } from 'node:http'
import { clientAddress } from '../clients/client-address.ts'
import type { Connections } from '../clients/connections.ts'
import { ClientGoneError, type Queue } from '../clients/queue.ts'
import type { CountRequest } from '../clients/rate-limit.ts'
import { isPreflight } from '../cors.ts'
import { ALLOWED_METHODS, ApiError, methodNotAllowed } from '../errors.ts'
import { Exchange, type Exchanges } from '../exchange.ts'
import type { ExplainError } from '../explain-error.ts'
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

/** Answers every request of the server. */
export class RequestTaker {
  readonly #options: RequestTakerOptions

  constructor(options: RequestTakerOptions) {
    this.#options = options
  }

  /** Answers a request once those before it on its connection are answered. */
  take(request: IncomingMessage, response: ServerResponse): void {
    const { connections, exchanges, trustProxy } = this.#options
    const exchange = new Exchange(exchanges, request, response, clientAddress(request, trustProxy))
    if (connections.takeTurnAtOnce(request, response)) this.#answer(exchange)
    else {
      connections.takeTurn(request, response).then(
        (hasTurn) => {
          if (hasTurn) this.#answer(exchange)
        },
        (error) => this.#fail(exchange, error),
      )
    }
  }

  #answer(exchange: Exchange): void {
    try {
      this.#begin(exchange)?.catch((error) => this.#fail(exchange, error))
    } catch (error) {
      this.#fail(exchange, error)
    }
  }

  /**
   * Answers at once if it can, or returns the end of the answer.
   *
   * @throws {ApiError} as its promise may, with the answer for the client; other errors are faults of ours.
   */
  #begin(exchange: Exchange): Promise<void> | undefined {
    const { findRoute, countRequest, exchanges } = this.#options
    const { request, target } = exchange
    if (isPreflight(request)) {
      answerPreflight(exchange)
      return undefined
    }
    const match = findRoute(pathOf(target))
    const hasRoute = !(match instanceof ApiError)
    if (hasRoute) {
      exchange.route = match.route
      exchange.pathId = match.pathId
    }
    if (!isUnlimited(exchange)) exchange.limits = countRequest(exchange.address)
    checkHead(request)
    checkTarget(target)
    // `OPTIONS *` asks for the capabilities of the whole server (RFC 9110, 9.3.7).
    if (request.method === 'OPTIONS' && (hasRoute || target === '*')) {
      exchange.send(204, { storeHead: exchanges.known.storeHead, headers: { allow: ALLOWED_METHODS } })
      return undefined
    }
    if (!hasRoute) throw match
    if (request.method !== 'GET' && request.method !== 'HEAD') throw methodNotAllowed()
    return match.route.answer(exchange)
  }

  /** Answers with an error, in turn with the answers of other errors. */
  #fail(exchange: Exchange, error: unknown): void {
    if (error instanceof ClientGoneError) return
    const fault = this.#options.explainError(error, { requestId: exchange.id })
    const { response, address } = exchange
    if (response.headersSent) {
      response.destroy()
      return
    }
    const send = () => exchange.sendError(fault, isUnlimited(exchange) ? null : undefined)
    this.#options.queue
      .run(async () => send(), address, response)
      .catch((late: unknown) => {
        if (!(late instanceof ClientGoneError)) send()
      })
  }
}

/** Whether an answer is given whatever the rate and the store. */
function isUnlimited({ route }: Exchange): boolean {
  return route?.isUnlimited === true
}
