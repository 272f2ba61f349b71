import type { IncomingMessage } from 'node:http'
import { type ApiError, malformedRequest } from '../errors.ts'

/**
 * Refuses what Node's parser lets through, but HTTP/1.1 does not (RFC 9112, 3.2).
 *
 * @throws {ApiError} 400
 */
export function checkHead({ httpVersion, rawHeaders }: IncomingMessage): void {
  if (httpVersion !== '1.1' && httpVersion !== '1.0') {
    throw refusal(`HTTP/${httpVersion} is not supported; send HTTP/1.1`)
  }
  let hosts = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === 4 && rawHeaders[index]!.toLowerCase() === 'host') hosts += 1
  }
  if (hosts > 1) throw refusal('the request has several Host headers; send one')
  if (hosts === 0 && httpVersion === '1.1') throw refusal('the request has no Host header; send one')
}

/** After one malformed request, nothing that follows on the connection can be trusted. */
function refusal(message: string): ApiError {
  return malformedRequest(message, { Connection: 'close' })
}
