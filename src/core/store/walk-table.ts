import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventPosition } from '../domain/event-position.ts'
import { keyOfRow, type RowRange, type Table, type TextCell } from './schema/tables.ts'
import type { TableReader } from './table-reader.ts'

/** Rows that are read at a time. */
const WALK_CHUNK_ROWS = 5_000

/** A row by the names of its columns. */
export type NamedRow = Record<string, TextCell>

export function namedRow({ columns }: Table, row: readonly TextCell[]): NamedRow {
  return Object.fromEntries(columns.map(({ name }, index) => [name, row[index]!]))
}

/** The position that a row comes from, of a table that keeps it. */
export function positionOfRow({ height, event_index: index }: NamedRow): EventPosition {
  return { height: BigInt(height!), index: Number(index) }
}

/** The rows of a table, or of a range in it, in key order, many at a time. */
export async function* walkTable(
  reader: TableReader,
  table: Table,
  { after = null, upTo = null }: Partial<RowRange> = {},
  signal?: AbortSignal,
): AsyncGenerator<TextCell[][], void, undefined> {
  let from = after
  for (;;) {
    // SQLite answers synchronously: let other work, such as a signal, have its turn here.
    await nextTurn()
    signal?.throwIfAborted()
    const rows = await reader.read(table, { after: from, upTo }, WALK_CHUNK_ROWS)
    yield rows
    if (rows.length < WALK_CHUNK_ROWS) return
    from = keyOfRow(table, rows.at(-1)!)
  }
}

/** All rows of a table, or of a range in it, that are few enough to be in memory together. */
export async function allRows(...walk: Parameters<typeof walkTable>): Promise<TextCell[][]> {
  return (await Array.fromAsync(walkTable(...walk))).flat()
}
