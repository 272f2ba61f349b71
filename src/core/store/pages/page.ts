import type { Key, Resource, Row, Selection } from '../../model/resource.ts'
import type { Change, StoreVersion } from '../changes.ts'
import type { WrittenEdges } from './edges.ts'

/** A page of a resource: up to `limit` rows from a key on. */
export type PageQuery = {
  resource: Resource
  selection: Selection
  /** Whether rows are read from higher keys to lower ones. */
  descending: boolean
  /** Rows strictly after this key, in the direction of reading; null for the first rows. */
  cursor: Key | null
  limit: number
  /** Requests the rows as the API's edges, if the database can write them: in the direction of reading, or reversed. */
  edges?: 'as read' | 'reversed'
  /**
   * Time of the request by `process.hrtime`, which all threads share. Facts about the store's file that were read after it
   * need not be read again.
   */
  requestedAt?: bigint | undefined
}

/** The answer of one snapshot to a {@link PageQuery}. */
export type Page = {
  /** In the direction of reading; empty if the page has edges. */
  rows: Row[]
  /** The rows as the API's edges; null unless the database has written them. */
  edges: WrittenEdges | null
  /** Whether more rows follow, in the direction of reading. */
  more: boolean
  /** Whether there is a row at or before the cursor, in the direction of reading; false without a cursor. */
  hasRowsAtOrBefore: boolean
  /** The last block of the snapshot; null in an empty store. */
  storeHead: StoreHead | null
  /** The commit up to which the snapshot sees the store. */
  version: StoreVersion
}

/** A page without rows; the store's state is added. */
export const EMPTY_PAGE = { rows: [], edges: null, more: false, hasRowsAtOrBefore: false }

/** The cursors in the lines of an export: the rows' own, or those of the list of all markets (resources/market-cursor.ts). */
export type LineCursors = 'own' | 'of all markets'

/** A request for lines of an export: the first rows of a page, in the direction of reading. */
export type LinesQuery = Omit<PageQuery, 'edges'> & { cursors: LineCursors }

/** Lines that a database has written, and their number, which is less than requested only at the end. */
export type Lines = { text: Uint8Array; count: number }

/** The head of a store, and the changes since an earlier version. */
export type Freshness = {
  version: StoreVersion
  storeHead: StoreHead | null
  /** Null if anything may have changed. */
  changed: readonly Change[] | null
}

/** The last stored block: its height, and its time in Unix nanoseconds, both as text. */
export type StoreHead = { height: string; timestamp: string }
