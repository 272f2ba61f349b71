import { type EventPosition, isBefore, isEarlierStart } from '../../domain/event-position.ts'
import type { Cell, Table, TableRow } from '../../model/table.ts'

/** The key of a table's row, as text. */
function keyText({ columns, keyLength }: Table, row: TableRow): string {
  let text = ''
  for (let at = 0; at < keyLength; at++) text += ` ${row[columns[at]!.name]}`
  return text
}

/** One row per key: a statement cannot write a row twice. Merging two rows gives the result of upserting both. */
export function mergeRows(table: Table, rows: readonly TableRow[]): readonly TableRow[] {
  if (rows.every((row, index) => index === 0 || isKeyAfter(table, row, rows[index - 1]!))) return rows
  const merged = new Map<string, TableRow>()
  for (const row of rows) {
    const key = keyText(table, row)
    const known = merged.get(key)
    merged.set(key, known === undefined ? row : mergeTwo(table, known, row))
  }
  return merged.size === rows.length ? rows : [...merged.values()]
}

/** Whether the key of a row is greater than that of another one. */
function isKeyAfter({ columns, keyLength }: Table, row: TableRow, other: TableRow): boolean {
  for (let at = 0; at < keyLength; at++) {
    const { name } = columns[at]!
    const [a, b] = [row[name]!, other[name]!]
    if (a !== b) return a > b
  }
  return false
}

function mergeTwo({ columns, fullIf }: Table, known: TableRow, given: TableRow): TableRow {
  const isNewer =
    fullIf === undefined || (given[fullIf] === true && known[fullIf] === true)
      ? !('event_index' in given) || !isBefore(positionOfWritten(given), positionOfWritten(known))
      : given[fullIf] === known[fullIf]
        ? !isBefore(positionOfWritten(known), positionOfWritten(given))
        : given[fullIf] === true
  const isEarlier =
    'start_index' in given && isEarlierStart(startPositionOfRow(given), startPositionOfRow(known))
  const merged: Record<string, Cell> = {}
  for (const { name, merge } of columns) {
    const [a, b] = [known[name]!, given[name]!]
    switch (merge) {
      case 'newer':
        merged[name] = isNewer ? b : a
        break
      case 'earliest':
        merged[name] = isEarlier ? b : a
        break
      case 'least':
        merged[name] = b < a ? b : a
        break
      case 'greatest':
        merged[name] = b > a ? b : a
        break
      case 'sum':
        merged[name] = (a as bigint) + (b as bigint)
        break
      case 'given':
        merged[name] = b
        break
      default:
        merge satisfies never
    }
  }
  return merged
}

const positionOfWritten = ({ height, event_index: index }: TableRow): EventPosition => ({
  height: height as bigint,
  index: Number(index),
})

const startPositionOfRow = ({ start_height: height, start_index: index }: TableRow): EventPosition => ({
  height: height as bigint,
  index: Number(index),
})
