import type { KeyValue } from '../../resources/resource.ts'
import { EVERY_CHANGE, noteChanges } from '../changes.ts'
import {
  type NamedColumn,
  rangeClauses,
  type Table,
  type TableReader,
  type TableWriter,
  type TextCell,
} from '../tables.ts'
import { Connection, explained } from './connection.ts'
import { heldDigits } from './run-steps.ts'
import { shortenLog } from './shorten-log.ts'

/** Reads the tables of a store in one snapshot, which lasts until it is closed. */
export function openSqliteTableReader(path: string): TableReader {
  const connection = Connection.openForReading(path)
  connection.begin('deferred')
  return {
    read: async (table, range, limit) => explained(path, () => readRange(connection, table, range, limit)),
    close: async () => {
      connection.close()
      shortenLog(path)
    },
  }
}

/** Reads and writes the tables of a store. */
export function openSqliteTableWriter(path: string): TableWriter {
  const connection = Connection.openForWriting(path)
  return {
    read: async (table, range, limit) => explained(path, () => readRange(connection, table, range, limit)),
    replace: async (table, range, rows) => {
      const { where, values } = rangeClauses(table, range)
      const names = table.columns.map(({ name }) => name).join(', ')
      const places = table.columns.map((_, index) => `$${index + 1}`).join(', ')
      explained(path, () =>
        connection.transaction('immediate', () => {
          connection.run(`delete from ${table.name} ${where}`, bind(table, values))
          for (const row of rows) {
            connection.run(
              `insert into ${table.name} (${names}) values (${places})`,
              row.map((cell, index) => heldValue(table.columns[index]!, cell)),
            )
          }
          connection.runAll(noteChanges(EVERY_CHANGE))
        }),
      )
    },
    close: async () => connection.closeWritten(),
  }
}

function readRange(
  connection: Connection,
  table: Table,
  range: Parameters<TableReader['read']>[1],
  limit: number,
): TextCell[][] {
  const { where, order, values, next } = rangeClauses(table, range)
  const columns = table.columns.map(({ name, type }) => (type === 'text' ? name : `cast(${name} as text)`))
  return connection.rows(`select ${columns.join(', ')} from ${table.name} ${where} ${order} limit ${next}`, [
    ...bind(table, values),
    BigInt(limit),
  ]) as TextCell[][]
}

/** Values of keys, the table's key columns again and again. */
function bind({ columns, keyLength }: Table, values: readonly TextCell[]): KeyValue[] {
  return values.map((value, index) => heldValue(columns[index % keyLength]!, value)!)
}

function heldValue({ type }: NamedColumn, cell: TextCell): KeyValue | null {
  if (cell === null || type === 'text') return cell
  return type === 'digits' ? heldDigits(cell) : BigInt(cell)
}
