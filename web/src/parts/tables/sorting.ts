import { compare, type Decimal } from '../../figures/decimal.ts'
import { param } from '../../location.ts'

/** How a list is sorted: by a column's name. */
export type Sorting<Column extends string = string> = { column: Column; descending: boolean }

/** The order that a parameter names, such as `-paid` for the highest first; `otherwise` if it names no column. */
export function readSorting<Column extends string>(
  parameter: string,
  columns: readonly Column[],
  otherwise: Sorting<Column>,
): Sorting<Column> {
  const [, sign, name] = /^(-?)(\w+)$/.exec(param(parameter) ?? '') ?? []
  const column = columns.find((known) => known === name)
  return column === undefined ? otherwise : { column, descending: sign === '-' }
}

/**
 * Rows in the order of their keys.
 *
 * @param keyOf numbers or texts; rows without a key are last
 * @param nameOf orders rows with equal keys, always upwards
 */
export function sortRows<Row>(
  rows: readonly Row[],
  descending: boolean,
  keyOf: (row: Row) => Decimal | string | null,
  nameOf: (row: Row) => string,
): Row[] {
  const keyed = rows.map((row) => ({ row, key: keyOf(row), name: nameOf(row) }))
  keyed.sort((left, right) => {
    const [a, b] = [left.key, right.key]
    const byName = left.name < right.name ? -1 : 1
    if (a === null || b === null) return a === b ? byName : a === null ? 1 : -1
    const order =
      typeof a === 'string' || typeof b === 'string' ? (a === b ? 0 : a < b ? -1 : 1) : compare(a, b)
    return order === 0 ? byName : descending ? -order : order
  })
  return keyed.map(({ row }) => row)
}
