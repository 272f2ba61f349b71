/** How a key column is compared, and written in a cursor. An `index` is that of an event in its block. */
export type KeyType = 'int64' | 'uint64' | 'index' | 'source' | 'id' | 'text'

/** A value of a key or a filter: integers as bigint, ids and hashes as text. */
export type KeyValue = bigint | string

/** The identity of a row, by which lists are ordered: the values of the resource's key columns. */
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

/** A column of a key. A cursor whose id differs from the one that a filter fixes is refused. */
export type KeyColumn = {
  column: string
  type: KeyType
  /** What it is, as a text in Markdown, if no field of the node shows it. */
  hidden?: string
}
