import type { Connection } from './connection.ts'
import { LyraAnswerError } from './errors.ts'
import { type PageOptions, pageTarget } from './requests.ts'
import type { Filters, ListName, Nodes, PageInfo } from './resources.ts'

/** A row with the cursor of its place in the order. */
export type PageRow<Node> = { node: Node; cursor: string }

/** A page, of one snapshot. */
export type Page<Node> = {
  rows: PageRow<Node>[]
  pageInfo: PageInfo
  /** The last block of the snapshot: height and time in Unix nanoseconds, digits. */
  blockHeight: string
  blockTimestamp: string
}

type PageBody<Node> = { edges?: PageRow<Node>[]; pageInfo?: PageInfo }

/** Options of walking a list. */
export type WalkOptions = {
  /** Rows in each request; 1,000 by default. */
  pageSize?: number | undefined
  newestFirst?: boolean | undefined
  /** The cursor of a row to start after. */
  after?: string | undefined
  signal?: AbortSignal | undefined
}

/** Reads one page. */
export async function readPage<Name extends ListName>(
  connection: Connection,
  list: Name,
  filters: Filters[Name],
  { signal, ...options }: PageOptions & { signal?: AbortSignal | undefined } = {},
): Promise<Page<Nodes[Name]>> {
  const target = pageTarget(list, filters, options)
  const { body, headers } = await connection.getObject(target, signal)
  // A body has one field, which nearly always has the list's name.
  const [page] = Object.values(body) as (PageBody<Nodes[Name]> | null)[]
  if (!Array.isArray(page?.edges) || !page.pageInfo) {
    throw new LyraAnswerError(connection.address(target), 'the answer is no page of a list')
  }
  return {
    rows: page.edges,
    pageInfo: page.pageInfo,
    blockHeight: headers.get('x-block-height') ?? '',
    blockTimestamp: headers.get('x-block-timestamp') ?? '',
  }
}

/** Reads all rows, page by page: the next page is requested once the rows of the last have been taken. */
export async function* walkPages<Name extends ListName>(
  connection: Connection,
  list: Name,
  filters: Filters[Name],
  { pageSize = 1000, newestFirst, after, signal }: WalkOptions = {},
): AsyncGenerator<Nodes[Name], void, undefined> {
  let cursor = after
  for (;;) {
    const page = await readPage(connection, list, filters, {
      first: pageSize,
      after: cursor,
      newestFirst,
      signal,
    })
    for (const { node } of page.rows) yield node
    const { hasNextPage, endCursor } = page.pageInfo
    if (!hasNextPage) return
    if (endCursor === cursor) {
      throw new LyraAnswerError(
        connection.address(''),
        `the page after the cursor ${cursor} ends there again`,
      )
    }
    cursor = endCursor
  }
}
