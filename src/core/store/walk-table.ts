import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Place } from '../domain/place.ts'
import type { TableReader } from './table-reader.ts'
import { keyOfRow, type RowRange, type Table, type TextCell } from './tables.ts'

/** Rows that are read at a time. */
const WALK_CHUNK_ROWS = 5_000

/** A row by the names of its columns. */
export type NamedRow = Record<string, TextCell>

export function namedRow({ columns }: Table, row: readonly TextCell[]): NamedRow {
  return Object.fromEntries(columns.map(({ name }, index) => [name, row[index]!]))
}

/** The place that a row comes from, of a table that keeps it. */
export function placeOfRow({ height, event_index: index }: NamedRow): Place {
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

/** How the keys of two rows of a table stand to each other: numbers by their value, texts by their bytes. */
export function compareKeys(
  { columns, keyLength }: Table,
  a: readonly TextCell[],
  b: readonly TextCell[],
): number {
  for (let index = 0; index < keyLength; index++) {
    const [left, right] = [a[index], b[index]]
    if (left === right) continue
    if (columns[index]!.type === 'text') return Buffer.compare(Buffer.from(left!), Buffer.from(right!))
    return BigInt(left!) < BigInt(right!) ? -1 : 1
  }
  return 0
}

/** `funding_period_data_points (1, 2, 1696500003000000000, 0)` */
export function describeRow(table: Table, row: readonly TextCell[]): string {
  return `${table.name} (${keyOfRow(table, row).join(', ')})`
}

/** Rows that come many at a time, taken one by one. */
export class RowQueue<Row = TextCell[]> {
  readonly #chunks: AsyncGenerator<readonly Row[]>
  #rows: readonly Row[] = []
  #at = 0

  constructor(chunks: AsyncGenerator<readonly Row[]>) {
    this.#chunks = chunks
  }

  /** The next row; null if it has not come yet. */
  get head(): Row | null {
    return this.#rows[this.#at] ?? null
  }

  /** Waits for the next row; null if none follows. */
  async next(): Promise<Row | null> {
    while (this.head === null) {
      const { done, value } = await this.#chunks.next()
      if (done) return null
      this.#rows = value
      this.#at = 0
    }
    return this.head
  }

  drop(): void {
    this.#at++
  }
}
