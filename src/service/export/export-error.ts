/** An export that cannot be made as it is asked for; the message says why, and what can be done. */
export class ExportError extends Error {
  override name = 'ExportError'
}
