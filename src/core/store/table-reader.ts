import type { Row } from '../model/resource.ts'
import type { Query } from './queries-protocol.ts'
import { type Statement, valueLists } from './queries-protocol.ts'
import { type RowRange, rangeClauses } from './schema/ranges.ts'
import type { NamedColumn, Table, TextCell } from './schema/tables.ts'
import { textOf } from './statements.ts'

/** The tables of a store as they are, for copying and comparing stores, in one snapshot. */
export type TableReader = {
  /** Up to `limit` rows of a range, in the order of the key. */
  read(table: Table, range: RowRange, limit: number): Promise<TextCell[][]>
  /** Runs the statements of a query. */
  run<T>(query: Query<T>): Promise<T>
  close(): Promise<void>
}

/** A reader of tables over anything that runs a statement. */
export function tableReader(
  ask: (statement: Statement) => Promise<Row[]>,
  close: () => Promise<void>,
): TableReader {
  return {
    read: async (table, range, limit) => {
      const { where, order, values, next } = rangeClauses(table, range)
      const text = `select ${table.columns.map(asText).join(', ')} from ${table.name} ${where} ${order} limit ${next}`
      return (await ask({ text, values: [...values, BigInt(limit)] })) as TextCell[][]
    },
    run: async (query) => {
      let step = query.next()
      while (!step.done) {
        const { text } = step.value
        const rows: Row[] = []
        for (const values of valueLists(step.value))
          for (const row of await ask({ text, values })) rows.push(row)
        step = query.next(rows)
      }
      return step.value
    },
    close,
  }
}

function asText({ name, type }: NamedColumn): string {
  if (type === 'text') return name
  return type === 'boolean' ? `cast(cast(${name} as integer) as text)` : textOf(name)
}
