import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { explainPathError } from '#core/records/event-paths'
import { PRIVATE_FOLDER } from './event-buffer.ts'

/** The code of the error of a folder that cannot be used; its message is for people. */
export const BUFFER_FAULT = 'ERR_LYRA_BUFFER'

/** SQLite's code for a file that is locked. */
const SQLITE_BUSY = 5

/**
 * Makes a folder for the events of this process alone, until it ends, however it does: two in one folder would delete
 * each other's files. The system holds the lock, on an empty database of SQLite.
 *
 * @returns what lets others have it
 *
 * @throws an error with the code {@link BUFFER_FAULT} if another process has it, or it cannot be made.
 */
export function takeFolder(folder: string): () => void {
  try {
    mkdirSync(folder, PRIVATE_FOLDER)
    const lock = new DatabaseSync(join(folder, '.lock'))
    // Nothing is written, as a journal would be: the disk may be full.
    lock.exec('pragma journal_mode = memory; begin exclusive')
    return () => lock.close()
  } catch (error) {
    const isTaken = (error as { errcode?: number }).errcode === SQLITE_BUSY
    const explained = explainPathError(folder, error) as Error
    const message = isTaken
      ? `${folder}: another process keeps its events there; stop it, or name another folder with --buffer`
      : explained === error
        ? `${folder}: the folder cannot be locked: ${explained.message}; name another one with --buffer`
        : explained.message
    throw Object.assign(new Error(message, { cause: error }), { code: BUFFER_FAULT })
  }
}
