import type { Coverage } from '../domain/coverage.ts'
import type { Batch } from '../model/batch.ts'
import type { Row } from '../model/resource.ts'
import type { StoreVersion } from './changes.ts'
import type { BackupOptions, ClusterFaults, DatabaseCheck, StoreFacts } from './inspection.ts'
import type { Freshness, Lines, LinesQuery, Page, PageQuery, StoreHead } from './pages/page.ts'
import type { GainedRows, Mutation, Query, Statement } from './queries-protocol.ts'
import type { TableReader } from './table-reader.ts'

/**
 * Reads from a store. Every call sees one snapshot. Each method rejects with `StoreUnavailableError` (errors.ts) while the
 * store cannot be read.
 */
export type Reader = {
  page(query: PageQuery): Promise<Page>
  /** Runs a query. `query` is called anew for each attempt. */
  read<T>(query: () => Query<T>): Promise<T>
  /**
   * The store's state, and its changes since a version; these are null if anything may have changed. With several servers, the
   * state is that of the most advanced one. A page from another server may be of an earlier version, which the page names.
   */
  freshness(since: StoreVersion | null): Promise<Freshness>
  /**
   * The answer of {@link Reader.freshness}, if nothing has changed since a version, and that is known at once. It is right for
   * every request that has arrived. Null if it must be read.
   */
  unchangedFreshness?(since: StoreVersion): Freshness | null
  /** Opens one snapshot for any number of pages, on a separate connection. */
  openSnapshot(): Promise<Snapshot>
  /** Ends its connections. Whatever it is asked afterwards rejects. */
  close(): Promise<void>
  /** The WAL of a store in a file. */
  wal?: StoreWal
  /** Faults of the cluster; null if the store is not distributed over one. */
  clusterFaults?(): Promise<ClusterFaults | null>
  /** The first table that this user may not read; null if there is none. Absent for a store in a file. */
  deniedTable?(): Promise<string | null>
  /**
   * Rejects if the schema no longer has the program's version; the cause is then a `StoreNewerError` or a similar
   * error.
   */
  checkSchema(): Promise<void>
}

/**
 * The write-ahead log (WAL) of a store in a file: commits that are not yet copied to the file. It cannot be emptied while
 * an old snapshot is being read.
 */
export type StoreWal = {
  /** Current size in bytes; 0 if there is none. */
  bytes(): number
  /** Copies a long WAL to the file, and empties it unless an old snapshot is still being read. */
  shorten(): void
}

/**
 * The store at one moment, unaffected by later writes, until it is closed. Keep it short-lived: the database retains every
 * row that is replaced meanwhile.
 */
export type Snapshot = {
  /** The last block of the snapshot; null in an empty store. */
  storeHead: StoreHead | null
  page(query: PageQuery): Promise<Page>
  /** The rows of a page as lines of an export; absent if the database does not write them. */
  lines?(query: LinesQuery): Promise<Lines>
  /** Runs a query in this snapshot. */
  read<T>(query: Query<T>): Promise<T>
  close(): Promise<void>
}

/** Writes to a store. A store has one writer at a time. */
export type Writer = {
  /**
   * The store's coverage; null if it is empty.
   *
   * @throws {StoreError} if it contains a part of a copy that was interrupted.
   */
  coverage(): Promise<Coverage | null>
  /**
   * Commits blocks and the resulting coverage, in one transaction; on a cluster the rows first. Returns how many rows it has added.
   *
   * @throws {StoreError} if that is impossible: of a database only after it was tried again as long as that may help, so that the
   *   commit has not happened, or its answer was lost. A batch that is committed again changes nothing.
   */
  commit(batch: Batch, coverage: Coverage): Promise<GainedRows>
  /**
   * Builds series from committed points: those that are due, or all. Until then readers read the points. Call it after each
   * commit, and with `all` before reporting that the input has been read.
   *
   * @throws {StoreError} as {@link Writer.commit}; what is built already stays.
   */
  buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Changes stored rows while a writer and readers are active: for pruning and copying. */
export type Upkeep = {
  read(statement: Statement): Promise<Row[]>
  /**
   * Runs a mutation, which returns the number of rows that it has changed, in one short transaction. If there are any, the
   * transaction also records that anything may have changed. It starts anew if a writer was in the way.
   */
  write(mutation: () => Mutation<number>): Promise<number>
  close(): Promise<void>
}

/** The options of a writer. */
export type WriterOptions = {
  /** Ends the wait for another writer to end, or for a database to be reachable again. */
  signal?: AbortSignal
  /** Rejects with `StoreLockedError` instead of waiting for another writer to end. */
  isImpatient?: boolean
  /** Whether a commit, once it has returned, survives a power loss. */
  durable?: boolean
  /** Called with a line of text for every wait. */
  onNotice?: (message: string) => void
  /** Called when the wait for another writer begins, and when that writer has ended. */
  onStandby?: (isStandby: boolean) => void
}

/** The options of a reader. */
export type ReaderOptions = {
  /**
   * Whether the thread pauses now and then in a long page, so that other threads get a processor; for an embedded store.
   */
  pausesInLongPages?: boolean
  /** Whether nothing is opened for writing. A long WAL of an embedded store is then left to its writer. */
  isReadOnly?: boolean
  /** Called with a line of text if the server refuses a further connection. */
  onNotice?: (message: string) => void
}

/**
 * The database of one network, opened for reading and for writing by separate connections. If its server is unreachable,
 * every method that needs it rejects with `StoreAwayError`; if it rejects the user, with `StoreRefusedError`.
 */
export type Store = {
  /** The store's name for people, never with a password. */
  name: string
  /** The part of the name that anyone may see: without folder, host and user. */
  publicName: string
  /** Whether the database is a library within this program: reads block the calling thread. */
  isEmbedded: boolean
  /** Null if the store has no WAL. */
  wal: StoreWal | null
  /** Loads code in advance that the first connection would load; absent if there is none. */
  load?(): Promise<void>
  /**
   * Whether the store has a writer, in this process or another one. It takes no lock. False if there is no store, and if it
   * is unknown.
   *
   * @throws {StoreError} if the database does not answer.
   */
  hasWriter(): Promise<boolean>
  /**
   * Opens for writing, and creates the store or upgrades its schema if necessary. It waits while there is another writer,
   * and rejects if its signal ends the wait.
   *
   * @throws {StoreLockedError} if there is another writer, and `isImpatient`.
   * @throws {StoreNewerError} if the schema is from a newer program.
   * @throws {StoreError} if the store cannot be written to.
   */
  openWriter(options?: WriterOptions): Promise<Writer>
  /**
   * Opens an existing store for reading.
   *
   * @throws {StoreOutdatedError} if there is no store, or its schema is from an older program.
   * @throws {StoreNewerError} if the schema is from a newer program.
   * @throws {StoreError} if the store cannot be read.
   */
  openReader(options?: ReaderOptions): Promise<Reader>
  /**
   * Opens the tables as they are, in one snapshot.
   *
   * @throws as {@link Store.openReader}.
   */
  openTableReader(): Promise<TableReader>
}

/** A store with everything else that operators and upkeep do to it. */
export type StoreAdmin = Store & {
  /**
   * The version of the store's schema; 0 if there is no store yet.
   *
   * @throws {StoreNewerError} if it is from a newer program.
   * @throws {StoreError} if it is too old to be upgraded, or cannot be read.
   */
  schemaVersion(): Promise<number>
  /**
   * Creates the store, or upgrades its schema, in one step. `onNotice` is called with the progress. No effect if the store
   * is up to date.
   *
   * @throws {StoreNewerError} if the schema is from a newer program.
   * @throws {StoreError} if it is too old to be upgraded, or the store cannot be written to.
   */
  migrate(onNotice?: (message: string) => void): Promise<void>
  /**
   * Distributes the tables over the machines of a cluster; absent if the store cannot be on several. The store must exist.
   * Tables that are already distributed are left as they are.
   *
   * @throws {StoreError} if the database is not part of a cluster, or a writer is connected.
   */
  distribute?(onNotice?: (message: string) => void): Promise<void>
  /**
   * Opens for changing rows beside a writer.
   *
   * @throws {StoreError} if there is no store, its schema is not the program's, or its file cannot be written to.
   */
  openUpkeep(): Promise<Upkeep>
  /**
   * Reads facts about the store without changing it. Its schema may be older than the program's.
   *
   * @throws {StoreNewerError} if the schema is from a newer program.
   * @throws {StoreError} if there is no store, or it cannot be read.
   */
  inspect(): Promise<StoreFacts>
  /**
   * Lets the database check its files, tables and indexes, and changes nothing. Faults are returned, not thrown.
   *
   * @throws {StoreError} if the store cannot be opened.
   */
  checkDatabase(): Promise<DatabaseCheck>
  /**
   * Writes a copy of the store, as of one moment, to a file, while the store is in use. Absent if the database has tools of
   * its own for that.
   *
   * @throws {StoreError} if the file exists and must not be replaced, or cannot be written to, or if the store is
   *   damaged.
   */
  backup?(file: string, options?: BackupOptions): Promise<void>
  /**
   * How to copy the store to a file with its database's own tools; absent if `backup` does it. It also returns if the
   * server is unreachable.
   */
  backupAdvice?(file: string): Promise<string>
}
