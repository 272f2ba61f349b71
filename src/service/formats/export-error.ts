/** An export that cannot be made as requested; the message gives the reason and a remedy. */
export class ExportError extends Error {
  override name = 'ExportError'
}
