import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { lockTemporaryFile } from '#core/concurrency/file-lock'
import { ExportError } from '../../formats/export-error.ts'

/**
 * Locks a folder against other exports, by a file beside it, until the lock is released or this process ends in whatever way.
 * A second file, `FOLDER.lock`, has the number of this process, for people; a killed process leaves both, unlocked.
 *
 * @returns the function that releases the lock
 *
 * @throws {ExportError} if another export has locked the folder.
 */
export function lockFolder(folder: string): () => void {
  const ownerFile = `${folder}.lock`
  const unlock = lockTemporaryFile(`${folder}.locked`)
  if (unlock === null) {
    throw new ExportError(`${folder}: ${ownerIn(ownerFile)} is exporting to it; wait until it ends`)
  }
  writeFileSync(ownerFile, String(process.pid))
  return () => {
    rmSync(ownerFile, { force: true })
    unlock()
  }
}

function ownerIn(ownerFile: string): string {
  try {
    return `process ${readFileSync(ownerFile, 'utf8')}`
  } catch {
    // It has just locked the folder, or is about to release it.
    return 'another process'
  }
}
