import { PlainError } from '#core/domain/plain-error'

/** Generated events could not be sent; the message says to which address, and why. */
export class DialError extends PlainError {
  override name = 'DialError'
}
