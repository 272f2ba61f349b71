import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** SQLite's code for a file that is locked. */
const SQLITE_BUSY = 5

/** Longer than another process takes to check whether a file is locked. */
const ASKED_MS = 50

/** Whether a process has locked a file with {@link lockFile}; false if there is no such file. Takes no lock itself. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false
  const lock = new DatabaseSync(path, { readOnly: true })
  try {
    lock.exec('select * from sqlite_schema')
    return false
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return true
    throw error
  } finally {
    lock.close()
  }
}

/**
 * Locks a file, which it creates if necessary, until the lock is released or this process ends in whatever way. It is the
 * operating system's lock on an empty SQLite database.
 *
 * @returns the function that releases the lock; null if another process has it
 *
 * @throws SQLite's error if the file cannot be created or locked.
 */
export function lockFile(path: string): (() => void) | null {
  // A process that checks the lock shares it for a moment.
  const lock = new DatabaseSync(path, { timeout: ASKED_MS })
  try {
    // Writes nothing, not even a journal: the disk may be full.
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return () => lock.close()
  } catch (error) {
    lock.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null
    throw error
  }
}
