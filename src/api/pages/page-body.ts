import { encodeCursor } from '../../resources/cursor.ts'
import { cursorsOf, type WrittenEdges } from '../../store/edges.ts'
import type { Page } from '../../store/page.ts'
import type { PageRequest } from './page-request.ts'

/** A page's edges as they stand in the answer, with the cursors of the first and the last; `""` for none. */
type Edges = WrittenEdges & { startCursor: string; endCursor: string }

/** Writes a page as the answer's body: compact JSON. */
export function pageBody(request: PageRequest, page: Page): Buffer {
  const { query, backward } = request
  const edges = page.edges === null ? writeEdges(request, page) : { ...page.edges, ...cursorsOf(page.edges) }
  const { startCursor, endCursor } = edges
  const hasNextPage = backward ? page.hasRowsAtOrBefore : page.more
  const hasPreviousPage = backward ? page.more : page.hasRowsAtOrBefore
  return enclose(
    edges,
    `{"${query.resource.name}":{"edges":[`,
    `],"pageInfo":{"hasNextPage":${hasNextPage},"hasPreviousPage":${hasPreviousPage},"startCursor":"${startCursor}","endCursor":"${endCursor}"}}}`,
  )
}

/** Puts texts around edges: where they stand, if there is room. */
function enclose({ bytes, start, end }: WrittenEdges, head: string, tail: string): Buffer {
  if (start < head.length || bytes.length - end < tail.length) {
    return Buffer.concat([Buffer.from(head), bytes.subarray(start, end), Buffer.from(tail)])
  }
  bytes.write(head, start - head.length, 'latin1')
  bytes.write(tail, end, 'latin1')
  return bytes.subarray(start - head.length, end + tail.length)
}

function writeEdges({ query, backward }: PageRequest, page: Page): Edges {
  const { resource, selection } = query
  const rows = backward ? page.rows.toReversed() : page.rows
  let edges = ''
  let startCursor = ''
  let endCursor = ''
  for (const row of rows) {
    endCursor = encodeCursor(resource, selection, row)
    if (edges === '') startCursor = endCursor
    else edges += ','
    edges += `{"node":${resource.node(row, selection)},"cursor":"${endCursor}"}`
  }
  const bytes = Buffer.from(edges)
  return { bytes, start: 0, end: bytes.length, startCursor, endCursor }
}
