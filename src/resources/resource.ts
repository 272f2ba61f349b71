/** How a key column is compared, and written in a cursor. */
export type KeyType = 'int64' | 'uint64' | 'source' | 'id' | 'text'

/** A value of a key or a filter: integers as bigint, ids and hashes as text. */
export type KeyValue = bigint | string

/** A row's identity and its place in the order, in the order of the resource's key columns. */
export type Key = readonly KeyValue[]

/** A row as read: its key columns first, then the others. 64-bit integers are decimal text. */
export type Row = readonly (string | number | null)[]

export type ResourceName = 'checkpoints' | 'fundingPeriodDataPoints' | 'liquidityProviders'

/** What a request selects from a resource. */
export type Selection = {
  marketId?: string
  partyId?: string
  source?: bigint
  seq?: bigint
  /** On the first key column: from (inclusive) and to (exclusive). */
  from?: bigint
  to?: bigint
}

/** A filter whose parameter fixes a key column or restricts another one to a value. */
export type FilterName = 'marketId' | 'partyId' | 'source' | 'seq'

export type KeyColumn = {
  column: string
  type: KeyType
  /** The filter that fixes the column's value; a cursor of another value is refused then. */
  filter?: FilterName
}

/**
 * One of the resources served: everything that the stages between the database and the client need to know
 * of it. Only where its rows come from (projections/) and its SQL (store/page-tables.ts) stand elsewhere.
 */
export type Resource = {
  name: ResourceName
  /** Field of the answer's body that holds the page. */
  bodyField: string
  path: string
  /** The first byte of the resource's cursors. Never changed, never used again. */
  cursorTag: number
  /** Identity and order, ascending, and what a cursor holds. */
  key: readonly KeyColumn[]
  /** The filter that every request carries, where cursors are bound to its value instead of holding it. */
  scope: 'marketId' | null
  filters: readonly FilterName[]
  /** Whether requests may restrict the first key column to a range of times. */
  dateRange: boolean
  /** Writes a row as the API's JSON. */
  node: (row: Row, selection: Selection) => string
}
