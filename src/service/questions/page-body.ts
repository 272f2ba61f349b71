import type { Row } from '#core/model/resource'
import { encodeCursor } from '#core/resources/cursor'
import { cursorsOf, type WrittenEdges } from '#core/store/pages/edges'
import type { Page, PageQuery } from '#core/store/pages/page'

/** The cursors of a page's first edge and its last; `""` if there is none. */
type EndCursors = { startCursor: string; endCursor: string }

/** Writes a page as compact JSON. */
export function pageBody(query: PageQuery, page: Page): Buffer {
  const head = `{"${query.resource.bodyKey}":{"edges":[`
  const tailOf = (cursors: EndCursors) => `],"pageInfo":${JSON.stringify(pageInfoOf(query, page, cursors))}}}`
  if (page.edges !== null) return enclose(page.edges, head, tailOf(cursorsOf(page.edges)))
  const { text, ...cursors } = edgesText(query, page)
  return Buffer.from(head + text + tailOf(cursors))
}

/** What a page's answer says after its edges. */
export function pageInfoOf(query: PageQuery, page: Page, { startCursor, endCursor }: EndCursors): object {
  const backward = isBackward(query)
  return {
    hasNextPage: backward ? page.hasRowsAtOrBefore : page.more,
    hasPreviousPage: backward ? page.more : page.hasRowsAtOrBefore,
    startCursor,
    endCursor,
  }
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

/** Whether the page ends at its cursor, or the end of the list: its rows are read in reverse. */
const isBackward = ({ edges }: PageQuery) => edges === 'reversed'

/** The rows of a page in the order of its answer. */
export function rowsInOrder(query: PageQuery, { rows }: Page): readonly Row[] {
  return isBackward(query) ? rows.toReversed() : rows
}

function edgesText(query: PageQuery, page: Page): EndCursors & { text: string } {
  const { resource, selection } = query
  let text = ''
  let startCursor = ''
  let endCursor = ''
  for (const row of rowsInOrder(query, page)) {
    endCursor = encodeCursor(resource, selection, row)
    if (text === '') startCursor = endCursor
    else text += ','
    text += `{"node":${resource.node(row, selection)},"cursor":"${endCursor}"}`
  }
  return { text, startCursor, endCursor }
}
