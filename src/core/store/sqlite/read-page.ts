import { bytesOnOneLine } from '../../model/node-json.ts'
import { keyOf, type Row } from '../../model/resource.ts'
import { cutEdges, cutRows } from '../pages/edges.ts'
import { locateRows } from '../pages/locate.ts'
import { EMPTY_PAGE, type Lines, type LinesQuery, type Page, type PageQuery } from '../pages/page.ts'
import { pageScans, type Scan, selectsNothing } from '../pages/scan.ts'
import { pageStatement, SQLITE_HINTS } from '../pages/scan-sql.ts'
import type { Statement } from '../queries-protocol.ts'
import type { Connection } from './connection.ts'
import { type ReadEdges, readEdgesInPieces } from './edges-in-pieces.ts'
import { isTooLong } from './errors.ts'
import { readStoreState } from './latest-freshness.ts'
import { edgesStatement, existsStatement, linesStatement } from './page-statements.ts'
import { runSqliteQuery } from './run-sql.ts'

/** A page, within the caller's transaction. */
export function readPage(connection: Connection, query: PageQuery, pauses = false): Page {
  const { resource, selection } = query
  const state = readStoreState(connection)
  const none = { ...EMPTY_PAGE, ...state }
  if (selectsNothing(resource, selection)) return none
  const located = runSqliteQuery(connection, locateRows(resource, selection))
  if (located === null) return none
  const { market, span } = located
  const scans = pageScans(query, span, market)
  const readPiece = (piece: PageQuery) => readEdges(connection, piece, pageScans(piece, span, market).page)
  const readRows = (part: PageQuery) => readPageRows(connection, part, pageScans(part, span, market).page)
  const areCut = resource.lists.areCutBy(selection)
  const rows =
    query.edges === undefined || areCut
      ? { edges: null, ...(areCut ? readCutRows(query, readRows) : readRows(query)) }
      : { rows: [], ...(pauses ? readEdgesInPieces(query, readPiece) : readPiece(query)) }
  return {
    ...rows,
    hasRowsAtOrBefore: scans.atOrBefore !== null && exists(connection, scans.atOrBefore),
    ...state,
  }
}

/** Lines of an export, within the caller's transaction. */
export function readLines(connection: Connection, query: LinesQuery): Lines {
  const { resource, selection, limit, cursors } = query
  const none = { text: new Uint8Array(), count: 0 }
  if (selectsNothing(resource, selection)) return none
  const located = runSqliteQuery(connection, locateRows(resource, selection))
  if (located === null) return none
  const statement = linesStatement(pageScans(query, located.span, located.market).page, limit, cursors)
  const { bytes, count } = readWritten(connection, statement)
  return { text: bytes, count }
}

/** The rows that a statement writes as one text, and their number. */
function readWritten(connection: Connection, { text, values }: Statement): { bytes: Buffer; count: number } {
  const [rows, count] = connection.row(text, values) as [Uint8Array | null, number]
  if (rows === null) return { bytes: Buffer.alloc(0), count }
  return { bytes: bytesOnOneLine(Buffer.from(rows.buffer, rows.byteOffset, rows.length)), count }
}

function readEdges(connection: Connection, { limit, edges: order }: PageQuery, scan: Scan): ReadEdges {
  const reversed = order === 'reversed'
  const read = (rows: number) => readWritten(connection, edgesStatement(scan, rows, reversed))
  try {
    const { bytes, count } = read(limit + 1)
    return cutEdges(bytes, count, limit, reversed)
  } catch (error) {
    // The connection refuses texts that are too long (reader.ts).
    if (!isTooLong(error)) throw error
  }
  let fitting = read(1)
  try {
    while (2 * fitting.count <= limit) fitting = read(2 * fitting.count)
  } catch (error) {
    if (!isTooLong(error)) throw error
  }
  const { bytes, count } = fitting
  return { ...cutEdges(bytes, count, count, reversed), more: true, isCut: true }
}

/** The rows of a page, and whether more follow. */
type PageRows = Pick<Page, 'rows' | 'more'>

function readPageRows(connection: Connection, { limit }: PageQuery, scan: Scan): PageRows {
  const { text, values } = pageStatement(scan, limit + 1, SQLITE_HINTS)
  return cutRows(connection.rows(text, values), limit)
}

/** Number of rows read at a time whose lists are cut: as a whole they may be far longer. */
const CUT_ROWS = 100

/** Reads the rows of a page few at a time, and retains of their lists only what the selection shows. */
function readCutRows(query: PageQuery, read: (part: PageQuery) => PageRows): PageRows {
  const { resource, selection, limit } = query
  const rows: Row[] = []
  let { cursor } = query
  for (;;) {
    const part = read({ ...query, cursor, limit: Math.min(CUT_ROWS, limit - rows.length) })
    rows.push(...part.rows.map((row) => resource.lists.shownRow(row, selection)))
    if (!part.more || rows.length === limit) return { rows, more: part.more }
    cursor = keyOf(resource, rows.at(-1)!)
  }
}

function exists(connection: Connection, scan: Scan): boolean {
  const { text, values } = existsStatement(scan)
  return connection.row(text, values)![0] === 1
}
