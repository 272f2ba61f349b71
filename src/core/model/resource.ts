import { wordsOfName } from '../domain/words.ts'
import type { CursorCodec } from './cursor-codec.ts'
import { columnOf, type Field } from './field.ts'
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
import { type DescribedStorage, type Storage, storageOf } from './storage.ts'
import type { Table } from './table.ts'
import { textCursor } from './text-cursor.ts'

export type { Filter, FilterName, Selection } from './filters.ts'
export type { Key, KeyColumn, KeyType, KeyValue, Row } from './row.ts'
export { compareResourceKeys } from './row.ts'

/** Name of a resource in answers, streams, exports and the client. */
export type ResourceName = string

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
  /** The method of `datanode.api.v2.TradingDataService` that lists it; absent if Lyra has no method for it. */
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
  /** Whether data nodes have the list, too. */
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
 * @throws {TypeError} for a description with a column that its table or its rows do not have, with a value from another table
 *   whose changes do not move the row, with a scope if its table names no market, or with a source in the key of text cursors.
 */
export function defineResource(description: Description): Resource {
  const { name, key, scope = null, fields, cursor, required = {}, flags = [] } = description
  const { bodyKey = name, grpcMethod, isOfReference = grpcMethod !== undefined } = description
  const { table } = description.storage
  const storage = storageOf(description)
  const columns = storage.columns.map((column) => column.name)
  const filters = (description.filters ?? []).map(filterOf)
  if (typeof table !== 'string') for (const filter of filters) checkFilter(name, table, filter)
  if (scope !== null && storage.marketColumn === undefined)
    throw new TypeError(`${name}: its table names no market`)
  const finalRow = finalRowOf(fields, columns)
  const lists = filteredListsOf(fields, columns)
  const writeNode = nodeWriter(fields, columns)
  return {
    ...description,
    bodyKey,
    isOfReference,
    flags,
    cursor: typeof cursor === 'string' ? textCursor(cursor, key, scope) : cursor,
    storage,
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
function checkFilter(name: string, table: Table, { columns, through }: Filter): void {
  const missing = columns.find((column) => !(through ?? table).columns.some((one) => one.name === column))
  if (missing !== undefined) throw new TypeError(`${name}: its table has no column ${missing}`)
  const key = table.columns.slice(0, table.keyLength).map((column) => column.name)
  if (through !== undefined && rowKeyIn(through).join() !== key.join())
    throw new TypeError(`${name}: the key of ${through.name} is not that of its table and one more column`)
}

/** Returns what sets those values of a row to null that are not final yet ({@link Field.finalWith}); null if all always are. */
function finalRowOf(fields: readonly Field[], columns: readonly string[]): ((row: Row) => Row) | null {
  /** By the index of such a value in a row, the index of the one without which it is not final. */
  const finalWith = new Map<number, number>()
  for (const field of fields) {
    if (field.finalWith === undefined) continue
    finalWith.set(columns.indexOf(columnOf(field)), columns.indexOf(field.finalWith))
  }
  if (finalWith.size === 0) return null
  const isFinal = (row: Row, at: number) => !finalWith.has(at) || row[finalWith.get(at)!] !== null
  return (row) => row.map((value, at) => (isFinal(row, at) ? value : null))
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
