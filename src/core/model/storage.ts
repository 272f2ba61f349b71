import type { RowType } from './columns.ts'
import { type Field, isList, isNodeOf, isStored, namesOf, shownColumns } from './field.ts'
import type { FilterName } from './filters.ts'
import type { KeyColumn } from './row.ts'
import { type Positions, refuseTablesWithoutPosition, selectWithPositions } from './row-positions.ts'
import { type MarketColumn, marketColumn, type Table } from './table.ts'

/** A column of a row, and the way in which its values are read. */
export type RowColumn = { name: string; type: RowType }

/**
 * Storage of a resource's rows, in SQL for both databases. Most rows are those of one table. If others take part, this says how:
 *
 * | a row | described by | for example |
 * |---|---|---|
 * | has columns of several tables | `from`, a select, whose `Positions` give the latest of their events; `fromInGaps` follows from it | `epochs`: its beginning, and its end |
 * | is there only as long as other rows say so | `condition`, and `shownBy`: the tables it reads, whose writer moves the row's position | `liquidityProviders`: a live provision |
 * | was calculated from several events when it was written | `fromInGaps`, written by hand: only the resource knows which events | `auctions`: the events of an interval |
 * | changes with tables that it does not read itself | `derivedFrom`: their commits are looked at for changes | `marketSummaries`: market data |
 */
export type Storage = {
  /** The table with the rows (store/schema/tables.ts), or the alias of {@link Storage.from}. */
  table: string
  /** A select of the rows, if several tables contain them. */
  from?: string
  /**
   * A select with one row for each event that a row depends on, at the position of that event. Followers read the blocks of
   * a filled gap this way, because the row's own position may be that of a later event, which they have received.
   */
  fromInGaps?: string
  /** The columns of a row: the key, and those that its fields show. */
  columns: readonly RowColumn[]
  /** The tables whose writes change the rows, if it is not the table that contains them. */
  derivedFrom?: readonly string[]
  /** The column in which the table's rows name their market; absent if they do not, or several tables contain them. */
  marketColumn?: MarketColumn
  /** A condition of every query. */
  condition?: string
  /**
   * The rows are in several series, each in key order, which a filter's column distinguishes. It precedes the key in the
   * table. A page without that filter merges one page of each.
   */
  series?: { filter: FilterName; values: readonly string[] }
  /** A table with the `first_timestamp` and `last_timestamp` of the rows for each market and value of a column. */
  span?: { column: string; table: string }
  /**
   * Whether a table gives for each range of blocks between which times the rows from these blocks lie
   * (store/write/point-spans.ts), so that they are not searched in all rows of the selection. Data points have it.
   */
  hasBlockSpans?: true
  /**
   * Whether the index of positions is one of all markets together. Rows of one market are then read by it, too, in the order of
   * the stream: otherwise all of them would be read and sorted for those of the last block.
   */
  hasPositionsOfAllMarkets?: true
}

/** A {@link Storage} as a resource describes it; {@link storageOf} derives the rest. */
export type DescribedStorage = Omit<Storage, 'table' | 'marketColumn' | 'columns' | 'from'> & {
  /** The table itself, or the alias of `from`. */
  table: Table | string
  /** The select. {@link Positions} (row-positions.ts) says how it gives the position of a row. */
  from?: (positions: Positions) => string
  /** The tables that the condition reads, and whose writer moves the positions of rows that become visible again. */
  shownBy?: readonly Table[]
}

/** The parts of a resource's description that decide which rows are read. */
type DescribedRows = {
  name: string
  key: readonly KeyColumn[]
  fields: readonly Field[]
  storage: DescribedStorage
}

/**
 * The storage of a resource, from its description.
 *
 * @throws {TypeError} for a column that the table or the rows do not have, or a value from another table whose changes do not
 *   move the row.
 */
export function storageOf(described: DescribedRows): Storage {
  const { name, storage } = described
  const { table, from, shownBy = [], ...others } = storage
  const tableName = typeof table === 'string' ? table : table.name
  const byMarket = typeof table === 'string' ? undefined : marketColumn(table)
  const select = from === undefined ? {} : selectWithPositions(name, tableName, from)
  const positioned = [tableName, ...shownBy.map((shown) => shown.name)]
  refuseTablesWithoutPosition(name, storage.condition ?? '', positioned)
  return {
    ...others,
    ...select,
    ...(byMarket === undefined ? {} : { marketColumn: byMarket }),
    table: tableName,
    columns: rowColumns(described),
  }
}

/**
 * The columns of a row: the key, then the others in the order of the table, or of the fields if there are several tables.
 */
function rowColumns({ name, key, fields, storage: { table, from } }: DescribedRows): RowColumn[] {
  const shown = new Map(shownColumns(fields))
  const own = typeof table === 'string' ? [] : table.columns
  const types = new Map(own.map((column) => [column.name, column.rowType]))
  // Expressions and joined columns of a select are read by the form of their field.
  const isSelected = from !== undefined || typeof table === 'string'
  for (const [column, form] of isSelected ? shown : []) {
    if (!types.has(column)) types.set(column, rowTypeOf(form))
  }
  const names = new Set(key.map(({ column }) => column))
  for (const column of types.keys()) if (shown.has(column)) names.add(column)
  return [...names].map((column) => {
    const type = types.get(column)
    if (type === undefined) throw new TypeError(`${name}: its table has no column ${column}`)
    return { name: column, type }
  })
}

/** How the values of a form are read if they are from no single table. */
function rowTypeOf(form: Field['form']): RowType {
  if (form === 'integer' || form === 'signed' || form === 'time') return 'int64'
  if (form === 'marketId' || form === 'partyId') return 'line'
  if (form === 'boolean' || namesOf(form) !== null) return 'small'
  return isStored(form) || isList(form) || isNodeOf(form) ? 'json' : 'text'
}
