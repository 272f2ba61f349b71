import { asUnavailable } from '../errors.ts'
import { readStoreHead } from '../queries/coverage.ts'
import type { Snapshot } from '../store.ts'
import { withSqliteErrors } from './errors.ts'
import { openForReading } from './open-connection.ts'
import { readLines, readPage } from './read-page.ts'
import { runSqliteQuery } from './run-sql.ts'
import { shortenWal } from './shorten-wal.ts'

/** Page cache: a reader that reads to the end rarely returns to a page. */
const CACHE_KIB = 1024

/**
 * Opens a read transaction on a separate connection, until the snapshot is closed.
 *
 * @param isReadOnly whether a WAL that has grown meanwhile is left to the writer
 */
export function openSqliteSnapshot(path: string, isReadOnly: boolean): Snapshot {
  const connection = reading(() => openForReading(path, { cacheKib: CACHE_KIB }))

  function reading<T>(work: () => T): T {
    try {
      return withSqliteErrors(path, work)
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  try {
    // The first read determines which moment the snapshot shows.
    const storeHead = reading(() => {
      connection.begin()
      return runSqliteQuery(connection, readStoreHead())
    })
    return {
      storeHead,
      page: async (query) => reading(() => readPage(connection, query)),
      lines: async (query) => reading(() => readLines(connection, query)),
      read: async (several) => reading(() => runSqliteQuery(connection, several)),
      close: async () => {
        connection.close()
        if (!isReadOnly) shortenWal(path)
      },
    }
  } catch (error) {
    connection.close()
    throw error
  }
}
