import { LyraApiError, LyraConnectionError } from './errors.ts'
import { backOffMs, wait } from './wait.ts'

/** How requests are made. */
export type ConnectionOptions = {
  /** Address of the service: `http://127.0.0.1:3008`; may have a path. */
  url: string
  /** Used instead of the global fetch. */
  fetch?: typeof fetch | undefined
  /** How often a request that failed is sent again; 4 by default. */
  retries?: number | undefined
  /** The longest wait before another attempt, in milliseconds, unless the service asks for more; 2,000 by default. */
  longestWaitMs?: number | undefined
  /** How long one attempt may take, in milliseconds; 30,000 by default. */
  timeoutMs?: number | undefined
  /** The longest answer that is read, in bytes; 64 MiB by default. */
  maxBytes?: number | undefined
}

/** An answer, whole. */
export type Answer = { status: number; headers: Headers; text: string }

export type Connection = {
  /** The address of a target. */
  address(target: string): string
  /**
   * Sends a request until it is answered, refused for good, or the attempts are used up.
   *
   * @param alsoGood statuses that are answers too, beside 2xx
   * @throws {LyraApiError} for an error response
   * @throws {LyraConnectionError} without a response
   */
  get(target: string, signal?: AbortSignal, alsoGood?: readonly number[]): Promise<Answer>
  /** Opens a stream: one attempt, whose body is read by the caller. Throws as {@link Connection.get} does. */
  open(target: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>
  /** Milliseconds to wait after so many attempts that failed, the last one with this error if it was one. */
  backOffMs(failed: number, error?: unknown): number
}

/** Statuses of a service that is busy or not ready, and of a proxy (502, 504) while it restarts. */
const TEMPORARY_STATUSES: readonly number[] = [429, 502, 503, 504]

/** Whether the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof LyraApiError) return TEMPORARY_STATUSES.includes(error.status)
  return error instanceof LyraConnectionError && !(error.cause instanceof RangeError)
}

/** @throws {TypeError} if the address is not an http or https URL */
export function createConnection(options: ConnectionOptions): Connection {
  const { retries = 4, longestWaitMs = 2_000, timeoutMs = 30_000, maxBytes = 64 * 1024 * 1024 } = options
  if (!/^https?:/i.test(options.url) || !URL.canParse(options.url)) {
    throw new TypeError(
      `createLyraClient(options): url is '${options.url}', not an http or https URL, such as http://127.0.0.1:3008`,
    )
  }
  const base = options.url.replace(/\/+$/, '')
  // Not called as a method of the options, because a browser's fetch requires the window as `this`.
  const ask = options.fetch ?? ((...args: Parameters<typeof fetch>) => fetch(...args))

  async function attempt(target: string, signal: AbortSignal | undefined): Promise<Answer> {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const response = await ask(`${base}${target}`, {
        signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
        redirect: 'error',
      })
      const { status, headers } = response
      return { status, headers, text: await boundedText(response, maxBytes) }
    } catch (error) {
      signal?.throwIfAborted()
      throw new LyraConnectionError(`${base}${target}`, error)
    }
  }

  const waitAfter = (failed: number, error?: unknown) =>
    backOffMs(failed, longestWaitMs, error instanceof LyraApiError ? error.retryAfter : null)

  return {
    address: (target) => `${base}${target}`,
    backOffMs: waitAfter,

    get: async (target, signal, alsoGood = []) => {
      for (let tried = 1; ; tried++) {
        try {
          const answer = await attempt(target, signal)
          const { status, headers, text } = answer
          if ((status >= 200 && status < 300) || alsoGood.includes(status)) return answer
          throw new LyraApiError(status, headers, text)
        } catch (error) {
          if (tried > retries || !mayPass(error)) throw error
          await wait(waitAfter(tried, error), signal)
        }
      }
    },

    open: async (target, signal) => {
      let response: Response
      try {
        response = await ask(`${base}${target}`, {
          signal,
          redirect: 'error' as const,
          headers: { accept: 'text/event-stream' },
        })
        if (response.ok && response.body !== null) return response.body
      } catch (error) {
        signal.throwIfAborted()
        throw new LyraConnectionError(`${base}${target}`, error)
      }
      throw new LyraApiError(response.status, response.headers, await response.text().catch(() => ''))
    },
  }
}

/** @throws {RangeError} for a body of more bytes */
async function boundedText({ body }: Response, maxBytes: number): Promise<string> {
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    if (bytes > maxBytes) {
      await reader.cancel().catch(() => {})
      throw new RangeError(`the answer has more than ${maxBytes} bytes`)
    }
    text += decoder.decode(read.value, { stream: true })
  }
  return text + decoder.decode()
}
