import { printable } from '../../../domain/printable.ts'
import { LogUnreachableError } from '../log-source.ts'

/** An answer must be there, whole, within this time, in milliseconds. */
const ANSWER_MS = 10_000

/** What to do if an answer is none that Lyra's files can give. */
const WRONG_PLACE = 'check that --follow names the folder of an event log'
const PROXIES = 'check the web server, and what is between it and Lyra'

/** The bytes that are asked for. */
type Range = { offset: number; length: number }

/**
 * The server of an event log, of which anything may be wrong: it may send anything, nothing, or no end. An answer is never
 * taken from elsewhere, never encoded, and never larger than what was asked for.
 */
export class LogServer {
  readonly #folder: URL
  readonly #stopped: AbortSignal

  /** @param stopped ends all requests */
  constructor(folder: URL, stopped: AbortSignal) {
    this.#folder = folder
    this.#stopped = stopped
  }

  /**
   * The text of a small file; null if there is none.
   *
   * @throws {LogUnreachableError} for any other answer, and for a text that is larger than allowed.
   */
  readText(name: string, mostBytes: number): Promise<string | null> {
    return this.#get(name, {}, async (response) => {
      if (response.status === 404) return null
      if (response.status !== 200) throw refusal(name, response)
      const bytes = await readBody(response, mostBytes + 1)
      if (bytes.length > mostBytes)
        throw new LogUnreachableError(`${name} is larger than ${mostBytes / 1024} KiB: ${WRONG_PLACE}`)
      return bytes.toString('utf8')
    })
  }

  /**
   * Bytes of a file, exactly those.
   *
   * @throws an error with the code ENOENT if there is no such file.
   * @throws {LogUnreachableError} for any other answer.
   */
  readRange(name: string, { offset, length }: Range): Promise<Buffer> {
    const last = offset + length - 1
    return this.#get(name, { range: `bytes=${offset}-${last}` }, async (response) => {
      const { status, headers } = response
      if (status === 404) throw Object.assign(new Error(`${name} is not there`), { code: 'ENOENT' })
      if (status === 200 && offset > 0)
        throw new LogUnreachableError(
          `${name} is sent from its beginning: the web server must give byte ranges`,
        )
      if (status !== 200 && status !== 206) throw refusal(name, response)
      if (headers.get('content-type')?.startsWith('text/html'))
        throw new LogUnreachableError(`a page is sent instead of ${name}: ${PROXIES}`)
      const range = headers.get('content-range')
      if (status === 206 && range?.replace(/\/(\d+|\*)$/, '') !== `bytes ${offset}-${last}`)
        throw new LogUnreachableError(`${name}: other bytes than asked for were sent: ${PROXIES}`)
      // Of a whole file more may follow.
      const bytes = await readBody(response, status === 206 ? length + 1 : length)
      if (bytes.length === length) return bytes
      const isMore = bytes.length > length ? 'more' : 'fewer'
      throw new LogUnreachableError(`${name}: ${isMore} bytes than asked for were sent: ${PROXIES}`)
    })
  }

  async #get<T>(
    name: string,
    headers: Record<string, string>,
    take: (response: Response) => Promise<T>,
  ): Promise<T> {
    const ended = new AbortController()
    const signals = [this.#stopped, ended.signal, AbortSignal.timeout(ANSWER_MS)]
    try {
      const response = await fetch(new URL(name, this.#folder), {
        headers: { 'accept-encoding': 'identity', ...headers },
        redirect: 'manual',
        signal: AbortSignal.any(signals),
      })
      const encoding = response.headers.get('content-encoding') ?? 'identity'
      if (encoding !== 'identity')
        throw new LogUnreachableError(
          `${name} is sent encoded (${printable(encoding.slice(0, 40))}): turn that off for the log`,
        )
      return await take(response)
    } catch (error) {
      throw error instanceof TypeError || error instanceof DOMException ? unreachable(name, error) : error
    } finally {
      // Of an answer that is refused, or larger than needed, nothing more is read.
      ended.abort()
    }
  }
}

/** The first bytes of an answer, at most so many. */
async function readBody(response: Response, mostBytes: number): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes >= mostBytes) break
  }
  return Buffer.concat(chunks).subarray(0, mostBytes)
}

function refusal(name: string, { status }: Response): LogUnreachableError {
  const because = `${name} is answered with ${status}`
  if (status >= 300 && status < 400)
    return new LogUnreachableError(`${because}, a redirect: follow the address to which it leads`)
  if (status === 401 || status === 403)
    return new LogUnreachableError(
      `${because}: let the web server read the log (--event-log-mode 640), and answer this machine`,
    )
  if (status === 416)
    return new LogUnreachableError(`${because}: the file is shorter than its log says: ${PROXIES}`)
  return new LogUnreachableError(`${because}: ${PROXIES}`)
}

function unreachable(name: string, error: Error): LogUnreachableError {
  if (error.name === 'TimeoutError') {
    return new LogUnreachableError(`${name} has not arrived within ${ANSWER_MS / 1_000} s: ${PROXIES}`, {
      cause: error,
    })
  }
  const { code, message } = (error.cause ?? error) as NodeJS.ErrnoException
  const remedy = /CERT|SIGNATURE|TLS|SSL/.test(code ?? '')
    ? 'give the web server a certificate that this machine trusts, or name its authority in NODE_EXTRA_CA_CERTS'
    : 'check that the web server runs, and its address'
  return new LogUnreachableError(`${name} cannot be fetched (${code ?? message}): ${remedy}`, {
    cause: error,
  })
}
