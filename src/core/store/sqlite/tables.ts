import { type TextCell, tableOf } from '../schema/tables.ts'
import { insertText } from '../schema/upsert.ts'
import type { Writer } from '../store.ts'
import { type TableReader, tableReader } from '../table-reader.ts'
import type { Connection } from './connection.ts'
import { withSqliteErrors } from './errors.ts'
import { openAlone } from './migrate.ts'
import { openForReading } from './open-connection.ts'
import { shortenWal } from './shorten-wal.ts'
import { SqliteWriter } from './writer.ts'

/** Reads the tables of a store in one snapshot, until the reader is closed. */
export function openSqliteTableReader(path: string): TableReader {
  const connection = openForReading(path)
  connection.begin()
  return tablesOf(connection, () => shortenWal(path))
}

function tablesOf(connection: Connection, onClosed = () => {}): TableReader {
  return tableReader(
    async ({ text, values }) => withSqliteErrors(connection.path, () => connection.rows(text, values)),
    async () => {
      connection.close()
      onClosed()
    },
  )
}

/**
 * Creates a store in a new file, which is written once and then read over the same connection. The connection is closed
 * with the tables. The file may lose its name at once. No series are built.
 *
 * @param markets rows of the table of markets, whose numbers stay the same
 *
 * @throws {StoreError} for a file that cannot be created.
 */
export function openTemporaryStore(
  path: string,
  markets: readonly TextCell[][],
): { writer: Writer; tables: TableReader } {
  const connection = openAlone(path)
  for (const market of markets) connection.run(insertText(tableOf('markets')), market)
  const writer = new SqliteWriter(path, connection, { hasNoSeries: true })
  return { writer, tables: tablesOf(connection) }
}
