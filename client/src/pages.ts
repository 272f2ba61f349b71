import type { Connection } from './connection.ts'
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
  const { text, headers } = await connection.get(pageTarget(list, filters, options), signal)
  const body = JSON.parse(text) as Record<string, { edges: PageRow<Nodes[Name]>[]; pageInfo: PageInfo }>
  // A body has one field, which nearly always has the list's name.
  const [{ edges, pageInfo }] = Object.values(body) as [(typeof body)[string]]
  return {
    rows: edges,
    pageInfo,
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
    if (!page.pageInfo.hasNextPage) return
    cursor = page.pageInfo.endCursor
  }
}
