import { type Connection, mayPass } from './connection.ts'
import { LyraApiError } from './errors.ts'
import { createEventStreamReader } from './event-stream.ts'
import { type StreamStart, streamTarget } from './requests.ts'
import type { StreamFilters, StreamName, StreamNodes } from './resources.ts'
import { wait } from './wait.ts'

/** The service sends something every 4 seconds; a connection that is silent for longer than this is lost. */
const SILENCE_MS = 45_000

/** A row, with the cursor to resume after it. */
export type StreamRow<Node> = { row: Node; cursor: string }

export type StreamOptions = StreamStart & {
  signal?: AbortSignal | undefined
  /** Called once the state has been sent whole, on each connection: of market summaries. */
  onComplete?: (() => void) | undefined
}

/**
 * Follows a resource: each row as it arrives or changes, until the signal is aborted. After a lost connection the
 * stream resumes after the last row taken.
 *
 * @throws {LyraApiError} for a request that the service refuses for good.
 */
export async function* followStream<Name extends StreamName>(
  connection: Connection,
  resource: Name,
  filters: StreamFilters[Name],
  { after, afterBlock, signal, onComplete }: StreamOptions = {},
): AsyncGenerator<StreamRow<StreamNodes[Name]>, void, undefined> {
  let cursor = after === '' ? undefined : after
  let failed = 0
  let retryMs = 0
  while (!signal?.aborted) {
    const stop = new AbortController()
    const ended = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
    let watch: ReturnType<typeof setTimeout> | undefined
    const heard = () => {
      clearTimeout(watch)
      watch = setTimeout(() => stop.abort(new Error('nothing came for too long')), SILENCE_MS)
    }
    const rows: StreamRow<StreamNodes[Name]>[] = []
    /** An id after that of the last row, such as that of an event `position`. */
    let idle: string | null = null
    let isComplete = false
    const read = createEventStreamReader({
      onEvent: ({ event, data, id }) => {
        if (event === resource) {
          idle = null
          rows.push({ row: JSON.parse(data) as StreamNodes[Name], cursor: id || (cursor ?? '') })
        } else if (event === 'complete') isComplete = true
        else if (id !== '') idle = id
      },
      onId: (id) => {
        idle = id
      },
      onRetry: (ms) => {
        retryMs = ms
      },
    })
    try {
      heard()
      const body = await connection.open(
        streamTarget(resource, filters, { after: cursor, afterBlock }),
        ended,
      )
      const reader = body.getReader()
      // Deno goes on reading after the signal.
      ended.addEventListener('abort', () => void reader.cancel().catch(() => {}), { once: true })
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        heard()
        failed = 0
        read(decoder.decode(value, { stream: true }))
        // The caller may process a row slowly, and nothing is read meanwhile.
        clearTimeout(watch)
        for (const row of rows.splice(0)) {
          if (row.cursor !== '') cursor = row.cursor
          yield row
        }
        if (isComplete) onComplete?.()
        isComplete = false
        if (idle !== null) cursor = idle
        idle = null
        heard()
      }
    } catch (error) {
      if (signal?.aborted) return
      // An error within a response is fetch's own.
      if (error instanceof LyraApiError && !mayPass(error)) throw error
      failed++
      await wait(Math.max(retryMs, connection.backOffMs(failed, error)), signal).catch(() => {})
      continue
    } finally {
      clearTimeout(watch)
      stop.abort()
    }
    failed++
    await wait(Math.max(retryMs, connection.backOffMs(failed)), signal).catch(() => {})
  }
}
