import { join } from 'node:path'
import { lockFile } from '#core/concurrency/file-lock'
import { makeFolder } from '#core/concurrency/flush'
import { explainPathError } from '#core/records/event-paths'
import { PRIVATE_FOLDER } from './event-buffer.ts'

/** The code of the error of a folder that cannot be used; its message is for people. */
export const BUFFER_FAULT = 'ERR_LYRA_BUFFER'

/**
 * Makes a folder for the events of this process alone, until it ends, however it does: two in one folder would delete
 * each other's files.
 *
 * @returns what lets others have it
 *
 * @throws an error with the code {@link BUFFER_FAULT} if another process has it, or it cannot be made.
 */
export function takeFolder(folder: string): () => void {
  try {
    makeFolder(folder, PRIVATE_FOLDER)
    const leave = lockFile(join(folder, '.lock'))
    if (leave !== null) return leave
  } catch (error) {
    const explained = explainPathError(folder, error) as Error
    const message =
      explained === error
        ? `${folder}: the folder cannot be locked: ${explained.message}; name another one with --buffer`
        : explained.message
    throw bufferFault(message, { cause: error })
  }
  throw bufferFault(
    `${folder}: another process keeps its events there; stop it, or name another folder with --buffer`,
  )
}

function bufferFault(message: string, options?: ErrorOptions): Error {
  return Object.assign(new Error(message, options), { code: BUFFER_FAULT })
}
