import { PlainError } from '#core/domain/plain-error'

/** Nothing of two sides can be compared, or a side's answer is incomplete. */
export class CompareError extends PlainError {
  override name = 'CompareError'
}
