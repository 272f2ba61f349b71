import type { TableRow } from '#core/model/table'
import type { Table, TextCell } from '#core/store/schema/tables'
import { type NamedRow, namedRow } from '#core/store/walk-table'
import {
  compareRows,
  describePair,
  type Pair,
  type PairCounts,
  type RowRules,
} from '../compare/compare-rows.ts'
import type { Problems } from './problems.ts'

/** The values of a row, in the order of the table's columns. */
export type Cells = readonly TextCell[]

/** Compares the keys of two rows: numbers by value, texts by bytes. Below 0, 0 or above. */
export function compareKeys({ columns, keyLength }: Table, a: Cells, b: Cells): number {
  for (let index = 0; index < keyLength; index++) {
    const [left, right] = [a[index], b[index]]
    if (left === right) continue
    if (columns[index]!.type === 'text') return Buffer.compare(Buffer.from(left!), Buffer.from(right!))
    return BigInt(left!) < BigInt(right!) ? -1 : 1
  }
  return 0
}

/** `funding_period_data_points (1, 2, 1696500003000000000, 0)` */
export function describeRow(table: Table, row: Cells): string {
  return `${table.name} (${row.slice(0, table.keyLength).join(', ')})`
}

export type TableRules<Of extends Pair<NamedRow> = Pair<NamedRow>> = RowRules<Cells, Of>

/** The rules for comparing a table's rows, without allowed differences. */
export function tableRules(table: Table): TableRules {
  return {
    order: (a, b) => compareKeys(table, a, b),
    fieldsOf: (a, b) => table.columns.flatMap(({ name }, index) => (a[index] === b[index] ? [] : [name])),
    describe: (pair) => namedPair(table, pair),
    allowances: {},
  }
}

/** Names the values of both rows of a pair. */
export function namedPair(table: Table, { a, b, ...pair }: Pair<Cells>): Pair<NamedRow> {
  return { ...pair, a: a && namedRow(table, a), b: b && namedRow(table, b) }
}

/**
 * Compares the rows of the store with others, and adds the differences to the problems.
 *
 * @param inOthers where the others are, for messages: `in the files`
 *
 * @returns the number of equal rows, and of allowed differences by kind
 */
export async function compareTables<Of extends Pair<NamedRow>>(
  table: Table,
  stored: AsyncGenerator<Cells[]>,
  others: AsyncGenerator<Cells[]>,
  inOthers: string,
  rules: TableRules<Of>,
  problems: Problems,
): Promise<PairCounts> {
  const counts: PairCounts = { same: 0 }
  for await (const pair of compareRows(stored, others, rules, counts)) {
    const where = describeRow(table, Object.values((pair.a ?? pair.b)!))
    problems.add(where, describePair(pair, 'in the store', inOthers))
  }
  return counts
}

/** The values of a row that would be written, as a store gives them. */
export function cellsOf({ columns }: Table, row: TableRow): TextCell[] {
  return columns.map(({ name }): TextCell => (row[name] == null ? null : String(row[name])))
}

/** Rows in memory, as the rows of a table. */
export async function* inOneChunk(rows: Cells[]): AsyncGenerator<Cells[]> {
  yield rows
}
