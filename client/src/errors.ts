/** One detail of an error of the API. */
export type LyraErrorDetail = { '@type': string; code: number; message: string; inner: string }

/** An answer of the service other than success. */
export class LyraApiError extends Error {
  /** The HTTP status. */
  readonly status: number
  /** The gRPC status code of the body; null if the body is not the API's (a proxy's, say). */
  readonly code: number | null
  readonly details: LyraErrorDetail[]
  /** The id under which the service knows the request. */
  readonly requestId: string | null
  /** Seconds after which the service asks to retry; null if it does not say. */
  readonly retryAfter: number | null

  constructor(status: number, headers: Headers, body: string) {
    const { code, message, details } = parse(body)
    const inner = details[0]?.inner
    super(`${status}: ${message}${inner ? ` (${inner})` : ''}`)
    this.name = 'LyraApiError'
    this.status = status
    this.code = code
    this.details = details
    this.requestId = headers.get('x-request-id')
    this.retryAfter = secondsUntil(headers.get('retry-after') ?? '')
  }
}

/** The service could not be reached, or its answer was cut off; `cause` is the error of fetch. */
export class LyraConnectionError extends Error {
  constructor(url: string, cause: unknown) {
    super(`${url}: ${reasonOf(cause)}`, { cause })
    this.name = 'LyraConnectionError'
  }
}

/** An answer that is not the API's: longer than is allowed, of another form, or not JSON. Another attempt would not help. */
export class LyraAnswerError extends Error {
  constructor(url: string, fault: string) {
    super(`${url}: ${fault}`)
    this.name = 'LyraAnswerError'
  }
}

/** A Retry-After, which is a number of seconds or a date (RFC 9110, 10.2.3), as seconds from now; null if it is neither. */
function secondsUntil(retryAfter: string): number | null {
  if (/^\d+$/.test(retryAfter)) return Number(retryAfter)
  const at = Date.parse(retryAfter)
  return Number.isNaN(at) ? null : Math.max(0, (at - Date.now()) / 1000)
}

/** The message of an error and of its innermost cause: Node's fetch says why it failed only there. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  let inner: Error & { code?: unknown } = error
  while (inner.cause instanceof Error) inner = inner.cause
  // If no address of a name accepts a connection, the cause has a code and no message.
  return inner === error ? error.message : `${error.message} (${inner.message || String(inner.code)})`
}

function parse(body: string): { code: number | null; message: string; details: LyraErrorDetail[] } {
  try {
    const { code, message, details } = JSON.parse(body) as {
      code?: unknown
      message?: unknown
      details?: unknown
    }
    if (typeof code === 'number' && typeof message === 'string') {
      return { code, message, details: Array.isArray(details) ? (details as LyraErrorDetail[]) : [] }
    }
  } catch {
    // Not a body of the API.
  }
  return { code: null, message: body.slice(0, 200) || 'no body', details: [] }
}
