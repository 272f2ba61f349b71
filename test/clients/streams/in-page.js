/* What runs in a page of a browser: clients of the stream of checkpoints at an address, which call `onRow` with name and data. */
import { fetchEventSource } from '@microsoft/fetch-event-source'
import { EventSourcePolyfill } from 'event-source-polyfill'
import ReconnectingEventSource from 'reconnecting-eventsource'

globalThis.followCheckpoints = (url, onRow) => {
  for (const [name, Source] of [
    ['EventSource', EventSource],
    ['event-source-polyfill 1.0.31', EventSourcePolyfill],
    ['reconnecting-eventsource 1.6.5', ReconnectingEventSource],
  ]) {
    const source = new Source(url)
    source.addEventListener('checkpoints', ({ data }) => onRow(`${name} in Chromium`, data))
    // reconnecting-eventsource keeps ids of events alone that have a listener.
    if (Source === ReconnectingEventSource) source.addEventListener('position', () => {})
  }
  fetchEventSource(url, {
    onmessage: ({ event, data }) => {
      if (event === 'checkpoints') onRow('fetch-event-source 2.0.1 in Chromium', data)
    },
    // Without this, it takes the end of a connection for the end of the stream.
    onclose: () => {
      throw new Error('again')
    },
  })
}
