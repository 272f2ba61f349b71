import type { IncomingMessage } from 'node:http'

/**
 * The address of a client: that of its connection, or, behind a proxy that is trusted, the last one of
 * `X-Forwarded-For`, which that proxy has seen.
 */
export function clientAddress({ headers, socket }: IncomingMessage, trustProxy: boolean): string {
  const forwarded = trustProxy ? headers['x-forwarded-for'] : undefined
  const seen = forwarded?.toString().split(',').at(-1)?.trim()
  return seen || (socket.remoteAddress ?? '')
}
