import { encodeCursor } from '../resources/cursor.ts'
import type { Page } from '../store/store.ts'
import type { PageRequest } from './page-request.ts'

const CURSOR = Buffer.from('"cursor":"')
const CURSOR_END = Buffer.from('"}')

/** A page's edges as they stand in the answer, with the cursors of the first and the last; `""` for none. */
type Edges = { bytes: Buffer; startCursor: string; endCursor: string }

/** A page's answer, and the cursor of the row that was read last; `""` for none. */
export type PageBody = { json: Buffer; lastCursor: string }

/** Writes a page as the answer's body: compact JSON. */
export function pageBody(request: PageRequest, page: Page): PageBody {
  const { query, backward } = request
  const { bytes, startCursor, endCursor } =
    page.edges === null ? writeEdges(request, page) : readEdges(page.edges)
  const hasNextPage = backward ? page.behind : page.more
  const hasPreviousPage = backward ? page.more : page.behind
  const json = Buffer.concat([
    Buffer.from(`{"${query.resource.bodyField}":{"edges":[`),
    bytes,
    Buffer.from(
      `],"pageInfo":{"hasNextPage":${hasNextPage},"hasPreviousPage":${hasPreviousPage},"startCursor":"${startCursor}","endCursor":"${endCursor}"}}}`,
    ),
  ])
  return { json, lastCursor: backward ? startCursor : endCursor }
}

function writeEdges({ query, backward }: PageRequest, page: Page): Edges {
  const { resource, selection } = query
  const scope = resource.scope === null ? null : selection[resource.scope]!
  const rows = backward ? page.rows.toReversed() : page.rows
  let edges = ''
  let startCursor = ''
  let endCursor = ''
  for (const row of rows) {
    endCursor = encodeCursor(resource, scope, row)
    if (edges === '') startCursor = endCursor
    else edges += ','
    edges += `{"node":${resource.node(row, selection)},"cursor":"${endCursor}"}`
  }
  return { bytes: Buffer.from(edges), startCursor, endCursor }
}

/** Finds the cursors in edges that the database has written. */
function readEdges(bytes: Buffer): Edges {
  if (bytes.length === 0) return { bytes, startCursor: '', endCursor: '' }
  const cursorBehind = (at: number) => {
    const start = at + CURSOR.length
    return bytes.toString('latin1', start, bytes.indexOf(CURSOR_END, start))
  }
  return {
    bytes,
    startCursor: cursorBehind(bytes.indexOf(CURSOR)),
    endCursor: cursorBehind(bytes.lastIndexOf(CURSOR)),
  }
}
