import { statSync } from 'node:fs'
import { type BackupOptions, backup, DatabaseSync, type StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import type { KeyValue } from '../../model/resource.ts'
import { StoreError } from '../errors.ts'
import { refuseOlderVersion, refuseUnknownVersion } from '../schema-version.ts'
import { isBusy, withSqliteErrors } from './errors.ts'
import { APPLICATION_ID, SQLITE_SCHEMA } from './schema.ts'
import { createPrivately, type FileVersion, fileAt } from './store-file.ts'
import { checkWal, flushWal } from './wal-check.ts'

/** How long a writer waits for another one's lock, in milliseconds. */
const WRITER_WAIT_MS = 5_000

/** Readers wait only for a process that opens or closes the file, and the event loop waits with them. */
const READER_WAIT_MS = 250

/** How long a checkpoint of the WAL waits for readers of older snapshots. The rest is copied next time. */
const TRUNCATE_WAIT_MS = 100

/** How a file is opened. */
export type ConnectionMode = {
  readOnly?: boolean
  /** Whether a missing file is created. */
  mayCreate?: boolean
  /** Whether no other connection can open the file. */
  isAlone?: boolean
  /** Maximum bytes of a text, in the file or as a result. SQLite refuses a statement with a longer one. */
  maxTextBytes?: number | undefined
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
  readonly #changing = new Map<string, StatementSync>()

  /** @throws {StoreError} for a folder, and for a WAL that belongs to another file; otherwise SQLite's errors. */
  constructor(
    path: string,
    { readOnly = false, mayCreate = false, isAlone = false, maxTextBytes }: ConnectionMode,
  ) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new StoreError(`${path}: is a folder; name a file in it with --store`)
    }
    checkWal(path)
    if (mayCreate) createPrivately(path)
    this.path = path
    this.#isAlone = isAlone
    this.#database = new DatabaseSync(readOnly || mayCreate ? path : existing(path), {
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
    let statement = this.#changing.get(text)
    if (statement === undefined) {
      statement = this.#prepare(text)
      // Else this fails once a row's id is no safe integer: a height may be the id.
      statement.setReadBigInts(true)
      this.#changing.set(text, statement)
    }
    return Number(statement.run(...values).changes)
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

  /**
   * Checks that the path still names the file that was opened.
   *
   * @throws {StoreError} if it does not.
   */
  refuseOtherFile(): void {
    if (this.isInPlace) return
    throw new StoreError(
      `${this.path}: the store was deleted or replaced while in use; nothing more is written. Restart`,
    )
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
      statement = this.#prepare(text)
      statement.setReturnArrays(true)
      this.#statements.set(text, statement)
    }
    return statement
  }

  #prepare(text: string): StatementSync {
    // SQLite takes `$1` for a name, but `?1` for a position.
    return this.#database.prepare(text.replaceAll(/\$(\d+)/g, '?$1'))
  }

  /** As {@link truncateWal}; also returns false if another connection prevents it. */
  #mayTruncateWal(): boolean {
    try {
      return this.truncateWal()
    } catch (error) {
      if (!isBusy(error)) throw error
      return false
    }
  }

  #pragma(name: string): number {
    return Number(Object.values(this.#database.prepare(`pragma ${name}`).get()!)[0])
  }
}

/** The location of a file that SQLite opens for writing but does not create. */
function existing(path: string): URL {
  const location = pathToFileURL(path)
  location.searchParams.set('mode', 'rw')
  return location
}
