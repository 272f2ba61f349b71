import { type TableReader, tableReader } from '../table-reader.ts'
import { Connection, withSqliteErrors } from './connection.ts'
import { shortenLog } from './shorten-log.ts'

/** Reads the tables of a store in one snapshot, which lasts until it is closed. */
export function openSqliteTableReader(path: string): TableReader {
  const connection = Connection.openForReading(path)
  connection.begin('deferred')
  return tableReader(
    async ({ text, values }) => withSqliteErrors(path, () => connection.rows(text, values)),
    async () => {
      connection.close()
      shortenLog(path)
    },
  )
}
