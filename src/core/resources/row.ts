/** How a key column is compared, and written in a cursor. */
export type KeyType = 'int64' | 'uint64' | 'source' | 'id' | 'text'

/** A value of a key or a filter: integers as bigint, ids and hashes as text. */
export type KeyValue = bigint | string

/** A row's identity and its place in the order, in the order of the resource's key columns. */
export type Key = readonly KeyValue[]

/** Which of two keys comes first: below 0, 0 or above. */
export function compareResourceKeys(a: Key, b: Key): number {
  for (const [index, value] of a.entries()) {
    const other = b[index]!
    if (value !== other) return value < other ? -1 : 1
  }
  return 0
}

/** A row as read, in the order of its columns. 64-bit integers are decimal text. */
export type Row = readonly (string | number | null)[]

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

/** The column that a filter compares. */
export const FILTER_COLUMNS: Record<FilterName, string> = {
  marketId: 'market_id',
  partyId: 'party_id',
  source: 'source',
  seq: 'seq',
}

export type KeyColumn = {
  column: string
  type: KeyType
  /** The filter that fixes the column's value; a cursor of another value is refused then. */
  filter?: FilterName
}
