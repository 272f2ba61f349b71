import { encodeCursor } from '../resources/cursor.ts'
import type { Page } from '../store/store.ts'
import type { PageRequest } from './page-request.ts'

/** Writes a page as the answer's body: compact JSON, straight from the rows. */
export function pageBody({ query, backward }: PageRequest, page: Page): string {
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
  const hasNextPage = backward ? page.behind : page.more
  const hasPreviousPage = backward ? page.more : page.behind
  return `{"${resource.bodyField}":{"edges":[${edges}],"pageInfo":{"hasNextPage":${hasNextPage},"hasPreviousPage":${hasPreviousPage},"startCursor":"${startCursor}","endCursor":"${endCursor}"}}}`
}
