import { accessSync, closeSync, constants, existsSync, openSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { type BackupOptions, backup, DatabaseSync, type StatementSync } from 'node:sqlite'
import type { KeyValue } from '../../resources/resource.ts'
import {
  completeUpgrade,
  emptiesSeries,
  newestVersion,
  refuseOlderVersion,
  refuseUnknownVersion,
  stepsFrom,
} from '../schema-version.ts'
import { StoreError, StoreOutdatedError, StoreRefusedError } from '../store.ts'
import { checkLog } from './log-check.ts'
import { runSqliteSteps } from './run-steps.ts'
import { APPLICATION_ID, SQLITE_SCHEMA } from './schema.ts'

/** How long a writer waits for another one's lock, in milliseconds. */
const WRITER_WAIT_MS = 5_000

/** Readers wait only for a process that opens or closes the file; the event loop waits with them. */
const READER_WAIT_MS = 250

/** How long a checkpoint of the WAL waits for readers of older snapshots; the rest is copied next time. */
const TRUNCATE_WAIT_MS = 100

/**
 * Memory for pages of the file. Mapping the file instead is not faster, and a file that gets shorter meanwhile
 * then kills the process.
 */
const READER_CACHE_KIB = 4 * 1024

/** Room that a change of the schema needs in any case: new tables, the pages of the schema. */
const LEAST_MIGRATION_BYTES = 1024 * 1024

/** Buckets of half a minute that series are made of, rather too many: no more than points, nor than there is time for. */
const COUNT_BUCKETS = `
  select coalesce(sum(min(points, 3 * (last_timestamp / 30000000000 - first_timestamp / 30000000000 + 1))), 0)
  from funding_period_spans`

/** Bytes of series for each of them: of the longer ones, too, which are as many again if points are rare. */
const SERIES_BYTES = 320

/** A file that is missing, to whom wants to read it. */
const NO_FILE = 'no such file; lyra migrate, lyra ingest and lyra serve --listen create it'

const SQLITE_BUSY = 5
const SQLITE_READONLY = 8
const SQLITE_READONLY_DIRECTORY = 1544

type SqliteError = NodeJS.ErrnoException & { errcode?: number }

/** SQLite's result codes whose cause an operator can fix; most are primary ones. */
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

/** An open database file and its prepared statements. Statements are written with `$1`, `$2`, ... */
export class Connection {
  readonly path: string
  readonly #database: DatabaseSync
  readonly #file: FileVersion | null
  readonly #statements = new Map<string, StatementSync>()
  /** Whether nothing else can open the file. */
  #isAlone = false

  private constructor(path: string, readOnly: boolean) {
    this.path = path
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new StoreError(`${path}: is a folder; name a file in it with --store`)
    }
    checkLog(path)
    if (!readOnly) createPrivately(path)
    this.#database = new DatabaseSync(path, { readOnly, timeout: readOnly ? READER_WAIT_MS : WRITER_WAIT_MS })
    this.#file = fileAt(path)
  }

  /**
   * Opens for reading.
   *
   * @param cacheKib memory for pages of the file
   * @param isOldAllowed whether a store of an older schema is opened, too
   * @throws {StoreError} for a file that is missing, not Lyra's, or of another schema version.
   */
  static openForReading(path: string, cacheKib = READER_CACHE_KIB, isOldAllowed = false): Connection {
    return Connection.#open(path, true, (connection) => {
      connection.#database.exec(`pragma cache_size = -${cacheKib}; pragma query_only = on`)
      if (!isOldAllowed || connection.#schemaVersion() === 0) connection.refuseOutdated()
    })
  }

  /**
   * Opens an existing store for writing.
   *
   * @throws {StoreError} for a file that is missing, not Lyra's, of another schema version, or cannot be written to.
   */
  static openForWriting(path: string): Connection {
    if (!existsSync(path)) throw new StoreError(`${path}: no such file`)
    return Connection.#openToWrite(path, (connection) => connection.refuseOutdated())
  }

  /**
   * Opens for writing; creates the file or upgrades its schema if needed.
   *
   * @throws {StoreError} as {@link openForWriting}, and if the disk has too little free space.
   */
  static openMigrated(path: string, onNotice: (message: string) => void = () => {}): Connection {
    return Connection.#openToWrite(path, (connection) => connection.#migrate(onNotice))
  }

  /**
   * Makes a store in a new file for this connection alone. The file may lose its name then: no journal is written, and
   * nothing has to last.
   */
  static openAlone(path: string): Connection {
    return Connection.#openToWrite(path, (connection) => {
      connection.#migrate(() => {})
      connection.#database.exec('pragma journal_mode = memory; pragma synchronous = off')
      connection.#isAlone = true
    })
  }

  static #openToWrite(path: string, prepare: (connection: Connection) => void): Connection {
    return Connection.#open(path, false, (connection) => {
      connection.#database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0')
      prepare(connection)
    })
  }

  static #open(path: string, readOnly: boolean, prepare: (connection: Connection) => void): Connection {
    return withSqliteErrors(path, () => {
      if (readOnly && !existsSync(path)) throw new StoreOutdatedError(path, NO_FILE)
      const connection = new Connection(path, readOnly)
      try {
        prepare(connection)
        return connection
      } catch (error) {
        connection.close()
        throw error
      }
    })
  }

  /** The schema version of a file; 0 for an empty one. */
  static schemaVersionOf(path: string): number {
    using connection = new Connection(path, true)
    return connection.#schemaVersion()
  }

  /** The rows of a statement, each an array of its columns. Integers must be within JavaScript's numbers. */
  rows(text: string, values: readonly (KeyValue | null)[] = []): (string | number | null)[][] {
    return this.#prepare(text).all(...values) as unknown as (string | number | null)[][]
  }

  /** The first row of a statement, or null. */
  row(text: string, values: readonly KeyValue[] = []): (string | number | null)[] | null {
    return (this.#prepare(text).get(...values) as unknown as (string | number | null)[] | undefined) ?? null
  }

  /** The one row of a statement that always gives one, with bytes if a column holds such. */
  values(text: string, values: readonly KeyValue[]): (string | number | null | Uint8Array)[] {
    return this.#prepare(text).get(...values) as unknown as (string | number | null | Uint8Array)[]
  }

  /** Runs a statement that changes something; returns the number of rows changed. */
  run(text: string, values: readonly (KeyValue | null)[] = []): number {
    return Number(this.#prepare(text).run(...values).changes)
  }

  /** Runs several statements. */
  runAll(statements: readonly { text: string; values: readonly KeyValue[] }[]): void {
    for (const { text, values } of statements) this.run(text, values)
  }

  /** A number that changes when another connection commits. */
  get dataVersion(): number {
    return this.row('pragma data_version')![0] as number
  }

  /** Runs `work` in one transaction: `deferred` for a snapshot to read, `immediate` to write. */
  transaction<T>(kind: 'deferred' | 'immediate', work: () => T): T {
    this.#database.exec(`begin ${kind}`)
    try {
      const result = work()
      this.#database.exec('commit')
      return result
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback')
      throw error
    }
  }

  /** Lets a commit return only once it is safe from a loss of power. */
  flushEveryCommit(): void {
    this.#database.exec('pragma synchronous = full')
  }

  /** Begins a transaction that lasts until the connection is closed. */
  begin(kind: 'deferred'): void {
    this.#database.exec(`begin ${kind}`)
  }

  /** Whether the path still names the file that was opened: it may have been removed or replaced since. */
  get isInPlace(): boolean {
    return this.#isAlone || (this.#file !== null && fileAt(this.path)?.id === this.#file.id)
  }

  /**
   * Whether the file, without its WAL, is unchanged since it was opened. It changes at a checkpoint, and when another
   * file is copied over it: cached pages then belong to the old one.
   */
  get isUnchanged(): boolean {
    const file = fileAt(this.path)
    return file !== null && file.id === this.#file?.id && file.version === this.#file.version
  }

  /** Copies as much of the WAL to the file as possible without waiting for or blocking others. */
  copyLog(): void {
    this.#pragma('wal_checkpoint(passive)')
  }

  /** Copies the WAL to the file and empties it; returns whether readers of older snapshots allowed it. */
  truncateLog(): boolean {
    this.#database.exec(`pragma busy_timeout = ${TRUNCATE_WAIT_MS}`)
    try {
      return this.#pragma('wal_checkpoint(truncate)') === 0
    } finally {
      this.#database.exec(`pragma busy_timeout = ${WRITER_WAIT_MS}`)
    }
  }

  /** Copies all pages to another file, as of the transaction that is open. */
  async copyTo(file: string, options: BackupOptions): Promise<void> {
    await backup(this.#database, file, options)
  }

  close(): void {
    if (this.#database.isOpen) this.#database.close()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * Copies the WAL to the file, empties it and closes. If others use the store, the WAL stays and is copied later.
   *
   * @throws {StoreError} if committed data cannot be written to the file.
   */
  closeWritten(): void {
    withSqliteErrors(this.path, () => {
      try {
        // Readers keep the file open: SQLite would leave the WAL as it is.
        if (this.isInPlace) this.truncateLog()
      } catch (error) {
        if (((error as SqliteError).errcode ?? 0) % 256 !== SQLITE_BUSY) throw error
      } finally {
        this.close()
      }
    })
  }

  #prepare(text: string): StatementSync {
    let statement = this.#statements.get(text)
    if (statement === undefined) {
      // To SQLite `$1` is a name; `?1` is a position.
      statement = this.#database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
      statement.setReturnArrays(true)
      this.#statements.set(text, statement)
    }
    return statement
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`pragma ${name}`).get()!)[0])
  }

  #schemaVersion(): number {
    const version = this.#pragma('user_version')
    const tables = this.#database.prepare('select count(*) as count from sqlite_schema').get()!.count
    if (this.#pragma('application_id') !== APPLICATION_ID && tables !== 0) {
      throw new StoreError(`${this.path}: a database of another program; name another file with --store`)
    }
    refuseUnknownVersion(SQLITE_SCHEMA, version, this.path)
    return version
  }

  #migrate(onNotice: (message: string) => void): void {
    const version = this.#schemaVersion()
    if (version === newestVersion(SQLITE_SCHEMA)) return
    if (version === 0) this.#database.exec('pragma journal_mode = wal')
    else this.#refuseFullDisk(version)
    this.transaction('immediate', () => {
      // Another process may have done it while this one waited for the lock.
      const from = this.#schemaVersion()
      for (const step of stepsFrom(SQLITE_SCHEMA, from)) this.#database.exec(step)
      runSqliteSteps(this, completeUpgrade(SQLITE_SCHEMA, from, onNotice))
      this.#database.exec(
        `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${newestVersion(SQLITE_SCHEMA)}`,
      )
    })
    this.truncateLog()
  }

  /** @throws {StoreError} for a file without a store, or with one of another schema. */
  refuseOutdated(): void {
    refuseOlderVersion(SQLITE_SCHEMA, this.#schemaVersion(), this.path)
  }

  /** The steps run in one transaction: until its end, the WAL gets a copy of every changed page. */
  #refuseFullDisk(version: number): void {
    const folder = dirname(this.path)
    const { bavail, bsize } = statfsSync(folder)
    const free = bavail * bsize
    const needed = this.#migrationBytes(version)
    if (free >= needed) return
    throw new StoreError(
      `${this.path}: upgrading its schema from version ${version} to ${newestVersion(SQLITE_SCHEMA)} may need ${needed} bytes of disk ` +
        `for its write-ahead log, but ${folder} has ${free} free; nothing was changed. Free disk space there and run lyra migrate again`,
    )
  }

  /** Upper estimate of the bytes that the WAL may grow by, mostly for series. */
  #migrationBytes(version: number): number {
    const [buckets] = emptiesSeries(SQLITE_SCHEMA, version) ? this.row(COUNT_BUCKETS)! : [0]
    return LEAST_MIGRATION_BYTES + Number(buckets) * SERIES_BYTES
  }
}

/** @throws {StoreRefusedError} for a file that is there and may only be read, which SQLite says with the first commit. */
export function refuseReadOnly(path: string): void {
  try {
    accessSync(path, constants.W_OK)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new StoreRefusedError(`${path}: ${SQLITE_CAUSES[SQLITE_READONLY]}`, { cause: error })
  }
}

/** Creates a file that only its owner may read, if there is none; SQLite gives the WAL the same mode. */
export function createPrivately(path: string): void {
  if (existsSync(path)) return
  try {
    closeSync(openSync(path, 'a', 0o600))
  } catch {
    // SQLite finds the same fault, and reports it.
  }
}

/** Which file it is, and which version of its content. */
type FileVersion = { id: string; version: string }

/** The file that a path names; null if there is none. */
function fileAt(path: string): FileVersion | null {
  try {
    const { dev, ino, size, mtimeMs } = statSync(path)
    return { id: `${dev}:${ino}`, version: `${size}:${mtimeMs}` }
  } catch {
    return null
  }
}

/** Runs `work`; {@link explainSqliteError} explains its faults. */
export function withSqliteErrors<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw explainSqliteError(path, error)
  }
}

/** An error of SQLite or the file system as a {@link StoreError} that says what to do; others as they are. */
export function explainSqliteError(path: string, error: unknown): unknown {
  const { errcode, syscall, message } = error as SqliteError
  if (errcode === undefined && syscall === undefined) return error
  const cause =
    (errcode === undefined ? undefined : (SQLITE_CAUSES[errcode] ?? SQLITE_CAUSES[errcode & 0xff])) ?? message
  const isReadOnly = errcode === SQLITE_READONLY || errcode === SQLITE_READONLY_DIRECTORY
  const Kind = isReadOnly ? StoreRefusedError : StoreError
  return new Kind(`${path}: ${cause}`, { cause: error })
}
