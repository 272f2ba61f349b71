import type { Table } from '../store/tables.ts'
import type { NamedRow } from '../store/walk-table.ts'

/** What is wrong with a row by itself, in words; none where nothing is. */
export function faultsOf({ columns, faultsOf }: Table, row: NamedRow): string[] {
  const faults = columns.flatMap(({ name, isRight }) => {
    const value = row[name]!
    return value === null || isRight(value) ? [] : [`${name} is ${JSON.stringify(value)}`]
  })
  // Both are 0 where an import does not know the block.
  if (row.event_index === '0' && row.height !== '0') faults.push('event_index is "0"')
  return [...faults, ...(faultsOf?.(row) ?? [])]
}

/** Whether a row comes from a block that an import does not know: one before those that it has brought. */
export function isUnplaced({ height, event_index: index }: NamedRow): boolean {
  return height === '0' && index === '0'
}
