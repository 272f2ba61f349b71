import { PlainError } from '#core/domain/plain-error'

/** An export that cannot be made as requested; the message gives the reason and a remedy. */
export class ExportError extends PlainError {
  override name = 'ExportError'
}
