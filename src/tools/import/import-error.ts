import { PlainError } from '#core/domain/plain-error'

/** A source that cannot be imported, or cannot be in its present state. The message says what is wrong, where, and what to do. */
export class ImportError extends PlainError {
  override name = 'ImportError'
}

/** Blocks are missing in a source, or between it and the blocks of the store. */
export class ImportGapError extends ImportError {
  override name = 'ImportGapError'
}
