import { ALLOWED_METHODS } from '../errors.ts'
import type { Exchange } from '../exchange.ts'

/** Seconds that a browser may remember a preflight's answer. */
const PREFLIGHT_MAX_AGE = '7200'

/** Answers a preflight. */
export function answerPreflight(exchange: Exchange): void {
  const headers = exchange.request.headers['access-control-request-headers']
  exchange.send(204, {
    vary: 'Access-Control-Request-Method, Access-Control-Request-Headers',
    headers: {
      'access-control-allow-methods': ALLOWED_METHODS,
      'access-control-allow-headers': headers ?? '*',
      'access-control-max-age': PREFLIGHT_MAX_AGE,
    },
  })
}
