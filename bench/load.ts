import { connect, type Socket } from 'node:net'

/** Result of a run of requests over several connections. */
export type LoadResult = {
  requests: number
  /** Requests answered a second. */
  rate: number
  /** Milliseconds from a request to the last byte of its answer. */
  p50: number
  p99: number
  /** Bytes of an answer, headers and body, on average. */
  bytes: number
}

export type LoadOptions = {
  connections: number
  seconds: number
  /** Gives the target of each request: the same again, or a new one. */
  nextTarget: () => string
  headers?: Record<string, string>
}

/** A load this long has all code compiled that it uses. */
export const WARM_UP_SECONDS = 3

const HEADER_END = Buffer.from('\r\n\r\n')

/**
 * Keeps some connections busy with one request after another, and measures each. It reads only status and length of an
 * answer, so that the load costs the machine little.
 *
 * @throws an error for an answer of another status than 200, since refusals cost less than answers.
 */
export async function measureLoad(base: string, options: LoadOptions): Promise<LoadResult> {
  const { hostname, port } = new URL(base)
  const extra = Object.entries(options.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`)
  const requestFor = (target: string) =>
    `GET ${target} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${extra.join('')}\r\n`
  const times: number[] = []
  let bytes = 0
  const startedAt = performance.now()
  const until = startedAt + options.seconds * 1000

  const keepBusy = (socket: Socket) =>
    new Promise<void>((resolve, reject) => {
      let answer = new AnswerCounter()
      let target = ''
      let sentAt = 0
      const requestNext = () => {
        target = options.nextTarget()
        sentAt = performance.now()
        socket.write(requestFor(target))
      }
      socket.setNoDelay(true)
      socket.on('error', reject)
      socket.on('close', () => reject(new Error('the server closed a connection')))
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        try {
          if (!answer.take(chunk)) return
          if (answer.status !== 200) throw new Error(`${base}${target}: an answer of ${answer.status}`)
        } catch (error) {
          socket.destroy()
          reject(error)
          return
        }
        const now = performance.now()
        times.push(now - sentAt)
        if (now >= until) {
          socket.removeAllListeners('close')
          socket.destroy()
          resolve()
          return
        }
        answer = new AnswerCounter()
        requestNext()
      })
      requestNext()
    })

  await Promise.all(
    Array.from({ length: options.connections }, () => keepBusy(connect(Number(port), hostname))),
  )
  const seconds = (performance.now() - startedAt) / 1000
  times.sort((a, b) => a - b)
  return {
    requests: times.length,
    rate: times.length / seconds,
    p50: percentile(times, 0.5),
    p99: percentile(times, 0.99),
    bytes: bytes / times.length,
  }
}

/** The value below which the given share of sorted values lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

/** Counts the bytes of one answer, whose body has a Content-Length or is chunked. */
class AnswerCounter {
  #status = 0
  #head: Buffer | null = null
  #body: BodyCounter | null = null

  /** The status of the answer once its head is whole; 0 before. */
  get status(): number {
    return this.#status
  }

  /**
   * Takes the next bytes; returns whether the answer is whole with them.
   *
   * @throws an error if the head does not say how long the body is, or the body has a malformed chunk.
   */
  take(bytes: Buffer): boolean {
    if (this.#body !== null) return this.#body(bytes)
    const head = this.#head === null ? bytes : Buffer.concat([this.#head, bytes])
    this.#head = head
    const end = head.indexOf(HEADER_END)
    if (end === -1) return false
    const text = head.toString('latin1', 0, end)
    this.#status = Number(text.slice(9, 12))
    this.#body = bodyCounter(text)
    return this.#body(head.subarray(end + HEADER_END.length))
  }
}

/** Whether a body is whole with these bytes, which follow those before. */
type BodyCounter = (bytes: Buffer) => boolean

function bodyCounter(head: string): BodyCounter {
  const length = /^content-length: *(\d+)/im.exec(head)
  if (length !== null) {
    let missing = Number(length[1])
    return (bytes) => {
      missing -= bytes.length
      return missing <= 0
    }
  }
  if (/^transfer-encoding: *chunked/im.test(head)) return chunksCounter()
  throw new Error(`an answer with neither Content-Length nor chunks:\n${head}`)
}

const LINE_FEED = 10

/** Counts chunks: a line with the length in hex, so many bytes and a line end; after the one of length 0 an empty line. */
function chunksCounter(): BodyCounter {
  let line = ''
  /** Bytes until the next line of a length. */
  let missing = 0
  let isLast = false
  return (bytes) => {
    let at = 0
    for (;;) {
      const passed = Math.min(missing, bytes.length - at)
      missing -= passed
      at += passed
      const end = at < bytes.length ? bytes.indexOf(LINE_FEED, at) : -1
      if (end === -1) {
        line += bytes.toString('latin1', at)
        return false
      }
      line += bytes.toString('latin1', at, end)
      at = end + 1
      if (isLast) {
        // Trailers may stand before the empty line.
        if (line.trim() === '') return true
      } else {
        const size = Number.parseInt(line, 16)
        if (Number.isNaN(size)) throw new Error(`not the length of a chunk: ${line}`)
        isLast = size === 0
        missing = isLast ? 0 : size + 2
      }
      line = ''
    }
  }
}
