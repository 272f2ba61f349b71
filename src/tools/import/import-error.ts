/** A source that cannot be imported, or not as it is; the message says what, where, and what to do. */
export class ImportError extends Error {
  override name = 'ImportError'
}

/** Blocks are missing in a source, or between it and the store's blocks. */
export class ImportGapError extends ImportError {
  override name = 'ImportGapError'
}
