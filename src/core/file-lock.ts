import { DatabaseSync } from 'node:sqlite'

/** SQLite's code for a file that is locked. */
const SQLITE_BUSY = 5

/**
 * Locks a file, made if it is missing, until this process ends, however it does, or the lock is released. The system holds
 * the lock, on an empty database of SQLite.
 *
 * @returns what releases it; null if it is locked already.
 *
 * @throws SQLite's error if the file cannot be made or locked.
 */
export function lockFile(path: string): (() => void) | null {
  const lock = new DatabaseSync(path)
  try {
    // Nothing is written, as a journal would be: the disk may be full.
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return () => lock.close()
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null
    throw error
  }
}
