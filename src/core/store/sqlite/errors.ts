import { accessSync, constants } from 'node:fs'
import { RowTooLongError, StoreDamagedError, StoreError, StoreRefusedError } from '../errors.ts'

/* SQLite's result codes. */
const SQLITE_BUSY = 5
const SQLITE_READONLY = 8
const SQLITE_IOERR = 10
const SQLITE_CORRUPT = 11
const SQLITE_FULL = 13
const SQLITE_CANTOPEN = 14
const SQLITE_TOOBIG = 18
const SQLITE_NOTADB = 26
/**
 * A file with a journal of an unfinished change, which a reader cannot undo. Only the first change of a new file has one,
 * before there is a WAL; a loss of power may leave both.
 */
export const SQLITE_READONLY_ROLLBACK = 776
/** This user may not write the file that connections share. */
const SQLITE_READONLY_DIRECTORY = 1544

/** An error of SQLite, with its extended result code, or of the file system. */
export type SqliteError = NodeJS.ErrnoException & { errcode?: number }

/** The causes that an operator can remove, by result code. */
const SQLITE_CAUSES: Record<number, string> = {
  [SQLITE_BUSY]: 'another program has locked it',
  [SQLITE_READONLY]: 'it cannot be written to (read-only file or folder), which is also required for reading',
  [SQLITE_IOERR]: 'it cannot be read or written to; check for a full or failing disk, or a file size limit',
  [SQLITE_CORRUPT]: 'the file is damaged; restore a backup, or ingest the event files again',
  [SQLITE_FULL]: 'the disk is full',
  [SQLITE_CANTOPEN]: 'the file cannot be opened; check its path and permissions',
  [SQLITE_NOTADB]: 'the file is not a SQLite database',
  [SQLITE_READONLY_DIRECTORY]:
    "this user may not write the file that ends in -shm, which SQLite requires for reading too; run as the store's user",
  [SQLITE_READONLY_ROLLBACK]:
    'a program was killed while it changed the file; run lyra migrate to undo that change',
}

/** Whether another connection has locked the file. */
export function isBusy(error: unknown): boolean {
  return ((error as SqliteError).errcode ?? 0) % 256 === SQLITE_BUSY
}

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
