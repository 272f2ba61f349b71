/** Generated events could not be sent; the message says to which address, and why. */
export class DialError extends Error {
  override name = 'DialError'
}
