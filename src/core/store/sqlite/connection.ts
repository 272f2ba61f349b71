import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BackupOptions, backup, DatabaseSync, type StatementSync } from 'node:sqlite'
import type { KeyValue } from '../../model/resource.ts'
import {
  completeUpgrade,
  computesSeries,
  newestVersion,
  refuseOlderVersion,
  refuseUnknownVersion,
  stepsFrom,
} from '../schema-version.ts'
import {
  RowTooLongError,
  StoreDamagedError,
  StoreError,
  StoreOutdatedError,
  StoreRefusedError,
} from '../store.ts'
import { runSqliteMutation } from './run-sql.ts'
import { APPLICATION_ID, SQLITE_SCHEMA } from './schema.ts'
import { checkWal, flushWal, HAS_JOURNAL } from './wal-check.ts'

/** How long a writer waits for another one's lock, in milliseconds. */
const WRITER_WAIT_MS = 5_000

/** Readers wait only for a process that opens or closes the file, and the event loop waits with them. */
const READER_WAIT_MS = 250

/** How long a checkpoint of the WAL waits for readers of older snapshots. The rest is copied next time. */
const TRUNCATE_WAIT_MS = 100

/** Memory for pages of the file. Mapping the file is not faster, and would kill the process if the file became shorter. */
const READER_CACHE_KIB = 4 * 1024

/** The space that a change of the schema needs in any case: for new tables, and the pages of the schema. */
const LEAST_MIGRATION_BYTES = 1024 * 1024

/**
 * An upper estimate of the half-minute buckets of all series: not more than there are points, nor than there is time for.
 */
const COUNT_BUCKETS = `
  select coalesce(sum(min(points, 3 * (last_timestamp / 30000000000 - first_timestamp / 30000000000 + 1))), 0)
  from funding_period_spans`

/** Bytes of series for each of them. This includes the longer buckets, which are as many again if points are rare. */
const SERIES_BYTES = 320

/** The fault of a missing file that is opened for reading. */
const NO_FILE = 'no such file; lyra migrate, lyra ingest and lyra serve --listen create it'

const SQLITE_BUSY = 5
const SQLITE_READONLY = 8
const SQLITE_CORRUPT = 11
const SQLITE_READONLY_DIRECTORY = 1544

type SqliteError = NodeJS.ErrnoException & { errcode?: number }

/** SQLite's result codes whose cause an operator can remove. Most are primary codes. */
const SQLITE_CAUSES: Record<number, string> = {
  5: 'another program has locked it',
  8: 'it cannot be written to (read-only file or folder), which is also required for reading',
  10: 'it cannot be read or written to; check for a full or failing disk, or a file size limit',
  11: 'the file is damaged; restore a backup, or ingest the event files again',
  13: 'the disk is full',
  14: 'the file cannot be opened; check its path and permissions',
  26: 'the file is not a SQLite database',
  1544: "this user may not write the file that ends in -shm, which SQLite requires for reading too; run as the store's user",
  776: 'a program was killed while it changed the file; run lyra migrate to undo that change',
}

/**
 * Opens a store for reading.
 *
 * @param cacheKib memory for pages of the file
 * @param isOldAllowed whether a store with an older schema is opened too
 * @param maxTextBytes maximum bytes of a text; {@link isTooLong} recognises the error for a longer one
 *
 * @throws {StoreError} for a file that is missing, is not Lyra's, or has another schema version.
 */
export function openForReading(
  path: string,
  cacheKib = READER_CACHE_KIB,
  isOldAllowed = false,
  maxTextBytes?: number,
): Connection {
  if (!existsSync(path)) throw new StoreOutdatedError(path, NO_FILE)
  return prepared(path, { readOnly: true, maxTextBytes }, (connection) => {
    connection.exec(`pragma cache_size = -${cacheKib}; pragma query_only = on`)
    if (!isOldAllowed || connection.schemaVersion() === 0) connection.refuseOutdated()
  })
}

/**
 * Opens an existing store for writing.
 *
 * @throws {StoreError} for a file that is missing, is not Lyra's, has another schema version, or cannot be written to.
 */
export function openForWriting(path: string): Connection {
  if (!existsSync(path)) throw new StoreError(`${path}: no such file`)
  return prepared(path, {}, (connection) => connection.refuseOutdated())
}

/**
 * Opens a store for writing, and creates it or upgrades its schema if necessary.
 *
 * @throws {StoreError} as {@link openForWriting}, and if the disk has too little free space.
 */
export function openMigrated(path: string, onNotice: (message: string) => void = () => {}): Connection {
  return prepared(path, {}, (connection) => migrate(connection, onNotice))
}

/**
 * Creates a store in a new file, for this connection alone. The file may then lose its name. It need not survive a crash,
 * so there is no journal.
 */
export function openAlone(path: string): Connection {
  return prepared(path, { isAlone: true }, (connection) => {
    migrate(connection, () => {})
    connection.exec('pragma journal_mode = memory; pragma synchronous = off')
  })
}

/** The schema version of a file; 0 for an empty one. */
export function schemaVersionIn(path: string, readOnly = true): number {
  using connection = new Connection(path, { readOnly })
  return connection.schemaVersion()
}

/**
 * As {@link schemaVersionIn}, for a file that is going to be written to: an interrupted change is undone first, as by every
 * writer.
 */
export function schemaVersionToWrite(path: string): number {
  try {
    return schemaVersionIn(path)
  } catch (error) {
    if ((error as SqliteError).errcode !== HAS_JOURNAL) throw error
    return schemaVersionIn(path, false)
  }
}

/** `isAlone`: no other connection can open the file. */
type ConnectionMode = {
  readOnly?: boolean
  isAlone?: boolean
  /** Maximum bytes of a text, in the file or as a result. SQLite refuses a statement with a longer one. */
  maxTextBytes?: number | undefined
}

function prepared(path: string, mode: ConnectionMode, prepare: (connection: Connection) => void): Connection {
  return withSqliteErrors(path, () => {
    const connection = new Connection(path, mode)
    try {
      if (!mode.readOnly) connection.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0')
      prepare(connection)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  })
}

/**
 * An open database file and its prepared statements. Placeholders are `$1`, `$2`, ... Once it is closed, every method that
 * needs the database throws. Errors of SQLite are thrown unchanged, except by {@link closeWritten}; {@link
 * withSqliteErrors} explains them.
 */
export class Connection {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #isAlone: boolean
  /** The file that was opened. */
  readonly #file: FileVersion | null
  readonly #statements = new Map<string, StatementSync>()

  /** @throws {StoreError} for a folder, and for a WAL that belongs to another file; otherwise SQLite's errors. */
  constructor(path: string, { readOnly = false, isAlone = false, maxTextBytes }: ConnectionMode) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new StoreError(`${path}: is a folder; name a file in it with --store`)
    }
    checkWal(path)
    if (!readOnly) createPrivately(path)
    this.path = path
    this.#isAlone = isAlone
    this.#database = new DatabaseSync(path, {
      readOnly,
      timeout: readOnly ? READER_WAIT_MS : WRITER_WAIT_MS,
      ...(maxTextBytes !== undefined && { limits: { length: maxTextBytes } }),
    })
    this.#file = fileAt(path)
  }

  /** A number that changes when another connection commits. */
  get dataVersion(): number {
    return this.row('pragma data_version')![0] as number
  }

  /** Whether the path still names the file that was opened, which may have been removed or replaced. */
  get isInPlace(): boolean {
    return this.#isAlone || (this.#file !== null && fileAt(this.path)?.id === this.#file.id)
  }

  /**
   * Whether the file, without its WAL, has not changed since it was opened. It changes at a checkpoint, and if another file
   * is copied over it: cached pages then belong to the old file.
   */
  get isUnchanged(): boolean {
    const now = fileAt(this.path)
    return now !== null && now.id === this.#file?.id && now.version === this.#file.version
  }

  /** The rows of a statement, each as an array of its columns. Integers must be safe integers of JavaScript. */
  rows(text: string, values: readonly (KeyValue | null)[] = []): (string | number | null)[][] {
    return this.#statementOf(text).all(...values) as unknown as (string | number | null)[][]
  }

  /** The first row of a statement, or null. */
  row(text: string, values: readonly KeyValue[] = []): (string | number | null)[] | null {
    return (
      (this.#statementOf(text).get(...values) as unknown as (string | number | null)[] | undefined) ?? null
    )
  }

  /** Runs a statement that changes something; returns the number of changed rows. */
  run(text: string, values: readonly (KeyValue | null)[] = []): number {
    return Number(this.#statementOf(text).run(...values).changes)
  }

  /** Runs several statements. */
  runAll(all: readonly { text: string; values: readonly (KeyValue | null)[] }[]): void {
    for (const { text, values } of all) this.run(text, values)
  }

  /** Runs statements without placeholders that return no rows. */
  exec(text: string): void {
    this.#database.exec(text)
  }

  /**
   * Begins a transaction; `deferred` for reading one snapshot. It lasts until the connection is closed. Must not be called
   * within another one.
   */
  begin(kind: 'deferred' | 'immediate' = 'deferred'): void {
    this.exec(`begin ${kind}`)
  }

  /**
   * Runs `work` in one transaction: `deferred` to read one snapshot, `immediate` to write. Must not be called within
   * another one. If `work` throws, nothing is changed, and its error is thrown again.
   */
  transaction<T>(kind: 'deferred' | 'immediate', work: () => T): T {
    this.begin(kind)
    try {
      const result = work()
      this.exec('commit')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.exec('rollback')
      throw error
    }
  }

  /**
   * Copies as much of the WAL to the file as is possible without waiting for others or blocking them. Not within a
   * transaction.
   */
  copyWal(): void {
    this.#pragma('wal_checkpoint(passive)')
  }

  /**
   * Copies the WAL to the file and empties it. Returns whether this was possible, in spite of readers of older snapshots.
   * Not within a transaction.
   */
  truncateWal(): boolean {
    this.exec(`pragma busy_timeout = ${TRUNCATE_WAIT_MS}`)
    try {
      return this.#pragma('wal_checkpoint(truncate)') === 0
    } finally {
      this.exec(`pragma busy_timeout = ${WRITER_WAIT_MS}`)
    }
  }

  /** Copies all pages to another file, as of the transaction in progress. */
  async copyTo(to: string, options: BackupOptions): Promise<void> {
    await backup(this.#database, to, options)
  }

  /**
   * The version of the file's schema; 0 if the file is empty.
   *
   * @throws {StoreError} for another program's file, and for a version that this program does not know.
   */
  schemaVersion(): number {
    const version = this.#pragma('user_version')
    const tables = this.#database.prepare('select count(*) as count from sqlite_schema').get()!.count
    if (this.#pragma('application_id') !== APPLICATION_ID && tables !== 0) {
      throw new StoreError(`${this.path}: a database of another program; name another file with --store`)
    }
    refuseUnknownVersion(SQLITE_SCHEMA, version, this.path)
    return version
  }

  /**
   * Checks that the file contains a store of this program's schema.
   *
   * @throws {StoreError} if it does not.
   */
  refuseOutdated(): void {
    refuseOlderVersion(SQLITE_SCHEMA, this.schemaVersion(), this.path)
  }

  /** Closes the connection and undoes a transaction in progress. No effect if it is closed. */
  close(): void {
    if (this.#database.isOpen) this.#database.close()
  }

  /**
   * Copies the WAL to the file, empties it, and closes the connection. If others use the store, the WAL stays and is copied
   * later; everything committed is on disk in any case.
   *
   * @throws {StoreError} if committed data cannot be written to disk.
   */
  closeWritten(): void {
    withSqliteErrors(this.path, () => {
      try {
        // While readers have the file open, SQLite would leave the WAL as it is. A copy that they prevent flushes nothing.
        if (this.isInPlace && !this.#mayTruncateWal()) flushWal(this.path)
      } finally {
        this.close()
      }
    })
  }

  /** As {@link close}. */
  [Symbol.dispose](): void {
    this.close()
  }

  #statementOf(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      // SQLite takes `$1` for a name, but `?1` for a position.
      statement = this.#database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
      statement.setReturnArrays(true)
      this.#statements.set(text, statement)
    }
    return statement
  }

  /** As {@link truncateWal}; also returns false if another connection prevents it. */
  #mayTruncateWal(): boolean {
    try {
      return this.truncateWal()
    } catch (error) {
      if (((error as SqliteError).errcode ?? 0) % 256 !== SQLITE_BUSY) throw error
      return false
    }
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`pragma ${name}`).get()!)[0])
  }
}

function migrate(connection: Connection, onNotice: (message: string) => void): void {
  const version = connection.schemaVersion()
  if (version === newestVersion(SQLITE_SCHEMA)) return
  if (version === 0) connection.exec('pragma journal_mode = wal')
  else refuseFullDisk(connection, version)
  connection.transaction('immediate', () => {
    // Another process may have done it while this one waited for the lock.
    const from = connection.schemaVersion()
    for (const step of stepsFrom(SQLITE_SCHEMA, from)) connection.exec(step)
    runSqliteMutation(connection, completeUpgrade(SQLITE_SCHEMA, from, onNotice))
    connection.exec(
      `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${newestVersion(SQLITE_SCHEMA)}`,
    )
  })
  connection.truncateWal()
}

/**
 * Refuses an upgrade without enough free space. Its steps run in one transaction, until whose end the WAL gets a copy of
 * every changed page.
 */
function refuseFullDisk(connection: Connection, version: number): void {
  const { path } = connection
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  // An upper estimate of how much the WAL may grow, mostly because of series.
  const [buckets] = computesSeries(SQLITE_SCHEMA, version) ? connection.row(COUNT_BUCKETS)! : [0]
  const needed = LEAST_MIGRATION_BYTES + Number(buckets) * SERIES_BYTES
  if (free >= needed) return
  throw new StoreError(
    `${path}: upgrading its schema from version ${version} to ${newestVersion(SQLITE_SCHEMA)} may need ${needed} bytes of disk ` +
      `for its write-ahead log, but ${folder} has ${free} free; nothing was changed. Free disk space there and run lyra migrate again`,
  )
}

/**
 * Refuses an existing file that is read-only; SQLite itself would report this only with the first commit.
 *
 * @throws {StoreRefusedError}
 */
export function refuseReadOnly(path: string): void {
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new StoreRefusedError(`${path}: ${SQLITE_CAUSES[SQLITE_READONLY]}`, { cause: error })
  }
}

/** Creates a file that only its owner may read, unless it exists. SQLite gives the WAL the same mode. */
export function createPrivately(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite meets the same fault, and reports it.
  }
}

/** The identity of a file, and the version of its content. */
type FileVersion = { id: string; version: string }

/** The file with a path; null if there is none. */
function fileAt(path: string): FileVersion | null {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path)
    return { id: `${dev}:${ino}`, version: `${size}:${mtimeMs}` }
  } catch {
    return null
  }
}

const SQLITE_TOOBIG = 18

/** Whether a statement was refused because a text is longer than its connection allows. */
export function isTooLong(error: unknown): boolean {
  return (error as SqliteError).errcode === SQLITE_TOOBIG
}

/** Runs `work`, and turns its errors into those of {@link explainSqliteError}. */
export function withSqliteErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw explainSqliteError(path, error)
  }
}

/** An error of SQLite or the file system as a {@link StoreError} that says what to do; other errors unchanged. */
export function explainSqliteError(path: string, error: unknown): unknown {
  const { errcode, syscall, message } = error as SqliteError
  if (errcode === undefined && syscall === undefined) return error
  if (isTooLong(error)) return new RowTooLongError(path, { cause: error })
  const cause =
    (errcode === undefined ? undefined : (SQLITE_CAUSES[errcode] ?? SQLITE_CAUSES[errcode & 0xff])) ?? message
  const isReadOnly = errcode === SQLITE_READONLY || errcode === SQLITE_READONLY_DIRECTORY
  const isDamaged = errcode !== undefined && (errcode & 0xff) === SQLITE_CORRUPT
  const Kind = isReadOnly ? StoreRefusedError : isDamaged ? StoreDamagedError : StoreError
  return new Kind(`${path}: ${cause}`, { cause: error })
}
