import { asUnavailable, StoreError } from '../errors.ts'
import { MAX_PAGE_BYTES } from '../pages/edges.ts'
import type { Reader, ReaderOptions } from '../store.ts'
import { type Connection, openForReading } from './connection.ts'
import { withSqliteErrors } from './errors.ts'
import { LatestFreshness } from './latest-freshness.ts'
import { readPage } from './read-page.ts'
import { runSqliteQuery } from './run-sql.ts'
import { sqliteWal } from './shorten-wal.ts'
import { openSqliteSnapshot } from './snapshot.ts'

/**
 * Opens a reader on a separate connection. The connection is opened anew once the file has changed, because a writer or
 * somebody else has replaced it, and after every error: a removed store that returns is read again.
 */
export function openSqliteReader(
  path: string,
  { pausesInLongPages = false, isReadOnly = false }: ReaderOptions = {},
): Reader {
  let connection: Connection | null = open()

  function open(): Connection {
    return openForReading(path, undefined, false, MAX_PAGE_BYTES)
  }

  function close(): void {
    connection?.close()
    connection = null
  }

  /** When the file was last examined, by `process.hrtime`. */
  let lookedAt = 0n

  /** @param requestedAt time of the request that needs the connection; undefined for now */
  function current(requestedAt?: bigint): Connection {
    // If many pages are waiting, examining the file takes a twentieth of the time of one.
    if (requestedAt === undefined || lookedAt <= requestedAt) {
      lookedAt = process.hrtime.bigint()
      if (connection?.isUnchanged === false) close()
    }
    connection ??= open()
    return connection
  }

  async function attempt<T>(work: (connection: Connection) => T, requestedAt?: bigint): Promise<T> {
    try {
      const from = current(requestedAt)
      return withSqliteErrors(path, () => work(from))
    } catch (error) {
      if (error instanceof StoreError) close()
      throw asUnavailable(error)
    }
  }

  function snapshot<T>(read: (connection: Connection) => T, requestedAt?: bigint): Promise<T> {
    return attempt((from) => from.transaction('deferred', () => read(from)), requestedAt)
  }

  const freshness = new LatestFreshness()

  return {
    page: (query) => snapshot((from) => readPage(from, query, pausesInLongPages), query.requestedAt),
    read: (query) => snapshot((from) => runSqliteQuery(from, query())),
    freshness: (since) => attempt((from) => freshness.read(from, since)),
    recentFreshness: (since) => freshness.recent(since),
    openSnapshot: async () => openSqliteSnapshot(path, isReadOnly),
    wal: isReadOnly ? { ...sqliteWal(path), shorten: () => {} } : sqliteWal(path),
    checkSchema: () => attempt((from) => from.refuseOutdated()),
    close: async () => close(),
  }
}
