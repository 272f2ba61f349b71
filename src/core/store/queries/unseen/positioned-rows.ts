import type { EventPosition } from '../../../domain/event-position.ts'
import { isOfAllMarkets, type Resource, type Row, type Selection } from '../../../model/resource.ts'
import type { Located } from '../../pages/locate.ts'
import { textOf } from '../../statements.ts'

/**
 * Number of data points read at a time, whether or not they match; a few times as many if a range of blocks with one span has
 * more. Other work that waits for the database runs afterwards.
 */
export const MAX_READ_ROWS = 10_000

/** A row and the position of its event; `marketId` is set if rows of all markets are requested. */
export type PositionedRow = { row: Row; position: EventPosition; marketId?: string }

/** The rows of a stream. */
export type Followed = { resource: Resource; selection: Selection }

/** The rows of a stream, and the ranges in which they are. */
export type LocatedRows = Followed & Located

/** Whether two positions are of one event. */
export const isSameEvent = (a: EventPosition, b: EventPosition) =>
  a.height === b.height && a.index === b.index

/**
 * The columns that distinguish the rows of one event: ids of the key, and the market if rows of all markets are requested.
 */
export function idColumns({ resource, selection }: Followed): string[] {
  const { key, storage } = resource
  const ids = key.filter(({ type }) => type === 'id').map(({ column }) => column)
  return isOfAllMarkets(resource, selection) && storage.marketColumn === 'market_id'
    ? ['market_id', ...ids]
    : ids
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

/** The rows up to a limit, and the position reached, which is after block `through` if no rows are left. */
export function cutAt(
  limit: number,
  rows: PositionedRow[],
  through: bigint,
): { rows: PositionedRow[]; reached: EventPosition } {
  if (rows.length <= limit) return { rows, reached: { height: through + 1n, index: 0 } }
  const first = rows.slice(0, limit)
  return { rows: first, reached: first.at(-1)!.position }
}

/** The columns of a row's position, which are the last ones. */
export const POSITION_COLUMNS = `${textOf('height')}, event_index`

/** The position in the values of {@link POSITION_COLUMNS}. */
export const positionOf = ([height, index]: Row): EventPosition => ({
  height: BigInt(height!),
  index: Number(index),
})

/** Creates the parser of a statement's rows. For all markets, a row has the market's id before its position. */
export function positionedRowOf({ resource, selection }: Followed): (row: Row) => PositionedRow {
  if (!isOfAllMarkets(resource, selection)) return (row) => ({ row, position: positionOf(row.slice(-2)) })
  return (row) => ({ row, position: positionOf(row.slice(-2)), marketId: String(row.at(-3)) })
}
