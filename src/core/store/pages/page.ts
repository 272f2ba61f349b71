import type { Key, Resource, Row, Selection } from '../../model/resource.ts'
import type { Change, StoreVersion } from '../changes.ts'
import type { WrittenEdges } from './edges.ts'
import type { StatementOfEach, StatementOnce } from './statement.ts'

/** A page of a resource: up to `limit` rows from a place on. */
export type PageQuery = {
  resource: Resource
  selection: Selection
  /** Whether rows are read from higher keys to lower ones. */
  descending: boolean
  /** Rows strictly after this key, in the direction of reading; null: from the first row on. */
  cursor: Key | null
  limit: number
  /**
   * Asks for the rows as the API's edges, written by the database, if it can: in the direction of reading, or
   * the other way round.
   */
  edges?: 'as read' | 'reversed'
  /**
   * Time of the request by `process.hrtime`, which all threads share: facts about the store's file that were read after
   * it need not be read again.
   */
  askedAt?: bigint | undefined
}

/** The answer of one snapshot to a {@link PageQuery}. */
export type Page = {
  /** In the direction of reading; empty if the page has edges. */
  rows: Row[]
  /** The rows as the API's edges; null if the database has not written them. */
  edges: WrittenEdges | null
  /** Whether more rows follow, in the direction of reading. */
  more: boolean
  /** Whether there is a row at or before the cursor, in reading direction; false without a cursor. */
  hasRowsAtOrBefore: boolean
  /** The last block of the snapshot; null in an empty store. */
  storeHead: StoreHead | null
  /** The commit that the snapshot shows. */
  version: StoreVersion
}

/** A page without rows, apart from the store's state. */
export const EMPTY_PAGE = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false }

/** The cursors in the lines of an export: the rows' own, or those of the list of all markets (market-cursor.ts). */
export type LineCursors = 'own' | 'of all markets'

/** Lines of an export: the first rows of a page, in the direction of reading. */
export type LinesQuery = Omit<PageQuery, 'edges'> & { cursors: LineCursors }

/** Lines that a database has written, and their number: less than requested only at the end. */
export type Lines = { text: Uint8Array; count: number }

/** The head of a store, and its changes since an earlier version. */
export type Freshness = {
  version: StoreVersion
  storeHead: StoreHead | null
  /** Null: anything may have changed. */
  changed: readonly Change[] | null
}

/** The last block that a store holds: its height, and its time in Unix nanoseconds, both as text. */
export type StoreHead = { height: string; timestamp: string }

/**
 * A query of one or more statements in one snapshot. A statement that runs once per list of values yields the
 * rows of all of them.
 */
export type Query<T> = Generator<StatementOnce | StatementOfEach, T, Row[]>
