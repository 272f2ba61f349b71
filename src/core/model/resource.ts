import { wordsOfName } from '../domain/words.ts'
import type { CursorCodec } from './cursor-codec.ts'
import { columnOf, type Field, isNodeOf, isStored, namesOf, nodeWriter, shownColumns } from './field.ts'
import { type DescribedFilter, type Filter, type FilterName, filterOf, type Selection } from './filters.ts'
import type { Key, KeyColumn, Row } from './row.ts'
import { type Positions, refuseTablesWithoutPosition, selectWithPositions } from './row-positions.ts'
import type { RowType, Table } from './table.ts'
import { textCursor } from './text-cursor.ts'

export type { Filter, FilterName, Selection } from './filters.ts'
export type { Key, KeyColumn, KeyType, KeyValue, Row } from './row.ts'
export { compareResourceKeys } from './row.ts'

/** A column of a row, and how its values are read. */
export type RowColumn = { name: string; type: RowType }

/** Storage of a resource's rows, in SQL for both databases. */
type Storage = {
  /** The table that holds the rows (store/schema/tables.ts), or what {@link Storage.from} is called. */
  table: string
  /** A select of the rows, if they are in more than one table. */
  from?: string
  /**
   * A select that has each row once for each event that it is made of, at the position of that event. Followers read the
   * blocks of a filled gap so: the row's own position may be that of a later event, which they have received.
   */
  fromInGaps?: string
  /** Columns of a row: the key, and those that its fields show. */
  columns: readonly RowColumn[]
  /** The tables whose writing changes the rows, if it is not the one that holds them. */
  derivedFrom?: readonly string[]
  /** How the market in scope is matched: by its number in the store (`market`), or by its id (`market_id`). */
  scopeBy?: 'number' | 'id'
  /** Always asked for. */
  condition?: string
  /**
   * The rows are in several runs, each in key order, distinguished by a filter's column, which precedes the key in the
   * table. A page of all sources merges one page of each.
   */
  runs?: { filter: FilterName; values: readonly string[] }
  /** A table with `first_timestamp` and `last_timestamp` of the rows of a market and a value of a column. */
  span?: { column: string; table: string }
  /**
   * Whether the rows that came in some blocks are found between the times that a table gives for each run of blocks
   * (store/write/block-spans.ts), and not among all rows of the selection: those of data points are.
   */
  hasBlockSpans?: true
}

/** Name of a resource in answers, streams, exports and the client. */
export type ResourceName = string

/** As {@link Storage}, with the table itself; the columns follow from the key and the fields. */
type DescribedStorage = Omit<Storage, 'table' | 'columns' | 'from'> & {
  table: Table | string
  /** The select, with the position of a row by one of {@link Positions} (row-positions.ts). */
  from?: (positions: Positions) => string
  /** The tables of which the condition speaks, and whose writer moves the positions of the rows that it shows again. */
  shownBy?: readonly Table[]
}

/** A resource as described; {@link defineResource} adds the derived parts. */
type Description = {
  name: ResourceName
  /** Name of its node type in OpenAPI and the client. */
  nodeName: string
  /** What its operation does, and what its node is: a line each, for people. */
  summary: string
  meaning: string
  path: string
  /** The method of `datanode.api.v2.TradingDataService` that lists it; none: only Lyra has it. */
  grpcMethod?: string
  /** Prefix of its stream ids. Never change or reuse it. */
  tag: number
  /** Of its own, or those of texts (text-cursor.ts), by their letter, which is never changed, and never used again. */
  cursor: CursorCodec | string
  /** Identity and ascending order, and the content of cursors. */
  key: readonly KeyColumn[]
  /** The filter that every request carries, where cursors are bound to its value instead of holding it. */
  scope?: 'marketId'
  filters?: readonly DescribedFilter[]
  /** The filters of which a request of a kind must give one at least. */
  required?: RequiredFilters
  /** Whether requests may restrict the first key column to a range of times. */
  dateRange?: boolean
  storage: DescribedStorage
  /** The node, field by field. */
  fields: readonly Field[]
  /** Whether a row stays as it came, until it is pruned: exports that are continued write it once. */
  rowsStay?: true
  /** Fields that exports put first, if their columns differ from the node's order. */
  exportFirst?: readonly string[]
  coverage: CoverageForm
}

/** The kind of a request: a page, or all its rows; a stream; or the rows of all markets. */
export type RequestKind = 'list' | 'stream' | 'export'

type RequiredFilters = Readonly<Partial<Record<RequestKind, readonly FilterName[]>>>

/** What `GET /api/v2/coverage` says of a resource's rows. */
export type CoverageForm =
  /** How many there are. */
  | 'count'
  /** How many there are, and the times of the first and the last block that they came in. */
  | 'count and block times'
  /** Of each market how many there are, and the first and the last time by the first key column. */
  | 'times by market'
  /** Of each market how many there are, and the block of its latest list. */
  | 'blocks by market'

/**
 * A served resource: everything that the stages between the database and the client need to know. Its source events and
 * tables are beside its description.
 */
export type Resource = Omit<Description, 'storage' | 'cursor' | 'scope' | 'filters' | 'required'> & {
  cursor: CursorCodec
  scope: 'marketId' | null
  storage: Storage
  filters: readonly Filter[]
  required: RequiredFilters
  /** `funding-period-data-points`: its name in paths and on the command line. */
  kebabName: string
  /** Writes a row as the API's JSON. */
  node: (row: Row, selection: Selection) => string
  /** A row without values that are not final; absent if all values always are. */
  finalRow?: (row: Row) => Row
}

/**
 * Makes a resource of its description.
 *
 * @throws {TypeError} for a description that names a column which its table or its rows do not have, or that shows what is
 * in another table without moving the row when that changes.
 */
export function defineResource(description: Description): Resource {
  const { name, key, scope = null, fields, storage, cursor, required = {} } = description
  const { table, from, shownBy = [], ...otherStorage } = storage
  const columns = rowColumns(description)
  const names = columns.map((column) => column.name)
  const filters = (description.filters ?? []).map(filterOf)
  if (typeof table !== 'string') {
    for (const column of filters.flatMap((filter) => filter.columns)) {
      if (!table.columns.some((one) => one.name === column))
        throw new TypeError(`${name}: its table has no column ${column}`)
    }
  }
  const finalRow = finalRowOf(fields, names)
  const tableName = typeof table === 'string' ? table : table.name
  const select = from === undefined ? {} : selectWithPositions(name, tableName, from)
  refuseTablesWithoutPosition(name, storage.condition ?? '', [
    tableName,
    ...shownBy.map((shown) => shown.name),
  ])
  return {
    ...description,
    cursor: typeof cursor === 'string' ? textCursor(cursor, key, scope) : cursor,
    storage: {
      ...otherStorage,
      ...select,
      table: tableName,
      columns,
    },
    scope,
    filters,
    required,
    kebabName: wordsOfName(name, '-'),
    node: nodeWriter(fields, names),
    ...(finalRow === null ? {} : { finalRow }),
  }
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

/** The columns of a row, those after the key in the order of the table; of several tables, in that of the fields. */
function rowColumns({ name, key, fields, storage: { table, from } }: Description): RowColumn[] {
  const shown = new Map(shownColumns(fields))
  const own = typeof table === 'string' ? [] : table.columns
  const types = new Map(own.map((column) => [column.name, column.rowType]))
  // Expressions and joined columns of a select are read by their form.
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

/** How values of a form are read that come from no one table. */
function rowTypeOf(form: Field['form']): RowType {
  if (form === 'integer' || form === 'signed' || form === 'time') return 'int64'
  if (form === 'marketId' || form === 'partyId') return 'line'
  if (namesOf(form) !== null) return 'small'
  return isStored(form) || isNodeOf(form) ? 'json' : 'text'
}

/** Name of a resource in a sentence: `funding period data points`. */
export const wordsOf = ({ name }: Resource): string => wordsOfName(name)

/** The key of a row. */
export function keyOf({ key }: Resource, row: Row): Key {
  return key.map(({ type }, index) =>
    type === 'id' || type === 'text' ? String(row[index]) : BigInt(row[index]!),
  )
}

/** The value that a resource's cursors and nodes are bound to; null if they are to none. */
export function scopeOf({ scope }: Resource, selection: Selection): string | null {
  return scope === null ? null : selection[scope]!
}

/** Whether rows of all markets are asked for at once, of a resource whose cursors and nodes are bound to one. */
export function isOfAllMarkets({ scope }: Resource, selection: Selection): boolean {
  return scope !== null && selection[scope] === undefined
}
