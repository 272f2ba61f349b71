import { existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'

/** SQLite's code for a file that is locked. */
const SQLITE_BUSY = 5

/** Longer than it takes to ask whether a file is locked. */
const ASKED_MS = 50

/** Whether another process has locked a file with {@link lockFile}; nothing is locked by asking. False if there is none. */
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
 * Locks a file, made if it is missing, until this process ends, however it does, or the lock is released. The system holds
 * the lock, on an empty database of SQLite.
 *
 * @returns what releases it; null if it is locked already.
 *
 * @throws SQLite's error if the file cannot be made or locked.
 */
export function lockFile(path: string): (() => void) | null {
  // Who asks whether it is locked shares it for a moment.
  const lock = new DatabaseSync(path, { timeout: ASKED_MS })
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
