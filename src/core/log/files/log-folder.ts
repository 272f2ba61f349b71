import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { lockFile } from '../../concurrency/file-lock.ts'
import { flushFolderMeanwhile, makeFolder } from '../../concurrency/flush.ts'
import { explainPathError } from '../../records/event-paths.ts'
import { PRIVATE_FOLDER } from './log-disk.ts'
import { HEAD_NAME } from './log-head.ts'
import { INDEX_NAME } from './log-index.ts'
import { readersFolder } from './reader-files.ts'
import { RECEIVER_NAME } from './receiver-file.ts'
import { parseSegmentName } from './segment-name.ts'

/** The file that the receiver of a log locks. */
export const LOCK_NAME = '.lock'

/** The code of the error of an event log that cannot be used as it was told; its message is for people. */
const LOG_FAULT = 'ERR_LYRA_EVENT_LOG'

/** An error with the code of an event log that cannot be used. It keeps that from one thread to another. */
export function logFault(message: string, options?: ErrorOptions): Error {
  return Object.assign(new Error(message, options), { code: LOG_FAULT })
}

/** Whether an error is one of {@link logFault}. */
export function isLogFault(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === LOG_FAULT
}

/** Makes the folder of the readers' files again if it was deleted, but never a log that was; returns whether it did so. */
export function remakeReadersFolder(folder: string): boolean {
  try {
    mkdirSync(readersFolder(folder), { mode: PRIVATE_FOLDER })
  } catch (error) {
    if (['EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
  // The receiver's thread must not wait for it; if the power is lost before, the folder is made again.
  flushFolderMeanwhile(folder).catch(() => {})
  return true
}

/** The files of a log that others may read. Those of its readers are not among them. */
const PUBLISHED = [HEAD_NAME, INDEX_NAME, RECEIVER_NAME]

/**
 * Sets the mode of an event log's present files, and of its folder, so that users who may read the files may list it.
 *
 * @throws one of {@link logFault} if this user may not do so.
 */
export function setLogMode(folder: string, mode: number): void {
  // Who may read the files may also enter the folder.
  setMode(folder, mode | ((mode & 0o444) >> 2))
  for (const name of readdirSync(folder)) {
    if (PUBLISHED.includes(name) || parseSegmentName(name) !== null) setMode(join(folder, name), mode)
  }
}

/** A mode that is right already stays, with bits of the folder such as that which hands on its group. */
function setMode(path: string, mode: number): void {
  try {
    const before = statSync(path).mode
    if ((before & 0o777) !== mode) chmodSync(path, (before & 0o7000) | mode)
  } catch (error) {
    throw logFault(
      `${path}: its mode cannot be set (${(error as NodeJS.ErrnoException).code}): set it to ${mode.toString(8)} as its owner, or leave out --event-log-mode`,
      { cause: error },
    )
  }
}

/**
 * Makes the folder of an event log, for this process alone to write to until it ends, however it does: two receivers would
 * write into each other's segments.
 *
 * @returns what lets others have it
 *
 * @throws one of {@link logFault} if another process has it, or it cannot be made.
 */
export function takeLogFolder(folder: string): () => void {
  try {
    makeFolder(folder, PRIVATE_FOLDER)
    makeFolder(readersFolder(folder), PRIVATE_FOLDER)
    const leave = lockFile(join(folder, LOCK_NAME))
    if (leave !== null) return leave
  } catch (error) {
    const explained = explainPathError(folder, error) as Error
    const message =
      explained === error
        ? `${folder}: the folder cannot be locked: ${explained.message}; name another one with --event-log`
        : explained.message
    throw logFault(message, { cause: error })
  }
  throw logFault(
    `${folder}: another process receives into this event log; stop it, or name another folder with --event-log`,
  )
}
