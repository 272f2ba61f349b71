/** An event of a stream of the type `text/event-stream`. */
export type ServerEvent = {
  /** The name of its kind; `message` if it has none. */
  event: string
  data: string
  /** The last id that the stream has given, with this event or before; empty if none. */
  id: string
}

export type EventStreamHandlers = {
  onEvent(event: ServerEvent): void
  /** An id without an event. */
  onId?(id: string): void
  /** Milliseconds that the service asks to wait before coming back. */
  onRetry?(ms: number): void
}

/**
 * Makes a reader of such a stream (WHATWG HTML, 9.2.6) that takes its text in pieces, cut anywhere: lines that end
 * in LF, CR or CRLF, fields `event`, `data`, `id` and `retry`, comments skipped.
 */
export function createEventStreamReader({ onEvent, onId, onRetry }: EventStreamHandlers) {
  let rest = ''
  let atStart = true
  let event = ''
  let data: string[] = []
  let id = ''
  let heldId = ''

  function dispatch(): void {
    const changed = id !== heldId
    heldId = id
    if (data.length > 0) onEvent({ event: event === '' ? 'message' : event, data: data.join('\n'), id })
    else if (changed) onId?.(id)
    event = ''
    data = []
  }

  function readLine(line: string): void {
    if (line === '') {
      dispatch()
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
    else if (field === 'id') {
      if (!value.includes('\0')) id = value
    } else if (field === 'retry' && /^\d+$/.test(value)) onRetry?.(Number(value))
  }

  return (text: string): void => {
    rest += text
    if (atStart && rest !== '') {
      rest = rest.replace(/^\ufeff/, '')
      atStart = false
    }
    let from = 0
    for (let at = 0; at < rest.length; at++) {
      const character = rest[at]
      if (character !== '\n' && character !== '\r') continue
      // Whether an LF follows a CR that is the last character is not known yet.
      if (character === '\r' && at + 1 === rest.length) break
      readLine(rest.slice(from, at))
      if (character === '\r' && rest[at + 1] === '\n') at++
      from = at + 1
    }
    rest = rest.slice(from)
  }
}
