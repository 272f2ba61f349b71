import { decodeCursor } from '../../resources/cursor.ts'
import type { Key } from '../../resources/resource.ts'
import { cursorsOf, HEAD_ROOM, type WrittenEdges } from '../pages/edges.ts'
import type { Page, PageQuery } from '../pages/page.ts'

/** Rows that are read at a time: some fractions of a millisecond. */
const PIECE_ROWS = 1_000

/** Long enough for threads that wait for a processor to get one, short beside the reading of a piece. */
const PAUSE_MS = 0.05

/** Upper bound of the bytes after the edges of a page in a response. */
const TAIL_ROOM = 256

const COMMA = Buffer.from(',')

/** Edges that have been read, and whether more rows follow. */
export type ReadEdges = Pick<Page, 'more'> & { edges: WrittenEdges }

/**
 * Reads the edges of a page in pieces, and pauses between them: a thread that reads on and on keeps others from a
 * processor for milliseconds, however low its priority.
 *
 * @param read reads a piece: the same page, from another cursor on, with another limit
 */
export function readEdgesInPieces(query: PageQuery, read: (piece: PageQuery) => ReadEdges): ReadEdges {
  const { resource, selection } = query
  const reversed = query.edges === 'reversed'
  const pieces: WrittenEdges[] = []
  let { cursor, limit: left } = query
  for (;;) {
    const { edges, more } = read({ ...query, cursor, limit: Math.min(left, PIECE_ROWS) })
    pieces.push(edges)
    left -= PIECE_ROWS
    if (left <= 0 || !more) return { edges: joinEdges(pieces, reversed), more }
    const { startCursor, endCursor } = cursorsOf(edges)
    cursor = decodeCursor(resource, selection, reversed ? startCursor : endCursor) as Key
    pauseThread()
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
