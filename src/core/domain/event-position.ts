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

/**
 * 3. The start of a period whose event is unknown, also {@link UNKNOWN_POSITION}: any known start replaces it. This returns
 * whether a start replaces the current one.
 */
export function isEarlierStart(candidate: EventPosition, current: EventPosition): boolean {
  if (!hasBlock(current.height) || !hasBlock(candidate.height)) return !hasBlock(current.height)
  return isBefore(candidate, current)
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
export const earlierStartInSql = (candidate: string, current: string) =>
  `(${current}.start_height = 0 or (${candidate}.start_height > 0
    and (${candidate}.start_height, ${candidate}.start_index) < (${current}.start_height, ${current}.start_index)))`
