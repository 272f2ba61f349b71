/** Requests in a row over one connection, after which its client is taken for the only one: two that take turns never are. */
const REQUESTS_IN_A_ROW = 8

/** Tells whether a client asks alone, over one connection, as a program does that reads a list page after page. */
export class LoneClient {
  #connection: object | null = null
  /** How many requests before the last one were over the same connection, without one over another. */
  #inARow = 0

  /** Counts a request over a connection. */
  count(connection: object): void {
    if (connection === this.#connection) this.#inARow += 1
    else {
      this.#connection = connection
      this.#inARow = 0
    }
  }

  /** Whether the last requests were all over this connection. */
  is(connection: object): boolean {
    return connection === this.#connection && this.#inARow >= REQUESTS_IN_A_ROW
  }
}
