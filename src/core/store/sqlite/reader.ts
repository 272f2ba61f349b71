import { asUnavailable, StoreError } from '../errors.ts'
import { MAX_PAGE_BYTES } from '../pages/edges.ts'
import type { Reader, ReaderOptions } from '../store.ts'
import type { Connection } from './connection.ts'
import { withSqliteErrors } from './errors.ts'
import { LatestFreshness } from './latest-freshness.ts'
import { openForReading } from './open-connection.ts'
import { readPage } from './read-page.ts'
import { runSqliteQuery } from './run-sql.ts'
import { sqliteWal } from './shorten-wal.ts'
import { openSqliteSnapshot } from './snapshot.ts'

/** Opens a reader on a separate connection. */
export function openSqliteReader(
  path: string,
  { pausesInLongPages = false, isReadOnly = false }: ReaderOptions = {},
): Reader {
  const connection = new ReadConnection(path)
  const freshness = new LatestFreshness()
  return {
    page: (query) =>
      connection.snapshot((from) => readPage(from, query, pausesInLongPages), query.requestedAt),
    read: (query) => connection.snapshot((from) => runSqliteQuery(from, query())),
    freshness: (since) => connection.run((from) => freshness.read(from, since)),
    unchangedFreshness: (since) =>
      freshness.recent(since) ?? connection.tryRun((from) => freshness.unchanged(from, since)),
    openSnapshot: async () => openSqliteSnapshot(path, isReadOnly),
    wal: isReadOnly ? { ...sqliteWal(path), shorten: () => {} } : sqliteWal(path),
    checkSchema: () => connection.run((from) => from.refuseOutdated()),
    close: async () => connection.close(),
  }
}

/**
 * The connection of a reader. It is opened anew once the file has changed, because a writer or somebody else has replaced it,
 * and after every error: a removed store that returns is read again.
 */
class ReadConnection {
  readonly #path: string
  /** Null after an error, and once closed. */
  #connection: Connection | null
  #isClosed = false
  /** When the file was last examined, by `process.hrtime`. */
  #examinedAt = 0n

  constructor(path: string) {
    this.#path = path
    this.#connection = openForPages(path)
  }

  /**
   * Reads from the store.
   *
   * @param requestedAt time of the request that needs the connection; undefined for now
   * @throws `StoreUnavailableError` (../errors.ts) if the store cannot be read.
   */
  async run<T>(read: (connection: Connection) => T, requestedAt?: bigint): Promise<T> {
    try {
      return this.#run(read, requestedAt)
    } catch (error) {
      throw asUnavailable(error)
    }
  }

  /** As {@link ReadConnection.run}, but at once; null if the store cannot be read. */
  tryRun<T>(read: (connection: Connection) => T): T | null {
    try {
      return this.#run(read)
    } catch {
      return null
    }
  }

  /** As {@link ReadConnection.run}, in a transaction that sees one snapshot. */
  snapshot<T>(read: (connection: Connection) => T, requestedAt?: bigint): Promise<T> {
    return this.run((from) => from.transaction('deferred', () => read(from)), requestedAt)
  }

  close(): void {
    this.#isClosed = true
    this.#disconnect()
  }

  #disconnect(): void {
    this.#connection?.close()
    this.#connection = null
  }

  #run<T>(read: (connection: Connection) => T, requestedAt?: bigint): T {
    try {
      const connection = this.#current(requestedAt)
      return withSqliteErrors(this.#path, () => read(connection))
    } catch (error) {
      if (error instanceof StoreError) this.#disconnect()
      throw error
    }
  }

  #current(requestedAt: bigint | undefined): Connection {
    if (this.#isClosed) throw new Error('the reader is closed')
    // If many pages are waiting, examining the file takes a twentieth of the time of one.
    if (requestedAt === undefined || this.#examinedAt <= requestedAt) {
      this.#examinedAt = process.hrtime.bigint()
      if (this.#connection?.isUnchanged === false) this.#disconnect()
    }
    this.#connection ??= openForPages(this.#path)
    return this.#connection
  }
}

function openForPages(path: string): Connection {
  return openForReading(path, { maxTextBytes: MAX_PAGE_BYTES })
}
