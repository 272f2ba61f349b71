import { setImmediate as nextRound } from 'node:timers/promises'
import type { EventPosition } from '../domain/event-position.ts'
import { keyOfRow, type RowRange } from './schema/ranges.ts'
import type { Table, TextCell } from './schema/tables.ts'
import type { TableReader } from './table-reader.ts'

/** Number of rows read at a time. */
const WALK_CHUNK_ROWS = 5_000

/** A row as an object with the names of its columns. */
export type NamedRow = Record<string, TextCell>

/** Names the values of a row, which are in the order of the table's columns. */
export function namedRow({ columns }: Table, row: readonly TextCell[]): NamedRow {
  return Object.fromEntries(columns.map(({ name }, index) => [name, row[index]!]))
}

/** The position in a row of a table with positions. */
export function positionOfRow({ height, event_index: index }: NamedRow): EventPosition {
  return { height: BigInt(height!), index: Number(index) }
}

/** The rows of a table, or of a range in it, in key order, up to 5,000 at a time. */
export async function* walkTable(
  reader: TableReader,
  table: Table,
  { after = null, upTo = null }: Partial<RowRange> = {},
  signal?: AbortSignal,
): AsyncGenerator<TextCell[][], void, undefined> {
  let from = after
  for (;;) {
    // SQLite answers synchronously: other work, such as that of a signal, runs here.
    await nextRound()
    signal?.throwIfAborted()
    const rows = await reader.read(table, { after: from, upTo }, WALK_CHUNK_ROWS)
    yield rows
    if (rows.length < WALK_CHUNK_ROWS) return
    from = keyOfRow(table, rows.at(-1)!)
  }
}

/** All rows of a table, or of a range in it, together: for those that fit in memory. */
export async function allRows(...walk: Parameters<typeof walkTable>): Promise<TextCell[][]> {
  return (await Array.fromAsync(walkTable(...walk))).flat()
}
