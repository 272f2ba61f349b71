import type { Coverage } from '#core/domain/coverage'
import { type EventPosition, isBefore } from '#core/domain/event-position'
import { isWithin } from '#core/domain/height-ranges'
import { advance, type Unseen } from '#core/domain/unseen'
import type { Pass } from '#core/store/queries/unseen/points-pass'
import { isSameEvent, positionWithin } from '#core/store/queries/unseen/positioned-rows'
import type { UnseenQuery, UnseenRows } from '#core/store/queries/unseen/unseen-rows'
import { eventText, MAX_PIECE_BYTES } from '../follower.ts'
import { encodeStreamCursor } from '../stream-cursor.ts'
import type { ReadClass } from './read-queue.ts'

/** Rows that are sent at a time, at most. Fewer if they are long. */
export const STREAM_CHUNK_ROWS = 500

/** Reads the next events of a stream, when its queue lets it; null if the store has less than the query supposes. */
export type ReadChunk = (query: UnseenQuery, readClass: ReadClass) => Promise<Chunk | null>

/** The next events of a stream. */
export type Chunk = {
  bytes: Buffer
  /** The coverage when the chunk was read. */
  coverage: Coverage
  /** What is unseen after it. */
  unseen: Unseen
  /** The pass that the next chunk continues; null if there is none. */
  pass: Pass | null
  /** Whether everything stored has been read. */
  isLast: boolean
  /** How many rows to read next: as many as fill a piece, if they are as long as these. */
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

/** Rows as text. */
type EventsText = {
  bytes: Buffer
  /** The position of the last row of the text if it ends before all rows, because it got too long; null otherwise. */
  cutAfter: EventPosition | null
  /** As {@link Chunk.limit}. */
  limit: number
}

/** The text of rows, up to {@link MAX_PIECE_BYTES} unless the first row is longer. */
function eventsText(query: UnseenQuery, unseenRows: UnseenRows): EventsText {
  const { rows, reached } = unseenRows
  const events: string[] = []
  let bytes = 0
  for (const [index, { position }] of rows.entries()) {
    const next = rows[index + 1]?.position
    const upTo = positionAfter(position, next, reached)
    const event = eventOf(query, unseenRows, index, upTo, next ?? reached)
    bytes += Buffer.byteLength(event)
    const before = rows[index - 1]
    if (before !== undefined && bytes > MAX_PIECE_BYTES - MAX_IDS_BYTES) {
      // The row before is the last one: a follower resumes after it, even within an event.
      const isWithinEvent = isSameEvent(before.position, position)
      const cutAfter = isWithinEvent ? positionWithin(query, before) : before.position
      events[index - 1] = eventOf(query, unseenRows, index - 1, cutAfter, position)
      return { bytes: Buffer.from(events.join('')), cutAfter, limit: index }
    }
    events.push(event)
  }
  const isShort = bytes < MAX_PIECE_BYTES / 2
  const limit = isShort ? Math.min(STREAM_CHUNK_ROWS, 2 * query.limit) : query.limit
  return { bytes: Buffer.from(events.join('')), cutAfter: null, limit }
}

/**
 * A row as an event, whose id says what is unseen after it.
 *
 * @param upTo the position after the row
 * @param next position of the next row, or of the continued reading; null after the last row
 */
function eventOf(
  { resource, selection, unseen }: UnseenQuery,
  { rows, coverage }: UnseenRows,
  index: number,
  upTo: EventPosition,
  next: EventPosition | null,
): string {
  const received = advance(unseen, coverage, resumePosition(upTo, next, coverage))
  const id = encodeStreamCursor(resource, selection, received)
  const { row, marketId } = rows[index]!
  const node = resource.node(row, marketId === undefined ? selection : { ...selection, marketId })
  return eventText(resource, id, node)
}

/** Bytes by which a position within an event is longer: a few ids. */
const MAX_IDS_BYTES = 512

/**
 * The position after a row. One event may have many rows, such as the providers in a market's list: until the last of them,
 * the position is that before the event. If a piece ends within the event, its last row has a position within it.
 */
function positionAfter(
  position: EventPosition,
  next: EventPosition | undefined,
  reached: EventPosition | null,
): EventPosition {
  if (next !== undefined)
    return isSameEvent(position, next) ? { ...position, index: position.index - 1 } : position
  return reached !== null && isBefore(reached, position) ? reached : position
}

/**
 * The position that an id names, after a row at `position`:
 *
 * | block of the row                     | next row      | position in the id     |
 * |--------------------------------------|---------------|------------------------|
 * | whole, and not imported              | any or none   | that of the row        |
 * | imported or incomplete               | in this block | beginning of the block |
 * | imported or incomplete               | a later one   | end of the block       |
 * | imported or incomplete               | none          | end of the block       |
 *
 * Positions within an imported block are made up, and would mean something else to another store. An incomplete block may
 * get events before the row.
 *
 * @param next position of the next row, or of the continued reading; null after the last row
 */
export function resumePosition(
  position: EventPosition,
  next: EventPosition | null,
  { imported, gaps }: Coverage,
): EventPosition {
  const { height } = position
  if (!isWithin(imported, height) && !isWithin(gaps, height)) return position
  return next?.height === height ? { height, index: 0 } : { height: height + 1n, index: 0 }
}
