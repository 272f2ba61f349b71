import { createRequire } from 'node:module'
import { createLyraClient } from '../../../client/src/index.ts'

/** Called with the data of each row. */
type OnRow = (data: string) => void

/** Follows the stream of checkpoints at an address; returns what ends it. */
type Follow = (url: string, onRow: OnRow) => () => void

type Source = {
  addEventListener(name: string, listener: (event: { data: string }) => void): void
  close(): void
}
export type SourceClass = new (url: string, options?: object) => Source

const require = createRequire(import.meta.url)

/** Rows by their name, as a program with an `EventSource` takes them. */
export const bySource =
  (Source: SourceClass, options?: object): Follow =>
  (url, onRow) => {
    const source = new Source(url, options)
    source.addEventListener('checkpoints', ({ data }) => onRow(data))
    // Otherwise launchdarkly-eventsource throws it.
    source.addEventListener('error', () => {})
    return () => source.close()
  }

/** `reconnecting-eventsource` keeps ids of events alone that have a listener. */
export const byReconnectingSource =
  (Source: SourceClass, options?: object): Follow =>
  (url, onRow) => {
    const source = new Source(url, options)
    source.addEventListener('checkpoints', ({ data }) => onRow(data))
    source.addEventListener('position', () => {})
    return () => source.close()
  }

const { EventSource: EventSource4 } = require('eventsource') as { EventSource: SourceClass }

/** One handler for all events. */
const byEventSourceClient: Follow = (url, onRow) => {
  const { createEventSource } = require('eventsource-client') as {
    createEventSource(options: { url: string; onMessage(message: { event?: string; data: string }): void }): {
      close(): void
    }
  }
  const client = createEventSource({
    url,
    onMessage: ({ event, data }) => {
      if (event === 'checkpoints') onRow(data)
    },
  })
  return () => client.close()
}

const byLyraClient: Follow = (url, onRow) => {
  const stop = new AbortController()
  const lyra = createLyraClient({ url: new URL(url).origin })
  void (async () => {
    for await (const { row } of lyra.streamCheckpoints({}, { signal: stop.signal }))
      onRow(JSON.stringify(row))
  })()
  return () => stop.abort()
}

/** The clients for Node, by name and version. */
export const NODE_CLIENTS: Record<string, Follow> = {
  'eventsource 2.0.2': bySource(require('eventsource-2')),
  'eventsource 3.0.7': bySource(require('eventsource-3').EventSource),
  'eventsource 4.1.1': bySource(EventSource4),
  'event-source-polyfill 1.0.31': bySource(require('event-source-polyfill').EventSourcePolyfill),
  'eventsource-client 1.2.0': byEventSourceClient,
  'launchdarkly-eventsource 2.2.0': bySource(require('launchdarkly-eventsource').EventSource),
  'reconnecting-eventsource 1.6.5': byReconnectingSource(require('reconnecting-eventsource').default, {
    eventSourceClass: EventSource4,
  }),
  'lyra-client': byLyraClient,
}
