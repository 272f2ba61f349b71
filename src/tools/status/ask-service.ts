import { type Answer, createConnection } from '#client/connection'
import { LyraAnswerError, LyraApiError, LyraConnectionError } from '#client/errors'
import { PlainError } from '#core/domain/plain-error'

const TIMEOUT_MS = 10_000

/** More than any answer of a service, and than all parts of a coverage together. */
export const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** A service that does not answer, or is not Lyra. */
export class ServiceError extends PlainError {
  override name = 'ServiceError'
}

/** Requests a path of a service; `allowed` are the statuses that count as answers. */
export type Ask = (path: string, allowed?: readonly number[], signal?: AbortSignal) => Promise<Answer>

/**
 * Creates the function that requests paths of a service. Requests are repeated a few times if that may help, or as often as
 * `retries` says.
 *
 * @throws {ServiceError} from the function: if the service is unreachable, redirects, answers with a status that is not
 *   allowed, or sends more than 64 MiB.
 */
export function serviceAt(base: string, retries?: number): Ask {
  const { get } = createConnection({ url: base, retries, timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES })
  return async (path, allowed = [200], signal) => {
    try {
      return await get(path, signal, allowed)
    } catch (error) {
      if (error instanceof LyraConnectionError) {
        const reason = reasonOf(error.cause as Error)
        const hint = reason === 'ECONNREFUSED' ? '; check the address, and that the service runs' : ''
        throw new ServiceError(`${base}: unreachable (${reason})${hint}`, { cause: error })
      }
      if (error instanceof LyraAnswerError) throw new ServiceError(error.message, { cause: error })
      if (!(error instanceof LyraApiError)) throw error
      const { status } = error
      throw new ServiceError(
        status === 429
          ? `${base}: rate limit exceeded (429); raise its rate limit`
          : `${base}${path}: responds with status ${status}; check that this is a Lyra service of this version`,
        { cause: error },
      )
    }
  }
}

/** The message of an error's innermost cause, or its code. */
function reasonOf(error: Error & { code?: string }): string {
  if (error.name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`
  return error.cause instanceof Error ? reasonOf(error.cause) : (error.code ?? error.message)
}

/**
 * The JSON of an answer.
 *
 * @throws {ServiceError} if it is not JSON.
 */
export function parsedAnswer<T>(base: string, { text }: Answer): T {
  try {
    return JSON.parse(text) as T
  } catch {
    throw new ServiceError(`${base}: the response is not JSON, so this is not a Lyra service; check --url`)
  }
}
