import { type Coverage, isWithin } from '#core/domain/coverage'
import { isBefore, type Place } from '#core/domain/place'
import { advance, type Unseen } from '#core/domain/unseen'
import { isSameEvent, placeWithin } from '#core/store/queries/positioned-rows'
import type { Pass } from '#core/store/queries/unseen-points'
import type { UnseenQuery, UnseenRows } from '#core/store/queries/unseen-rows'
import { eventText, MAX_PIECE_BYTES } from './follower.ts'
import type { ReadClass } from './read-queue.ts'
import { encodeStreamCursor } from './stream-cursor.ts'

/** Rows that are sent at a time, at most; fewer if they are long. */
export const STREAM_CHUNK_ROWS = 500

/** Reads the next events of a stream, once it is their turn; null if the store does not hold as much. */
export type ReadChunk = (query: UnseenQuery, readClass: ReadClass) => Promise<Chunk | null>

/** The next events of a stream. */
export type Chunk = {
  bytes: Buffer
  /** The coverage when the chunk was read. */
  coverage: Coverage
  /** The ranges missing after it. */
  unseen: Unseen
  /** A reading that is to be continued with the next chunk; null if none is. */
  pass: Pass | null
  /** Whether all that the store holds has been read. */
  isLast: boolean
  /** Rows of the present length that make a piece. */
  limit: number
}

/** The result of a query, as events. */
export function chunkOf(query: UnseenQuery, unseenRows: UnseenRows): Chunk {
  const { coverage, pass } = unseenRows
  const { bytes, cutAfter, limit } = eventsText(query, unseenRows)
  const reached = cutAfter ?? unseenRows.reached
  const unseen = advance(query.unseen, coverage, reached)
  return { bytes, coverage, unseen, pass, isLast: reached === null, limit }
}

/** The text of rows; `cutAfter`: the position of the last row, if the piece ends early. */
function eventsText(
  query: UnseenQuery,
  { rows, coverage, reached }: UnseenRows,
): Pick<Chunk, 'bytes' | 'limit'> & { cutAfter: Place | null } {
  const { resource, selection, unseen, limit } = query
  const eventOf = (index: number, upTo: Place, next: Place | null) => {
    const received = advance(unseen, coverage, outsideUnsettled(upTo, next, coverage))
    const id = encodeStreamCursor(resource, selection, received)
    const { row, marketId } = rows[index]!
    const node = resource.node(row, marketId === undefined ? selection : { ...selection, marketId })
    return eventText(resource, id, node)
  }
  const pieces: string[] = []
  let bytes = 0
  for (const [index, { place }] of rows.entries()) {
    const next = rows[index + 1]?.place
    const text = eventOf(index, placeAfter(place, next, reached), next ?? reached)
    bytes += Buffer.byteLength(text)
    const before = rows[index - 1]
    if (bytes > MAX_PIECE_BYTES - MAX_IDS_BYTES && before !== undefined) {
      const cutAfter = isSameEvent(before.place, place) ? placeWithin(query, before) : before.place
      pieces[index - 1] = eventOf(index - 1, cutAfter, place)
      return { bytes: Buffer.from(pieces.join('')), cutAfter, limit: index }
    }
    pieces.push(text)
  }
  const isShort = bytes < MAX_PIECE_BYTES / 2
  return {
    bytes: Buffer.from(pieces.join('')),
    cutAfter: null,
    limit: isShort ? Math.min(STREAM_CHUNK_ROWS, 2 * limit) : limit,
  }
}

/** By so much a position within an event is longer: a few ids. */
const MAX_IDS_BYTES = 512

/**
 * The position after a row. Of the rows of one event, such as the providers in a market's list, only the last
 * one completes it; that of a piece that ends within it says how far it is, for the others the event is as if not begun.
 */
function placeAfter(place: Place, next: Place | undefined, reached: Place | null): Place {
  if (next !== undefined) return isSameEvent(place, next) ? { ...place, index: place.index - 1 } : place
  return reached !== null && isBefore(reached, place) ? reached : place
}

/**
 * The place that an id names. Places within an imported block are made up, and would mean something else to another store;
 * an incomplete block may get events before them. So until the block's last row has been sent the id names the beginning of
 * the block, and then its end.
 *
 * @param next position of the next row, or of the continued reading; null after the last row
 */
export function outsideUnsettled(place: Place, next: Place | null, { imported, gaps }: Coverage): Place {
  const { height } = place
  if (!isWithin(imported, height) && !isWithin(gaps, height)) return place
  return next?.height === height ? { height, index: 0 } : { height: height + 1n, index: 0 }
}
