import { bytesOnOneLine } from '../../model/node-json.ts'
import { cutEdges, cutRows } from '../pages/edges.ts'
import { locateRows } from '../pages/locate.ts'
import { EMPTY_PAGE, type Lines, type LinesQuery, type Page, type PageQuery } from '../pages/page.ts'
import { pageScans, type Scan, selectsNothing } from '../pages/scan.ts'
import { pageStatement, SQLITE_HINTS } from '../pages/scan-sql.ts'
import type { Statement } from '../queries-protocol.ts'
import type { Connection } from './connection.ts'
import { isTooLong } from './errors.ts'
import { readStoreState } from './latest-freshness.ts'
import { type ReadEdges, type ReadRows, readEdgesInPieces, readRowsInPieces } from './page-pieces.ts'
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
  const readRows = (piece: PageQuery) => readPageRows(connection, piece, pageScans(piece, span, market).page)
  const rows =
    query.edges === undefined || resource.lists.areCutBy(selection)
      ? { edges: null, ...readRowsInPieces(query, readRows, pauses) }
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
  const { bytes, count, isCut } = readFitting(limit, (most) =>
    readWritten(connection, edgesStatement(scan, most, reversed)),
  )
  return isCut
    ? { ...cutEdges(bytes, count, count, reversed), more: true, isCut }
    : cutEdges(bytes, count, limit, reversed)
}

function readPageRows(connection: Connection, { limit }: PageQuery, scan: Scan): ReadRows {
  const { rows, isCut } = readFitting(limit, (most) => {
    const { text, values } = pageStatement(scan, most, SQLITE_HINTS)
    const rows = connection.rows(text, values)
    return { rows, count: rows.length }
  })
  return isCut ? { rows, more: true, isCut } : cutRows(rows, limit)
}

/**
 * Reads one row more than the limit, or fewer rows (`isCut`) if a text would be too long: the connection refuses it
 * (reader.ts).
 *
 * @param read reads at most so many rows
 */
function readFitting<Read extends { count: number }>(
  limit: number,
  read: (most: number) => Read,
): Read & { isCut: boolean } {
  try {
    return { ...read(limit + 1), isCut: false }
  } catch (error) {
    if (!isTooLong(error)) throw error
  }
  let fitting = read(1)
  try {
    while (2 * fitting.count <= limit) fitting = read(2 * fitting.count)
  } catch (error) {
    if (!isTooLong(error)) throw error
  }
  return { ...fitting, isCut: true }
}

function exists(connection: Connection, scan: Scan): boolean {
  const { text, values } = existsStatement(scan)
  return connection.row(text, values)![0] === 1
}
