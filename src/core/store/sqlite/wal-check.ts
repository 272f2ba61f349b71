import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { flushFile, flushFolder } from '../../concurrency/flush.ts'
import { realPathOf } from '../../concurrency/real-path.ts'
import { StoreError } from '../errors.ts'
import { SQLITE_READONLY_ROLLBACK } from './errors.ts'

/*
 * Committed data are in the WAL beside the file (`lyra.db-wal`) until a checkpoint copies them. SQLite uses any WAL that it
 * finds there. If a killed process has left one, and the store was replaced or restored since, that WAL would overwrite
 * parts of the new store with the old one. Therefore each commit increments a counter, and stores the counter's value at
 * the beginning of the present WAL (`log_from`). A file belongs to its WAL if both are of the same store and the file has
 * at least `log_from` commits, and no more than the WAL.
 */

/** The row of `store_file`, with numbers of commits. */
type FileState = { storeId: string; commits: bigint; walFrom: bigint }

/** The writer copies the WAL to the file from this size on, in bytes. */
export const MAX_WAL_BYTES = 16 * 1024 * 1024

/** A WAL that is being copied during the comparison looks wrong, but not a moment later. */
const CHECK_ATTEMPTS = 3

/** How long the check waits for another connection's lock, in milliseconds. */
const LOCK_WAIT_MS = 1_000

/** `lower(hex(randomblob(16)))` (schema.ts). */
const STORE_ID = /^[0-9a-f]{32}$/

/** SQLite's result code for a statement that names a missing table. */
const NO_SUCH_TABLE = 1

/** The path of the WAL, which SQLite puts beside the file itself, not beside a link to it. */
function walPath(path: string): string {
  return `${realPathOf(path)}-wal`
}

/** Whether there may be commits that are only in the WAL. */
export function hasWal(path: string): boolean {
  return walBytes(path) > 0
}

/** Size of the WAL in bytes; 0 if there is none. */
export function walBytes(path: string): number {
  if (!existsSync(path)) return 0
  return statSync(walPath(path), { throwIfNoEntry: false })?.size ?? 0
}

/**
 * Waits until all commits in the WAL are on disk. SQLite flushes it with each commit only on request, and otherwise before
 * it copies it.
 */
export function flushWal(path: string): void {
  if (!hasWal(path)) return
  const wal = walPath(path)
  try {
    flushFile(wal)
  } catch (error) {
    // It has been removed since, with the store.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  flushFolder(dirname(wal))
}

/**
 * Rejects a file whose WAL belongs to another file. Changes neither.
 *
 * A file into which the WAL is being copied, or was when the process was killed or the power failed, is not a database by
 * itself: some of its pages are new, others old. SQLite reads it together with its WAL, which still has all the new pages.
 * A file that was replaced or restored is whole. A journal beside the file is left to whoever opens it next: a writer
 * undoes the change with it, a reader is refused.
 *
 * @throws {StoreError} if the file and its WAL do not belong together.
 */
export function checkWal(path: string): void {
  if (!hasWal(path)) return
  try {
    if (isOwnWal(path)) return
  } catch (error) {
    // If it has been removed since, whoever opens it next finds that out.
    if (!existsSync(path)) return
    throw error
  }
  throw new StoreError(
    `${walPath(path)} belongs to a different database: ${path} was replaced or restored while its -wal and -shm files ` +
      'were left behind. Stop every program that uses it, and make a copy of all three files. Then restore the original ' +
      `${path}, or delete its -wal and -shm files, with which the commits in them are lost`,
  )
}

/** Whether a file and the WAL beside it belong together. */
function isOwnWal(path: string): boolean {
  for (let attempt = 0; attempt < CHECK_ATTEMPTS; attempt++) {
    const own = readFileState(path, 'without WAL')
    const withWal = readFileState(path, 'with WAL')
    if (withWal === null || belongs(own, withWal)) return true
    // If the row can be read, it tells at once whether it is another store, however large the file is.
    if (own === null && !isComplete(path)) return true
  }
  return false
}

/** Whether a file belongs to its WAL. A new file is empty: all data are in its first WAL. */
function belongs(own: FileState | null, withWal: FileState): boolean {
  if (own === null) return withWal.walFrom === 0n
  return own.storeId === withWal.storeId && withWal.walFrom <= own.commits && own.commits <= withWal.commits
}

/** The state of the file alone, or together with its WAL; null if none can be read. */
function readFileState(path: string, how: 'with WAL' | 'without WAL'): FileState | null {
  using database = openUnchanged(path, how)
  try {
    // If a process was killed while it copied to the file, the file is shorter than its first page says.
    database.exec('pragma writable_schema = on')
    const statement = database.prepare('select store_id, commits, log_from from store_file')
    statement.setReadBigInts(true)
    return fileStateOf(statement.get())
  } catch (error) {
    const code = (error as { errcode?: number }).errcode
    if (code === NO_SUCH_TABLE || code === SQLITE_READONLY_ROLLBACK || how === 'without WAL') return null
    throw error
  }
}

/** The stored row; null if there is none, or it consists of pages of two moments. */
function fileStateOf(row: Record<string, unknown> | undefined): FileState | null {
  const { store_id: storeId, commits, log_from: walFrom } = row ?? {}
  if (typeof storeId !== 'string' || !STORE_ID.test(storeId)) return null
  if (typeof commits !== 'bigint' || typeof walFrom !== 'bigint') return null
  return { storeId, commits, walFrom }
}

/**
 * Whether the file alone is a database without faults. If it is being copied to, SQLite mostly finds a fault in the first
 * pages.
 */
function isComplete(path: string): boolean {
  try {
    using database = openUnchanged(path, 'without WAL')
    return database.prepare('pragma quick_check(1)').get()!.quick_check === 'ok'
  } catch {
    return false
  }
}

function openUnchanged(path: string, how: 'with WAL' | 'without WAL'): DatabaseSync {
  const location = pathToFileURL(realPathOf(path))
  if (how === 'without WAL') location.searchParams.set('immutable', '1')
  return new DatabaseSync(location, { readOnly: true, timeout: LOCK_WAIT_MS, defensive: false })
}
