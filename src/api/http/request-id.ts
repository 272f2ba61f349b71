import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'

/** Printable ASCII of up to 64 characters. */
const REQUEST_ID = /^[\x20-\x7e]{1,64}$/

/** The id of a request: the one that the client gives, or a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID()
}
