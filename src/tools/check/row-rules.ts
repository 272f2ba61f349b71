import { isUnknownPosition } from '#core/domain/event-position'
import type { Table } from '#core/store/schema/tables'
import { type NamedRow, positionOfRow } from '#core/store/walk-table'

/** Faults within a row, in words; empty if there are none. */
export function faultsOfRow({ columns, faultsOf }: Table, row: NamedRow): string[] {
  const faults = columns.flatMap(({ name, isValid }) => {
    const value = row[name]!
    return value === null || isValid(value) ? [] : [`${name} is ${JSON.stringify(value)}`]
  })
  if (row.event_index === '0' && !hasUnknownPosition(row)) faults.push('event_index is "0"')
  return [...faults, ...(faultsOf?.(row) ?? [])]
}

/** Whether a row has a position, and it is unknown. */
export function hasUnknownPosition(row: NamedRow): boolean {
  return row.event_index !== undefined && isUnknownPosition(positionOfRow(row))
}
