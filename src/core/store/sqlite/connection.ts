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
import { checkLog, flushLog, HAS_JOURNAL } from './log-check.ts'
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
const SQLITE_CORRUPT = 11
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
export type Connection = ReturnType<typeof connect>

/**
 * Opens for reading.
 *
 * @param cacheKib memory for pages of the file
 * @param isOldAllowed whether a store of an older schema is opened, too
 * @param maxTextBytes the most bytes of a text; {@link isTooLong} tells the error of a longer one
 * @throws {StoreError} for a file that is missing, not Lyra's, or of another schema version.
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
 * @throws {StoreError} for a file that is missing, not Lyra's, of another schema version, or cannot be written to.
 */
export function openForWriting(path: string): Connection {
  if (!existsSync(path)) throw new StoreError(`${path}: no such file`)
  return prepared(path, {}, (connection) => connection.refuseOutdated())
}

/**
 * Opens for writing; creates the file or upgrades its schema if needed.
 *
 * @throws {StoreError} as {@link openForWriting}, and if the disk has too little free space.
 */
export function openMigrated(path: string, onNotice: (message: string) => void = () => {}): Connection {
  return prepared(path, {}, (connection) => migrate(connection, onNotice))
}

/**
 * Makes a store in a new file for this connection alone. The file may lose its name then: no journal is written, and
 * nothing has to last.
 */
export function openAlone(path: string): Connection {
  return prepared(path, { isAlone: true }, (connection) => {
    migrate(connection, () => {})
    connection.exec('pragma journal_mode = memory; pragma synchronous = off')
  })
}

/** The schema version of a file; 0 for an empty one. */
export function schemaVersionIn(path: string, readOnly = true): number {
  using connection = connect(path, { readOnly })
  return connection.schemaVersion()
}

/** As {@link schemaVersionIn}, of a file to be written to: a change that was cut off is undone first, as by every writer. */
export function schemaVersionToWrite(path: string): number {
  try {
    return schemaVersionIn(path)
  } catch (error) {
    if ((error as SqliteError).errcode !== HAS_JOURNAL) throw error
    return schemaVersionIn(path, false)
  }
}

/** `isAlone`: nothing else can open the file. */
type ConnectionMode = {
  readOnly?: boolean
  isAlone?: boolean
  /** Bytes that a text may have, in the file or as a result; beyond them SQLite refuses the statement. */
  maxTextBytes?: number | undefined
}

function prepared(path: string, mode: ConnectionMode, prepare: (connection: Connection) => void): Connection {
  return withSqliteErrors(path, () => {
    const connection = connect(path, mode)
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

function connect(path: string, { readOnly = false, isAlone = false, maxTextBytes }: ConnectionMode) {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
    throw new StoreError(`${path}: is a folder; name a file in it with --store`)
  }
  checkLog(path)
  if (!readOnly) createPrivately(path)
  const database = new DatabaseSync(path, {
    readOnly,
    timeout: readOnly ? READER_WAIT_MS : WRITER_WAIT_MS,
    ...(maxTextBytes !== undefined && { limits: { length: maxTextBytes } }),
  })
  const file = fileAt(path)
  const statements = new Map<string, StatementSync>()

  /** The rows of a statement, each an array of its columns. Integers must be within JavaScript's numbers. */
  function rows(text: string, values: readonly (KeyValue | null)[] = []): (string | number | null)[][] {
    return statementOf(text).all(...values) as unknown as (string | number | null)[][]
  }

  /** The first row of a statement, or null. */
  function row(text: string, values: readonly KeyValue[] = []): (string | number | null)[] | null {
    return (statementOf(text).get(...values) as unknown as (string | number | null)[] | undefined) ?? null
  }

  /** Runs a statement that changes something; returns the number of rows changed. */
  function run(text: string, values: readonly (KeyValue | null)[] = []): number {
    return Number(statementOf(text).run(...values).changes)
  }

  /** Runs several statements. */
  function runAll(all: readonly { text: string; values: readonly (KeyValue | null)[] }[]): void {
    for (const { text, values } of all) run(text, values)
  }

  function statementOf(text: string): StatementSync {
    let statement = statements.get(text)
    if (statement === undefined) {
      // To SQLite `$1` is a name; `?1` is a position.
      statement = database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
      statement.setReturnArrays(true)
      statements.set(text, statement)
    }
    return statement
  }

  /** Runs statements that take no values, and give no rows. */
  function exec(text: string): void {
    database.exec(text)
  }

  /** Begins a transaction: `deferred` for a snapshot to read, which lasts until the connection is closed. */
  function begin(kind: 'deferred' | 'immediate' = 'deferred'): void {
    exec(`begin ${kind}`)
  }

  /** Runs `work` in one transaction: `deferred` for a snapshot to read, `immediate` to write. */
  function transaction<T>(kind: 'deferred' | 'immediate', work: () => T): T {
    begin(kind)
    try {
      const result = work()
      exec('commit')
      return result
    } catch (error) {
      if (database.isTransaction) exec('rollback')
      throw error
    }
  }

  function isInPlace(): boolean {
    return isAlone || (file !== null && fileAt(path)?.id === file.id)
  }

  /** Copies the WAL to the file and empties it; returns whether readers of older snapshots allowed it. */
  function truncateLog(): boolean {
    exec(`pragma busy_timeout = ${TRUNCATE_WAIT_MS}`)
    try {
      return pragma('wal_checkpoint(truncate)') === 0
    } finally {
      exec(`pragma busy_timeout = ${WRITER_WAIT_MS}`)
    }
  }

  function close(): void {
    if (database.isOpen) database.close()
  }

  /**
   * Copies the WAL to the file, empties it and closes. If others use the store, the WAL stays and is copied later; all
   * that is committed is on disk in any case.
   *
   * @throws {StoreError} if committed data cannot be written to disk.
   */
  function closeWritten(): void {
    withSqliteErrors(path, () => {
      try {
        // Readers keep the file open: SQLite would leave the WAL as it is. A copy that they prevent flushes nothing.
        if (isInPlace() && !mayTruncateLog()) flushLog(path)
      } finally {
        close()
      }
    })
  }

  /** As {@link truncateLog}; false also if another connection is in the way. */
  function mayTruncateLog(): boolean {
    try {
      return truncateLog()
    } catch (error) {
      if (((error as SqliteError).errcode ?? 0) % 256 !== SQLITE_BUSY) throw error
      return false
    }
  }

  function pragma(name: string): number {
    return Number(Object.values(database.prepare(`pragma ${name}`).get()!)[0])
  }

  function schemaVersion(): number {
    const version = pragma('user_version')
    const tables = database.prepare('select count(*) as count from sqlite_schema').get()!.count
    if (pragma('application_id') !== APPLICATION_ID && tables !== 0) {
      throw new StoreError(`${path}: a database of another program; name another file with --store`)
    }
    refuseUnknownVersion(SQLITE_SCHEMA, version, path)
    return version
  }

  /** @throws {StoreError} for a file without a store, or with one of another schema. */
  function refuseOutdated(): void {
    refuseOlderVersion(SQLITE_SCHEMA, schemaVersion(), path)
  }

  return {
    /** A number that changes when another connection commits. */
    get dataVersion(): number {
      return row('pragma data_version')![0] as number
    },
    /** Whether the path still names the file that was opened: it may have been removed or replaced since. */
    get isInPlace(): boolean {
      return isInPlace()
    },
    /**
     * Whether the file, without its WAL, is unchanged since it was opened. It changes at a checkpoint, and when another
     * file is copied over it: cached pages then belong to the old one.
     */
    get isUnchanged(): boolean {
      const now = fileAt(path)
      return now !== null && now.id === file?.id && now.version === file.version
    },
    /** Copies as much of the WAL to the file as possible without waiting for or blocking others. */
    copyLog: () => void pragma('wal_checkpoint(passive)'),
    /** Copies all pages to another file, as of the transaction that is open. */
    copyTo: async (to: string, options: BackupOptions) => void (await backup(database, to, options)),
    path,
    rows,
    row,
    run,
    runAll,
    exec,
    begin,
    transaction,
    truncateLog,
    close,
    closeWritten,
    schemaVersion,
    refuseOutdated,
    [Symbol.dispose]: close,
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
    runSqliteSteps(connection, completeUpgrade(SQLITE_SCHEMA, from, onNotice))
    connection.exec(
      `pragma application_id = ${APPLICATION_ID}; pragma user_version = ${newestVersion(SQLITE_SCHEMA)}`,
    )
  })
  connection.truncateLog()
}

/** The steps run in one transaction: until its end, the WAL gets a copy of every changed page. */
function refuseFullDisk({ path, row }: Connection, version: number): void {
  const folder = dirname(path)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  // An upper estimate of the bytes that the WAL may grow by, mostly for series.
  const [buckets] = computesSeries(SQLITE_SCHEMA, version) ? row(COUNT_BUCKETS)! : [0]
  const needed = LEAST_MIGRATION_BYTES + Number(buckets) * SERIES_BYTES
  if (free >= needed) return
  throw new StoreError(
    `${path}: upgrading its schema from version ${version} to ${newestVersion(SQLITE_SCHEMA)} may need ${needed} bytes of disk ` +
      `for its write-ahead log, but ${folder} has ${free} free; nothing was changed. Free disk space there and run lyra migrate again`,
  )
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

const SQLITE_TOOBIG = 18

/** Whether a statement was refused because a text is longer than its connection allows. */
export function isTooLong(error: unknown): boolean {
  return (error as SqliteError).errcode === SQLITE_TOOBIG
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
  if (isTooLong(error)) return new RowTooLongError(path, { cause: error })
  const cause =
    (errcode === undefined ? undefined : (SQLITE_CAUSES[errcode] ?? SQLITE_CAUSES[errcode & 0xff])) ?? message
  const isReadOnly = errcode === SQLITE_READONLY || errcode === SQLITE_READONLY_DIRECTORY
  const isDamaged = errcode !== undefined && (errcode & 0xff) === SQLITE_CORRUPT
  const Kind = isReadOnly ? StoreRefusedError : isDamaged ? StoreDamagedError : StoreError
  return new Kind(`${path}: ${cause}`, { cause: error })
}
