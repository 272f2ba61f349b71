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

export type OpenOptions = {
  signal?: AbortSignal | undefined
  /** The accepted type of the body; any by default. */
  accept?: string
  /** How long the service may send nothing, in milliseconds; by default as long as an attempt may take. */
  silenceMs?: number
}

export type Connection = {
  /** The address of a target. */
  address(target: string): string
  /** The longest answer that is read, in bytes. */
  maxBytes: number
  /**
   * Sends a request until it is answered, refused for good, or the attempts are used up.
   *
   * @param alsoGood statuses that are answers too, beside 2xx
   * @throws {LyraApiError} for an error response
   * @throws {LyraConnectionError} without a response
   */
  get(target: string, signal?: AbortSignal, alsoGood?: readonly number[]): Promise<Answer>
  /** Sends a request once; returns the body in pieces, as they arrive. Throws as {@link Connection.get} does, the body too. */
  open(target: string, options: OpenOptions): Promise<AsyncGenerator<Uint8Array, void, undefined>>
  /** Calls a function again after failures that may pass, as often as is allowed. */
  retrying<Result>(attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
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

  async function retrying<Result>(attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    for (let tried = 1; ; tried++) {
      try {
        return await attempt()
      } catch (error) {
        if (tried > retries || !mayPass(error)) throw error
        await wait(waitAfter(tried, error), signal)
      }
    }
  }

  return {
    address: (target) => `${base}${target}`,
    backOffMs: waitAfter,

    maxBytes,
    retrying,

    get: (target, signal, alsoGood = []) =>
      retrying(async () => {
        const answer = await attempt(target, signal)
        const { status, headers, text } = answer
        if ((status >= 200 && status < 300) || alsoGood.includes(status)) return answer
        throw new LyraApiError(status, headers, text)
      }, signal),

    open: async (target, { signal, accept = '*/*', silenceMs = timeoutMs }) => {
      const watch = watchSilence(silenceMs, signal)
      const failure = (error: unknown) => {
        signal?.throwIfAborted()
        return new LyraConnectionError(`${base}${target}`, error)
      }
      let response: Response
      try {
        const headers = { accept }
        response = await ask(`${base}${target}`, { signal: watch.signal, redirect: 'error', headers })
      } catch (error) {
        watch.end()
        throw failure(error)
      }
      if (response.ok && response.body !== null) return piecesOf(response.body, watch, failure)
      const body = await response.text().catch(() => '')
      watch.end()
      throw new LyraApiError(response.status, response.headers, body)
    },
  }
}

/** Ends a request when nothing has arrived for too long. */
type SilenceWatch = {
  /** Aborted then, by the caller's signal, and at the end. */
  signal: AbortSignal
  /** Counts from now on; what was counted before is forgotten. */
  start(): void
  pause(): void
  end(): void
}

/** Starts to count at once. */
function watchSilence(ms: number, signal: AbortSignal | undefined): SilenceWatch {
  const stop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const pause = () => clearTimeout(timer)
  const start = () => {
    pause()
    timer = setTimeout(() => stop.abort(new Error('nothing came for too long')), ms)
  }
  start()
  return {
    signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    start,
    pause,
    end: () => {
      pause()
      stop.abort()
    },
  }
}

/** A body in pieces. While the caller has one, nothing is read, and silence is not counted. */
async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  watch: SilenceWatch,
  failure: (error: unknown) => LyraConnectionError,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = body.getReader()
  // Deno goes on reading after the signal.
  watch.signal.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true })
  try {
    for (;;) {
      watch.start()
      const { done, value } = await reader.read()
      watch.pause()
      watch.signal.throwIfAborted()
      if (done) return
      yield value
    }
  } catch (error) {
    throw failure(error)
  } finally {
    watch.end()
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
