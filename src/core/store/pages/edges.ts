import type { Row } from '../../model/resource.ts'

/**
 * Edges written by a database, separated by commas, from `start` to `end` of a buffer. The bytes around them may be
 * overwritten: the response is assembled in place, which saves copying a quarter of a megabyte.
 */
export type WrittenEdges = { bytes: Buffer; start: number; end: number }

/**
 * Maximum bytes of a page's edges, or on PostgreSQL of the server's answer. Real rows are far smaller, but a store may
 * contain others.
 */
export const MAX_PAGE_BYTES = 64 * 1024 * 1024

/** Space before the edges for the beginning of the answer, in bytes. */
export const HEAD_ROOM = 64

const BETWEEN = Buffer.from(',{"node":')
const CURSOR = Buffer.from('"cursor":"')
const CURSOR_END = Buffer.from('"}')

/**
 * Removes the row after a page's last one from edges that a database has written.
 *
 * @param bytes {@link HEAD_ROOM} arbitrary bytes, then the edges; or empty
 * @param count number of edges: at most `limit` + 1
 * @param reversed whether the row that was read last comes first
 */
export function cutEdges(
  bytes: Buffer,
  count: number,
  limit: number,
  reversed: boolean,
): { edges: WrittenEdges; more: boolean } {
  const start = Math.min(HEAD_ROOM, bytes.length)
  if (count <= limit) return { edges: { bytes, start, end: bytes.length }, more: false }
  const edges = reversed
    ? { bytes, start: bytes.indexOf(BETWEEN, start) + 1, end: bytes.length }
    : { bytes, start, end: bytes.lastIndexOf(BETWEEN) }
  return { edges, more: true }
}

/** The cursors of the first and the last edge; `""` if there is none. */
export function cursorsOf({ bytes, start, end }: WrittenEdges): { startCursor: string; endCursor: string } {
  if (start === end) return { startCursor: '', endCursor: '' }
  const cursorAfter = (at: number) => {
    const from = at + CURSOR.length
    return bytes.toString('latin1', from, bytes.indexOf(CURSOR_END, from))
  }
  return {
    startCursor: cursorAfter(bytes.indexOf(CURSOR, start)),
    endCursor: cursorAfter(bytes.lastIndexOf(CURSOR, end)),
  }
}

/** Removes the row after a page's last one, if there are `limit` + 1 rows. */
export function cutRows(rows: Row[], limit: number): { rows: Row[]; more: boolean } {
  return { rows: rows.slice(0, limit), more: rows.length > limit }
}
