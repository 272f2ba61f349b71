import { cutEdges, cutRows, HEAD_ROOM } from '../pages/edges.ts'
import { locateRows } from '../pages/locate.ts'
import type { Lines, LinesQuery, Page, PageQuery } from '../pages/page.ts'
import { pageScans, type Scan, selectsNothing } from '../pages/scan.ts'
import { pageStatement } from '../pages/scan-sql.ts'
import { asUnavailable, type Reader, type ReaderOptions, StoreError } from '../store.ts'
import { Connection, explained } from './connection.ts'
import { type ReadEdges, readEdgesInPieces } from './edges-in-pieces.ts'
import { createLatestFreshness, readStoreState } from './latest-freshness.ts'
import { edgesStatement, existsStatement, linesStatement } from './page-statements.ts'
import { runReading } from './run-steps.ts'
import { sqliteLog } from './shorten-log.ts'
import { openSqliteSnapshot } from './snapshot.ts'

/**
 * Opens a reader on a separate connection, for reading only. The connection is opened anew once the file has
 * changed, by a writer or by someone who has replaced it, and after every error: a removed store that comes
 * back is read again.
 */
export function openSqliteReader(path: string, { pausesInLongPages = false }: ReaderOptions = {}): Reader {
  let connection: Connection | null = Connection.openForReading(path)

  function close(): void {
    connection?.close()
    connection = null
  }

  /** When the file was last looked at, by `process.hrtime`. */
  let lookedAt = 0n

  /** @param askedAt when that was asked for which it is needed for; undefined: now */
  function current(askedAt?: bigint): Connection {
    // Where many pages are waited for, a look costs a twentieth of one.
    if (askedAt === undefined || lookedAt <= askedAt) {
      lookedAt = process.hrtime.bigint()
      if (connection?.isUnchanged === false) close()
    }
    connection ??= Connection.openForReading(path)
    return connection
  }

  async function attempt<T>(work: (connection: Connection) => T, askedAt?: bigint): Promise<T> {
    try {
      const from = current(askedAt)
      return explained(path, () => work(from))
    } catch (error) {
      if (error instanceof StoreError) close()
      throw asUnavailable(error)
    }
  }

  function snapshot<T>(read: (connection: Connection) => T, askedAt?: bigint): Promise<T> {
    return attempt((from) => from.transaction('deferred', () => read(from)), askedAt)
  }

  const freshness = createLatestFreshness()

  return {
    page: (query) => snapshot((from) => readPage(from, query, pausesInLongPages), query.askedAt),
    read: (reading) => snapshot((from) => runReading(from, reading({ isSpread: false }))),
    freshness: (since) => attempt((from) => freshness.read(from, since)),
    recentFreshness: (since) => freshness.recent(since),
    openSnapshot: async () => openSqliteSnapshot(path, { page: readPage, lines: readLines }),
    log: sqliteLog(path),
    close: async () => close(),
  }
}

function readPage(connection: Connection, query: PageQuery, pauses = false): Page {
  const { resource, selection } = query
  const state = readStoreState(connection)
  const none = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false, ...state }
  if (selectsNothing(selection)) return none
  const located = runReading(connection, locateRows(resource, selection))
  if (located === null) return none
  const { market, span } = located
  const scans = pageScans(query, span, market)
  const readPiece = (piece: PageQuery) => readEdges(connection, piece, pageScans(piece, span, market).page)
  const found =
    query.edges === undefined
      ? readRows(connection, query, scans.page)
      : { rows: [], ...(pauses ? readEdgesInPieces(query, readPiece) : readPiece(query)) }
  return {
    ...found,
    hasRowsAtOrBefore: scans.atOrBefore !== null && exists(connection, scans.atOrBefore),
    ...state,
  }
}

function readLines(connection: Connection, query: LinesQuery): Lines {
  const { resource, selection, limit, cursors } = query
  const none = { text: new Uint8Array(), count: 0 }
  if (selectsNothing(selection)) return none
  const found = runReading(connection, locateRows(resource, selection))
  if (found === null) return none
  const { text, values } = linesStatement(pageScans(query, found.span, found.market).page, limit, cursors)
  const [lines, count] = connection.values(text, values) as [Uint8Array | null, number]
  return lines === null ? none : { text: lines, count }
}

function readEdges(connection: Connection, { limit, edges: order }: PageQuery, scan: Scan): ReadEdges {
  const reversed = order === 'reversed'
  const { text, values } = edgesStatement(scan, limit + 1, reversed, HEAD_ROOM)
  const [edges, count] = connection.values(text, values) as [Uint8Array | null, number]
  const bytes = edges === null ? Buffer.alloc(0) : Buffer.from(edges.buffer, edges.byteOffset, edges.length)
  return cutEdges(bytes, count, limit, reversed)
}

function readRows(
  connection: Connection,
  { limit }: PageQuery,
  scan: Scan,
): Pick<Page, 'rows' | 'edges' | 'more'> {
  const { text, values } = pageStatement(scan, limit + 1, 'lazy')
  return { ...cutRows(connection.rows(text, values), limit), edges: null }
}

function exists(connection: Connection, scan: Scan): boolean {
  const { text, values } = existsStatement(scan)
  return connection.row(text, values)![0] === 1
}
