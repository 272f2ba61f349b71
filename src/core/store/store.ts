import type { Coverage } from '../domain/coverage.ts'
import type { Batch } from '../model/batch.ts'
import type { Row } from '../model/resource.ts'
import type { StoreVersion } from './changes.ts'
import type { BackupOptions, ClusterFaults, DatabaseCheck, StoreFacts } from './inspection.ts'
import type { Freshness, Lines, LinesQuery, Page, PageQuery, Query, StoreHead } from './pages/page.ts'
import type { Statement } from './pages/statement.ts'
import type { GainedRows, Mutation } from './queries-protocol.ts'
import type { TableReader } from './table-reader.ts'

/**
 * Reads from a store. Every call is one snapshot.
 *
 * Each method rejects with {@link StoreUnavailableError} while the store cannot be read.
 */
export type Reader = {
  page(query: PageQuery): Promise<Page>
  /** Runs the statements of a query, which is created anew for each store that is tried. */
  read<T>(query: () => Query<T>): Promise<T>
  /**
   * The store's state, and its changes since a version; null: anything may have changed. With several servers, that of
   * the most advanced one: a page from another may be of an earlier version, which the page names.
   */
  freshness(since: StoreVersion | null): Promise<Freshness>
  /**
   * As {@link Reader.freshness}, if it was read in this round of the event loop and the store was then at that version:
   * no message received before can know of a newer one. Null if it must be read.
   */
  recentFreshness?(since: StoreVersion): Freshness | null
  /** Opens one snapshot for any number of pages, on a separate connection. */
  openSnapshot(): Promise<Snapshot>
  close(): Promise<void>
  /** The log of a store in a file. */
  log?: StoreLog
  /** Faults of the cluster; null if the store is not distributed. */
  clusterFaults?(): Promise<ClusterFaults | null>
  /** Of a database, the first table that its user may not read; null if there is none. */
  deniedTable?(): Promise<string | null>
  /** Rejects if the schema is no longer the program's; the cause is then a {@link StoreNewerError} or the like. */
  checkSchema(): Promise<void>
}

/**
 * Of a store in a file, the write-ahead log (WAL): commits not yet copied to the file. A reader of an old snapshot
 * prevents it from being emptied.
 */
export type StoreLog = {
  /** Current size in bytes; 0 if there is none. */
  bytes(): number
  /** Copies a WAL that has grown long, and empties it unless an old snapshot is still being read. */
  shorten(): void
}

/**
 * The store at one moment, unaffected by later writes, until closed. Keep it short-lived: the database retains every
 * row replaced since.
 */
export type Snapshot = {
  /** The last block of the snapshot; null in an empty store. */
  storeHead: StoreHead | null
  page(query: PageQuery): Promise<Page>
  /** The rows of a page as lines of an export, if the database writes them. */
  lines?(query: LinesQuery): Promise<Lines>
  /** Runs the statements of a query, one after another: each is yielded and wants its rows. */
  read<T>(query: Query<T>): Promise<T>
  close(): Promise<void>
}

/** Writes to a store; there is one writer at a time. */
export type Writer = {
  /** The store's coverage; null if it is empty. */
  coverage(): Promise<Coverage | null>
  /** Commits a run of blocks and the resulting coverage atomically; returns how many rows it has added. */
  commit(batch: Batch, coverage: Coverage): Promise<GainedRows>
  /**
   * Makes series of committed points, which readers read as points until then: those that are due, or all.
   * Call it after each commit, and for all before saying that the input is read.
   */
  buildSeries(which: 'due' | 'all', signal?: AbortSignal): Promise<void>
  close(): Promise<void>
}

/** Changes rows that are there while a writer and readers are active: pruning, copying. */
export type Upkeep = {
  read(statement: Statement): Promise<Row[]>
  /**
   * Runs a mutation that returns how many rows it has changed in one short transaction, which also notes that anything
   * may have changed if they have changed any. They are begun again if a writer was in the way.
   */
  write(mutation: () => Mutation<number>): Promise<number>
  close(): Promise<void>
}

/** How a writer is opened. */
export type WriterOptions = {
  /** Ends waiting: for another writer to go, for a database to come back. */
  signal?: AbortSignal
  /** Rejects with {@link StoreLockedError} instead of waiting for another writer to go. */
  isImpatient?: boolean
  /** Whether a commit is to be safe from a loss of power when it returns. */
  durable?: boolean
  /** Called with a line for every wait. */
  onNotice?: (message: string) => void
  /** Called when it begins to wait for another writer to go, and when that is gone. */
  onStandby?: (isStandby: boolean) => void
}

/** How a reader is opened. */
export type ReaderOptions = {
  /** Whether the thread pauses now and then in a long page, so that others get the processor; for an embedded store. */
  pausesInLongPages?: boolean
  /** Whether nothing is opened for writing: a long WAL of an embedded store is left to its writer. */
  isReadOnly?: boolean
  /** Called with a line if the server gives no further connection. */
  onNotice?: (message: string) => void
}

/**
 * A place that holds a network's data, opened for reading and for writing by separate connections. For a server that
 * cannot be reached at the moment every method that asks it rejects with {@link StoreAwayError}; for one that rejects the
 * user with {@link StoreRefusedError}.
 */
export type Store = {
  /** How the store is named to people: never with a password in it. */
  name: string
  /** As much of the name as anyone may be shown: no folder, host or user. */
  publicName: string
  /** Whether the database is a library within this program: who reads occupies the thread that asks. */
  isEmbedded: boolean
  /** Null if the store has none. */
  log: StoreLog | null
  /** Loads code that is otherwise loaded with the first connection; absent if there is none. */
  load?(): Promise<void>
  /**
   * Whether the store has a writer, in this process or another one, without becoming it. False if there is no store, and if
   * that is not known.
   *
   * @throws {StoreError} if the database does not answer.
   */
  hasWriter(): Promise<boolean>
  /**
   * Opens for writing; makes the store, or brings its schema up to date, where needed. While there is another writer, it
   * waits, and rejects once its signal ends that.
   *
   * @throws {StoreLockedError} if there is another writer, and it is not to wait.
   * @throws {StoreNewerError} if the schema is of a newer program.
   * @throws {StoreError} if the store cannot be written to.
   */
  openWriter(options?: WriterOptions): Promise<Writer>
  /**
   * Opens an existing store for reading.
   *
   * @throws {StoreOutdatedError} if there is no store, or its schema is of an older program.
   * @throws {StoreNewerError} if the schema is of a newer program.
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

/** A store with all that is done to it besides reading and writing blocks: for operators, and for upkeep. */
export type StoreAdmin = Store & {
  /**
   * The version of the store's schema; 0 if there is no store yet.
   *
   * @throws {StoreNewerError} if it is of a newer program.
   * @throws {StoreError} if it is too old to be upgraded, or cannot be read.
   */
  schemaVersion(): Promise<number>
  /**
   * Makes the store, or brings its schema up to date, all at once; `onNotice` is called with the progress. Without effect
   * on a store that is up to date.
   *
   * @throws {StoreNewerError} if the schema is of a newer program.
   * @throws {StoreError} if it is too old to be upgraded, or the store cannot be written to.
   */
  migrate(onNotice?: (message: string) => void): Promise<void>
  /**
   * Spreads the tables over the machines of a cluster; absent if the store cannot be on several. Call it once the store is
   * there; tables that are spread already stay as they are.
   *
   * @throws {StoreError} if the database is of no cluster, or a writer is connected.
   */
  distribute?(onNotice?: (message: string) => void): Promise<void>
  /**
   * Opens for changing rows beside a writer.
   *
   * @throws {StoreError} if there is no store, its schema is not the program's, or its file cannot be written to.
   */
  openUpkeep(): Promise<Upkeep>
  /**
   * Reads facts about the store without changing it, whether its schema is the program's or older.
   *
   * @throws {StoreNewerError} if the schema is of a newer program.
   * @throws {StoreError} if there is no store, or it cannot be read.
   */
  inspect(): Promise<StoreFacts>
  /**
   * Has the database check its files, tables and indexes; changes nothing. What it finds is returned, not thrown.
   *
   * @throws {StoreError} if the store cannot be opened.
   */
  checkDatabase(): Promise<DatabaseCheck>
  /**
   * Writes a copy of the store, as of one moment, to a file, while the store is in use; absent if its database has tools of
   * its own for that.
   *
   * @throws {StoreError} if the file exists already and is not to be replaced, or cannot be written, or the store is damaged.
   */
  backup?(file: string, options?: BackupOptions): Promise<void>
  /**
   * How to copy the store to a file with the tools of its database; absent if the store does it. It answers for a server
   * that cannot be reached, too.
   */
  backupAdvice?(file: string): Promise<string>
}

/** A store that cannot be used until an operator intervenes; the message says how. */
export class StoreError extends Error {
  override name = 'StoreError'
}

/** The store's server cannot be reached at the moment: it is down, starts, or has too many connections. */
export class StoreAwayError extends StoreError {
  override name = 'StoreAwayError'
}

/** The store is missing, empty or of an older schema; `lyra migrate` makes it readable. */
export class StoreOutdatedError extends StoreError {
  override name = 'StoreOutdatedError'
  /** The fault without the store's name, for anyone to see. */
  readonly fault: string

  constructor(store: string, fault: string) {
    super(`${store}: ${fault}`)
    this.fault = fault
  }
}

/** A newer program has upgraded the store's schema. */
export class StoreNewerError extends StoreError {
  override name = 'StoreNewerError'
}

/** The store rejects this user, is missing, or is of another chain: retrying does not help. */
export class StoreRefusedError extends StoreError {
  override name = 'StoreRefusedError'
}

/** Another process is the store's writer. */
export class StoreLockedError extends StoreError {
  override name = 'StoreLockedError'
}

/** A row that cannot be read, since no event could bring a text as long as one of its own. */
export class RowTooLongError extends Error {
  override name = 'RowTooLongError'

  constructor(store: string, options: ErrorOptions) {
    super(
      `${store}: a text of a row is longer than any that an event can bring; lyra check names it`,
      options,
    )
  }
}

/** A store of another chain than `--chain` names. */
export function otherChain(name: string, chain: string, held: string): StoreRefusedError {
  return new StoreRefusedError(
    `--chain is ${JSON.stringify(chain)}, but ${name} is of chain ${JSON.stringify(held)}: give that chain, or another --store`,
  )
}

/** The database says that its own files are damaged: retrying does not help. */
export class StoreDamagedError extends StoreError {
  override name = 'StoreDamagedError'
}

/** A store that cannot be read: temporarily, unless it is damaged. */
export class StoreUnavailableError extends Error {
  override name = 'StoreUnavailableError'
  readonly isDamaged: boolean

  constructor(message: string, options: ErrorOptions & { isDamaged?: boolean } = {}) {
    super(message, options)
    this.isDamaged = options.isDamaged ?? options.cause instanceof StoreDamagedError
  }
}

/** Converts a reader's error: an unusable store counts as unavailable. */
export function asUnavailable(error: unknown): unknown {
  return error instanceof StoreError ? new StoreUnavailableError(error.message, { cause: error }) : error
}
