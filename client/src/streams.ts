import { type Connection, mayPass, objectIn } from './connection.ts'
import { LyraAnswerError } from './errors.ts'
import { createEventStreamReader, type ServerEvent } from './event-stream.ts'
import { type StreamStart, streamTarget } from './requests.ts'
import type { StreamFilters, StreamName, StreamNodes } from './resources.ts'
import { LONGEST_ASKED_MS, wait } from './wait.ts'

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
 * @throws {LyraAnswerError} for an answer that is no stream, or an event longer than the connection's `maxBytes`.
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
    const events: ServerEvent[] = []
    const read = createEventStreamReader(connection.maxBytes, {
      onEvent: (event) => events.push(event),
      onRetry: (ms) => {
        retryMs = Math.min(ms, LONGEST_ASKED_MS)
      },
    })
    const target = streamTarget(resource, filters, { after: cursor, afterBlock })
    const url = connection.address(target)
    let failure: unknown
    try {
      const options = { signal, type: 'text/event-stream', silenceMs: SILENCE_MS }
      const decoder = new TextDecoder()
      for await (const piece of await connection.open(target, options)) {
        const isShort = read(decoder.decode(piece, { stream: true }))
        for (const { event, data, id } of events.splice(0)) {
          failed = 0
          if (id !== '') cursor = id
          if (event === resource && data !== '') {
            const row = objectIn(data)
            if (row === null)
              throw new LyraAnswerError(url, `a row of the stream is no object: ${data.slice(0, 100)}`)
            yield { row: row as StreamNodes[Name], cursor: cursor ?? '' }
          } else if (event === 'complete') onComplete?.()
        }
        if (!isShort)
          throw new LyraAnswerError(url, `an event of the stream has more than ${connection.maxBytes} bytes`)
      }
    } catch (error) {
      if (signal?.aborted) return
      if (!mayPass(error)) throw error
      failure = error
    }
    failed++
    await wait(Math.max(retryMs, connection.backOffMs(failed, failure)), signal).catch(() => {})
  }
}

/** A row of one of several streams. */
export type NamedStreamRow<Name extends StreamName> = {
  [Each in Name]: { resource: Each } & StreamRow<StreamNodes[Each]>
}[Name]

/** The filters of several streams, by resource. */
export type SeveralStreams<Name extends StreamName> = { [Each in Name]: StreamFilters[Each] }

export type SeveralStreamsOptions<Name extends StreamName> = {
  /** The cursor to resume each stream after. Market summaries have none. */
  after?: { [Each in Exclude<Name, 'marketSummaries'>]?: string | undefined } | undefined
  /** Of streams without such a cursor: rows of blocks above this height. */
  afterBlock?: string | undefined
  signal?: AbortSignal | undefined
}

/** What one of several streams gives next. */
type NextRow<Name extends StreamName> = {
  resource: Name
  rows: AsyncGenerator<StreamRow<StreamNodes[Name]>, void, undefined>
  result: IteratorResult<StreamRow<StreamNodes[Name]>, void>
}

/**
 * Follows several resources, over a connection each: the rows of each in its order, as they arrive. Ends all connections once the
 * caller leaves, the signal is aborted, or one stream fails, whose error it throws.
 */
export async function* followStreams<Name extends StreamName>(
  connection: Connection,
  streams: SeveralStreams<Name>,
  { after = {}, afterBlock, signal }: SeveralStreamsOptions<Name> = {},
): AsyncGenerator<NamedStreamRow<Name>, void, undefined> {
  const stop = new AbortController()
  const ended = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
  const cursors = after as Readonly<Record<string, string | undefined>>
  /** What each stream gives next. */
  const pending = new Map<Name, Promise<NextRow<Name>>>()

  function ask(resource: Name, rows: NextRow<Name>['rows']): void {
    const next = rows.next().then((result) => ({ resource, rows, result }))
    // It may fail after the caller has left.
    next.catch(() => {})
    pending.set(resource, next)
  }

  try {
    for (const resource of Object.keys(streams) as Name[]) {
      const start = resource === 'marketSummaries' ? {} : { after: cursors[resource], afterBlock }
      ask(resource, followStream(connection, resource, streams[resource], { ...start, signal: ended }))
    }
    while (pending.size > 0) {
      const { resource, rows, result } = await Promise.race(pending.values())
      // It is asked again behind the others: the first one that has a row counts.
      pending.delete(resource)
      if (result.done) continue
      yield { resource, ...result.value } as NamedStreamRow<Name>
      ask(resource, rows)
    }
  } finally {
    stop.abort()
  }
}
