import { isUnplaced } from '../domain/place.ts'
import type { Table } from '../store/tables.ts'
import { type NamedRow, placeOfRow } from '../store/walk-table.ts'

/** What is wrong with a row by itself, in words; none if nothing is. */
export function faultsOf({ columns, faultsOf }: Table, row: NamedRow): string[] {
  const faults = columns.flatMap(({ name, isRight }) => {
    const value = row[name]!
    return value === null || isRight(value) ? [] : [`${name} is ${JSON.stringify(value)}`]
  })
  if (row.event_index === '0' && !isUnplacedRow(row)) faults.push('event_index is "0"')
  return [...faults, ...(faultsOf?.(row) ?? [])]
}

export function isUnplacedRow(row: NamedRow): boolean {
  return row.event_index !== undefined && isUnplaced(placeOfRow(row))
}
