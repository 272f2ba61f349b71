import type { KeyValue, Row } from '../../../model/resource.ts'
import type { Query } from '../../queries-protocol.ts'

/** So many rows are read at once: a statement of a {@link KeysetScan} has this limit. */
export const ROWS_AT_ONCE = 5_000

/** A statement for rows after a key, in the order of that key; its values are the fixed ones, then the key. */
export type KeysetScan = {
  text: string
  fixed: readonly KeyValue[]
  /** The key after which the scan begins. */
  begin: readonly KeyValue[]
  keyOf(row: Row): readonly KeyValue[]
}

/**
 * Hands on all rows of a scan.
 *
 * @param most how many may be read
 * @returns how many were read; null if there are more than that
 */
export function* readByKey(
  { text, fixed, begin, keyOf }: KeysetScan,
  most: number,
  onRow: (row: Row) => void,
): Query<number | null> {
  let key = begin
  for (let read = 0; ; ) {
    const rows = yield { text, values: [...fixed, ...key] }
    read += rows.length
    if (read > most) return null
    for (const row of rows) onRow(row)
    if (rows.length < ROWS_AT_ONCE) return read
    key = keyOf(rows.at(-1)!)
  }
}
