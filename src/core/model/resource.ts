import { wordsOfName } from '../domain/words.ts'
import type { RowType } from './columns.ts'
import type { CursorCodec } from './cursor-codec.ts'
import { columnOf, type Field, isList, isNodeOf, isStored, namesOf, shownColumns } from './field.ts'
import { type FilteredLists, filteredListsOf } from './filtered-lists.ts'
import {
  type DescribedFilter,
  type Filter,
  type FilterName,
  filterOf,
  rowKeyIn,
  type Selection,
} from './filters.ts'
import { nodeWriter } from './node-json.ts'
import type { Key, KeyColumn, Row } from './row.ts'
import { type Positions, refuseTablesWithoutPosition, selectWithPositions } from './row-positions.ts'
import { type MarketColumn, marketColumn, type Table } from './table.ts'
import { textCursor } from './text-cursor.ts'

export type { Filter, FilterName, Selection } from './filters.ts'
export type { Key, KeyColumn, KeyType, KeyValue, Row } from './row.ts'
export { compareResourceKeys } from './row.ts'

/** A column of a row, and the way in which its values are read. */
export type RowColumn = { name: string; type: RowType }

/**
 * Storage of a resource's rows, in SQL for both databases. Most rows are those of one table. What says that more tables take part:
 *
 * | a row | said by | for example |
 * |---|---|---|
 * | has columns of several tables | `from`, a select, whose `Positions` give the latest of their events; `fromInGaps` follows from it | `epochs`: its beginning, and its end |
 * | is there only as long as other rows say so | `condition`, and `shownBy`: the tables it reads, whose writer moves the row's position | `liquidityProviders`: a live provision |
 * | was calculated from several events when it was written | `fromInGaps`, written by hand: only the resource knows which events | `auctions`: the events of an interval |
 * | changes with tables that it does not read itself | `derivedFrom`: their commits are looked at for changes | `marketSummaries`: market data |
 */
type Storage = {
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
}

/** Name of a resource in answers, streams, exports and the client. */
export type ResourceName = string

/** As {@link Storage}, with the table itself, from which columns are derived, with the key and the fields. */
type DescribedStorage = Omit<Storage, 'table' | 'marketColumn' | 'columns' | 'from'> & {
  table: Table | string
  /** The select. {@link Positions} (row-positions.ts) says how it gives the position of a row. */
  from?: (positions: Positions) => string
  /** The tables that the condition reads, and whose writer moves the positions of rows that become visible again. */
  shownBy?: readonly Table[]
}

/** A resource as described; {@link defineResource} adds the derived parts. */
type Description = {
  name: ResourceName
  /** Name of its node type in OpenAPI and the client. */
  nodeName: string
  /** The effect of its operation, and the meaning of its node, each in one line for people. */
  summary: string
  meaning: string
  path: string
  /** The one field of a page's body, if it is not the name. */
  bodyKey?: string
  /** Whether data nodes have the list, too, although Lyra has no method for it. */
  isOfReference?: true
  /** The method of `datanode.api.v2.TradingDataService` that lists it; absent if only Lyra has it. */
  grpcMethod?: string
  /** Prefix of its stream ids. Never change or reuse it. */
  tag: number
  /** Its own codec, or the letter of its text cursors (text-cursor.ts). Never change or reuse the letter. */
  cursor: CursorCodec | string
  /** Identity and ascending order, and the content of cursors. */
  key: readonly KeyColumn[]
  /** The filter that every request has, if cursors are bound to its value instead of containing it. */
  scope?: 'marketId'
  filters?: readonly DescribedFilter[]
  /** The filters of which a request of each kind must give at least one. */
  required?: RequiredFilters
  /** Parameters of the list that restrict nothing. Clients of data nodes send them. */
  flags?: readonly Flag[]
  /** The selection that a request of a kind means by its filters, if it is not what they say. */
  selectionRule?: (selection: Selection, kind: RequestKind) => Selection
  /** Parameters with which a request for a list selects all rows, if it does not without any. */
  wholeList?: Readonly<Record<string, string>>
  /** Whether requests may restrict the first key column to a range of times. */
  dateRange?: boolean
  /**
   * The columns between whose times a row lies, if requests may restrict these to a range: rows that overlap it. The end may
   * be null, and then is not known yet. A resource has this or `dateRange`, if any.
   */
  overlapRange?: { start: string; end: string }
  storage: DescribedStorage
  /** The node, field by field. */
  fields: readonly Field[]
  /**
   * Whether a row never changes until it is pruned. `lyra compare` can then compare two stores that do not end at the same
   * block.
   */
  rowsStay?: true
  /** The fields that are the first columns of exports, if exports have another order than the node. */
  exportFirst?: readonly string[]
  coverage: CoverageForm
}

/** A boolean parameter that is true only if a filter is given, too. */
type Flag = { name: string; needs: FilterName; meaning: string }

/** The kind of a request: a page, or all its rows; a stream; or the rows of all markets. */
export type RequestKind = 'list' | 'stream' | 'export'

type RequiredFilters = Readonly<Partial<Record<RequestKind, readonly FilterName[]>>>

/** The form in which `GET /api/v2/coverage` describes a resource's rows. */
export type CoverageForm =
  /** The number of rows. */
  | 'count'
  /** The number of rows, and the times of the first and last block with one. */
  | 'count and block times'
  /** For each market the number of rows, and the first and last value of the first key column. */
  | 'times by market'
  /** For each market the number of rows, and the block of its latest list. */
  | 'blocks by market'

/**
 * A served resource, with everything that the stages between the database and the client must know. Its source events and
 * tables are in files beside its description.
 */
export type Resource = Omit<
  Description,
  'storage' | 'cursor' | 'scope' | 'filters' | 'required' | 'bodyKey' | 'isOfReference' | 'flags'
> & {
  bodyKey: string
  isOfReference: boolean
  flags: readonly Flag[]
  cursor: CursorCodec
  scope: 'marketId' | null
  storage: Storage
  filters: readonly Filter[]
  required: RequiredFilters
  /** `funding-period-data-points`: its name in paths and on the command line. */
  kebabName: string
  /** Writes a row as the API's JSON. */
  node: (row: Row, selection: Selection) => string
  /** A row without values that are not final; absent if all values always are final. */
  finalRow?: (row: Row) => Row
  lists: FilteredLists
}

/**
 * Completes the description of a resource.
 *
 * @throws {TypeError} for a description with a column that its table or its rows do not have, or with a value from
 *   another table whose changes do not move the row.
 */
export function defineResource(description: Description): Resource {
  const { name, key, scope = null, fields, storage, cursor, required = {}, flags = [] } = description
  const { bodyKey = name, grpcMethod, isOfReference = grpcMethod !== undefined } = description
  const { table, from, shownBy = [], ...otherStorage } = storage
  const columns = rowColumns(description)
  const names = columns.map((column) => column.name)
  const filters = (description.filters ?? []).map(filterOf)
  if (typeof table !== 'string') {
    for (const { columns, through } of filters) checkFilter(name, table, columns, through)
  }
  const byMarket = typeof table === 'string' ? undefined : marketColumn(table)
  if (scope !== null && byMarket === undefined) throw new TypeError(`${name}: its table names no market`)
  const finalRow = finalRowOf(fields, names)
  const writeNode = nodeWriter(fields, names)
  const lists = filteredListsOf(fields, names)
  const tableName = typeof table === 'string' ? table : table.name
  const select = from === undefined ? {} : selectWithPositions(name, tableName, from)
  refuseTablesWithoutPosition(name, storage.condition ?? '', [
    tableName,
    ...shownBy.map((shown) => shown.name),
  ])
  return {
    ...description,
    bodyKey,
    isOfReference,
    flags,
    cursor: typeof cursor === 'string' ? textCursor(cursor, key, scope) : cursor,
    storage: {
      ...otherStorage,
      ...select,
      ...(byMarket === undefined ? {} : { marketColumn: byMarket }),
      table: tableName,
      columns,
    },
    scope,
    filters,
    required,
    kebabName: wordsOfName(name, '-'),
    lists,
    node: (row, selection) => writeNode(lists.shownRow(row, selection), selection),
    ...(finalRow === null ? {} : { finalRow }),
  }
}

/** @throws {TypeError} for a filter that its tables cannot answer. */
function checkFilter(name: string, table: Table, columns: readonly string[], through?: Table): void {
  const missing = columns.find((column) => !(through ?? table).columns.some((one) => one.name === column))
  if (missing !== undefined) throw new TypeError(`${name}: its table has no column ${missing}`)
  const key = table.columns.slice(0, table.keyLength).map((column) => column.name)
  if (through !== undefined && rowKeyIn(through).join() !== key.join())
    throw new TypeError(`${name}: the key of ${through.name} is not that of its table and one more column`)
}

function finalRowOf(fields: readonly Field[], columns: readonly string[]): ((row: Row) => Row) | null {
  const needed = new Map(
    fields.flatMap((field) =>
      field.finalWith === undefined
        ? []
        : [[columns.indexOf(columnOf(field)), columns.indexOf(field.finalWith)] as const],
    ),
  )
  if (needed.size === 0) return null
  return (row) => row.map((value, at) => (needed.has(at) && row[needed.get(at)!] === null ? null : value))
}

/**
 * The columns of a row: the key, then the others in the order of the table, or of the fields if there are several tables.
 */
function rowColumns({ name, key, fields, storage: { table, from } }: Description): RowColumn[] {
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

/** Whether requests for a list may restrict it to a range of times. */
export const takesDates = ({
  dateRange,
  overlapRange,
}: Pick<Resource, 'dateRange' | 'overlapRange'>): boolean => dateRange === true || overlapRange !== undefined

/** Name of a resource in a sentence: `funding period data points`. */
export const wordsOf = ({ name }: Resource): string => wordsOfName(name)

/** The key of a row. */
export function keyOf({ key }: Resource, row: Row): Key {
  return key.map(({ type }, index) =>
    type === 'id' || type === 'text' ? String(row[index]) : BigInt(row[index]!),
  )
}

/** The value that a resource's cursors and nodes are bound to; null for a resource without a scope. */
export function scopeOf({ scope }: Resource, selection: Selection): string | null {
  return scope === null ? null : selection[scope]!
}

/**
 * The id of the market in scope if statements name it by its number in the store, which must then be looked up; null if they
 * do not need the number.
 */
export function marketToNumber(resource: Resource, selection: Selection): string | null {
  const isNumbered = resource.storage.marketColumn === 'market' && !isOfAllMarkets(resource, selection)
  return isNumbered ? scopeOf(resource, selection) : null
}

/** Whether a request is for rows of all markets, although the resource's cursors and nodes are bound to one. */
export function isOfAllMarkets({ scope }: Resource, selection: Selection): boolean {
  return scope !== null && selection[scope] === undefined
}
