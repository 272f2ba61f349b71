import type { KeyValue } from '../../model/resource.ts'
import type { Table, TextCell } from './tables.ts'

/**
 * The rows of a table whose keys are after `after`, and not after `upTo`; null for no limit. Either may be the beginning of
 * a key: all rows whose keys begin with it are then in the range.
 */
export type RowRange = { after: readonly TextCell[] | null; upTo: readonly TextCell[] | null }

/** The rows whose keys begin with these values. */
export const rowsUnder = (...key: TextCell[]): RowRange => ({ after: key, upTo: key })

/** The key of a row. */
export function keyOfRow({ keyLength }: Table, row: readonly TextCell[]): readonly TextCell[] {
  return row.slice(0, keyLength)
}

/** The parts of a statement that reads a range of rows in key order. */
type RangeClauses = {
  /** Empty if the range has no limit. */
  where: string
  order: string
  /** The values of `where`. */
  values: KeyValue[]
  /** The first placeholder that `where` does not use, for example `$3`. */
  next: string
}

/**
 * The clauses `where` and `order by` of a range. The key is a row value, `$1`, `$2`, ... are the values of its ends in this
 * order, with integers bound as such.
 */
export function rangeClauses({ columns, keyLength }: Table, { after, upTo }: RowRange): RangeClauses {
  const key = columns.slice(0, keyLength)
  const names = key.map(({ name }) => name)
  const values: KeyValue[] = []
  const compare = (operator: string, ends: readonly TextCell[]) => {
    const positions = ends.map(
      (end, index) => `$${values.push(key[index]!.type === 'integer' ? BigInt(end!) : end!)}`,
    )
    return `(${names.slice(0, ends.length).join(', ')}) ${operator} (${positions.join(', ')})`
  }
  const conditions = [
    ...(after === null ? [] : [compare(after.length < keyLength ? '>=' : '>', after)]),
    ...(upTo === null ? [] : [compare('<=', upTo)]),
  ]
  return {
    where: conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`,
    order: `order by ${names.join(', ')}`,
    values,
    next: `$${values.length + 1}`,
  }
}
