/**
 * A position in the stream of events: an event's block height and index (1, 2, ...). As the end of a read it is after that
 * event; with index 0, before the first event of the block.
 */
export type EventPosition = {
  height: bigint
  index: number
  /**
   * As the end of a read: rows of the next event have been read too, up to the one with these ids. One event may have
   * hundreds of thousands of rows.
   */
  within?: readonly string[]
}

/** The order of the stream. */
export function isBefore(a: EventPosition, b: EventPosition): boolean {
  if (a.height !== b.height) return a.height < b.height
  if (a.index !== b.index) return a.index < b.index
  return b.within !== undefined && (a.within === undefined || areBefore(a.within, b.within))
}

function areBefore(a: readonly string[], b: readonly string[]): boolean {
  const differing = a.findIndex((id, at) => id !== b[at])
  return differing >= 0 && a[differing]! < b[differing]!
}

/* Blocks count from 1. Height 0 precedes them, for three kinds of rows that belong to no block of the stream. These positions are stored, so they can never change. */

/** 1. The position of a follower that has read nothing. */
export const BEGINNING: EventPosition = { height: 0n, index: 0 }

/** 2. An imported row whose block is unknown: any row with a block replaces it. Followers do not receive it. */
export const UNKNOWN_POSITION: EventPosition = BEGINNING

/** 3. The start of a period whose event is unknown, also {@link UNKNOWN_POSITION}: any known start replaces it. */
export function isEarlierStart(given: EventPosition, known: EventPosition): boolean {
  if (!hasBlock(known.height) || !hasBlock(given.height)) return !hasBlock(known.height)
  return isBefore(given, known)
}

/** Whether a row with this height comes from a block. */
export function hasBlock(height: bigint): boolean {
  return height !== 0n
}

/** Whether a position is {@link UNKNOWN_POSITION}. */
export function isUnknownPosition({ height, index }: EventPosition): boolean {
  return !hasBlock(height) && index === 0
}

/* The same in SQL. `row` is a table, an alias or `excluded`; positions of starts have columns of their own. */

/** Whether a row is from the same event as the other one, or from a later one. */
export const notBeforeInSql = (row: string, other: string) =>
  `(${row}.height, ${row}.event_index) >= (${other}.height, ${other}.event_index)`

/** As {@link isEarlierStart}. */
export const earlierStartInSql = (given: string, known: string) =>
  `(${known}.start_height = 0 or (${given}.start_height > 0
    and (${given}.start_height, ${given}.start_index) < (${known}.start_height, ${known}.start_index)))`
