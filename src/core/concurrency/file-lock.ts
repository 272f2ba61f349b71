import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
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

/**
 * As {@link lockFile}, but the file is removed with the lock, so that nothing is left of it. After a kill the file is left,
 * unlocked.
 */
export function lockTemporaryFile(path: string): (() => void) | null {
  for (;;) {
    createFile(path)
    const file = fileId(path)
    const unlock = lockFile(path)
    if (unlock === null) return null
    if (file !== null && file === fileId(path)) {
      return () => {
        rmSync(path, { force: true })
        unlock()
      }
    }
    // Its last owner has removed it meanwhile. Others would not see the lock of a file without a name.
    unlock()
  }
}

/** Creates an empty file, unless it exists: to close an existing one would release the locks of this process on it. */
function createFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** The identity of the file with a path; null if there is none. */
function fileId(path: string): string | null {
  const stats = statSync(path, { throwIfNoEntry: false })
  return stats === undefined ? null : `${stats.dev}:${stats.ino}`
}
