import type { Key } from '../../model/resource.ts'
import { decodeCursor } from '../../resources/cursor.ts'
import { cursorsOf, HEAD_ROOM, MAX_PAGE_BYTES, type WrittenEdges } from '../pages/edges.ts'
import type { Page, PageQuery } from '../pages/page.ts'
import { isTooLong } from './errors.ts'

/** Number of rows read at a time, which takes a fraction of a millisecond. */
const PIECE_ROWS = 1_000

/** Long enough for waiting threads to get a processor, but short compared with reading a piece. */
const PAUSE_MS = 0.05

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
    const piece = readUnlessTooLong({ ...query, cursor, limit: Math.min(left, PIECE_ROWS) })
    if (piece === null) return { edges: joinEdges(pieces, reversed), more: true }
    const { edges, more, isCut = false } = piece
    pieces.push(edges)
    bytes += edges.end - edges.start
    left -= PIECE_ROWS
    if (left <= 0 || !more || isCut) return { edges: joinEdges(pieces, reversed), more }
    const { startCursor, endCursor } = cursorsOf(edges)
    cursor = decodeCursor(resource, selection, reversed ? startCursor : endCursor) as Key
    pauseThread()
  }

  /** The edges of a piece; null if they are too long, so that the page ends before it. */
  function readUnlessTooLong(piece: PageQuery): ReadEdges | null {
    try {
      const rows = read(piece)
      const fits = bytes + rows.edges.end - rows.edges.start <= MAX_PAGE_BYTES
      return fits || pieces.length === 0 ? rows : null
    } catch (error) {
      if (pieces.length === 0 || !isTooLong(error)) throw error
      return null
    }
  }
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
