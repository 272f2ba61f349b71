/** An event of a stream of the type `text/event-stream`. */
export type ServerEvent = {
  /** The name of its kind; `message` if it has none. */
  event: string
  /** Empty if it only had an id. */
  data: string
  /** The last id that the stream has given, with this event or before; empty if none. */
  id: string
}

export type EventStreamHandlers = {
  onEvent(event: ServerEvent): void
  /** Milliseconds that the service asks to wait before coming back. */
  onRetry?(ms: number): void
}

/**
 * Makes a reader of such a stream (WHATWG HTML, 9.2.6) that takes its text in pieces, cut anywhere: lines that end
 * in LF, CR or CRLF, fields `event`, `data`, `id` and `retry`, comments skipped. The reader returns false once an event
 * that has not ended is longer than `longest` characters.
 */
export function createEventStreamReader(longest: number, { onEvent, onRetry }: EventStreamHandlers) {
  /** The line that has not ended, in the pieces that it came in. */
  let parts: string[] = []
  let isAtStart = true
  let isAfterCr = false
  let event = ''
  let data: string[] = []
  let id = ''
  let givenId = ''
  /** Characters of `parts` and `data`. */
  let length = 0

  function endEvent(): void {
    if (data.length > 0 || id !== givenId) onEvent({ event: event || 'message', data: data.join('\n'), id })
    givenId = id
    event = ''
    data = []
    length = 0
  }

  function readLine(line: string): void {
    if (line === '') {
      endEvent()
      return
    }
    const colon = line.indexOf(':')
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') {
      data.push(value)
      length += value.length + 1
    } else if (field === 'event') event = value
    else if (field === 'id') {
      if (!value.includes('\0')) id = value
    } else if (field === 'retry' && /^\d+$/.test(value)) onRetry?.(Number(value))
  }

  /** Adds to the line that has not ended. */
  function hold(text: string): void {
    if (text === '') return
    parts.push(text)
    length += text.length
  }

  function endLine(): void {
    const line = parts.join('')
    parts = []
    length -= line.length
    readLine(line)
  }

  return (piece: string): boolean => {
    const text = isAtStart ? piece.replace(/^\ufeff/, '') : piece
    if (piece !== '') isAtStart = false
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const isCr = text[at] === '\r'
      const isLf = text[at] === '\n'
      if (isLf && isAfterCr) from = at + 1
      else if (isCr || isLf) {
        hold(text.slice(from, at))
        endLine()
        from = at + 1
      }
      isAfterCr = isCr
    }
    hold(text.slice(from))
    return length <= longest
  }
}
