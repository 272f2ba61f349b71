import { type EventPosition, isBefore, isEarlierStart } from '../../domain/event-position.ts'
import type { Cell } from '../../model/columns.ts'
import type { Table, TableRow } from '../../model/table.ts'

/** The key of a table's row, as text. */
function keyText({ columns, keyLength }: Table, row: TableRow): string {
  let text = ''
  for (let at = 0; at < keyLength; at++) text += ` ${row[columns[at]!.name]}`
  return text
}

/**
 * One row for each key, because a statement cannot write a row twice. The result of merging two rows is that of upserting
 * both.
 */
export function mergeRows(table: Table, rows: readonly TableRow[]): readonly TableRow[] {
  if (rows.every((row, index) => index === 0 || isKeyAfter(table, row, rows[index - 1]!))) return rows
  const merged = new Map<string, TableRow>()
  for (const row of rows) {
    const key = keyText(table, row)
    const before = merged.get(key)
    merged.set(key, before === undefined ? row : mergeTwo(table, before, row))
  }
  return merged.size === rows.length ? rows : [...merged.values()]
}

/** Whether the key of a row is greater than that of another one. */
function isKeyAfter({ columns, keyLength }: Table, row: TableRow, other: TableRow): boolean {
  for (let at = 0; at < keyLength; at++) {
    const { name } = columns[at]!
    const cell = row[name]!
    const otherCell = other[name]!
    if (cell !== otherCell) return cell > otherCell
  }
  return false
}

/**
 * Merges a row into another one with the same key that is written before it: as `onConflict` (schema/upsert.ts) does in SQL
 * with the stored row and the written one.
 */
function mergeTwo(table: Table, stored: TableRow, written: TableRow): TableRow {
  const isNewer = replaces(table, stored, written)
  const isEarlier =
    'start_index' in written && isEarlierStart(startPositionOfRow(written), startPositionOfRow(stored))
  const merged: Record<string, Cell> = {}
  for (const { name, merge } of table.columns) {
    const [storedCell, writtenCell] = [stored[name]!, written[name]!]
    switch (merge) {
      case 'newer':
        merged[name] = isNewer ? writtenCell : storedCell
        break
      case 'earliest':
        merged[name] = isEarlier ? writtenCell : storedCell
        break
      case 'least':
        merged[name] = writtenCell < storedCell ? writtenCell : storedCell
        break
      case 'greatest':
        merged[name] = writtenCell > storedCell ? writtenCell : storedCell
        break
      case 'sum':
        merged[name] = (storedCell as bigint) + (writtenCell as bigint)
        break
      case 'given':
        merged[name] = writtenCell
        break
      default:
        merge satisfies never
    }
  }
  return merged
}

/** Whether the written row's values count, in columns with the rule `newer`. */
function replaces({ fullIf }: Table, stored: TableRow, written: TableRow): boolean {
  if (!('event_index' in written)) return true
  if (fullIf !== undefined && written[fullIf] !== stored[fullIf]) return written[fullIf] === true
  const storedPosition = positionOfRow(stored)
  const writtenPosition = positionOfRow(written)
  const areFull = fullIf === undefined || written[fullIf] === true
  return areFull ? !isBefore(writtenPosition, storedPosition) : !isBefore(storedPosition, writtenPosition)
}

const positionOfRow = ({ height, event_index: index }: TableRow): EventPosition => ({
  height: height as bigint,
  index: Number(index),
})

const startPositionOfRow = ({ start_height: height, start_index: index }: TableRow): EventPosition => ({
  height: height as bigint,
  index: Number(index),
})
