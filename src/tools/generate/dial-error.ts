/** Generated events could not be sent; the message says where to and why. */
export class DialError extends Error {
  override name = 'DialError'
}
