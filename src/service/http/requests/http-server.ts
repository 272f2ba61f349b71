import { createServer, type Server } from 'node:http'

/** Bytes of request line and headers together. */
const MAX_HEADER_BYTES = 16 * 1024

/** A connection on which no byte of an answer is sent for this long is closed: the client does not read it. */
const IDLE_CONNECTION_MS = 30_000

/** How long a connection may be idle between two requests. */
const KEEP_ALIVE_MS = 72_000

/** How long a client may take to send its headers, and its whole request. */
const HEADERS_TIMEOUT_MS = 15_000
const REQUEST_TIMEOUT_MS = 30_000
const TIMEOUT_CHECK_MS = 1_000

/** A server with these limits; its user adds the handlers. */
export function createHttpServer(): Server {
  const server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: TIMEOUT_CHECK_MS,
    // Node's own refusal has no body; that of `checkHead` has one.
    requireHostHeader: false,
  })
  server.setTimeout(IDLE_CONNECTION_MS)
  // A client that ends its side of the connection after its last request still gets the answer.
  Object.assign(server, { httpAllowHalfOpen: true })
  return server
}
