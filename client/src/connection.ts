import { LyraAnswerError, LyraApiError, LyraConnectionError } from './errors.ts'
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
  /** The longest answer, line of an export or event of a stream that is read, in bytes; 64 MiB by default. */
  maxBytes?: number | undefined
}

/** An answer, whole. */
export type Answer = { status: number; headers: Headers; text: string }

export type OpenOptions = {
  signal?: AbortSignal | undefined
  /** The only type of the body that is accepted; any by default. */
  type?: string
  /** How long the service may send nothing, in milliseconds; by default as long as an attempt may take. */
  silenceMs?: number
}

export type Connection = {
  /** The address of a target. */
  address(target: string): string
  /** The longest line of an export or event of a stream that is read, in bytes. */
  maxBytes: number
  /**
   * Sends a request until it is answered, refused for good, or the attempts are used up.
   *
   * @param alsoGood statuses that are answers too, beside 2xx
   * @throws {LyraApiError} for an error response
   * @throws {LyraConnectionError} without a response
   * @throws {LyraAnswerError} for an answer that is not the API's
   */
  get(target: string, signal?: AbortSignal, alsoGood?: readonly number[]): Promise<Answer>
  /** As {@link Connection.get}, if the answer is an object in JSON, which it returns; else throws a LyraAnswerError. */
  getObject(
    target: string,
    signal?: AbortSignal,
    alsoGood?: readonly number[],
  ): Promise<{ headers: Headers; body: Record<string, unknown> }>
  /** Sends a request once; returns the body in pieces, as they arrive. Throws as {@link Connection.get} does, the body too. */
  open(target: string, options: OpenOptions): Promise<AsyncGenerator<Uint8Array, void, undefined>>
  /** Calls a function again after failures that may pass, as often as is allowed. */
  retrying<Result>(attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
  /** Milliseconds to wait after so many attempts that failed, the last one with this error if it was one. */
  backOffMs(failed: number, error?: unknown): number
}

/** Statuses of a service that is busy or not ready, and of a proxy (502, 504) while it restarts. */
const TEMPORARY_STATUSES: readonly number[] = [429, 502, 503, 504]

/** The longest body of an error that is read, in bytes. */
const LONGEST_ERROR = 64 * 1024

/** Whether the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof LyraApiError) return TEMPORARY_STATUSES.includes(error.status)
  return error instanceof LyraConnectionError
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

  /** What a failed request throws: its own error, or that of fetch explained. */
  function failureOf(target: string, error: unknown): unknown {
    if (error instanceof LyraApiError || error instanceof LyraAnswerError) return error
    return new LyraConnectionError(`${base}${target}`, error)
  }

  /** @throws {LyraApiError} for a status that is not good */
  async function send(
    target: string,
    signal: AbortSignal,
    accept = '*/*',
    alsoGood: readonly number[] = [],
  ): Promise<Response> {
    const url = `${base}${target}`
    const response = await ask(url, { signal, redirect: 'manual', headers: { accept } })
    // What a browser gives instead of the response, which has the status elsewhere.
    if (response.type === 'opaqueredirect') throw new LyraAnswerError(url, 'the answer is a redirect')
    const { ok, status, headers } = response
    if (ok || alsoGood.includes(status)) return response
    throw new LyraApiError(status, headers, await beginningOf(response))
  }

  async function attempt(
    target: string,
    signal: AbortSignal | undefined,
    alsoGood: readonly number[],
  ): Promise<Answer> {
    const timeout = AbortSignal.timeout(timeoutMs)
    const either = signal === undefined ? timeout : AbortSignal.any([signal, timeout])
    try {
      const response = await send(target, either, '*/*', alsoGood)
      const { text, isWhole } = await readText(response, maxBytes)
      if (isWhole) return { status: response.status, headers: response.headers, text }
      throw new LyraAnswerError(`${base}${target}`, `the answer has more than ${maxBytes} bytes`)
    } catch (error) {
      signal?.throwIfAborted()
      throw failureOf(target, error)
    }
  }

  const get: Connection['get'] = (target, signal, alsoGood = []) =>
    retrying(() => attempt(target, signal, alsoGood), signal)

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

    get,
    getObject: async (...asked) => {
      const { headers, text } = await get(...asked)
      const body = objectIn(text)
      if (body !== null) return { headers, body }
      throw new LyraAnswerError(`${base}${asked[0]}`, `the answer is no JSON object: ${text.slice(0, 100)}`)
    },

    open: async (target, { signal, type, silenceMs = timeoutMs }) => {
      const watch = watchSilence(silenceMs, signal)
      const failure = (error: unknown) => {
        signal?.throwIfAborted()
        return failureOf(target, error)
      }
      try {
        const { body, headers } = await send(target, watch.signal, type)
        const found = headers.get('content-type') ?? ''
        if (body === null || (type !== undefined && !found.startsWith(type))) {
          throw new LyraAnswerError(`${base}${target}`, `the answer is '${found}', not ${type ?? 'a body'}`)
        }
        return piecesOf(body, watch, failure)
      } catch (error) {
        watch.end()
        throw failure(error)
      }
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
  failure: (error: unknown) => unknown,
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

/** The text of a body; only its beginning if it has more bytes. */
async function readText({ body }: Response, maxBytes: number): Promise<{ text: string; isWhole: boolean }> {
  if (body === null) return { text: '', isWhole: true }
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    bytes += read.value.length
    text += decoder.decode(read.value, { stream: true })
    if (bytes <= maxBytes) continue
    await reader.cancel().catch(() => {})
    return { text, isWhole: false }
  }
  return { text: text + decoder.decode(), isWhole: true }
}

/** As much of an error's body as matters and arrives: the status says enough. */
async function beginningOf(response: Response): Promise<string> {
  const read = await readText(response, LONGEST_ERROR).catch(() => null)
  return read?.text ?? ''
}

/** The object that a text is in JSON; null if it is none. */
export function objectIn(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && !Array.isArray(value)
      ? (value as Record<string, unknown> | null)
      : null
  } catch {
    return null
  }
}
