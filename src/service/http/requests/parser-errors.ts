import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { StoreHead } from '#core/store/pages/page'
import { countedAddress } from '../clients/client-address.ts'
import type { Connections } from '../clients/connections.ts'
import type { CountRequest } from '../clients/rate-limit.ts'
import type { CorsOrigins } from '../cors.ts'
import { ApiError, errorBody, headersTooLarge, malformedRequest, methodNotAllowed } from '../errors.ts'
import { answerHead, JSON_TYPE, type KnownStoreHead } from '../exchange.ts'
import { checkTarget, pathOf } from '../query-string.ts'
import { newRequestId } from '../request-id.ts'
import type { FindRoute } from '../router.ts'

/** Time to discard a client's further bytes, so that it reads its answer instead of getting a reset. */
const LINGER_MS = 1_000

/** A request line with a method that Node's parser does not know. */
const REQUEST_LINE = /^[!#$%&'*+.^`|~\w-]+ ([!-~]+) HTTP\/1\.[01]\r?$/

/** Fields that Node's parser adds to its errors. */
type ParserError = NodeJS.ErrnoException & { bytesParsed?: number; rawPacket?: Buffer }

type ParserErrorsOptions = {
  known: KnownStoreHead
  corsOrigins: CorsOrigins
  connections: Connections
  countRequest: CountRequest
  findRoute: FindRoute
}

/** Answers the requests of one server that reach no route: those that Node's parser refuses, and CONNECT. */
export class ParserErrors {
  readonly #options: ParserErrorsOptions
  readonly #answered = new WeakSet<Duplex>()

  constructor(options: ParserErrorsOptions) {
    this.#options = options
  }

  /** For the server's `clientError` event. */
  onClientError(error: ParserError, connection: Duplex): void {
    // A client that has disconnected, or is too slow to send its request, gets no answer.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' || error.code === 'ECONNRESET' || !connection.writable) {
      if (!this.#answered.has(connection)) connection.destroy()
      return
    }
    void this.#answer(connection, refusalOf(error, this.#options.findRoute))
  }

  /** For its `connect` event. Closes the connection if a request before it is not answered yet. */
  onConnect({ url = '' }: IncomingMessage, connection: Duplex): void {
    // Node leaves errors, data and time limits of such a connection to the handler, also those of answers before.
    connection.on('error', () => connection.destroy())
    if (this.#options.connections.isAnswering(connection)) {
      connection.destroy()
      return
    }
    connection.resume()
    void this.#answer(connection, refusalOfMethod(url, this.#options.findRoute))
  }

  async #answer(connection: Duplex, error: ApiError): Promise<void> {
    // The parser fails again with all further bytes.
    if (this.#answered.has(connection)) return
    this.#answered.add(connection)
    // Node would end the connection when the client ends its side, before the answer is there.
    connection.removeAllListeners('end')
    const { connections, known, corsOrigins } = this.#options
    const refusal = withHeaders(this.#counted(connection, error), { Connection: 'close' })
    if (await connections.fail(connection, refusal)) return
    if (connection.writable) connection.end(answerText(refusal, known.storeHead, corsOrigins))
    const timer = setTimeout(() => connection.destroy(), LINGER_MS)
    connection.once('close', () => clearTimeout(timer))
  }

  /** The error to answer with: the given one, or 429 if the address has sent too many requests. */
  #counted(connection: Duplex, error: ApiError): ApiError {
    const address = countedAddress((connection as Socket).remoteAddress ?? '')
    try {
      return withHeaders(error, this.#options.countRequest(address))
    } catch (refusal) {
      return refusal as ApiError
    }
  }
}

function withHeaders(error: ApiError, headers: Record<string, string>): ApiError {
  return new ApiError(error.status, error.code, error.message, { headers: { ...error.headers, ...headers } })
}

function refusalOf(error: ParserError, findRoute: FindRoute): ApiError {
  if (error.code === 'HPE_HEADER_OVERFLOW') return headersTooLarge()
  if (error.code === 'HPE_INVALID_METHOD') {
    const target = targetOf(error)
    if (target !== null) return refusalOfMethod(target, findRoute)
  }
  const what = String(error.code).replace('HPE_', '').replaceAll('_', ' ').toLowerCase()
  return malformedRequest(`the request is not valid HTTP/1.1: ${what}`)
}

/** The target of a request whose method the parser refuses; null unless its whole first line has arrived. */
function targetOf({ rawPacket, bytesParsed = 0 }: ParserError): string | null {
  const text = rawPacket?.toString('latin1') ?? ''
  const start = text.lastIndexOf('\n', bytesParsed - 1) + 1
  const end = text.indexOf('\n', start)
  return REQUEST_LINE.exec(text.slice(start, end === -1 ? start : end))?.[1] ?? null
}

function refusalOfMethod(target: string, findRoute: FindRoute): ApiError {
  try {
    checkTarget(target)
  } catch (error) {
    return error as ApiError
  }
  const match = findRoute(pathOf(target))
  return match instanceof ApiError ? match : methodNotAllowed()
}

function answerText(error: ApiError, storeHead: StoreHead | null, corsOrigins: CorsOrigins): string {
  const body = errorBody(error)
  // The request's headers are unknown.
  const request = { id: newRequestId(), origin: undefined, limits: {} }
  const headers = { ...error.headers, 'content-type': JSON_TYPE, date: new Date().toUTCString() }
  const pairs = answerHead(corsOrigins, request, { storeHead, vary: 'Accept-Encoding', headers })
  pairs.push('content-length', String(Buffer.byteLength(body)))
  let head = ''
  for (let at = 0; at < pairs.length; at += 2) head += `${pairs[at]}: ${pairs[at + 1]}\r\n`
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head}\r\n${body}`
}
