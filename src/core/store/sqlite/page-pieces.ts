import { type Key, keyOf, type Resource, type Row } from '../../model/resource.ts'
import { decodeCursor } from '../../resources/cursor.ts'
import { cursorsOf, HEAD_ROOM, MAX_PAGE_BYTES, type WrittenEdges } from '../pages/edges.ts'
import type { Page, PageQuery } from '../pages/page.ts'
import { isTooLong } from './errors.ts'

/** Number of rows read at a time, which takes a fraction of a millisecond. */
const PIECE_ROWS = 1_000

/** Long enough for waiting threads to get a processor, but short compared with reading a piece. */
const PAUSE_MS = 0.05

/** Rows that contain JSON may be far longer as a whole than an answer may be, so fewer are read at a time. */
const LONG_ROWS = 100

/** Upper bound of the bytes after a page's edges in a response. */
const TAIL_ROOM = 256

const COMMA = Buffer.from(',')

/**
 * Edges that have been read, and whether more rows follow. `isCut`: they are fewer than requested, because they are too
 * long.
 */
export type ReadEdges = Pick<Page, 'more'> & { edges: WrittenEdges; isCut?: boolean }

/**
 * Reads the edges of a page in pieces, with a pause between two of them. A thread that reads without a pause keeps others
 * from a processor for milliseconds, however low its priority is.
 *
 * @param read reads a piece: the same page, from another cursor on, with another limit
 */
export function readEdgesInPieces(query: PageQuery, read: (piece: PageQuery) => ReadEdges): ReadEdges {
  const { resource, selection } = query
  const reversed = query.edges === 'reversed'
  const pieces: WrittenEdges[] = []
  let bytes = 0
  let { cursor, limit: left } = query
  for (;;) {
    const hasRows = pieces.length > 0
    const piece = unlessTooLong(hasRows, () => read({ ...query, cursor, limit: Math.min(left, PIECE_ROWS) }))
    if (piece === null) return { edges: joinEdges(pieces, reversed), more: true }
    const { edges, more, isCut = false } = piece
    bytes += edges.end - edges.start
    if (hasRows && bytes > MAX_PAGE_BYTES) return { edges: joinEdges(pieces, reversed), more: true }
    pieces.push(edges)
    left -= PIECE_ROWS
    if (left <= 0 || !more || isCut) return { edges: joinEdges(pieces, reversed), more }
    const { startCursor, endCursor } = cursorsOf(edges)
    cursor = decodeCursor(resource, selection, reversed ? startCursor : endCursor) as Key
    pauseThread()
  }
}

/** Rows that have been read, and whether more follow; `isCut` as in {@link ReadEdges}. */
export type ReadRows = Pick<Page, 'rows' | 'more'> & { isCut?: boolean }

/**
 * Reads the rows of a page in pieces, and retains of their lists only what the selection shows. The page ends before its rows
 * have more characters than an answer may have.
 *
 * @param read reads a piece: the same page, from another cursor on, with another limit
 * @param pauses whether there is a pause between two pieces, as in {@link readEdgesInPieces}
 */
export function readRowsInPieces(
  query: PageQuery,
  read: (piece: PageQuery) => ReadRows,
  pauses: boolean,
): Pick<Page, 'rows' | 'more'> {
  const { resource, selection, limit } = query
  const rows: Row[] = []
  let characters = 0
  let { cursor } = query
  for (;;) {
    const piece = unlessTooLong(rows.length > 0, () =>
      read({ ...query, cursor, limit: Math.min(pieceRowsOf(resource), limit - rows.length) }),
    )
    if (piece === null) return { rows, more: true }
    for (const row of piece.rows) {
      const shown = resource.lists.shownRow(row, selection)
      characters += charactersOf(shown)
      if (characters > MAX_PAGE_BYTES && rows.length > 0) return { rows, more: true }
      rows.push(shown)
    }
    if (!piece.more || piece.isCut || rows.length === limit) return { rows, more: piece.more }
    cursor = keyOf(resource, rows.at(-1)!)
    if (pauses) pauseThread()
  }
}

/**
 * A piece of a page; null if its first row is too long, so that the page ends before it.
 *
 * @param hasRows whether the page has rows before it: otherwise the error is thrown
 */
function unlessTooLong<Piece>(hasRows: boolean, read: () => Piece): Piece | null {
  try {
    return read()
  } catch (error) {
    if (!hasRows || !isTooLong(error)) throw error
    return null
  }
}

function pieceRowsOf({ storage }: Resource): number {
  return storage.columns.some(({ type }) => type === 'json') ? LONG_ROWS : PIECE_ROWS
}

function charactersOf(row: Row): number {
  let characters = 0
  for (const value of row) if (typeof value === 'string') characters += value.length
  return characters
}

function joinEdges(pieces: WrittenEdges[], reversed: boolean): WrittenEdges {
  const [first, ...others] = reversed ? pieces.toReversed() : pieces
  if (others.length === 0) return first!
  const parts = [Buffer.alloc(HEAD_ROOM), writtenBytes(first!)]
  for (const piece of others) parts.push(COMMA, writtenBytes(piece))
  const bytes = Buffer.concat([...parts, Buffer.alloc(TAIL_ROOM)])
  return { bytes, start: HEAD_ROOM, end: bytes.length - TAIL_ROOM }
}

function writtenBytes({ bytes, start, end }: WrittenEdges): Buffer {
  return bytes.subarray(start, end)
}

const nothing = new Int32Array(new SharedArrayBuffer(4))

function pauseThread(): void {
  Atomics.wait(nothing, 0, 0, PAUSE_MS)
}
