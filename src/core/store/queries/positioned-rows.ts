import type { EventPosition } from '../../domain/event-position.ts'
import { isOfAllMarkets, type Resource, type Row, type Selection } from '../../model/resource.ts'
import type { Located } from '../pages/locate.ts'
import { textOf } from '../statements.ts'

/**
 * Rows that are read at a time, found or not; a few times as many may be if the blocks of one run hold more. What
 * else waits for the database has its turn after them.
 */
export const MAX_READ_ROWS = 10_000

/** A row and its event. `marketId` is its market, if rows of all markets are requested. */
export type PositionedRow = { row: Row; position: EventPosition; marketId?: string }

/** The rows of a stream. */
export type Followed = { resource: Resource; selection: Selection }

/** The rows of a stream, and the ranges in which they are. */
export type LocatedRows = Followed & Located

export const isSameEvent = (a: EventPosition, b: EventPosition) =>
  a.height === b.height && a.index === b.index

/** The columns that tell the rows of one event apart: ids of the key, and the market if rows of all are asked for. */
export function idColumns({ resource, selection }: Followed): string[] {
  const { key, storage } = resource
  const ids = key.filter(({ type }) => type === 'id').map(({ column }) => column)
  return isOfAllMarkets(resource, selection) && storage.scopeBy === 'id' ? ['market_id', ...ids] : ids
}

/** The position after a row and before the next one of its event. */
export function positionWithin(
  { resource }: Followed,
  { row, position, marketId }: PositionedRow,
): EventPosition {
  const { height, index } = position
  const ids = resource.key.flatMap(({ type }, at) => (type === 'id' ? [String(row[at])] : []))
  return { height, index: index - 1, within: marketId === undefined ? ids : [marketId, ...ids] }
}

/** The rows up to a limit, and the position reached: the end of a block if none is left. */
export function cutAt(
  limit: number,
  rows: PositionedRow[],
  through: bigint,
): { rows: PositionedRow[]; reached: EventPosition } {
  if (rows.length <= limit) return { rows, reached: { height: through + 1n, index: 0 } }
  const first = rows.slice(0, limit)
  return { rows: first, reached: first.at(-1)!.position }
}

/** The columns of a row's position, which come last. */
export const POSITION_COLUMNS = `${textOf('height')}, event_index`

export const positionOf = ([height, index]: Row): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})

/** Reads rows of a statement; those of all markets have the market's id before the position. */
export function positionedRowOf({ resource, selection }: Followed): (row: Row) => PositionedRow {
  if (!isOfAllMarkets(resource, selection)) return (row) => ({ row, position: positionOf(row.slice(-2)) })
  return (row) => ({ row, position: positionOf(row.slice(-2)), marketId: String(row.at(-3)) })
}
