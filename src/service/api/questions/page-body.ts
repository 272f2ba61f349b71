import { encodeCursor } from '#core/resources/cursor'
import { cursorsOf, type WrittenEdges } from '#core/store/pages/edges'
import type { Page } from '#core/store/pages/page'
import type { PageRequest } from './page-request.ts'

/** The cursors of a page's first edge and its last; `""` if there is none. */
type EndCursors = { startCursor: string; endCursor: string }

/** Gives memory for so many bytes. */
type TakeMemory = (bytes: number) => Buffer

/**
 * Writes a page as compact JSON.
 *
 * @param take allocates the memory, if the page's rows have not been written yet
 */
export function pageBody(
  request: PageRequest,
  page: Page,
  take: TakeMemory = (bytes) => Buffer.allocUnsafe(bytes),
): Buffer {
  const { query, backward } = request
  const hasNextPage = backward ? page.hasRowsAtOrBefore : page.more
  const hasPreviousPage = backward ? page.more : page.hasRowsAtOrBefore
  const head = `{"${query.resource.name}":{"edges":[`
  const tailOf = ({ startCursor, endCursor }: EndCursors) =>
    `],"pageInfo":{"hasNextPage":${hasNextPage},"hasPreviousPage":${hasPreviousPage},"startCursor":"${startCursor}","endCursor":"${endCursor}"}}}`
  if (page.edges !== null) return enclose(page.edges, head, tailOf(cursorsOf(page.edges)))
  const { text, ...cursors } = edgesText(request, page)
  return encodedText(head + text + tailOf(cursors), take)
}

function encodedText(text: string, take: TakeMemory): Buffer {
  const bytes = take(Buffer.byteLength(text))
  // Of ASCII, as nearly all pages are, a character is a byte.
  bytes.write(text, bytes.length === text.length ? 'latin1' : 'utf8')
  return bytes
}

/** Puts texts around edges, in place if there is room. */
function enclose({ bytes, start, end }: WrittenEdges, head: string, tail: string): Buffer {
  if (start < head.length || bytes.length - end < tail.length) {
    return Buffer.concat([Buffer.from(head), bytes.subarray(start, end), Buffer.from(tail)])
  }
  bytes.write(head, start - head.length, 'latin1')
  bytes.write(tail, end, 'latin1')
  return bytes.subarray(start - head.length, end + tail.length)
}

function edgesText({ query, backward }: PageRequest, page: Page): EndCursors & { text: string } {
  const { resource, selection } = query
  const rows = backward ? page.rows.toReversed() : page.rows
  let text = ''
  let startCursor = ''
  let endCursor = ''
  for (const row of rows) {
    endCursor = encodeCursor(resource, selection, row)
    if (text === '') startCursor = endCursor
    else text += ','
    text += `{"node":${resource.node(row, selection)},"cursor":"${endCursor}"}`
  }
  return { text, startCursor, endCursor }
}
